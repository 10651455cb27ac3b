# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random hand-written schedules: the compiler takes them or says at the kernel why they do not fit."""
import attention
import regions
import schedule_fields
import spmm
from harness import check_refusal, describe

# Seconds that ptxas may take for one kernel on a busy machine.
MOST_SECONDS = 300
WGMMA_BLOCKS = [(64, 64), (128, 128), (256, 64), (128, 64), (128, 112)]
SPOILT_SHARE = 0.15


# A bounded score: exponents then have a fixed shift.
def soft_cap():
    region = regions.Region(attention.region_inputs("score", []))
    cap = region.constant(20.0)
    ratio = region.add("arith.divf", "f32", (0, cap))
    tanh = region.add("math.tanh", "f32", (ratio,), " fastmath<afn>")
    region.result = region.add("arith.mulf", "f32", (tanh, cap))
    return region


def random_kernel(rng, chip, name="k"):
    """A kernel with a schedule for the chip."""
    if rng.random() < 0.5:
        kernel = spmm.random_kernel(rng, name, tame=True, region_share=0.5)
        if schedule_fields.CHIPS[chip].has_wgmma and rng.random() < 0.7:
            kernel.block = rng.choice(WGMMA_BLOCKS)
        fields = schedule_fields.product(rng, chip, kernel.block)
    else:
        kernel = attention.random_kernel(rng, name, tame=True)
        if rng.random() < 0.4:
            kernel.score, kernel.mask, kernel.extras = soft_cap(), None, []
        fields = schedule_fields.attention(rng, chip, kernel.blocks, kernel.dimension)
    if rng.random() < SPOILT_SHARE:
        fields = schedule_fields.spoil(rng, fields)
    kernel.schedule = schedule_fields.attribute(fields)
    return kernel


def check_schedules(case):
    """The first of a few schedules that keeps the limits goes through ptxas; those before it are refused by name."""
    chip = schedule_fields.chip_of(case.number)
    for _ in range(8):
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
    if outcome.code == 1:
        case.expect("schedule expects one that ptxas takes, such as " in outcome.errors,
                    f"expects the attribute and what would fit, but got {describe(outcome)}")
    if outcome.code == 0:
        case.count("compiled")
        inspected = case.run("sparsec-run", "kernel.cubin", "--inspect")
        case.expect(inspected.code == 0, f"expects the runtime to read it, but got {describe(inspected)}")
