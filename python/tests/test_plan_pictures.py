# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of plans."""

import dataclasses

import numpy as np
import pytest

import conftest
import sparsec
from sparsec import plan_pictures, saved_plan
from sparsec.pictures import HostLists
from sparsec.plan_info import PlanInfo
from sparsec.saved_plan import Section, VariantSections

INFO = PlanInfo("lists", 2, 5, 0, 0, 0.9, 1.0, 2, 5, "a reason")
MATRIX = HostLists(np.array([0, 2, 3, 5, 6], np.int32), np.array([0, 3, 1, 0, 1, 2], np.int32), (64, 64), (16, 16))
WINDOWS = {
    Section.WINDOW_ROWS: np.array([2, 0, 3, 1], np.int32),
    Section.COLUMN_OFFSETS: np.array([0, 3, 5], np.int32),
    Section.COLUMNS: np.array([0 * 8 + 1, 1 * 8, 3 * 8, 1 * 8 + 1, 2 * 8, 0], np.int32),
}
# Stages of two columns, where -1 is none, and one stage behind the last.
STREAMS = {
    Section.WINDOW_ROWS: np.array([2, 0, 3, 1], np.int32),
    Section.STAGE_OFFSETS: np.array([0, 2, 3], np.int32),
    Section.STAGE_COLUMNS: np.array([0, 1, 3, -1, 1, 2, -1, -1], np.int32),
}
TILES = {
    Section.TILE_OFFSETS: np.array([0, 3, 5], np.int32),
    Section.TILES: np.array([[0, 0], [1, 0], [0, 1], [2, 0], [3, 0]], np.int32).ravel(),
}


@pytest.mark.parametrize("sections", [WINDOWS, STREAMS])
def test_windows(sections):
    picture = plan_pictures.draw_blocks(MATRIX, VariantSections(sections).windows(), INFO, 64, 96)
    assert str(picture).splitlines() == [
        "64 x 64 in blocks of 16 x 16: 2 windows of 2 block rows, 1.2 blocks per column",
        "2 ██·▒", "0 █▒·█", "3 ·▒█·", "1 ·█▒·",
        "█ stored  ▒ loaded for another row of the window  · empty", "a reason.",
    ]  # fmt: skip


def test_rows_that_a_window_does_not_have():
    windows = saved_plan.Windows(np.array([[3, 2], [0, 1], [-1, -1]]), [np.arange(4)] * 2 + [np.arange(0)])
    lines = str(plan_pictures.draw_blocks(MATRIX, windows, INFO, 2, 96)).splitlines()
    assert [line[0] for line in lines[1:3]] == ["3", "1"]
    assert lines[-1] == "2 of 4 block rows are shown."
    other = dataclasses.replace(MATRIX, row_ptr=np.array([0, 2, 3, 6], np.int32), shape=(48, 64))
    with pytest.raises(sparsec.InvalidArgument, match="w has 3 block rows, but expects those of the matrix that the"):
        plan_pictures.draw_blocks(other, windows, INFO, 2, 96)


def test_without_windows_rows_keep_their_order():
    info = dataclasses.replace(INFO, windows=0, columns=0, reason="")
    assert str(plan_pictures.draw_blocks(MATRIX, None, info, 64, 96)).splitlines() == [
        "64 x 64 in blocks of 16 x 16: no windows", "0 █··█", "1 ·█··", "2 ██··", "3 ··█·", "█ stored  · empty",
    ]  # fmt: skip


@pytest.mark.parametrize(("w", "sections", "lines"), [
    # Every tile counts the same.
    (None, TILES, ["0 ██▒▒██", "1 ██▒▒··", "The width is 3 tiles."]),
    # Tile rows 0 to 3 have 2, 1, 2 and 1 blocks.
    (MATRIX, TILES, ["0 ██▒██", "1 ██▒··", "The width is 5 blocks."]),
    # Tile rows are windows, with 4 and 2 blocks.
    (MATRIX, WINDOWS | {Section.TILE_OFFSETS: np.array([0, 1, 2], np.int32), Section.TILES: np.array([0, 0, 1, 0])},
     ["0 ████", "1 ██··", "The width is 4 blocks."]),
    # The second worker has no tile.
    (None, {Section.TILE_OFFSETS: np.array([0, 2, 2], np.int32), Section.TILES: np.array([0, 0, 1, 0])},
     ["0 ██▒▒", "1 ····", "The width is 2 tiles."]),
])  # fmt: skip
def test_workers(w, sections, lines):
    columns = len(lines[0]) - 2
    drawn = str(plan_pictures.draw_workers(w, 16, VariantSections(sections), INFO, 64, columns)).splitlines()
    assert drawn[0] == "2 workers, 5 tiles, balance 0.900"
    assert [drawn[1], drawn[2], drawn[-2]] == lines
    assert drawn[-1] == "a reason."


