# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sparsec-tune from a kernel to a table, with the simulator as the GPU. Its times mean nothing; whether results are
right does."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

KERNEL = """sparsec.kernel @k(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %b: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %b per_row epilogue (%acc: f32, %bias: f32) {
    %s = arith.OPERATION %acc, %bias : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
"""
PATTERN = "4, 4, 6\n0 2 3 5 6\n0 2 1 0 3 2\n"
ARGUMENTS = ["--patterns", "patterns", "--pattern", "random:256x256:density=0.3", "--columns", "264", "--launches", "1"]


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "patterns").mkdir()
        (self.folder / "patterns" / "a.smtx").write_text(PATTERN)
        (self.folder / "patterns" / "notes.txt").write_text("no matrix")
        self.write_kernel("kernel.mlir", "addf")

    def write_kernel(self, name, operation):
        (self.folder / name).write_text(KERNEL.replace("OPERATION", operation))

    def run_tool(self, program, *arguments, code=0):
        """Standard output and standard error of a program that ends with this code."""
        result = subprocess.run([program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def tune(self, *arguments, code=0):
        return self.run_tool(OPTIONS.tune, *arguments, code=code)

    def rows(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def test_writes_a_table_that_the_compiler_reads(self):
        text = self.tune("kernel.mlir", *ARGUMENTS, "--candidates=3", "-o", "table.jsonl")
        for heading in ("patterns/a.smtx: 256 x 256, density 0.375, 264 columns, simulated GPU",
                        "random:256x256:density=0.3: 256 x 256, density 0.", "the model's choice takes "):
            self.assertIn(heading, text)
        measured = self.rows("kernel.tune/measurements.jsonl")
        self.assertEqual(len(measured), 6)
        for row in measured:
            self.assertEqual(row["error"], "")
            self.assertGreater(row["milliseconds"], 0)
            self.assertEqual((row["rows"], row["depth"], row["columns"]), (256, 256, 264))
            flops = 2 * row["blocks"] * 64 * 64 * 264
            self.assertAlmostEqual(row["teraflops"] * row["milliseconds"] * 1e9 / flops, 1)
        self.assertEqual([row["blocks"] for row in measured if row["pattern"] == "patterns/a.smtx"], [6, 6, 6])

        best = {}  # the candidate with the least product of times, which has the least geometric mean
        for row in measured:
            best[row["name"]] = best.get(row["name"], 1) * row["milliseconds"]
        (row,) = self.rows("table.jsonl")
        self.assertEqual(row["name"], min(best, key=best.get))
        self.assertEqual(row["patterns"], 2)
        compiled = self.run_tool(OPTIONS.sparsec, "kernel.mlir", "--schedule-table=table.jsonl", "--verbose")
        self.assertIn(f"  k: {row['name']}, alignment", compiled)

    def test_halves_on_two_machines(self):
        self.tune("kernel.mlir", "--compile-only", "--work=work", "--candidates=1")
        (self.folder / "kernel.mlir").unlink()
        self.tune("--measure-only", "--work=work", *ARGUMENTS)
        self.assertEqual(len(self.rows("work/measurements.jsonl")), 2)
        self.assertEqual(len(self.rows("work/table.jsonl")), 1)

        # The next run has nothing to measure, and a changed pattern is another one.
        self.tune("--measure-only", "--work=work", *ARGUMENTS)
        self.assertEqual(len(self.rows("work/measurements.jsonl")), 2)
        (self.folder / "patterns" / "a.smtx").write_text("4, 4, 2\n0 1 1 1 2\n0 3\n")
        self.tune("--measure-only", "--work=work", *ARGUMENTS)
        self.assertEqual([row["blocks"] for row in self.rows("work/measurements.jsonl")][-1], 2)

    def test_wrong_results_have_no_time(self):
        self.tune("kernel.mlir", "--compile-only", "--work=work", "--candidates=2")
        self.write_kernel("other.mlir", "mulf")
        self.tune("other.mlir", "--compile-only", "--work=other", "--candidates=2")
        (self.folder / "other" / "0002.cubin").rename(self.folder / "work" / "0002.cubin")
        text = self.tune("--measure-only", "--work=work", *ARGUMENTS)
        self.assertRegex(text, r"\d+ elements of \d+ rows are wrong, the first one \(0, 0\): ")
        wrong = [row for row in self.rows("work/measurements.jsonl") if row["error"]]
        self.assertEqual(len(wrong), 2)
        self.assertEqual({row["milliseconds"] for row in wrong}, {0})

    def test_launches_with_another_schedule_have_no_time(self):
        self.tune("kernel.mlir", "--compile-only", "--work=work", "--candidates=2")
        (self.folder / "work" / "0001.cubin").unlink()
        (self.folder / "work" / "0002.cubin").rename(self.folder / "work" / "0001.cubin")
        text = self.tune("--measure-only", "--work=work", *ARGUMENTS, code=1)
        self.assertIn(": launches have the schedule wgmma tma ", text)
        self.assertIn("error: no candidate was measured on all patterns with a result that is right", text)

    def test_stops_at_the_time_limit(self):
        self.tune("kernel.mlir", "--compile-only", "--work=work", "--candidates=1")
        text = self.tune("--measure-only", "--work=work", *ARGUMENTS, "--time-limit=1e-9", code=1)
        self.assertIn("sparsec-tune: stopped at the time limit; the next run goes on", text)
        self.assertFalse((self.folder / "work" / "measurements.jsonl").exists())

    def test_other_operations_are_refused(self):
        source = pathlib.Path(__file__).parents[2] / "bench" / "sddmm" / "sddmm_bf16_64x64_mk_nk.mlir"
        text = self.tune(str(source), *ARGUMENTS, "--candidates=1", code=1)
        self.assertIn("error: kernel 'sddmm_bf16_64x64_mk_nk' is no product of a block-sparse and a dense matrix", text)


if __name__ == "__main__":
    PARSER = argparse.ArgumentParser()
    PARSER.add_argument("--tune", required=True)
    PARSER.add_argument("--sparsec", required=True)
    OPTIONS, rest = PARSER.parse_known_args()
    os.environ["SPARSEC_PTXAS"] = str(pathlib.Path(__file__).with_name("simulated_ptxas.py"))
    unittest.main(argv=[sys.argv[0], *rest])
