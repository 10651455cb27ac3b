# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The block patterns that measure.py times: random ones, and those of real workloads."""
import random


class Blocks:
    """Lists of key blocks for every block of queries of every head, or of all heads where there is one head of lists.

    A list is ascending. `pairs` counts the (query, key) pairs of a head of lists, on average, that the kernel has to
    look at: those of visited blocks, but of the blocks that a causal limit cuts only what it leaves.
    """

    def __init__(self, query_block, key_block, sequence, heads=1, causal=False):
        self.query_block, self.key_block, self.sequence, self.causal = query_block, key_block, sequence, causal
        self.heads, self.rows, self.columns = heads, -(-sequence // query_block), -(-sequence // key_block)
        self.full = [[] for _ in range(heads * self.rows)]
        self.partial = [[] for _ in range(heads * self.rows)]

    def add(self, columns, row, head=0, is_partial=False):
        """Blocks for a block of queries; those behind a causal limit are left out."""
        lists = self.partial if is_partial else self.full
        if self.causal:
            columns = (column for column in columns if column * self.key_block < (row + 1) * self.query_block)
        lists[head * self.rows + row] = sorted(set(columns))

    def as_partial(self):
        """The same blocks, all of them partial."""
        other = Blocks(self.query_block, self.key_block, self.sequence, self.heads, self.causal)
        other.partial = [sorted(full + partial) for full, partial in zip(self.full, self.partial)]
        return other

    def count(self):
        return sum(map(len, self.full)) + sum(map(len, self.partial))

    def _pairs_of(self, row, column):
        first_query, first_key = row * self.query_block, column * self.key_block
        queries = min(self.query_block, self.sequence - first_query)
        keys = min(self.key_block, self.sequence - first_key)
        if not self.causal or first_key + keys - 1 <= first_query:
            return queries * keys
        return sum(max(0, min(keys, query - first_key + 1)) for query in range(first_query, first_query + queries))

    @property
    def pairs(self):
        memory = {}  # by distance, and by the cut at the end

        def pairs_of(row, column):
            last = row == self.rows - 1, column == self.columns - 1
            key = (row * self.query_block - column * self.key_block, last)
            if key not in memory:
                memory[key] = self._pairs_of(row, column)
            return memory[key]
        return sum(pairs_of(index % self.rows, column) for index, lists in enumerate(zip(self.full, self.partial))
                   for each in lists for column in each) / self.heads

    def density(self):
        return self.count() / (self.heads * self.rows * self.columns)


def random_lists(sequence, block, density):
    """Every block is there with this probability."""
    blocks, chance = Blocks(block, block, sequence), random.Random(1)
    for row in range(blocks.rows):
        blocks.add([column for column in range(blocks.columns) if chance.random() < density], row)
    return blocks


def window_and_sink(sequence, block, sinks, window, heads=1):
    """StreamingLLM: the first blocks and the last ones up to the query's own. Of several heads every other one sees
    all keys (DuoAttention)."""
    blocks = Blocks(block, block, sequence, heads, causal=True)
    for head in range(heads):
        for row in range(blocks.rows):
            first = 0 if head % 2 else max(0, row - window + 1)
            blocks.add([*range(min(sinks, row + 1)), *range(first, row + 1)], row, head)
    return blocks


def near_and_first_keys(sequence, block, window, first):
    """The keys in a window up to the query's own, and the first keys, to the element. Blocks that hide a key from a
    causal query are partial."""
    blocks = Blocks(block, block, sequence, causal=True)
    for row in range(blocks.rows):
        first_query, last_query = row * block, min((row + 1) * block, sequence) - 1

        def is_seen(column):
            """By the query for which most of the block is near."""
            return first_query - (column * block + block - 1) < window or column * block < first

        def is_full(column):
            return last_query - max(column * block, first) < window or (column + 1) * block <= first

        seen = [column for column in range(row + 1) if is_seen(column)]
        blocks.add([column for column in seen if is_full(column)], row)
        blocks.add([column for column in seen if not is_full(column)], row, is_partial=True)
    return blocks


def vertical_slash(sequence, block, heads, vertical, slash):
    """MInference: every head has columns that all queries see, and diagonals at fixed distances. `vertical` and
    `slash` are numbers of keys; the first column and the nearest eight diagonals are always there."""
    blocks = Blocks(block, block, sequence, heads, causal=True)
    near = 8
    for head in range(heads):
        chance = random.Random(head)
        columns = {0, *chance.sample(range(1, blocks.columns), vertical // block - 1)}
        distances = {*range(near), *chance.sample(range(near, blocks.rows), slash // block - near)}
        for row in range(blocks.rows):
            blocks.add([*columns, *(row - distance for distance in distances if distance <= row)], row, head)
    return blocks


def document_lengths(sequence, shortest, longest):
    """Lengths of documents that fill a sequence, none a multiple of anything in particular."""
    chance, lengths = random.Random(1), []
    while sum(lengths) < sequence:
        lengths.append(min(chance.randint(shortest, longest), sequence - sum(lengths)))
    return lengths


def documents(sequence, block, lengths):
    """Packed documents: queries see the keys of their own document up to themselves. Blocks that lie in one document
    are full, those with a border in them partial."""
    blocks = Blocks(block, block, sequence, causal=True)
    number = [index for index, length in enumerate(lengths) for _ in range(length)]
    of_block = [set(number[first:first + block]) for first in range(0, sequence, block)]
    for row in range(blocks.rows):
        seen = [column for column in range(blocks.columns) if of_block[row] & of_block[column]]
        full = [column for column in seen if len(of_block[row] | of_block[column]) == 1]
        blocks.add(full, row)
        blocks.add(set(seen) - set(full), row, is_partial=True)
    return blocks


def top_blocks(sequence, block, heads, density):
    """Every head of every block of queries has its own choice of so many blocks (VSA, SubBlock, NSA)."""
    blocks, chance = Blocks(block, block, sequence, heads), random.Random(1)
    for head in range(heads):
        for row in range(blocks.rows):
            blocks.add(chance.sample(range(blocks.columns), round(density * blocks.columns)), row, head)
    return blocks


def video_window(canvas, tile, window, block):
    """STA: tokens of a video in tiles (time x height x width), every tile sees the tiles of a window around it, which
    is moved inside at the borders. `canvas` and `tile` are in tokens, `window` in tiles."""
    grid = [size // step for size, step in zip(canvas, tile)]
    tokens = tile[0] * tile[1] * tile[2]
    parts = tokens // block
    assert parts * block == tokens and all(size * step == whole for size, step, whole in zip(grid, tile, canvas))
    blocks = Blocks(block, block, grid[0] * grid[1] * grid[2] * tokens)

    def around(position, axis):
        first = min(max(position - window[axis] // 2, 0), grid[axis] - window[axis])
        return range(first, first + window[axis])

    for row in range(blocks.rows):
        rest, x = divmod(row // parts, grid[2])
        time, y = divmod(rest, grid[1])
        seen = [(t * grid[1] + v) * grid[2] + u for t in around(time, 0) for v in around(y, 1) for u in around(x, 2)]
        blocks.add([other * parts + part for other in seen for part in range(parts)], row)
    return blocks
