#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures block-sparse products of sparsec and of other libraries beside the dense product, each library in a process
of its own, and adds every result to one file as a line of JSON. Cases that the file has are left out: an ended run goes
on where it stopped. profiles.py has the cases of the profiles.

    bench/suite/measure.py --programs build/release/bin --kernels DIR --out results.jsonl [--profile=quick]
        [--time-limit=360]

The programs are sparsec-bench and sparsec-mask, DIR is from the target bench-kernels. Other libraries need torch, the
counters need ncu. A line has one of these under "record": "session" (machine, driver, commit, command, date), "result",
"counters" (of a kernel, by ncu), and "failure": a case that a library refused, got wrong, or did not finish, and why.
"""

import argparse
import contextlib
import datetime
import json
import os
import queue
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import counters
import profiles
from profiles import Case

HERE = Path(__file__).resolve().parent
CASE_SECONDS = 120  # for one case of another library
MACHINE = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem", "power.limit")
CLOCKS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
CLOCK_NAMES = ("sm_mhz", "memory_mhz", "power_w", "celsius")


class TimeIsUp(Exception):
    """The time limit of the suite has passed."""


class Results:
    """The file of results. A line that an ended run left unfinished is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            whole = [line for line in lines if line.endswith("\n")]
            self.records = [json.loads(line) for line in whole]
            path.write_text("".join(whole), encoding="utf-8")

    def done(self, retry_failures: bool) -> set[tuple[str, str]]:
        """The libraries and keys of cases that need no measurement."""
        kinds = {"result", "counters"} if retry_failures else {"result", "counters", "failure"}
        return {(each["library"], each["key"]) for each in self.records if each["record"] in kinds}

    def add(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def output_of(command: Sequence[str]) -> str:
    """What a command prints, or nothing when it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


class Clocks:
    """Samples of clocks and power, ten times a second."""

    def __init__(self, program: str) -> None:
        self.samples: list[tuple[float, list[float]]] = []
        self.process: subprocess.Popen[str] | None = None
        command = [program, f"--query-gpu={','.join(CLOCKS)}", "--format=csv,noheader,nounits", "--loop-ms=100"]
        try:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return
        self.reader = threading.Thread(target=self.read, args=(self.process,), daemon=True)
        self.reader.start()

    def read(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            try:
                self.samples.append((time.monotonic(), [float(word) for word in line.split(",")]))
            except ValueError:  # a value that this card does not tell
                continue

    def since(self, begin: float) -> dict[str, list[float]]:
        """Least, median and most of each number since a time; empty when there is no sample."""
        rows = [values for moment, values in self.samples if moment >= begin]
        return {name: [min(column), statistics.median(column), max(column)]
                for name, column in zip(CLOCK_NAMES, zip(*rows, strict=True), strict=False)}  # fmt: skip

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.reader.join()
            if self.process.stdout:
                self.process.stdout.close()


def sparsec_command(options: argparse.Namespace, cases: Sequence[Case], launches: int) -> list[str]:
    """Times cases of one size and type."""
    masks = dict.fromkeys(case.mask for case in cases)
    # A random mask of a file's density is there where the file and random masks are.
    densities = dict.fromkeys(case.density for case in cases if not case.mask.endswith(".smtx"))
    command = [str(options.programs / "sparsec-bench"), f"--size={cases[0].size_text}", f"--mask={','.join(masks)}",
               f"--density={','.join(map(repr, densities)) or '1'}", "--plan=with",
               f"--launches={launches}", *(f"--kernels={folder}" for folder in options.kernels)]  # fmt: skip
    for case in cases:
        density = "" if case.mask.endswith(".smtx") else f",density={case.density!r}"
        command.append(
            f"--case=block={case.block},layout={case.layouts},mask={case.mask_name},type={case.dtype}{density}"
        )
    return command


def row_key(row: dict[str, Any]) -> str:
    """The key of the case that a row of sparsec-bench belongs to."""
    case = Case(tuple(row["size"]), row["block"][0], row["density"], row["mask"], row["layouts"], row["type"])
    return case.key


class Suite:
    """One run of the suite: a context, which holds its log, its folder and its samples of clocks."""

    def __init__(self, options: argparse.Namespace, results: Results) -> None:
        self.options, self.results = options, results
        self.session = sum(each["record"] == "session" for each in results.records) + 1
        self.deadline = time.monotonic() + options.time_limit
        self.total = self.finished = 0
        self.context = contextlib.ExitStack()
        self.folder = Path(self.context.enter_context(tempfile.TemporaryDirectory(prefix="sparsec-suite-")))
        self.log = self.context.enter_context(options.out.with_suffix(".log").open("a", encoding="utf-8"))
        self.clocks = Clocks(options.nvidia_smi)
        self.context.callback(self.clocks.stop)

    def __enter__(self) -> "Suite":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def describe(self) -> dict[str, Any]:
        """The record of this session."""
        line = output_of([self.options.nvidia_smi, f"--query-gpu={','.join(MACHINE)}", "--format=csv,noheader"])
        commit = self.options.commit or output_of(["git", "-C", str(HERE), "rev-parse", "HEAD"]) or "unknown"
        return {
            "record": "session",
            "session": self.session,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": ["bench/suite/measure.py", *sys.argv[1:]],
            "profile": self.options.profile,
            "commit": commit,
            "machine": dict(zip(MACHINE, map(str.strip, line.splitlines()[0].split(",")), strict=True)) if line else {},
            "launches": self.options.launches,
        }

    def run(self) -> bool:
        """Measures what is not done. False when time ran out before."""
        done = self.results.done(self.options.retry_failures)
        listed = profiles.tasks(self.options.profile, tuple(self.options.libraries))
        pending = [(library, case) for library, case in listed if (library, case.key) not in done]
        self.total, self.finished = len(listed), len(listed) - len(pending)
        if not pending:
            print(f"{self.total} of {self.total} cases are done")
            return True
        self.results.add(self.describe())
        try:
            for library in dict.fromkeys(library for library, _ in pending):
                cases = [case for other, case in pending if other == library]
                if library == "sparsec":
                    self.run_sparsec(cases)
                elif library == "counters":
                    self.run_counters(cases)
                else:
                    self.run_competitor(library, cases)
        except TimeIsUp:
            print(f"time is up: {self.finished} of {self.total} cases are done; the same command goes on")
            return False
        return True

    def add(self, library: str, case: Case, record: dict[str, Any], begin: float) -> None:
        """Adds what was measured, or a failure, and prints a line."""
        kind = "failure" if "failure" in record else "counters" if library == "counters" else "result"
        described = {"size": list(case.size), "block": case.block, "density": case.density, "mask": case.mask_name,
                     "layouts": case.layouts, "dtype": case.dtype}  # fmt: skip
        self.results.add({"record": kind, "session": self.session, "library": library, "key": case.key,
                          "case": described, **record, "clocks": self.clocks.since(begin)})  # fmt: skip
        self.finished += 1
        if kind == "result":
            text = f"{record['median_ms']:.4f} ms, {record['tflops']:.1f} TFLOP/s"
            text += f", {record['dense_ms'] / record['median_ms']:.2f} x dense" if record["dense_ms"] else ""
        else:
            text = record.get("failure", "counted")
        print(f"[{self.finished}/{self.total}] {library} {case.key}: {text}", flush=True)

    def child(self, command: Sequence[str]) -> int:
        """Runs a command, with its output in the log. Its exit code; ends it when time is up."""
        self.log.write(f"$ {' '.join(command)}\n")
        self.log.flush()
        with subprocess.Popen(command, stdout=self.log, stderr=self.log, start_new_session=True) as process:
            try:
                return process.wait(max(0, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise TimeIsUp from None

    def run_sparsec(self, cases: Sequence[Case]) -> None:
        """sparsec-bench, in a process for each size and type."""
        for size, dtype in dict.fromkeys((case.size, case.dtype) for case in cases):
            group = {case.key: case for case in cases if (case.size, case.dtype) == (size, dtype)}
            file = self.folder / "sparsec.json"
            file.unlink(missing_ok=True)
            begin = time.monotonic()
            command = [*sparsec_command(self.options, list(group.values()), self.options.launches), f"--json={file}"]
            code = None
            try:
                code = self.child(command)
            finally:  # what was measured before the time was up counts
                self.add_rows(file, group, code, begin)

    def add_rows(self, file: Path, group: dict[str, Case], code: int | None, begin: float) -> None:
        """Adds the rows of a file of sparsec-bench. After an end of its own, cases without a row are failures."""
        try:
            report = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            report = {"rows": [], "l2": ""}
        missing = dict(group)
        for row in report["rows"]:
            case = missing.pop(row_key(row), None)
            if case is None:
                continue
            times = row["planned"]
            kept = ("median_ms", "best_ms", "quartiles_ms", "tflops", "dense_ms", "host_us")
            of_row = ("schedule", "registers", "shared_memory", "block_count", "plan_ms", "label", "target")
            record = {**{key: times[key] for key in kept}, **{key: row[key] for key in of_row},
                      "launches": self.options.launches, "l2": report["l2"]}  # fmt: skip
            self.add("sparsec", case, {"failure": times["error"]} if times["error"] else record, begin)
        if code is not None:
            for case in missing.values():
                self.add("sparsec", case, {"failure": f"sparsec-bench ended with code {code} without it"}, begin)

    def run_counters(self, cases: Sequence[Case]) -> None:
        for case in cases:
            begin = time.monotonic()
            command = sparsec_command(self.options, [case], launches=11)
            found = counters.count(self.options.ncu, command, self.folder / "counters.csv", self.child)
            self.add("counters", case, found, begin)

    def pattern_file(self, case: Case) -> Path:
        """The mask of a case, as a file."""
        if case.mask.endswith(".smtx"):
            return Path(case.mask)
        rows, columns = case.grid
        path = self.folder / f"{case.mask}-{rows}x{columns}-{case.density!r}.smtx"
        if not path.exists():
            command = [self.options.programs / "sparsec-mask", case.mask, f"{rows}x{columns}", repr(case.density)]
            path.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return path

    def run_competitor(self, library: str, cases: Sequence[Case]) -> None:
        """A process for all cases; after one that ends it, another for those that remain."""
        remaining = list(cases)
        while remaining:
            child = Competitor([*self.options.competitor, library], self.log)
            try:
                while remaining:
                    begin = time.monotonic()
                    record = child.ask(self.request(remaining[0]), self.deadline)
                    self.add(library, remaining.pop(0), record, begin)
                    if child.has_ended:
                        break
            finally:
                child.stop()

    def request(self, case: Case) -> dict[str, Any]:
        return {"key": case.key, "size": case.size, "block": case.block, "pattern": str(self.pattern_file(case))}


class Competitor:
    """A child process that answers a case with a line each."""

    def __init__(self, command: Sequence[str], log: Any) -> None:
        log.write(f"$ {' '.join(command)}\n")
        log.flush()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                        start_new_session=True)  # fmt: skip
        self.lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.versions: dict[str, Any] = {}
        self.has_ended = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout or ():
            if line.startswith("{"):
                self.lines.put(json.loads(line))
        self.lines.put(None)

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """The record of a case. A process that ends or takes too long makes it a failure."""
        if self.process.stdin:
            try:
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # it has ended; the queue says so
        limit = time.monotonic() + CASE_SECONDS
        while True:
            try:
                answer = self.lines.get(timeout=max(0.0, min(limit, deadline) - time.monotonic()))
            except queue.Empty:
                if time.monotonic() >= deadline:
                    raise TimeIsUp from None
                self.has_ended = True
                return {"failure": f"it took more than {CASE_SECONDS} s"}
            if answer is None:
                self.has_ended = True
                return {"failure": f"the process ended with code {self.process.wait()}"}
            if "versions" in answer:
                self.versions = answer["versions"]
            elif answer.pop("key") == request["key"]:
                return {**answer, "versions": self.versions, "l2": "flushed before every launch"}

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


def names_of(text: str) -> list[str]:
    names = text.split(",")
    wrong = [name for name in names if name not in profiles.LIBRARIES]
    if wrong:
        raise argparse.ArgumentTypeError(f"expects {', '.join(profiles.LIBRARIES)}, but got '{wrong[0]}'")
    return names


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, required=True, help="folder of sparsec-bench and sparsec-mask")
    parser.add_argument("--kernels", action="append", required=True, help="folder of compiled kernels; any number")
    parser.add_argument(
        "--out", type=Path, required=True, help="the results; a file beside it has the programs' output"
    )
    parser.add_argument("--profile", choices=profiles.PROFILES, default="quick")
    parser.add_argument("--libraries", type=names_of, default=list(profiles.LIBRARIES),
                        help=f"of {','.join(profiles.LIBRARIES)} (default: all)")  # fmt: skip
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds, after which it stops")
    parser.add_argument("--launches", type=int, default=15, help="of sparsec-bench (default: 15)")
    parser.add_argument("--retry-failures", action="store_true", help="measures cases that failed before again")
    parser.add_argument("--fresh", action="store_true", help="removes the results that are there first")
    parser.add_argument("--strict", action="store_true", help="ends with an error when a case failed")
    parser.add_argument("--commit", default="", help="where this is no checkout of git")
    parser.add_argument("--ncu", default="ncu", help="the profiler (default: ncu)")
    parser.add_argument("--nvidia-smi", default="nvidia-smi", help="tells clocks and power (default: nvidia-smi)")
    parser.add_argument("--competitor", type=shlex.split, default=[sys.executable, str(HERE / "competitors.py")],
                        help="the command that times other libraries")  # fmt: skip
    return parser.parse_args(words)


def failures(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in records:
        if each["record"] == "failure":
            yield f"{each['library']} {each['key']}: {each['failure']}"


def main() -> None:
    options = parse_arguments()
    if options.fresh:
        options.out.unlink(missing_ok=True)
    results = Results(options.out)
    with Suite(options, results) as suite:
        is_whole = suite.run()
    listed = list(failures(results.records))
    print(f"{len(listed)} failures", *listed, sep="\n  ")
    sys.exit(3 if not is_whole else 1 if options.strict and listed else 0)


if __name__ == "__main__":
    main()
