# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes compiled files of PTX, which the driver compiles, for machines without ptxas. docs/abi.md has the format."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import CompileError

_LAUNCH_INFO = re.compile(rb"\.b8 sparsec_launch_info\[(?P<size>\d+)\] = \{(?P<bytes>[\d, ]*)\};")
_CHECKSUMS = 16  # the place of image_checksum and checksum in sparsec_launch_info_t
_ELF, _PTX = 1, 2  # sparsec_image_format_t
_HEADER = struct.Struct("<QHHIIIQII")  # sparsec_bundle_t
_ENTRY = struct.Struct("<64sIIQQQQ")  # sparsec_bundle_entry_t
_MAGIC, _MAJOR, _MINOR = 0x4C444E4243525053, 2, 0
_CHECKSUM = 32  # its place in the header


@dataclass(frozen=True)
class Image:
    """An image of a bundle. The launch info of PTX is beside it; that of an object is inside, and here empty."""

    target: str
    data: bytes
    launch_info: bytes


def ptx_image(target: str, ptx: bytes) -> Image:
    """The image of what the compiler emits for a target as the stage "ptx", with checksums.

    Raises:
        CompileError: the text has no launch info.
    """
    match = _LAUNCH_INFO.search(ptx)
    if match is None:
        raise CompileError(f"the PTX for {target} has no launch info")
    values = bytes(map(int, match["bytes"].split(b",")))
    info = bytearray(values.ljust(int(match["size"]), b"\0"))
    data = ptx + b"\0"
    struct.pack_into("<II", info, _CHECKSUMS, zlib.crc32(data), 0)
    struct.pack_into("<I", info, _CHECKSUMS + 4, zlib.crc32(info))
    return Image(target, data, bytes(info))


def bundle(images: Sequence[Image]) -> bytes:
    """The compiled file of several images, in their order."""
    contents = bytearray(_HEADER.size + len(images) * _ENTRY.size)
    for number, image in enumerate(images):
        place = _append(contents, image.data)
        info_place = _append(contents, image.launch_info) if image.launch_info else 0
        kind = _PTX if image.launch_info else _ELF
        sizes = place, len(image.data), info_place, len(image.launch_info)
        _ENTRY.pack_into(contents, _HEADER.size + number * _ENTRY.size, image.target.encode(), kind, 0, *sizes)
    header = _MAGIC, _MAJOR, _MINOR, len(images), _HEADER.size, _ENTRY.size, len(contents), 0, 0
    _HEADER.pack_into(contents, 0, *header)
    struct.pack_into("<I", contents, _CHECKSUM, zlib.crc32(contents))
    return bytes(contents)


def _append(contents: bytearray, data: bytes) -> int:
    """Appends at a multiple of 16 bytes, which it returns."""
    contents += bytes(-len(contents) % 16)
    place = len(contents)
    contents += data
    return place
