# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/count-tests.py counts every kind of CTest entry."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT_TESTS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "count-tests.py"

LIT = """<testcase name="lit" status="{status}"><system-out>-- Testing: 4 tests, 2 workers --
PASS: sparsec :: dialect/spmm.mlir (1 of 4)
XFAIL: sparsec :: dialect/known.mlir (2 of 4)
{third}: sparsec :: dialect/third.mlir (3 of 4)
UNSUPPORTED: sparsec :: tools/gpu.mlir (4 of 4)
</system-out></testcase>"""

GTEST = """<testcase name="unit" status="{status}"><system-out>[==========] Running 3 tests from 1 test suite.
[ RUN      ] Plan.Balances
[       OK ] Plan.Balances (3 ms)
[ RUN      ] Plan.OnGpu
plan_test.cpp:7: Skipped
skipped: no GPU

[  SKIPPED ] Plan.OnGpu (0 ms)
[ RUN      ] All/Plan.Sizes/0
{last}
[  FAILED  ] All/Plan.Sizes/0, where GetParam() = 1
</system-out></testcase>"""
GTEST_FAILURE = "[  FAILED  ] All/Plan.Sizes/0, where GetParam() = 1 (2 ms)"


PYTEST = """<testcase name="python" status="{status}"><system-out>============ test session starts ============
collecting ... collected 4 items

python/tests/test_bsr.py::test_types[f16-a b] PASSED                       [ 25%]
python/tests/test_bsr.py::test_torch SKIPPED (could not import 'torch')    [ 50%]
python/tests/test_cli.py::test_known XFAIL (a reason)                      [ 75%]
python/tests/test_cli.py::test_last {last}                                 [100%]
FAILED python/tests/test_cli.py::test_last - assert False
</system-out></testcase>"""


def count(*entries):
    """What the script prints for these CTest entries, and its exit code."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as results:
        results.write(f"<testsuite>{''.join(entries)}</testsuite>")
        results.flush()
        done = subprocess.run([sys.executable, COUNT_TESTS, results.name], capture_output=True, text=True)
    return done.stdout.splitlines(), done.returncode


class CountTests(unittest.TestCase):
    def test_lit_cases(self):
        lines, code = count(LIT.format(status="run", third="PASS"))
        self.assertEqual((lines[-1], code), ("3 passed, 0 failed, 1 skipped", 0))

    def test_lit_failure(self):
        for third in ("FAIL", "XPASS", "UNRESOLVED", "TIMEOUT"):
            lines, code = count(LIT.format(status="fail", third=third))
            self.assertEqual((lines[-1], code), ("2 passed, 1 failed, 1 skipped", 1))
            self.assertIn("failed: sparsec :: dialect/third.mlir", lines)

    def test_pytest_cases(self):
        lines, code = count(PYTEST.format(status="run", last="PASSED"))
        self.assertEqual((lines[-1], code), ("3 passed, 0 failed, 1 skipped", 0))
        self.assertIn("skipped: could not import 'torch': python/tests/test_bsr.py::test_torch", lines)

    def test_pytest_failure_counts_once(self):
        for last in ("FAILED", "ERROR"):
            lines, code = count(PYTEST.format(status="fail", last=last))
            self.assertEqual((lines[-1], code), ("2 passed, 1 failed, 1 skipped", 1))
            self.assertIn("failed: python/tests/test_cli.py::test_last", lines)

    def test_googletest_failure_counts_once(self):
        lines, code = count(GTEST.format(status="fail", last=GTEST_FAILURE))
        self.assertEqual((lines[-1], code), ("1 passed, 1 failed, 1 skipped", 1))

    def test_googletest_skip_says_why(self):
        lines, _ = count(GTEST.format(status="fail", last=GTEST_FAILURE))
        self.assertIn("skipped: no GPU: Plan.OnGpu", lines)

    def test_crash_is_a_failure(self):
        lines, code = count(GTEST.format(status="fail", last=""))
        self.assertEqual((lines[-1], code), ("1 passed, 1 failed, 1 skipped", 1))
        self.assertIn("failed: unit", lines)

    def test_missing_program_is_a_failure(self):
        entry = '<testcase name="unit" status="notrun"><skipped message="Unable to find executable"/></testcase>'
        self.assertEqual(count(entry), (["failed: unit", "0 passed, 1 failed, 0 skipped"], 1))

    def test_other_programs(self):
        skipped = '<testcase name="device" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>' \
                  '<system-out>skipped: no GPU</system-out></testcase>'
        passed = '<testcase name="style" status="run"><system-out>Ran 6 tests</system-out></testcase>'
        self.assertEqual(count(passed, skipped), (["skipped: no GPU: device", "1 passed, 0 failed, 1 skipped"], 0))

    def test_nothing_passed_is_no_success(self):
        disabled = '<testcase name="unit" status="disabled"><system-out>Disabled</system-out></testcase>'
        lines, code = count(disabled)
        self.assertEqual((lines[-1], code), ("0 passed, 0 failed, 1 skipped", 1))


if __name__ == "__main__":
    unittest.main()
