# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without a schedule of their own, for GPUs: whatever their regions hold, a schedule is found that ptxas takes
as it is."""
import attention
import regions
import spmm
from harness import describe
from schedule_fields import CHIPS

DIMENSIONS = [64, 128]
KERNELS_PER_MODULE = 5
MOST_OPS = 20
# Seconds for a module on a busy machine.
MOST_SECONDS = 600

FLOAT_OPS = list(regions.FLOAT_OPS)
EVERY_OP = FLOAT_OPS + [name for name in regions.INTEGER_OPS if name not in FLOAT_OPS]
# Every op alone, in each region that takes it, for each head dimension.
ALONE = [(kind, op, dimension) for op in EVERY_OP for kind in ("score", "mask") for dimension in DIMENSIONS]
ALONE += [("epilogue", op, None) for op in FLOAT_OPS]


def region_of(rng, kind, extras, count, last_op=None):
    """A region of so many ops, without those that load and widen extra operands and keep ops defined."""
    if kind == "epilogue":
        region = regions.Region(spmm.region_inputs(extras))
        generator = regions.Generator(rng, region, integers=False, tame=False)
        for number, (_, dtype) in enumerate(region.inputs):
            if dtype != "f32":
                generator.unused.append(region.add("arith.extf", "f32", (number,)))
    else:
        region = regions.Region(attention.region_inputs(kind, extras))
        generator = regions.Generator(rng, region, integers=True, tame=False)
        for extra in extras:
            generator.unused.append(attention.add_load(region, extra))
    return generator.fill(count, "i1" if kind == "mask" else "f32", last_op)


def kernel_alone(rng, name, kind, op, dimension):
    if kind == "epilogue":
        kernel = spmm.random_kernel(rng, name, tame=False, region_share=0)
        kernel.extras, kernel.region = [], region_of(rng, kind, [], 1, op)
        return kernel
    kernel = attention.random_kernel(rng, name, kinds=[])
    kernel.dimension, kernel.extras = dimension, []
    setattr(kernel, kind, region_of(rng, kind, [], 1, op))
    return kernel


def random_kernel(rng, name):
    """All options, and trees of up to MOST_OPS ops."""
    if rng.random() < 0.4:
        kernel = spmm.random_kernel(rng, name, tame=False, region_share=0)
        kernel.region = region_of(rng, "epilogue", kernel.extras, rng.randrange(1, MOST_OPS + 1))
        return kernel
    kinds = rng.choice([["score"], ["mask"], ["score", "mask"]])
    kernel = attention.random_kernel(rng, name, kinds=kinds)
    for kind in kinds:
        setattr(kernel, kind, region_of(rng, kind, kernel.extras, rng.randrange(1, MOST_OPS + 1)))
    return kernel


def kernels_of(case):
    """Chips take turns. Modules of single ops and modules of trees alternate, from chip to chip and for each chip from
    turn to turn, until each op had its turn on each chip."""
    turn, is_tree = case.number // len(CHIPS) // 2, (case.number // len(CHIPS) + case.number % len(CHIPS)) % 2
    alone = ALONE[turn * KERNELS_PER_MODULE:][:KERNELS_PER_MODULE]
    if alone and not is_tree:
        return [kernel_alone(case.rng, f"k{index}", *which) for index, which in enumerate(alone)]
    return [random_kernel(case.rng, f"k{index}") for index in range(KERNELS_PER_MODULE)]


def check_chips(case):
    chip, kernels = list(CHIPS)[case.number % len(CHIPS)], kernels_of(case)
    (case.folder / "kernels.mlir").write_text("\n".join(kernel.text() for kernel in kernels))
    outcome = case.run("sparsec", "kernels.mlir", f"--arch={chip}", "-o", "kernels.cubin", seconds=MOST_SECONDS)
    case.expect(outcome.code == 0 and not outcome.errors,
                f"expects the compiler to take the kernels without a warning: {describe(outcome)}")
    case.count(f"{chip} kernels", len(kernels))
    case.count("kernels", len(kernels))
