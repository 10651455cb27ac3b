#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""measure.py with programs that are scripts: what it runs, records, leaves out and goes on with. Needs no GPU."""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import counters
import measure
import profiles
from profiles import Case, Group

HERE = Path(__file__).resolve().parent

# Writes a row for every --case with a block of 16 or 32; that of 32 is wrong.
BENCH = """
import json, sys
options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
cases = [dict(pair.split("=") for pair in word[7:].split(",")) for word in sys.argv[1:] if word.startswith("--case=")]
times = {"median_ms": 2.0, "best_ms": 1.0, "quartiles_ms": [1.5, 3.0], "tflops": 9.0, "dense_ms": 8.0, "host_us": 5.0}
rows = [{"size": list(map(int, options["size"].split("x"))), "block": [int(case["block"])] * 2, "mask": case["mask"],
         "density": float(case.get("density", 0.3125)), "layouts": case["layout"], "type": "bf16", "schedule": "s",
         "registers": 1, "shared_memory": 2, "block_count": 3, "plan_ms": 0.5, "label": "kernel", "target": "sm_90a",
         "planned": {**times, "error": "wrong bits" if case["block"] == "32" else ""}}
        for case in cases if case["block"] in ("16", "32")]
json.dump({"rows": rows, "l2": "flushed"}, open(options["json"], "w"))
print("measured", len(rows))
"""
SMI = """
import sys, time
if "name" in sys.argv[1]:
    print("Some GPU, 580.1, 100 MiB, 1980 MHz, 3201 MHz, 700 W")
else:
    for sample in ("100, 3201, 50.5, 30", "1980, 3201, [N/A], 31", "1500, 3201, 650, 40", "1900, 3201, 690, 45"):
        print(sample, flush=True)
    time.sleep(600)
"""
# Refuses blocks of 32, and ends at blocks of 64.
COMPETITOR = """
import json, os, sys
print(json.dumps({"versions": {"library": sys.argv[1]}}), flush=True)
print("noise", flush=True)
for line in sys.stdin:
    case = json.loads(line)
    if case["block"] == 64:
        os._exit(7)
    text = open(case["pattern"]).readline().strip()
    record = {"failure": "no blocks of 32"} if case["block"] == 32 else {
        "median_ms": 4.0, "tflops": 5.0, "dense_ms": 2.0, "way": text}
    print(json.dumps({"key": case["key"], **record}), flush=True)
"""


