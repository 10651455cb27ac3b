# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random hand-written schedules that keep the rules of dialect/SPEC.md and of the chips, as far as these can be told
from an attribute alone. The compiler takes them or says at the kernel why they do not fit."""
import attention
import regions
import spmm
from harness import check_refusal, describe

CHIPS = ["sm_90a", "sm_89"]
# Seconds that ptxas may take for one kernel on a busy machine.
MOST_SECONDS = 300


def attribute(fields):
    return "#sparsec.schedule<" + ", ".join(f"{name} = {value}" for name, value in fields.items()) + ">"


def registers(rng):
    return {"producer_registers": rng.choice([24, 32, 40, 56, 64, 128]),
            "consumer_registers": rng.choice([24, 80, 112, 152, 160, 168, 216, 232, 240])}


def spmm_wgmma(rng, block):
    consumers_m = rng.choice([1, 2, 4]) if block[0] > 64 else 1
    consumers_n = rng.choice([1, 1, 2, 4])
    fields = {"instruction": "wgmma", "copy": "tma", "tile_m": 64 * consumers_m,
              "tile_n": consumers_n * rng.choice([64, 128, 192, 256]), "tile_k": 64, "stages": rng.randrange(2, 9),
              "consumers_m": consumers_m, "consumers_n": consumers_n, "cluster": rng.choice([1, 1, 2])}
    return {**fields, **(registers(rng) if rng.random() < 0.6 else {})}


def spmm_mma_sync(rng, block):
    consumers_m, consumers_n = rng.choice([1, 2, 4]), rng.choice([1, 2, 4, 8])
    fields = {"instruction": "mma_sync", "copy": rng.choice(["cp_async", "gather"]),
              "tile_m": 16 * consumers_m * rng.choice([1, 1, 2, 4]),
              "tile_n": consumers_n * rng.choice([16, 32, 64, 128]), "tile_k": rng.choice([16, 32, 64, 128]),
              "stages": rng.randrange(2, 7), "consumers_m": consumers_m, "consumers_n": consumers_n}
    return {**fields, **({"consumer_registers": 8 * rng.randrange(3, 32)} if rng.random() < 0.3 else {})}


def attention_wgmma(rng, kernel):
    queries, keys = kernel.blocks or (128, 128)
    tile_m = rng.choice([64, queries])
    fields = {"instruction": "wgmma", "copy": "tma", "tile_m": tile_m, "tile_n": rng.choice([keys, 128]),
              "tile_k": kernel.dimension, "stages": rng.randrange(3, 9), "consumers_m": tile_m // 64, "consumers_n": 1,
              "tiles_per_cta": rng.randrange(1, 5)}
    return {**fields, **(registers(rng) if rng.random() < 0.7 else {})}


def attention_mma_sync(rng, kernel):
    queries, keys = kernel.blocks or (128, 128)
    tile_m = rng.choice([64, queries])
    fields = {"instruction": "mma_sync", "copy": "cp_async", "tile_m": tile_m,
              "tile_n": 32 * rng.choice([step for step in (1, 2, 4) if keys % (32 * step) == 0]),
              "tile_k": kernel.dimension, "stages": rng.randrange(2, 6), "consumers_m": tile_m // 16, "consumers_n": 1}
    return {**fields, **({"consumer_registers": 8 * rng.randrange(3, 32)} if rng.random() < 0.3 else {})}


def finish(rng, fields):
    """What every schedule may have; and now and then a field that is off."""
    if rng.random() < 0.4:
        fields["raster"] = rng.choice([1, 8, 16, 128, 65536])
    if rng.random() < 0.3:
        fields["ctas_per_sm"] = rng.choice([1, 2, 3, 4])
    if rng.random() < 0.15:
        name = rng.choice([name for name in fields if name not in ("instruction", "copy")])
        fields[name] = rng.choice([1, 16, 48, 96, 320, 2 ** 16, 2 ** 32, 2 ** 60])
    return attribute(fields)


# A bounded score: teams of warpgroups then take turns, and wait for one another.
def soft_cap():
    region = regions.Region(attention.region_inputs("score", []))
    cap = region.constant(20.0)
    ratio = region.add("arith.divf", "f32", (0, cap))
    tanh = region.add("math.tanh", "f32", (ratio,), " fastmath<afn>")
    region.result = region.add("arith.mulf", "f32", (tanh, cap))
    return region


def random_kernel(rng, chip, name="k"):
    """A kernel with a schedule for the chip."""
    is_wgmma = chip == "sm_90a" and rng.random() < 0.7
    if rng.random() < 0.5:
        kernel = spmm.random_kernel(rng, name, tame=True, region_share=0.5)
        if is_wgmma:
            kernel.block = rng.choice([(64, 64), (128, 128), (256, 64), (128, 64), (128, 112)])
        fields = (spmm_wgmma if is_wgmma else spmm_mma_sync)(rng, kernel.block)
    else:
        kernel = attention.random_kernel(rng, name, tame=True)
        if rng.random() < 0.4:
            kernel.score, kernel.mask, kernel.extras = soft_cap(), None, []
        fields = (attention_wgmma if is_wgmma else attention_mma_sync)(rng, kernel)
    kernel.schedule = finish(rng, fields)
    return kernel


def check_schedules(case):
    """The first of a few schedules that keeps the limits goes through ptxas; those before it are refused by name."""
    chip = case.rng.choice(CHIPS)
    for _ in range(5):
        kernel = random_kernel(case.rng, chip)
        family = "attention" if isinstance(kernel, attention.Kernel) else "product"
        (case.folder / "kernel.mlir").write_text(kernel.text())
        outcome = case.run("sparsec", "kernel.mlir", f"--arch={chip}", "--emit=schedule", "-o", "schedule.mlir")
        check_refusal(case, outcome)
        if outcome.code == 0:
            break
        case.count(f"{chip} {family} refused by name")
    else:
        return
    outcome = case.run("sparsec", "kernel.mlir", f"--arch={chip}", "-o", "kernel.cubin", seconds=MOST_SECONDS)
    check_refusal(case, outcome)
    case.count(f"{chip} {family} " + {0: "compiled", 1: "refused after ptxas"}.get(outcome.code, "failed"))
    if outcome.code == 0:
        case.count("compiled")
        inspected = case.run("sparsec-run", "kernel.cubin", "--inspect")
        case.expect(inspected.code == 0, f"expects the runtime to read it, but got {describe(inspected)}")
