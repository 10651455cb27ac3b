# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of blocks: what they show, as text and as SVG."""

import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest

from sparsec import patterns, pictures
from sparsec.errors import InvalidArgument

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
STATES = np.array([[1, 0, 2], [0, 1, 1]], np.uint8)


def cells_of(svg, columns):
    """The kinds of the cells of an SVG, by their places; and the kinds of the legend."""
    root = ElementTree.fromstring(svg)
    uses = [(each.get(LINK), each.get("transform")) for each in root.iter(f"{SVG}use")]
    frame = next(each for each in root.iter(f"{SVG}rect") if each.get("fill") == "none")
    left, top = int(frame.get("x")) + 1, int(frame.get("y")) + 1
    bottom = top + int(frame.get("height")) - 2
    cells, legend = {}, []
    for link, transform in uses:
        x, y = map(int, transform.removeprefix("translate(").partition(")")[0].split())
        name = link.removeprefix("#sparsec-")
        if y < bottom:
            cells[(y - top) // 10, (x - left) // 10] = name
        else:
            legend.append(name)
    assert all(column < columns for _, column in cells)
    return cells, legend


def test_text():
    assert str(pictures.draw_states(STATES, "a title")).splitlines() == [
        "a title", "0 █·▒", "1 ·██", "█ full  ▒ partial  · empty",
    ]  # fmt: skip
    assert repr(pictures.draw_states(STATES, "a title")) == str(pictures.draw_states(STATES, "a title"))


def test_the_legend_has_what_is_there():
    assert str(pictures.draw_states([[1]], "t")).splitlines()[-1] == "█ full"
    assert cells_of(pictures.draw_states([[1, 0]], "t").svg(), 2)[1] == ["full", "empty"]


def test_svg():
    svg = pictures.draw_states(STATES, "a < b & c")._repr_svg_()
    cells, legend = cells_of(svg, 3)
    names = {0: "empty", 1: "full", 2: "partial"}
    assert cells == {(row, column): names[state] for (row, column), state in np.ndenumerate(STATES)}
    assert legend == ["full", "partial", "empty"]
    root = ElementTree.fromstring(svg)
    assert root.find(f"{SVG}title").text == "a < b & c"
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert texts == ["a < b & c", "0", "full", "partial", "empty"]


def test_kinds_differ_in_shape_and_in_colour():
    states = np.array([[1, 1, 2, 2, 0, 0, 0, 1]], np.uint8)
    root = ElementTree.fromstring(pictures.draw_states(states, "t", columns=4).svg())
    paths = [each.find(f"{SVG}path") for each in root.iter(f"{SVG}g")]
    assert len(paths) == 4
    assert len({each.get("d") for each in paths}) == 4
    assert len({each.get("fill") for each in paths}) == 4


def test_rows_are_sampled_and_columns_merged():
    states = np.zeros((100, 10), np.uint8)
    states[:, 0:2], states[99], states[::2, 5] = 1, 2, 1
    picture = pictures.draw_states(states, "t", rows=4, columns=5)
    assert str(picture).splitlines() == [
        "t", " 0 █·▚··", "33 █····", "66 █·▚··", "99 ▒▒▒▒▒",
        "█ full  ▒ partial  · empty  ▚ several kinds", "4 of 100 block rows are shown.",
        "A cell stands for 2 block columns.",
    ]  # fmt: skip
    cells, legend = cells_of(picture.svg(), 5)
    assert (cells[0, 2], cells[1, 2]) == ("several-kinds", "empty")
    assert legend == ["full", "partial", "empty", "several-kinds"]
    texts = [each.text for each in ElementTree.fromstring(picture.svg()).iter(f"{SVG}text")]
    assert texts[-2:] == ["4 of 100 block rows are shown.", "A cell stands for 2 block columns."]


def test_a_cell_at_the_end_stands_for_what_is_left():
    states = np.array([[0, 0, 0, 1, 1, 1, 2]], np.uint8)
    assert str(pictures.draw_states(states, "t", columns=3)).splitlines()[1] == "0 ·█▒"


def test_one_row():
    assert pictures.draw_states(np.zeros((9, 2), np.uint8), "t", rows=1).row_numbers.tolist() == [0]


def test_everything_is_inside_the_svg():
    for states, title in ((STATES, "t"), (STATES, "a long title " * 9), (np.zeros((200, 200), np.uint8), "t")):
        root = ElementTree.fromstring(pictures.draw_states(states, title).svg())
        width, height = int(root.get("width")), int(root.get("height"))
        for each in root.iter(f"{SVG}rect"):
            assert int(each.get("x", 0)) + int(each.get("width")) <= width
            assert int(each.get("y", 0)) + int(each.get("height")) <= height
        for each in root.iter(f"{SVG}text"):
            assert int(each.get("y")) <= height
            if each.get("text-anchor") == "start":
                assert int(each.get("x")) + 7.25 * len(each.text) <= width


def test_nothing_overlaps_in_the_svg():
    states = np.zeros((1000, 300), np.uint8)
    states[:, 0] = 1
    root = ElementTree.fromstring(pictures.draw_states(states, "title").svg())
    frame = next(each for each in root.iter(f"{SVG}rect") if each.get("stroke") == "#333")
    left, top = int(frame.get("x")), int(frame.get("y"))
    bottom = top + int(frame.get("height"))
    title, *others = root.iter(f"{SVG}text")
    labels = [each for each in others if each.get("text-anchor") == "end"]
    below = [int(each.get("y")) for each in others if each.get("text-anchor") == "start"]
    assert 9 <= int(title.get("y")) < top
    assert all(int(each.get("x")) - 7.25 * len(each.text) >= 0 for each in labels)
    assert all(int(each.get("x")) < left for each in labels)
    assert min(np.diff([int(each.get("y")) for each in labels])) >= 12
    # Two kinds of blocks in one line of the legend, then two notes.
    assert below[0] == below[1] >= bottom + 12
    assert min(np.diff(below[1:])) >= 12


def test_no_blocks():
    picture = pictures.draw_states(np.zeros((0, 0), np.uint8), "nothing")
    assert str(picture) == "nothing\n"
    assert cells_of(picture.svg(), 0) == ({}, [])


def test_save(tmp_path):
    picture = pictures.draw_states(STATES, "t")
    picture.save(tmp_path / "x.svg")
    picture.save(str(tmp_path / "x.txt"))
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == picture.svg()
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == f"{picture}\n"
    with pytest.raises(InvalidArgument, match=r"x.png', but expects a name that ends with .svg or .txt"):
        picture.save(tmp_path / "x.png")


def test_a_block_sparse_matrix():
    matrix = SimpleNamespace(
        row_ptr=np.array([0, 2, 2, 3], np.int32),
        col_idx=np.array([0, 3, 1, 9], np.int32),
        shape=(40, 50),
        block=(16, 16),
    )
    assert str(pictures.draw_matrix(matrix)).splitlines() == [
        "40 x 50 in blocks of 16 x 16, density 0.25", "0 █··█", "1 ····", "2 ·█··", "█ stored  · empty",
    ]  # fmt: skip
    assert str(pictures.draw_matrix(matrix, rows=2, columns=2)).splitlines()[1:3] == ["0 ▚▚", "2 ▚·"]
    matrix.shape, matrix.row_ptr = (0, 0), np.array([0], np.int32)
    assert "density 0" in str(pictures.draw_matrix(matrix))


def test_lists_of_a_pattern(tmp_path):
    lists = patterns.causal().lists(48, 64, 16)
    assert str(lists.draw()).splitlines() == [
        "48 queries x 64 keys in blocks of 16 x 16, density 0.5", "0 ▒···", "1 █▒··", "2 ██▒·",
        "█ full  ▒ partial  · empty",
    ]  # fmt: skip
    assert lists._repr_svg_() == lists.draw().svg()
    lists.save(tmp_path / "x.txt", rows=2)
    assert "2 of 3 block rows are shown." in (tmp_path / "x.txt").read_text(encoding="utf-8")
    assert "A cell stands for 2 block columns." in str(lists.draw(columns=3))


def test_lists_of_one_batch_and_head():
    states = np.zeros((2, 2, 1, 2), np.uint8)
    states[1, 0, 0] = [1, 2]
    lists = patterns.BlockLists.from_states(states, 16, 32, (16, 16))
    title, row, *_ = str(lists.draw(batch=1, head=0)).splitlines()
    assert title.endswith(", batch 1, head 0, density 0.25")
    assert row == "0 █▒"
    with pytest.raises(InvalidArgument, match="head is 2, but expects an int from 0 to 1"):
        lists.draw(head=2)
    with pytest.raises(InvalidArgument, match="batch is -1, but expects an int from 0 to 1"):
        lists.draw(batch=-1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pictures.draw_states(STATES, "t", rows=0), "rows is 0, but expects an int of at least 1"),
        (lambda: pictures.draw_states(STATES, "t", columns=1.5), "columns is 1.5, but expects an int of at least 1"),
        (lambda: pictures.draw_states(STATES[0], "t"), "states expects two dimensions of 0"),
        (lambda: pictures.draw_states(STATES + 1, "t"), "states expects two dimensions of 0"),
    ],
)
def test_refusals_name_the_option(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()
