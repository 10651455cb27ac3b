#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The patterns and cases of measure.py, against definitions element by element; needs neither torch nor a GPU."""
import itertools
import unittest

import patterns
from cases import GROUPS, Case
from measure import SOURCES


class Patterns(unittest.TestCase):
    def visited(self, blocks, head=0):
        """The pairs (query, key) of visited blocks, as far as the causal limit leaves them."""
        pairs = set()
        for row in range(blocks.rows):
            index = head * blocks.rows + row
            for column in blocks.full[index] + blocks.partial[index]:
                pairs.update((query, key) for query in range(row * blocks.query_block, (row + 1) * blocks.query_block)
                             for key in range(column * blocks.key_block, (column + 1) * blocks.key_block)
                             if max(query, key) < blocks.sequence and (key <= query or not blocks.causal))
        return pairs

    def check(self, blocks, sees):
        """A full block holds only pairs that are seen, visited blocks hold all of them, and each of them one at least.
        sees(head, query, key)."""
        for head in range(blocks.heads):
            visited = self.visited(blocks, head)
            seen = {(query, key) for query, key in itertools.product(range(blocks.sequence), repeat=2)
                    if sees(head, query, key)}
            self.assertLessEqual(seen, visited)
            of_block = {}
            for query, key in visited:
                of_block.setdefault((query // blocks.query_block, key // blocks.key_block), []).append((query, key))
            for (row, column), pairs in of_block.items():
                count = sum(pair in seen for pair in pairs)
                is_full = column in blocks.full[head * blocks.rows + row]
                self.assertGreater(count, 0, (row, column))
                self.assertEqual(is_full, count == len(pairs), (row, column))
        total = sum(len(self.visited(blocks, head)) for head in range(blocks.heads))
        self.assertEqual(blocks.pairs, total / blocks.heads)

    def test_window_and_sink(self):
        def sees(head, query, key):
            near = query // 4 - key // 4 < 3 or head % 2 == 1
            return key <= query and (near or key < 8)
        self.check(patterns.window_and_sink(42, 4, sinks=2, window=3), sees)
        self.check(patterns.window_and_sink(42, 4, sinks=2, window=3, heads=2), sees)

    def test_documents(self):
        lengths = [5, 12, 1, 3, 17, 4]
        number = [index for index, length in enumerate(lengths) for _ in range(length)]
        blocks = patterns.documents(len(number), 4, lengths)
        self.check(blocks, lambda head, query, key: key <= query and number[query] == number[key])
        self.assertTrue(any(blocks.partial) and any(blocks.full))

    def test_document_lengths(self):
        lengths = patterns.document_lengths(5000, 100, 700)
        self.assertEqual(sum(lengths), 5000)
        self.assertTrue(all(100 <= length <= 700 for length in lengths[:-1]))

    def test_video_window(self):
        # A window of 3 x 1 x 2 tiles of 1 x 2 x 2 tokens in a canvas of 4 x 4 x 6.
        grid = (4, 2, 3)

        def place(token):
            tile = token // 4
            return tile // 6, tile // 3 % 2, tile % 3

        def sees(head, query, key):
            own, other = place(query), place(key)
            first = (min(max(own[0] - 1, 0), grid[0] - 3), own[1], min(max(own[2] - 1, 0), grid[2] - 2))
            return all(start <= position < start + size for start, position, size in zip(first, other, (3, 1, 2)))
        self.check(patterns.video_window((4, 4, 6), (1, 2, 2), (3, 1, 2), 2), sees)

    def test_vertical_slash(self):
        blocks = patterns.vertical_slash(128, 2, heads=3, vertical=8, slash=40)
        last = [set(blocks.full[head * blocks.rows + 63]) for head in range(3)]
        self.assertNotEqual(last[0], last[1])
        for head in range(3):
            # Diagonals are what the last row has, moved; columns are what all rows have.
            columns = {column for column in last[head] if all(
                column in blocks.full[head * blocks.rows + row] for row in range(column, 64))}
            self.assertIn(0, columns)
            for row in range(64):
                diagonals = {column - (63 - row) for column in last[head] - columns if column >= 63 - row}
                self.assertLessEqual(diagonals, set(blocks.full[head * blocks.rows + row]))
                self.assertLessEqual(set(range(max(0, row - 7), row + 1)), set(blocks.full[head * blocks.rows + row]))
                self.assertLessEqual(len(blocks.full[head * blocks.rows + row]), 4 + 20)

    def test_top_blocks(self):
        blocks = patterns.top_blocks(160, 4, heads=2, density=0.25)
        self.assertTrue(all(len(set(row)) == 10 for row in blocks.full))
        self.assertNotEqual(blocks.full[0], blocks.full[blocks.rows])

    def test_near_and_first_keys(self):
        def sees(_, query, key):
            return key <= query and (query - key < 10 or key < 6)
        blocks = patterns.near_and_first_keys(42, 4, window=10, first=6)
        self.check(blocks, sees)
        self.assertTrue(any(blocks.full) and any(blocks.partial))

    def test_random_lists(self):
        self.assertEqual(patterns.random_lists(100, 4, 1).density(), 1)
        self.assertAlmostEqual(patterns.random_lists(400, 4, 0.25).density(), 0.25, delta=0.02)

    def test_as_partial(self):
        blocks = patterns.documents(42, 4, [5, 12, 1, 3, 17, 4])
        partial = blocks.as_partial()
        self.assertEqual(self.visited(partial), self.visited(blocks))
        self.assertFalse(any(partial.full))


class Cases(unittest.TestCase):
    def test_every_kernel_has_a_source_and_a_case(self):
        cases = [case for group in GROUPS.values() for case in group()]
        named = {case.kernel for case in cases} | {case.baseline.kernel for case in cases if case.baseline}
        self.assertEqual(named, {path.stem for path in SOURCES.glob("*.mlir")})

    def test_labels_differ(self):
        for name, group in GROUPS.items():
            labels = [case.label for case in group()]
            self.assertEqual(len(labels), len(set(labels)), name)

    def test_window_counts_its_pairs(self):
        case = Case("window", "", 64, 1, 1, 50, causal=True, window=7)
        self.assertEqual(case.pairs, sum(max(0, query - 6) <= key <= query
                                         for query in range(50) for key in range(50)))


if __name__ == "__main__":
    unittest.main()