class SuiteCase(unittest.TestCase):
    """A folder with the programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "results.jsonl"
        self.program("sparsec-bench", BENCH)
        self.program("sparsec-mask", 'import sys\nprint(f"{sys.argv[2].replace(chr(120), chr(44))},1")')
        self.program("nvidia-smi", SMI)
        self.program("competitor", COMPETITOR)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)

    def options(self, *words):
        return measure.parse_arguments(["--programs", str(self.folder), "--kernels", "K1", "--kernels", "K2", "--out",
                                      str(self.out), "--commit=abc", f"--nvidia-smi={self.folder / 'nvidia-smi'}",
                                      f"--competitor={self.folder / 'competitor'}", *words])  # fmt: skip

    def run_suite(self, groups, *words):
        """Runs a profile of these groups. Returns whether it is whole, its text, and the records of the file."""
        text = io.StringIO()
        with mock.patch.dict(profiles.PROFILES, quick=lambda: iter(groups)), contextlib.redirect_stdout(text):
            with measure.Suite(self.options(*words), measure.Results(self.out)) as run:
                whole = run.run()
        return whole, text.getvalue(), [json.loads(line) for line in self.out.read_text().splitlines()]


def cases(*blocks, mask="random"):
    return tuple(Case((192, 384, 64), block, 0.5, mask) for block in blocks)


class Runs(SuiteCase):
    def test_records_of_sparsec(self):
        whole, text, records = self.run_suite([Group("g", cases(16, 32, 64), ("sparsec",))])
        self.assertTrue(whole)
        session, result, wrong, missing = records
        self.assertEqual(session["record"], "session")
        self.assertEqual(session["machine"]["name"], "Some GPU")
        self.assertEqual(session["machine"]["driver_version"], "580.1")
        self.assertEqual((session["commit"], session["profile"], session["launches"]), ("abc", "quick", 15))
        self.assertRegex(session["date"], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(result["record"], "result")
        self.assertEqual(result["case"], {"size": [192, 384, 64], "block": 16, "density": 0.5, "mask": "random",
                                          "layouts": "kn_mn", "dtype": "bf16"})  # fmt: skip
        self.assertEqual((result["median_ms"], result["quartiles_ms"], result["l2"]), (2.0, [1.5, 3.0], "flushed"))
        self.assertEqual((wrong["record"], wrong["failure"]), ("failure", "wrong bits"))
        self.assertEqual(missing["failure"], "sparsec-bench ended with code 0 without it")
        self.assertIn("[1/3] sparsec bf16 192x384x64 16 kn_mn random 0.5: 2.0000 ms, 9.0 TFLOP/s, 4.00 x dense", text)
        self.assertIn("measured 2", self.out.with_suffix(".log").read_text())

    def test_goes_on_where_it_stopped(self):
        groups = [Group("g", cases(16), ("sparsec", "triton")), Group("h", cases(32), ("triton",))]
        first = self.run_suite(groups)[2]
        self.assertEqual([each["record"] for each in first], ["session", "result", "result", "failure"])
        _, text, again = self.run_suite(groups)
        self.assertEqual(again, first)
        self.assertIn("3 of 3 cases are done", text)

        lines = self.out.read_text().splitlines(keepends=True)
        self.out.write_text("".join(lines[:2]) + lines[2][:40])  # the run ended while it wrote
        _, _, after = self.run_suite(groups)
        self.assertEqual([(each["record"], each["session"], each.get("library")) for each in after],
                         [("session", 1, None), ("result", 1, "sparsec"), ("session", 2, None),
                          ("result", 2, "triton"), ("failure", 2, "triton")])  # fmt: skip

        _, _, retried = self.run_suite(groups, "--retry-failures")
        self.assertEqual([each["record"] for each in retried[len(after) :]], ["session", "failure"])

    def test_a_process_that_ends_loses_one_case(self):
        _, _, records = self.run_suite([Group("g", cases(16, 64, 48), ("triton",))])
        self.assertEqual([each.get("failure") for each in records[1:]], [None, "the process ended with code 7", None])
        self.assertEqual(records[3]["versions"], {"library": "triton"})
        self.assertEqual(records[3]["way"], "4,8,1")  # of sparsec-mask: 192 x 384 in blocks of 48

    def test_a_case_that_takes_too_long_is_a_failure(self):
        self.program("competitor", "import sys, time\nsys.stdin.readline()\ntime.sleep(600)")
        with mock.patch.object(measure, "CASE_SECONDS", 0):
            _, _, records = self.run_suite([Group("g", cases(16, 48), ("triton",))])
        self.assertEqual([each["failure"] for each in records[1:]], ["it took more than 0 s"] * 2)

    def test_only_the_libraries_that_are_asked(self):
        _, _, records = self.run_suite([Group("g", cases(16), ("sparsec", "triton"))], "--libraries=triton")
        self.assertEqual([each.get("library") for each in records], [None, "triton"])
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as text:
            self.options("--libraries=sparsec,cublas")
        self.assertIn("but got 'cublas'", text.getvalue())

    def test_time_limit_keeps_what_was_measured(self):
        def child(command):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            raise measure.TimeIsUp

        groups = [Group("g", cases(16, 64), ("sparsec",))]
        with mock.patch.object(measure.Suite, "child", side_effect=child):
            whole, text, records = self.run_suite(groups)
        self.assertFalse(whole)
        self.assertEqual([each["record"] for each in records], ["session", "result"])
        self.assertIn("time is up: 1 of 2 cases are done; the same command goes on", text)

    def test_time_limit_ends_children(self):
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        with measure.Suite(self.options("--time-limit=0"), measure.Results(self.out)) as run:
            with self.assertRaises(measure.TimeIsUp):
                run.child(sleep)
            competitor = measure.Competitor(sleep, run.log)
            with self.assertRaises(measure.TimeIsUp):
                competitor.ask({"key": "k"}, time.monotonic())
            competitor.stop()
            self.assertIsNotNone(competitor.process.returncode)

    def test_command_line(self):
        def ends(groups, *words):
            arguments = ["measure.py", f"--programs={self.folder}", "--kernels=K", f"--out={self.out}",
                         f"--nvidia-smi={self.folder / 'nvidia-smi'}", *words]  # fmt: skip
            with (
                mock.patch.dict(profiles.PROFILES, quick=lambda: iter(groups)),
                mock.patch.object(sys, "argv", arguments),
                contextlib.redirect_stdout(io.StringIO()) as text,
                self.assertRaises(SystemExit) as end,
            ):
                measure.main()
            return end.exception.code, text.getvalue()

        right, wrong = [Group("g", cases(16), ("sparsec",))], [Group("g", cases(16, 32), ("sparsec",))]
        self.assertEqual(ends(right, "--strict")[0], 0)
        code, text = ends(wrong)
        self.assertEqual(code, 0)
        self.assertIn("1 failures\n  sparsec bf16 192x384x64 32 kn_mn random 0.5: wrong bits", text)
        self.assertEqual(ends(wrong, "--strict")[0], 1)
        self.assertEqual(ends(right, "--fresh", "--strict")[0], 0)
        self.assertEqual(ends(wrong, "--time-limit=0")[0], 3)

    def test_clocks(self):
        clocks = measure.Clocks(str(self.folder / "nvidia-smi"))
        while len(clocks.samples) < 3:  # the line with a value that the card does not tell is no sample
            time.sleep(0.01)
        clocks.stop()
        self.assertEqual(clocks.since(0)["sm_mhz"], [100, 1500, 1900])
        self.assertEqual(clocks.since(0)["power_w"], [50.5, 650, 690])
        self.assertEqual(clocks.since(time.monotonic() + 1), {})
        self.assertEqual(measure.Clocks(str(self.folder / "gone")).since(0), {})

    def test_command_of_sparsec_bench(self):
        file = self.folder / "a-matrix.smtx"
        file.write_text("2, 8, 5\n")
        listed = [*cases(16), *cases(64, mask="band"), Case((192, 384, 64), 96, 5 / 16, str(file))]
        command = measure.sparsec_command(self.options(), listed, launches=11)
        self.assertEqual(command[1:], [
            "--size=192x384x64", f"--mask=random,band,{file}", "--density=0.5", "--plan=with", "--launches=11",
            "--kernels=K1", "--kernels=K2", "--case=block=16,layout=kn_mn,mask=random,type=bf16,density=0.5",
            "--case=block=64,layout=kn_mn,mask=band,type=bf16,density=0.5",
            "--case=block=96,layout=kn_mn,mask=a-matrix,type=bf16",
        ])  # fmt: skip
        row = {"size": [192, 384, 64], "block": [96, 96], "density": 0.3125, "mask": "a-matrix", "layouts": "kn_mn",
               "type": "bf16"}  # fmt: skip
        self.assertEqual(measure.row_key(row), listed[2].key)


class Cases(unittest.TestCase):
    def test_profiles(self):
        listed = {name: profiles.tasks(name) for name in profiles.PROFILES}
        self.assertLessEqual(set(listed["quick"]), set(listed["full"]))
        for name, tasks in listed.items():
            self.assertEqual(len({(library, case.key) for library, case in tasks}), len(tasks), name)
            for library, case in tasks:
                self.assertIn(library, profiles.LIBRARIES)
                self.assertTrue(0 < case.density <= 1, case)
                if case.mask.endswith(".smtx"):
                    rows, columns = map(int, Path(case.mask).read_text().split("\n")[0].split(",")[:2])
                    self.assertEqual(case.grid, (rows, columns))
                self.assertEqual((case.size[0] % case.block, case.size[1] % case.block), (0, 0), case)
                # Other libraries have one type and one layout here.
                if library in profiles.COMPETITORS:
                    self.assertEqual((case.layouts, case.dtype), ("kn_mn", "bf16"), case)

    def test_every_library_multiplies_a_full_matrix(self):
        tasks = profiles.tasks("quick")
        for library in ("sparsec", *profiles.COMPETITORS):
            self.assertIn((library, Case(profiles.CUBE, 64, 1.0)), tasks)

    def test_full_has_what_it_promises(self):
        found = [case for library, case in profiles.tasks("full") if library == "sparsec"]
        self.assertLessEqual({4096, 65536}, {case.size[0] for case in found})
        random = {case.density for case in found if case.mask == "random" and case.size == profiles.CUBE}
        self.assertTrue({0.5, 0.05} <= random)
        per_row = {round(case.density * case.grid[1]) for case in found if case.mask == "uniform"}
        self.assertLessEqual({8, 16, 32, 64}, per_row)

    def test_masks_are_those_of_sparsec_mask(self):
        kinds = set(re.findall(r'^    \{"([a-z-]+)", "', (HERE.parent / "masks.cpp").read_text(), re.MULTILINE))
        used = {case.mask for _, case in profiles.tasks("full") if not case.mask.endswith(".smtx")}
        self.assertEqual(used, kinds)


NCU = """\
==PROF== Connected to process 7
"ID","Kernel Name","Block Size","Grid Size","sm__throughput.avg.pct_of_peak_sustained_elapsed","dram__bytes.sum",\
"launch__registers_per_thread","smsp__sass_average_branch_targets_threads_uniform.pct"
"","","","","%","byte","register/thread","%"
"0","spmm_bf16(int, int)","(384, 1, 1)","(132, 1, 1)","91.5","1,234,000","168","n/a"
"""


class Counters(unittest.TestCase):
    def count(self, *answers):
        """counters.count with an ncu that writes these texts, one a run. Returns the record and the commands."""
        commands, left = [], list(answers)
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"

            def run(command):
                commands.append(command)
                log.write_text(left.pop(0))
                return 1

            return counters.count("ncu", ["bench", "--x"], log, run), commands

    def test_table_is_read(self):
        record, commands = self.count(NCU)
        found = record["counters"]
        self.assertEqual(set(found), {"kernel", "grid", "cta", *counters.METRICS})
        self.assertEqual(
            (found["kernel"], found["cta"], found["grid"]), ("spmm_bf16(int, int)", "(384, 1, 1)", "(132, 1, 1)")
        )
        self.assertEqual((found["sm_throughput_pct"], found["dram_bytes"], found["registers"]), (91.5, 1234000, 168))
        self.assertIsNone(found["branch_efficiency_pct"])
        self.assertIsNone(found["l2_hit_rate_pct"])
        self.assertEqual(commands[0][0], "ncu")
        self.assertEqual(commands[0][-2:], ["bench", "--x"])
        self.assertIn("--clock-control=none", commands[0])

    def test_unknown_metrics_are_left_out(self):
        record, commands = self.count("==ERROR== Failed to find metric dram__bytes.sum\n", NCU)
        self.assertIn("counters", record)
        asked = ["dram__bytes.sum" in word for command in commands for word in command if "--metrics" in word]
        self.assertEqual(asked, [True, False])

    def test_failures_have_the_words_of_ncu(self):
        record, commands = self.count("==PROF== a\n==ERROR== no permission\n")
        self.assertEqual(record, {"failure": "==ERROR== no permission"})
        self.assertEqual(len(commands), 1)

        def run(_):
            raise FileNotFoundError(2, "No such file or directory")

        self.assertEqual(counters.count("ncu", [], Path("log"), run), {"failure": "ncu: No such file or directory"})
        self.assertEqual(
            counters.count("ncu", [], Path("/gone/log"), lambda _: 9),
            {"failure": "ncu ended with code 9 and said nothing"},
        )


if __name__ == "__main__":
    unittest.main()
