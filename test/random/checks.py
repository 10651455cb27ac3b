# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The random tests of kernels that run on the host: regions, and whole kernels."""
import numpy as np

import attention
import regions
import spmm
from harness import describe

KERNELS_PER_MODULE = 6
# A module is compiled at once, its kernels run one after the other.


def compile_module(case, kernels):
    (case.folder / "kernels.mlir").write_text("\n".join(kernel.text() for kernel in kernels))
    outcome = case.run("sparsec", "kernels.mlir", "--arch=host", "-o", "kernels.o")
    return case.expect(outcome.code == 0, f"expects the compiler to take the kernels: {describe(outcome)}")


def run_kernel(case, kernel, problem, results, check=False):
    """Runs one kernel and compares its results with what they may be."""
    folder = kernel.name
    (case.folder / folder).mkdir()
    arguments = [f"--arg={argument}" for argument in problem.save(case.folder, folder)]
    outputs = [f"--out={name}={folder}/{name}.npy" for name in results]
    modes = ["--no-plan"] if case.rng.random() < 0.3 else []
    modes += ["--check=all"] if check else []
    outcome = case.run("sparsec-run", "kernels.o", f"--kernel={kernel.name}", "--device=host", "--repeat=0", *modes,
                       *arguments, *outputs)
    if not case.expect(outcome.code == 0, f"{kernel.name}: expects it to run, but got {describe(outcome)}"):
        return
    expected = problem.expected()
    for name in results:
        got = np.load(case.folder / folder / f"{name}.npy").astype(np.float64)
        compare(case, f"{kernel.name}: {name}", got, expected[name])


def compare(case, name, got, expected):
    if not case.expect(got.shape == expected.lo.shape, f"{name}: shape {got.shape}, expects {expected.lo.shape}"):
        return
    with np.errstate(invalid="ignore"):
        width = expected.hi - expected.lo
        size = np.maximum(np.abs(expected.lo), np.abs(expected.hi))
    sharp = expected.is_point() | (~expected.nan & (width <= 0.02 * size + 1e-30))
    case.count("elements", got.size)
    case.count("sharp", int(sharp.sum()))
    wrong = np.argwhere(~expected.contains(got))
    if len(wrong):
        place = tuple(map(int, wrong[0]))
        nan = " or NaN" if expected.nan[place] else ""
        case.failures.append(f"{name}: {len(wrong)} of {got.size} elements are wrong, the first at {place}: "
                             f"{got[place]}, expects {expected.lo[place]} to {expected.hi[place]}{nan}")


def check_regions(case):
    """Regions of any ops on everything that there is. Case after case has another op as the last one, so that each is
    in a region whose result depends on it."""
    float_ops = list(regions.FLOAT_OPS)
    every_op = float_ops + [name for name in regions.INTEGER_OPS if name not in float_ops]
    kernels, problems = [], []
    for index in range(KERNELS_PER_MODULE):
        number = case.number * KERNELS_PER_MODULE + index
        if index % 3 == 2:  # score and mask of attention
            op = every_op[number // 3 % len(every_op)]
            kind = case.rng.choice([["score"], ["mask"], ["score", "mask"]])
            kernel = attention.random_kernel(case.rng, f"k{index}", tame=False, kinds=kind, last_op=op)
            problems.append(attention.DiagonalProblem(case.rng, kernel, case.numbers))
        else:
            op = float_ops[number % len(float_ops)]
            kernel = spmm.random_kernel(case.rng, f"k{index}", tame=False, last_op=op)
            kernel.result = case.rng.choice(["f32", "f32", "f32", "bf16", "f16"])
            problems.append(spmm.IdentityProblem(case.rng, kernel, case.numbers))
        case.count(op)
        kernels.append(kernel)
    if compile_module(case, kernels):
        for kernel, problem in zip(kernels, problems):
            run_kernel(case, kernel, problem, problem.results())


def check_kernels(case):
    """Whole kernels of all shapes, of which the reference of the runtime must say the same."""
    kernels, problems = [], []
    for index in range(KERNELS_PER_MODULE):
        if index % 2:
            kernel = attention.random_kernel(case.rng, f"k{index}")
            problem = attention.general_problem(case.rng, kernel, case.numbers)
        else:
            kernel = spmm.random_kernel(case.rng, f"k{index}", tame=True, extremes=True)
            problem = spmm.general_problem(case.rng, kernel, case.numbers)
        kernels.append(kernel)
        problems.append(problem)
    if compile_module(case, kernels):
        for kernel, problem in zip(kernels, problems):
            run_kernel(case, kernel, problem, problem.results(), check=True)
