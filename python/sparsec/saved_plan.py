# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads what a saved plan says of its variants. docs/abi.md has the format, plan_sections.h the sections."""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_HEADER = struct.Struct("<8sHHIQ128s64sIIIIII9q")
_LIST_BYTES, _VARIANT_BYTES = 16, 352
_SECTION = struct.Struct("<IIQQ")
_COLUMN_SHIFT = 3  # of an entry of COLUMNS: 8 * block column + the groups without a step


class Section(enum.IntEnum):
    """The sections that say how work is shared out: sparsec_plan_section_t."""

    TILE_OFFSETS = 0
    TILES = 1
    WINDOW_ROWS = 2
    COLUMN_OFFSETS = 3
    COLUMNS = 4
    STAGE_OFFSETS = 9
    STAGE_COLUMNS = 10


@dataclass(frozen=True)
class Windows:
    """Block rows that share the columns of X that they load.

    Attributes:
        rows: [windows, groups]: the block rows of each window; -1: none.
        columns: the block columns of each window, ascending.
    """

    rows: Array
    columns: list[Array]


@dataclass(frozen=True)
class VariantSections:
    """The sections of one variant, as int32."""

    sections: Mapping[int, Array]

    def tiles(self) -> list[Array] | None:
        """The tile rows that each worker computes, in order; None: there are no lists."""
        if Section.TILES not in self.sections or Section.TILE_OFFSETS not in self.sections:
            return None
        rows = self.sections[Section.TILES].reshape(-1, 2)[:, 0]
        return np.split(rows, self.sections[Section.TILE_OFFSETS][1:-1])

    def windows(self) -> Windows | None:
        """The windows of a static pattern; None: there are none."""
        if Section.WINDOW_ROWS not in self.sections:
            return None
        if Section.STAGE_OFFSETS in self.sections:
            offsets, columns = self.sections[Section.STAGE_OFFSETS], self.sections[Section.STAGE_COLUMNS]
            width = len(columns) // (int(offsets[-1]) + 1)  # there is one stage more
            offsets = offsets * width
        else:
            offsets, columns = self.sections[Section.COLUMN_OFFSETS], self.sections[Section.COLUMNS] >> _COLUMN_SHIFT
        parts = np.split(columns[: offsets[-1]], offsets[1:-1])
        rows = self.sections[Section.WINDOW_ROWS].reshape(len(parts), -1)
        return Windows(rows, [part[part >= 0] for part in parts])


def read_variant(data: bytes, variant: int) -> VariantSections:
    """The sections of a variant in the bytes of a plan that this runtime has saved."""
    lists, variants, sections = _HEADER.unpack_from(data)[9:12]
    place = _HEADER.size + lists * _LIST_BYTES + variants * _VARIANT_BYTES
    found = {}
    for number, section, offset, size in _SECTION.iter_unpack(data[place : place + sections * _SECTION.size]):
        if number == variant:
            found[section] = np.frombuffer(data, np.int32, size // 4, offset)
    return VariantSections(found)
