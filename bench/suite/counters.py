# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hardware counters of a kernel, by Nsight Compute (ncu)."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Results call a counter by the key; ncu calls it by the value.
METRICS = {
    "duration_ns": "gpu__time_duration.sum",
    "sm_throughput_pct": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor_pipe_pct": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram_throughput_pct": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_bytes": "dram__bytes.sum",
    "l2_throughput_pct": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_hit_rate_pct": "lts__t_sector_hit_rate.pct",
    "occupancy_achieved_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "occupancy_theoretical_pct": "sm__maximum_warps_per_active_cycle_pct",
    "registers": "launch__registers_per_thread",
    "shared_memory_bytes": "launch__shared_mem_per_block",
    "branch_efficiency_pct": "smsp__sass_average_branch_targets_threads_uniform.pct",
}
WARMUPS = 4  # launches of sparsec-bench before those that it times


def ncu_command(ncu: str, metrics: Sequence[str], log: Path) -> list[str]:
    """Counts one launch of a product kernel, with clocks as they are. Its caches are flushed before every pass."""
    return [ncu, "--csv", "--page=raw", "--print-units=base", "--clock-control=none", "--cache-control=all",
            "--kernel-name=regex:^spmm", f"--launch-skip={WARMUPS}", "--launch-count=1",
            f"--metrics={','.join(metrics)}", f"--log-file={log}", "--force-overwrite"]  # fmt: skip


def parse(text: str) -> dict[str, Any]:
    """The counters in the output of ncu: a line of names, of units, and of the kernel. Empty without them."""
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        return {}
    rows = list(csv.DictReader(lines[begin:]))
    if len(rows) < 2:
        return {}
    values = rows[1]
    titles = {"kernel": "Kernel Name", "grid": "Grid Size", "cta": "Block Size"}
    found: dict[str, Any] = {name: values.get(title, "") for name, title in titles.items()}
    for name, metric in METRICS.items():
        try:
            found[name] = float(values[metric].replace(",", ""))
        except (KeyError, ValueError):  # not there, or "n/a"
            found[name] = None
    return found


def count(ncu: str, command: Sequence[str], log: Path, run: Callable[[Sequence[str]], int]) -> dict[str, Any]:
    """The counters of the kernel that a command launches, or a failure. `run` runs a command and gives its exit code.

    Metrics that ncu does not know are left out.
    """
    metrics, text = list(METRICS.values()), ""
    for _ in range(3):
        log.unlink(missing_ok=True)
        try:
            code = run([*ncu_command(ncu, metrics, log), *command])
        except OSError as error:
            return {"failure": f"{ncu}: {error.strerror}"}
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        found = parse(text)
        if found:
            return {"counters": found}
        unknown = [metric for metric in metrics if metric in text]
        if not unknown:
            break
        metrics = [metric for metric in metrics if metric not in unknown]
    last = (text.strip().splitlines() or [f"{ncu} ended with code {code} and said nothing"])[-1]
    return {"failure": last}
