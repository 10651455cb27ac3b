# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fields of random hand-written schedules that keep the rules of dialect/SPEC.md and of the chips, as far as these
can be told without the kernel. Needs nothing but Python: test/device has such kernels, too."""
import collections
import pathlib
import re

TABLE = pathlib.Path(__file__).resolve().parents[2] / "compiler" / "target" / "Targets.def"

Chip = collections.namedtuple("Chip", "memory has_wgmma")  # bytes of shared memory for a CTA


def read_chips(text):
    """What schedules depend on, by the name of the chip: from the rows of the compiler's table."""
    rows = re.split(r"^\{$", text, flags=re.MULTILINE)[1:]
    return {re.search(r'\.name = "(\w+)"', row)[1]:
            Chip(int(re.search(r"\.sharedMemoryPerCta = (\d+)", row)[1]), "MatrixInstruction::Wgmma" in row)
            for row in rows}


CHIPS = read_chips(TABLE.read_text())


def chip_of(number):
    """The chip of a case. Every second case has a chip with wgmma, whose schedules have the most fields."""
    group = [name for name, chip in CHIPS.items() if chip.has_wgmma == (number % 2 == 0)]
    return group[number // 2 % len(group)]


def attribute(fields):
    return "#sparsec.schedule<" + ", ".join(f"{name} = {value}" for name, value in fields.items()) + ">"


def registers(rng, consumers):
    """For so many warpgroups of consumers, the producer gives up some of the registers of the launch."""
    threads = 128 * (consumers + 1)
    at_launch = min(65536 // threads, 255) // 8 * 8
    producer = rng.choice([count for count in (24, 32, 40, 56, 64, 128) if count <= at_launch])
    most = min((at_launch * (consumers + 1) - producer) // consumers // 8 * 8, 256)
    return {"producer_registers": producer, "consumer_registers": rng.choice([most, most, max(at_launch, most - 16)])}


def product_wgmma(rng, block):
    consumers_m = rng.choice([1, 2, 4]) if block[0] > 64 else 1
    consumers_n = rng.choice([1, 1, 2, 4])
    fields = {"instruction": "wgmma", "copy": "tma", "tile_m": 64 * consumers_m,
              "tile_n": consumers_n * rng.choice([64, 128, 192, 256]), "tile_k": 64, "stages": rng.randrange(2, 9),
              "consumers_m": consumers_m, "consumers_n": consumers_n, "cluster": rng.choice([1, 1, 2])}
    return {**fields, **(registers(rng, consumers_m * consumers_n) if rng.random() < 0.6 else {})}


def product_mma_sync(rng):
    consumers_m, consumers_n = rng.choice([1, 2, 4]), rng.choice([1, 2, 4, 8])
    fields = {"instruction": "mma_sync", "copy": rng.choice(["cp_async", "scalar"]),
              "tile_m": 16 * consumers_m * rng.choice([1, 1, 2, 4]),
              "tile_n": consumers_n * rng.choice([16, 32, 64, 128]), "tile_k": rng.choice([16, 32, 64, 128]),
              "stages": rng.randrange(2, 7), "consumers_m": consumers_m, "consumers_n": consumers_n}
    if consumers_m * consumers_n == 1 and rng.random() < 0.7:
        fields["slices"] = rng.choice([2, 3, 4, 8])
    return {**fields, **({"consumer_registers": 8 * rng.randrange(3, 32)} if rng.random() < 0.3 else {})}


def attention_wgmma(rng, blocks, dimension):
    queries, keys = blocks or (128, 128)
    tile_m, tiles = rng.choice([64, queries]), rng.randrange(1, 5)
    fields = {"instruction": "wgmma", "copy": "tma", "tile_m": tile_m, "tile_n": rng.choice([keys, 128]),
              "tile_k": dimension, "stages": rng.randrange(3, 9), "consumers_m": tile_m // 64, "consumers_n": 1,
              "concurrent_tiles": tiles}
    return {**fields, **(registers(rng, tile_m // 64 * tiles) if rng.random() < 0.7 else {})}


def attention_mma_sync(rng, blocks, dimension):
    queries, keys = blocks or (128, 128)
    tile_m = rng.choice([64, queries])
    fields = {"instruction": "mma_sync", "copy": rng.choice(["cp_async", "cp_async", "scalar"]), "tile_m": tile_m,
              "tile_n": 32 * rng.choice([step for step in (1, 2, 4) if keys % (32 * step) == 0]),
              "tile_k": dimension, "stages": rng.randrange(2, 6), "consumers_m": tile_m // 16, "consumers_n": 1}
    return {**fields, **({"consumer_registers": 8 * rng.randrange(3, 32)} if rng.random() < 0.3 else {})}


def product(rng, chip, block):
    """For a product with blocks of this size."""
    def draw():
        is_wgmma = CHIPS[chip].has_wgmma and min(block) >= 64 and rng.random() < 0.7
        fields = finish(rng, product_wgmma(rng, block) if is_wgmma else product_mma_sync(rng))
        ring = fields["stages"] * fields["tile_k"] * (fields["tile_m"] + fields["tile_n"])
        results = fields["tile_m"] * fields["tile_n"]
        is_whole = fields["tile_k"] <= block[1] or fields["tile_k"] % block[1] == 0
        return fields, is_whole and fits(chip, fields, elements=ring, values=results)
    return draw_until(draw)


def attention(rng, chip, blocks, dimension):
    """For attention with blocks of the pattern, or None, and a head dimension."""
    def draw():
        choose = attention_wgmma if CHIPS[chip].has_wgmma and rng.random() < 0.7 else attention_mma_sync
        fields = finish(rng, choose(rng, blocks, dimension))
        tiles = fields.get("concurrent_tiles", 1)
        rings = 1 if fields["copy"] == "tma" else 2
        elements = tiles * dimension * (2 * fields["tile_m"] + rings * fields["stages"] * fields["tile_n"])
        # Sums, scores and probabilities.
        values = tiles * fields["tile_m"] * (dimension + fields["tile_n"] * 3 // 2)
        return fields, fits(chip, fields, elements, values)
    return draw_until(draw)


def draw_until(draw):
    """Most of what is drawn should fit; what does not is refused by name."""
    for _ in range(50):
        fields, is_good = draw()
        if is_good:
            break
    return fields


def fits(chip, fields, elements, values):
    """Whether 16-bit elements in shared memory and 32-bit values of the consumers leave room for the rest."""
    ctas, tiles = fields.get("ctas_per_sm", 1), fields.get("concurrent_tiles", 1)
    consumers = fields["consumers_m"] * fields["consumers_n"] * tiles
    is_wgmma = fields["instruction"] == "wgmma"
    consumer_threads = consumers * (128 if is_wgmma else 32)
    threads = consumer_threads + (128 if is_wgmma else 0)
    at_launch = min(65536 // (threads * ctas), 255) // 8 * 8
    counts = [fields.get("producer_registers", 0), fields.get("consumer_registers", 0)]
    if is_wgmma and counts[1] and not counts[0] <= at_launch <= counts[1]:
        return False
    if 128 * counts[0] + consumer_threads * counts[1] > at_launch * threads:
        return False
    # A small part is for barriers.
    memory = CHIPS[chip].memory * 31 // 32
    return (threads <= 1024 and 2 * elements * ctas <= memory
            and values // consumer_threads + 40 <= (counts[1] or at_launch))


def finish(rng, fields):
    """What every schedule may have."""
    if rng.random() < 0.4:
        fields["group_m"] = rng.choice([1, 8, 16, 128, 65536])
    if rng.random() < 0.3:
        fields["ctas_per_sm"] = rng.choice([1, 2, 3, 4])
    return fields


def spoil(rng, fields):
    """The same with a field that is off."""
    name = rng.choice([name for name in fields if name not in ("instruction", "copy")])
    return {**fields, name: rng.choice([1, 16, 48, 96, 320, 2 ** 16, 2 ** 32, 2 ** 60])}
