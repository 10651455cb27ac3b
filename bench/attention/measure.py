#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention kernels next to cuDNN (torch's scaled_dot_product_attention), or next to compiled FlexAttention, in
one process, and checks them.

Useful TFLOP/s count the pairs of queries and keys that the lists and limits leave. What a case is compared with (cuDNN
on all keys, or the same kernel on something simpler) is timed in turns with it. Errors are those of sampled rows
against double precision: the largest, and the root of the mean square in proportion to that of the result.

The kernels: the target bench-kernels, or test/device/build_kernels.sh --sources bench/attention --arch sm_90a,sm_89
--out DIR. The runtime as a shared library: cmake -DBUILD_SHARED_LIBS=ON
"""
import argparse
import json
import pathlib
import sys
import time

from cases import CAP, FIRST_KEYS, GROUPS, NEAR_KEYS
from groups import parser_of
from runtime import DeviceLists, Runtime, dense

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

from torch_timer import Timer

SOURCES = pathlib.Path(__file__).resolve().parent


class Problem:
    """The tensors of a case, and what its results should be."""

    def __init__(self, torch, case):
        self.torch, self.case = torch, case
        torch.manual_seed(1)
        dtype = getattr(torch, case.dtype)

        def normal(heads, size=1.0):
            return (size * torch.randn(case.batches, heads, case.sequence, case.dimension, device="cuda")).to(dtype)

        self.q, self.k, self.v = normal(case.heads, case.spread), normal(case.key_heads), normal(case.key_heads)
        self.output = torch.empty_like(self.q)
        self.lists = DeviceLists(torch, case.blocks) if case.blocks else None
        self.operand = None
        if case.region == "alibi":
            self.operand = torch.tensor([2 ** (-8 * (head + 1) / case.heads) for head in range(case.heads)]).cuda()
        if case.region == "documents":
            lengths = torch.tensor(case.lengths)
            numbers = torch.arange(len(lengths), dtype=torch.int32).repeat_interleave(lengths)
            self.operand = numbers.repeat(case.batches, 1).cuda()

    def arguments(self):
        lists = [self.lists.view()] if self.lists else []
        operands = [dense(self.operand)] if self.operand is not None else []
        return [*(dense(tensor) for tensor in (self.q, self.k, self.v)), *lists, *operands, dense(self.output)]

    def cudnn(self):
        """A call of cuDNN on all keys (causal: all keys before), and its tensors. It gets a head of keys for every
        head of queries."""
        shared = self.case.heads // self.case.key_heads
        k, v = (tensor.repeat_interleave(shared, 1) if shared > 1 else tensor for tensor in (self.k, self.v))
        attention = self.torch.nn.functional.scaled_dot_product_attention
        return lambda: attention(self.q, k, v, is_causal=self.case.causal)

    def flex(self):
        """A call of compiled FlexAttention with the mask and the score of the case."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        torch, case = self.torch, self.case

        def mask(batch, head, query, key):
            visible = query >= key
            if case.region == "documents":
                visible = visible & (self.operand[batch, query] == self.operand[batch, key])
            if case.region == "first_keys":
                visible = visible & ((query - key < NEAR_KEYS) | (key < FIRST_KEYS))
            return visible

        def score(value, batch, head, query, key):
            return CAP * torch.tanh(value / CAP) if case.region == "softcap" else value

        lists = create_block_mask(mask, None, None, case.sequence, case.sequence, device="cuda", BLOCK_SIZE=128)
        attention = torch.compile(flex_attention, dynamic=False)
        return lambda: attention(self.q, self.k, self.v, score_mod=score, block_mask=lists)

    def sample(self, count=16):
        """Some batches and heads, and some of their queries."""
        generator = self.torch.Generator().manual_seed(2)

        def numbers(limit, wanted):
            return self.torch.randperm(limit, generator=generator)[:wanted].sort()[0]

        for index in numbers(self.case.batches * self.case.heads, 4).tolist():
            batch, head = divmod(index, self.case.heads)
            yield batch, head, numbers(self.case.sequence, count).cuda()

    def visible(self, batch, head, rows):
        """Which keys the queries see, rows x S."""
        torch, case = self.torch, self.case
        keys = torch.arange(case.sequence, device="cuda")
        mask = torch.ones(len(rows), case.sequence, dtype=torch.bool, device="cuda")
        if case.region == "relative":
            mask = ((rows[:, None] - keys + head) & 3) != 1
        if case.region == "first_keys":
            mask = (rows[:, None] - keys < NEAR_KEYS) | (keys < FIRST_KEYS)
        if case.region == "documents":
            mask = self.operand[batch, rows][:, None] == self.operand[batch]
        if case.blocks:
            mask = self.blocks_of(case.blocks.full, head, rows) | self.blocks_of(case.blocks.partial, head, rows) & mask
        if case.causal:
            mask &= keys <= rows[:, None]
        if case.window:
            mask &= keys > rows[:, None] - case.window
        return mask

    def blocks_of(self, lists, head, rows):
        """Which keys are in blocks of the lists, rows x S."""
        blocks = self.case.blocks
        first = (head if blocks.heads > 1 else 0) * blocks.rows
        states = self.torch.zeros(len(rows), blocks.columns, dtype=self.torch.bool)
        for index, row in enumerate(rows.tolist()):
            columns = lists[first + row // blocks.query_block]
            states[index, self.torch.tensor(columns, dtype=self.torch.int64)] = True
        return states.cuda().repeat_interleave(blocks.key_block, 1)[:, :self.case.sequence]

    def exact(self, batch, head, rows):
        """The result for these queries in double, rows x D."""
        torch, case = self.torch, self.case
        key_head = head * case.key_heads // case.heads
        scores = self.q[batch, head, rows].double() @ self.k[batch, key_head].double().T / case.dimension ** 0.5
        if case.region == "softcap":
            scores = CAP * torch.tanh(scores / CAP)
        if case.region == "alibi":
            distance = torch.arange(case.sequence, device="cuda") - rows[:, None]
            scores = scores + self.operand[head].double() * distance
        scores = scores.masked_fill(~self.visible(batch, head, rows), float("-inf"))
        # A query that sees nothing has NaN here, and zeros as its result.
        return torch.softmax(scores, 1).nan_to_num(0) @ self.v[batch, key_head].double()

    def errors(self, output):
        """The largest error of sampled rows, and the root mean square in proportion to the result's."""
        largest, squares, result_squares = 0.0, 0.0, 0.0
        for batch, head, rows in self.sample():
            exact = self.exact(batch, head, rows)
            error = output[batch, head, rows].double() - exact
            # NaN is as wrong as can be.
            largest = max(largest, error.abs().nan_to_num(float("inf")).max().item())
            squares += error.square().sum().nan_to_num(float("inf")).item()
            result_squares += exact.square().sum().item()
        return {"max": largest, "relative": (squares / result_squares) ** 0.5}


class Bench:
    def __init__(self, torch, runtime, options):
        self.torch, self.runtime, self.options = torch, runtime, options
        self.timer = Timer(torch, options.repeats)
        self.results = []

    def kernel_file(self, case):
        return self.options.kernels / case.arch / f"{case.kernel}.cubin"

    def launcher(self, problem):
        """A launch of the case's kernel, its plan, and the milliseconds that the plan took."""
        kernel, arguments = self.runtime.load(self.kernel_file(problem.case)), problem.arguments()
        plan, start = None, time.perf_counter()
        if self.options.plan != "without":
            plan = self.runtime.plan(kernel, arguments, with_lists=self.options.plan == "with")
        plan_milliseconds = (time.perf_counter() - start) * 1e3
        workspace = None
        if plan and (size := self.runtime.workspace_bytes(plan)):
            workspace = self.torch.zeros(size, dtype=self.torch.uint8, device="cuda")
        stream = self.torch.cuda.current_stream().cuda_stream
        launch = self.runtime.launcher(kernel, plan, arguments, stream, workspace)
        return launch, plan, plan_milliseconds

    def run(self, group, case):
        problem = Problem(self.torch, case)
        cudnn = problem.cudnn()
        launch, plan, plan_milliseconds = self.launcher(problem)
        other, other_plan, other_problem = problem.flex() if case.flex else cudnn, None, None
        if case.baseline:
            other_problem = Problem(self.torch, case.baseline)
            other, other_plan, _ = self.launcher(other_problem)
        own, baseline = self.timer.milliseconds(launch, other)
        result = {"group": group, "case": case.label, "kernel": case.kernel, "arch": case.arch,
                  "density": case.blocks.density() if case.blocks else None, "milliseconds": own,
                  "baseline": self.baseline_of(case), "baseline_milliseconds": baseline,
                  "tflops": case.operations / own / 1e9,
                  "baseline_tflops": self.operations_of_baseline(case) / baseline / 1e9,
                  "time_ratio": own / baseline, "error": problem.errors(problem.output)}
        result["ratio"] = result["tflops"] / result["baseline_tflops"]
        if plan:
            result["plan_milliseconds"] = plan_milliseconds
        if case.is_plain:
            result["cudnn_error"] = problem.errors(cudnn())
        result["goals"] = self.goals(case, result)
        self.results.append(result)
        for each in filter(None, (plan, other_plan)):
            self.runtime.destroy_plan(each)
        return result

    @staticmethod
    def baseline_of(case):
        return case.baseline.label if case.baseline else "FlexAttention" if case.flex else "cuDNN"

    @staticmethod
    def operations_of_baseline(case):
        if case.flex:
            return case.operations
        return case.baseline.operations if case.baseline else case.cudnn_operations

    @staticmethod
    def goals(case, result):
        """What was to be reached, and whether it was."""
        goals = []
        if case.least_ratio:
            goals.append((f"ratio >= {case.least_ratio:.2f}", result["ratio"] >= case.least_ratio))
        if case.most_time:
            goals.append((f"time <= {case.most_time:g} x", result["time_ratio"] <= case.most_time))
        if case.least_tflops:
            goals.append((f">= {case.least_tflops:g} TFLOP/s", result["tflops"] >= case.least_tflops))
        if case.compares_errors:
            # The errors come from a few hundred numbers: a smaller difference than this is luck.
            goals.append(("error <= cuDNN's", result["error"]["relative"] <= 1.02 * result["cudnn_error"]["relative"]))
        return [{"goal": goal, "met": met} for goal, met in goals]


def text_of_error(error):
    return f"{error['max']:.1e} {error['relative']:.1e}" if error else f"{'':15}"


def print_heading(group):
    print(f"{group:35} {'ms':>7} {'TFLOP/s':>7} {'baseline':>8} {'ratio':>6} {'time':>5}  {'error: max rms':15} "
          "cuDNN: max rms")


def print_result(result):
    rates = (f"{result['tflops']:7.0f} {result['baseline_tflops']:8.0f} {result['ratio']:6.3f} "
             f"{result['time_ratio']:5.2f}")
    errors = f"{text_of_error(result['error'])} {text_of_error(result.get('cudnn_error'))}"
    goals = "; ".join(f"{goal['goal']}{'' if goal['met'] else ' MISSED'}" for goal in result["goals"])
    print(f"  {result['case']:33} {result['milliseconds']:7.3f} {rates}  {errors} {goals}".rstrip(), flush=True)


def describe(group, case):
    """A case in words, for --dry-run."""
    missing = "" if (SOURCES / f"{case.kernel}.mlir").exists() else "  NO SUCH SOURCE"
    blocks = f"{case.blocks.count()} blocks, density {case.blocks.density():.3f}" if case.blocks else "no lists"
    print(f"{group:9} {case.label:35} {case.arch:7} {case.kernel:43} B {case.batches} H {case.heads}/{case.key_heads} "
          f"S {case.sequence} {blocks}, {case.operations / 1e12:.3f} TFLOP, baseline "
          f"{Bench.baseline_of(case)}{missing}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=pathlib.Path, help="folder of the compiled kernels, one folder a chip in it")
    parser.add_argument("--runtime", type=pathlib.Path, help="libsparsec_runtime.so")
    parser.add_argument("--cases", type=parser_of(GROUPS), default=list(GROUPS),
                        help=f"groups of cases, separated by commas (default: {','.join(GROUPS)})")
    parser.add_argument("--plan", choices=["with", "sizes", "without"], default="without", help="launch with plans for "
                        "the lists, with plans for the sizes alone, whose lists may change, or without (the default)")
    parser.add_argument("--json", type=pathlib.Path, help="file to write the results to")
    parser.add_argument("--repeats", type=int, default=11, help="timed launches of each case (default: 11)")
    parser.add_argument("--dry-run", action="store_true", help="list the cases; needs neither torch nor a GPU")
    options = parser.parse_args()
    if not options.dry_run and not (options.kernels and options.runtime):
        parser.error("expects --kernels and --runtime, or --dry-run")
    return options


def main():
    options = parse_options()
    if options.dry_run:
        for group in options.cases:
            for case in GROUPS[group]():
                describe(group, case)
        return
    import torch  # late: --help and --dry-run work without it
    import torch.nn.attention
    bench = Bench(torch, Runtime(options.runtime), options)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        for group in options.cases:
            print_heading(group)
            for case in GROUPS[group]():
                if bench.kernel_file(case).exists():
                    print_result(bench.run(group, case))
                else:
                    print(f"  {case.label:33} skipped: no {bench.kernel_file(case)}")
                torch.cuda.empty_cache()
    if options.json:
        result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                  "cudnn": torch.backends.cudnn.version(), "plan": options.plan, "cases": bench.results}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
