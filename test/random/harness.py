# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cases of a random test on all cores, each from its own seed, and saves those that fail."""
import collections
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

# A compiler that asks for more than this grows without end.
MOST_BYTES = 8 << 30

Outcome = collections.namedtuple("Outcome", "code output errors")  # code None: too slow, negative: a signal


class Case:
    """One case: its random numbers, its folder, the programs that it ran and what it found."""

    def __init__(self, options, kind, number, folder):
        self.options, self.kind, self.number, self.folder = options, kind, number, pathlib.Path(folder)
        self.rng = random.Random(f"{kind} {options.seed} {number}")
        self.numbers = np.random.default_rng(self.rng.getrandbits(64))
        self.commands, self.failures, self.counts = [], [], collections.Counter()

    def run(self, program, *arguments, seconds=120):
        """Runs a program in the folder of the case."""
        command = [str(self.options.bin / program), *map(str, arguments)]
        self.commands.append(command)
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            output, errors = process.communicate(timeout=seconds)
            return Outcome(process.returncode, output, errors)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # and the assembler that it started
            return Outcome(None, *process.communicate())

    def count(self, what, number=1):
        self.counts[what] += number

    def expect(self, condition, message):
        if not condition:
            self.failures.append(message)
        return condition

    def save(self):
        """Moves the folder to where failures are kept, with a script that repeats what the case ran."""
        target = self.options.keep / f"{self.kind}-{self.options.seed}-{self.number}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.folder, target)
        again = [sys.executable, str(pathlib.Path(sys.argv[0]).resolve()), self.kind, "--bin", str(self.options.bin),
                 "--seed", self.options.seed, "--case", str(self.number)]
        messages = [line for message in self.failures for line in message.split("\n")]
        comments = ["Repeats the programs of a failed case. The case as a whole:", shlex.join(again), *messages]
        lines = ["#!/usr/bin/env bash", *("# " + line for line in comments), 'cd "$(dirname "$0")"',
                 *map(shlex.join, self.commands)]
        script = target / "reproduce.sh"
        script.write_text("\n".join(lines) + "\n")
        script.chmod(0o755)
        return script


def describe(outcome):
    how = {None: "did not end in time"}.get(outcome.code, f"exit code {outcome.code}")
    if outcome.code is not None and outcome.code < 0:
        how = f"signal {-outcome.code}"
    return f"{how}\n{outcome.errors.strip()[:2000]}"


def check_refusal(case, outcome):
    """Good, or refused at a place in kernel.mlir."""
    if not case.expect(outcome.code in (0, 1), f"expects exit code 0 or 1, but got {describe(outcome)}"):
        return
    located = re.search(r"^kernel\.mlir:\d+:\d+: error: ", outcome.errors, flags=re.MULTILINE)
    case.expect(outcome.code == 0 or located, f"expects an error with its place, but got: {describe(outcome)}")


Result = collections.namedtuple("Result", "number failures counts script")


def run_case(check, options, kind, number):
    with tempfile.TemporaryDirectory(prefix="sparsec-random-") as folder:
        case = Case(options, kind, number, folder)
        try:
            check(case)
        except Exception:  # the test itself: as good a failure as any
            case.failures.append(traceback.format_exc())
        return Result(number, case.failures, case.counts, case.save() if case.failures else None)


class Progress:
    """A line now and then on standard error; on a terminal it is overwritten."""

    def __init__(self, kind):
        self.kind, self.begin, self.terminal = kind, time.monotonic(), sys.stderr.isatty()
        self.next = self.begin + (1 if self.terminal else 10)

    def seconds(self):
        return time.monotonic() - self.begin

    def update(self, done, of, failed):
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + (1 if self.terminal else 10)
        print(f"{self.kind}: {done}{of} cases, {failed} failed, {self.seconds():.0f} s",
              end="\r" if self.terminal else "\n", file=sys.stderr, flush=True)


def numbers_of(options, progress):
    """The numbers of the cases: one, so many, or as many as the time allows."""
    if options.case is not None:
        return [options.case]
    if options.minutes is None:
        return range(options.cases)
    return iter_until(lambda: progress.seconds() > 60 * options.minutes)


def iter_until(is_over):
    number = 0
    while not is_over():
        yield number
        number += 1


_work = None  # of the forked processes: what to call with a number


def run_number(number):
    return _work(number)


def run_all(check, options, kind):
    """Returns the sums of what the cases counted, how many cases ran, and how many failed."""
    global _work
    _work = lambda number: run_case(check, options, kind, number)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    progress = Progress(kind)
    of = f" of {options.cases}" if options.minutes is None and options.case is None else ""
    counts, done, failed = collections.Counter(), 0, 0
    context = multiprocessing.get_context("fork")
    # Cases are handed out as processes become free, so that the time limit holds.
    free = context.Semaphore(2 * options.jobs)
    with context.Pool(options.jobs) as pool:
        def throttled():
            for number in numbers_of(options, progress):
                free.acquire()
                yield number
        for result in pool.imap_unordered(run_number, throttled()):
            free.release()
            counts.update(result.counts)
            done += 1
            if result.failures:
                failed += 1
                print(f"{kind}: case {result.number} failed: " + "\n".join(result.failures) +
                      f"\nto reproduce: {result.script}\n", file=sys.stderr, flush=True)
            progress.update(done, of, failed)
    return counts, done, failed