def test_workers_are_sampled_and_tiles_may_be_open():
    offsets = np.arange(0, 101, dtype=np.int32)
    sections = VariantSections({Section.TILE_OFFSETS: offsets, Section.TILES: np.zeros(200, np.int32)})
    info = dataclasses.replace(INFO, tiles=-1)
    lines = str(plan_pictures.draw_workers(None, 16, sections, info, 4, 3)).splitlines()
    assert lines[0] == "2 workers, tiles of any number of columns, balance 0.900"
    assert lines[-1] == "4 of 100 workers are shown."


def test_tiles_cover_several_block_rows():
    sections = VariantSections({Section.TILE_OFFSETS: np.array([0, 1, 2]), Section.TILES: np.array([0, 0, 1, 0])})
    lines = str(plan_pictures.draw_workers(MATRIX, 32, sections, INFO, 64, 3)).splitlines()
    assert lines[1:3] == ["0 ███", "1 ███"]
    with pytest.raises(sparsec.InvalidArgument, match="w has 1 rows of tiles, but the plan has 2 or more"):
        plan_pictures.draw_workers(MATRIX, 64, sections, INFO, 64, 3)


def test_plans_of_the_host_have_no_lists(product):
    w = conftest.matrix()
    plan = product.plan(w, None, static=True)
    assert str(plan.draw(w)).startswith("70 x 52 in blocks of 16 x 16: no windows\n0 ")
    assert "fixed order: threads take tiles as they become free." in str(plan.draw(w, variant=0))
    for options, message in (
        ({}, "w is None, but the picture of blocks expects the matrix"),
        ({"of": "tiles"}, "of is 'tiles', but expects blocks or workers"),
        ({"of": "workers"}, "plan: expects lists of tiles, but has fixed order: fixed order: threads take"),
        ({"variant": 9}, "variant"),
        ({"variant": -1}, "variant: expects 0 or more, but got -1"),
    ):
        with pytest.raises(sparsec.InvalidArgument, match=message):
            plan.draw(**options)


def test_plans_of_a_simulated_gpu():
    """The pictures have the blocks of the matrix: what the sections say is what the runtime put there."""
    lines = conftest.on_simulator(
        "import numpy as np, sparsec\n"
        "from sparsec import devices\n"
        "device, memories = devices.device(0), []\n"
        "def upload(array, dtype):\n"
        "    memories.append(device.allocate(array.nbytes))\n"
        "    memories[-1].upload(np.ascontiguousarray(array))\n"
        "    return sparsec.from_pointer(memories[-1].pointer, array.shape, dtype, device=0)\n"
        "for block in (64, 16):\n"
        "    shape = 20 * block, 16 * block\n"
        "    w = sparsec.BSR.from_dense(np.ones(shape), block, sparsec.prune.random(shape, block, 0.3), 'f16')\n"
        "    kernel = sparsec.compile(sparsec.spmm(block, 'f16'), 'sm_90a')['spmm']\n"
        "    lists = upload(w.row_ptr, 'i32'), upload(w.col_idx, 'i32'), upload(w.values, 'f16')\n"
        "    plan = kernel.plan(sparsec.BSR(*lists, w.shape), None, static=True)\n"
        "    picture = plan.draw(w)\n"
        "    own = w.draw()\n"
        "    print(picture.title)\n"
        "    print((np.where(picture.cells == 2, 0, picture.cells) == own.cells[picture.row_numbers]).all())\n"
        "    print(sorted(picture.row_numbers) == list(range(20)), (picture.cells == 2).any())\n"
        "    print(plan.draw(w, of='workers').title)\n"
    ).splitlines()
    for title, has_blocks, others, workers in (lines[:4], lines[4:]):
        assert "windows of" in title
        assert (has_blocks, others) == ("True", "True True")
        assert " workers, tiles of any number of columns, balance " in workers
