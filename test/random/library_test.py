# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library of the random tests: the oracle says what a few lines of plain arithmetic say, it finds what is wrong,
and cases can be repeated."""
import argparse
import contextlib
import io
import itertools
import math
import pathlib
import random
import re
import stat
import tempfile
import unittest

import numpy as np

import attention
import checks
import formats
import harness
import intervals
import random_test
import regions
import schedule_fields
import schedules
import spmm
import texts

F32 = [float(np.float32(value)) for value in [*formats.SPECIAL, 1.1, -7.3, 1e-3, 123456.7, 1e30, 3e-42]]


def as_float(value):
    return intervals.Float(np.float64(value))


class Formats(unittest.TestCase):
    def test_f16_and_f32_round_as_numpy_does(self):
        drawn = np.concatenate([np.random.default_rng(1).standard_normal(2000) * 2.0 ** np.arange(-40, 40).repeat(25),
                                formats.SPECIAL])
        with np.errstate(over="ignore"):
            for dtype, numpy_type in (("f16", np.float16), ("f32", np.float32)):
                np.testing.assert_array_equal(formats.round_to(drawn, dtype), drawn.astype(numpy_type).astype(float))

    def test_bf16_rounds_ties_to_even(self):
        # 8 bits: 1 + 2^-8 is halfway between 1 and 1 + 2^-7, 1 + 3 2^-8 between 1 + 2^-7 and 1 + 2^-6.
        np.testing.assert_array_equal(formats.round_to([1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, 3.4e38], "bf16"),
                                      [1, 1 + 2.0 ** -6, np.inf])
        np.testing.assert_array_equal(formats.encode([1.0, -2.0, np.inf], "bf16"), [0x3F80, 0xC000, 0x7F80])


class Intervals(unittest.TestCase):
    def test_every_op_of_the_dialect_has_an_oracle(self):
        table = (texts.ROOT / "dialect/ElementwiseOps.def").read_text()
        classes = set(re.findall(r"^SPARSEC_\w+_OP\((?:mlir|sparsec)::(?:\w+::)?(\w+)Op,", table, flags=re.MULTILINE))
        names = {*regions.FLOAT_OPS, *regions.INTEGER_OPS, "arith.extf", "sparsec.element"}
        self.assertEqual({name.lower() for name in classes}, {name.split(".")[1] for name in names})

    def test_rounded_arithmetic_is_that_of_f32(self):
        operations = {"arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply}
        for a, b in itertools.product(F32, F32):
            for name, function in operations.items():
                with np.errstate(all="ignore"):
                    exact = float(function(np.float32(a), np.float32(b)))
                result = intervals.BINARY[name](as_float(a), as_float(b))
                self.assertTrue(result.contains(exact), (name, a, b))
                self.assertTrue(result.is_point(), (name, a, b))

    def test_division_is_that_of_f32_but_for_the_sign_of_zero(self):
        for a, b in itertools.product(F32, F32):
            with np.errstate(all="ignore"):
                exact = float(np.divide(np.float32(a), np.float32(b)))
            result = intervals.divide(as_float(a), as_float(b))
            self.assertTrue(result.contains(exact), (a, b))
            self.assertTrue(b == 0 or result.is_point(), (a, b))

    def test_functions_are_near_libm_and_not_far(self):
        references = {"math.exp": math.exp, "math.tanh": math.tanh, "math.erf": math.erf, "math.sin": math.sin,
                      "math.log1p": math.log1p, "math.expm1": math.expm1, "math.exp2": lambda x: 2.0 ** x}
        for name, function in references.items():
            for x in (0.3, -0.7, 1.1, 5.5, 1e-3):
                if name == "math.log1p" and x < -0.5:
                    continue
                exact = function(float(np.float32(x)))
                result = intervals.UNARY[name](as_float(np.float32(x)))
                self.assertTrue(result.contains(float(np.float32(exact))), (name, x))
                self.assertFalse(result.contains(float(np.float32(exact * (1 + 1e-5)))), (name, x))

    def test_fma_rounds_once(self):
        # The product is 1 - 2^-46, so the exact sum is just below the middle of two f32, to which double rounds it.
        a, b, c = 1 - 2.0 ** -23, 1 + 2.0 ** -23, 2.0 ** 24 + 2
        self.assertTrue(intervals.fma(as_float(a), as_float(b), as_float(c)).contains(2.0 ** 24 + 2))
        self.assertFalse(intervals.fma(as_float(3), as_float(5), as_float(0.5)).contains(15.0))

    def test_comparisons_follow_ieee(self):
        nan = float("nan")
        holds = {"oeq": lambda a, b: a == b, "olt": lambda a, b: a < b, "uge": lambda a, b: not a < b,
                 "one": lambda a, b: a < b or a > b, "une": lambda a, b: a != b,
                 "uno": lambda a, b: a != a or b != b, "ord": lambda a, b: a == a and b == b}
        for a, b in itertools.product([1.0, 2.0, nan, -0.0, 0.0, math.inf], repeat=2):
            for predicate, function in holds.items():
                truth = intervals.compare(predicate, as_float(a), as_float(b))
                self.assertEqual((bool(truth.true), bool(truth.false)), (function(a, b), not function(a, b)),
                                 (predicate, a, b))

    def test_minima_differ_in_nan(self):
        one, nan = as_float(1.0), as_float(float("nan"))
        self.assertTrue(intervals.BINARY["arith.maximumf"](one, nan).contains(float("nan")))
        self.assertFalse(intervals.BINARY["arith.maximumf"](one, nan).contains(1.0))
        self.assertTrue(intervals.BINARY["arith.maxnumf"](one, nan).contains(1.0))
        self.assertFalse(intervals.BINARY["arith.maxnumf"](one, nan).contains(float("nan")))

    def test_what_is_not_known_stays_open(self):
        wide = intervals.Float(np.float64(-1), np.float64(2))
        truth = intervals.compare("ogt", wide, as_float(0.0))
        self.assertTrue(truth.true and truth.false)
        either = intervals.select(truth, as_float(10.0), as_float(-10.0))
        self.assertTrue(either.contains(10.0) and either.contains(-10.0))
        self.assertTrue(intervals.UNARY["math.sqrt"](wide).contains(float("nan")))
        anything = intervals.Float(np.float64(-np.inf), np.float64(np.inf))
        self.assertTrue(intervals.multiply(as_float(0.0), anything).contains(0.0))
        self.assertTrue(intervals.divide(anything, as_float(np.inf)).contains(0.0))
        self.assertTrue(intervals.fma(anything, as_float(0.0), as_float(1.0)).contains(1.0))

    def test_integers_wrap_and_divide_towards_zero(self):
        def calculate(name, a, b):
            return int(intervals.INTEGER[name](intervals.Integer(a), intervals.Integer(b)).lo)
        self.assertEqual(calculate("arith.muli", 2 ** 30, 6), -2 ** 31)
        self.assertEqual(calculate("arith.addi", 2 ** 31 - 1, 1), -2 ** 31)
        self.assertEqual(calculate("arith.divsi", -7, 2), -3)
        self.assertEqual(calculate("arith.remsi", -7, 2), -1)
        self.assertEqual(calculate("arith.shrsi", -8, 1), -4)
        self.assertTrue(intervals.compare_integers("ult", intervals.Integer(1), intervals.Integer(-1)).true)


class Problems(unittest.TestCase):
    """The oracles of whole kernels against loops over elements."""

    def test_products(self):
        rng = random.Random(3)
        kernel = spmm.Kernel("k", "bf16", (16, 32), "nk", "nm", "f32", [spmm.Extra("e0", "per_row", "f32", False)])
        kernel.region = regions.Region(spmm.region_inputs(kernel.extras))
        kernel.region.result = kernel.region.add("arith.addf", "f32", (0, 1))
        numbers = np.random.default_rng(3)
        problem = spmm.Problem(kernel, (20, 40, 3), np.array([[True, False], [True, True]]), numbers,
                               lambda shape, dtype: formats.values(numbers, shape, dtype, wild=False), edge=np.nan)
        expected = problem.expected()["y"]
        self.assertEqual(expected.lo.shape, (3, 20))
        for row, column in itertools.product(range(20), range(3)):
            total = 0.0
            for block, (block_row, block_column) in zip(problem.blocks, problem.places()):
                for k in range(32):
                    if block_row == row // 16 and block_column * 32 + k < 40:
                        total += block[row % 16, k] * problem.x[column, block_column * 32 + k]
            exact = float(np.float32(total + problem.extras[0][row]))
            place = (np.arange(3)[:, None] == column) & (np.arange(20)[None] == row)
            self.assertTrue(expected.contains(exact)[place], (row, column))
            self.assertFalse(expected.contains(exact + 1e-3)[place], (row, column))

    def test_attention(self):
        numbers = np.random.default_rng(4)
        kernel = attention.Kernel("k", "f16", 64, (64, 64), True, (6, -1), False, "f32", True, [])
        problem = attention.Problem(kernel, 1, 2, 1, 70, 75,
                                    lambda shape, dtype: formats.values(numbers, shape, dtype, wild=False))
        problem.states = np.array([[[1, 0], [1, 1]], [[0, 0], [0, 1]]], np.uint8)
        expected = problem.expected()
        self.assertTrue(problem.compared.all())
        for head, query in itertools.product(range(2), range(70)):
            position = query + 5
            keys = [key for key in range(75) if problem.states[head, query // 64, key // 64]
                    and position - 6 <= key <= position]
            o, lse = np.zeros(64), -math.inf
            if keys:
                scores = [problem.q[0, head, query] @ problem.k[0, 0, key] / 8 for key in keys]
                lse = math.log(sum(math.exp(score) for score in scores))
                o = sum(math.exp(score - lse) * problem.v[0, 0, key] for score, key in zip(scores, keys))
            self.assertTrue(expected["lse"].contains(np.full((1, 2, 70), lse))[0, head, query])
            self.assertTrue(expected["o"].contains(o)[0, head, query].all(), (head, query))
            if keys:
                self.assertFalse(expected["o"].contains(o + 1e-3)[0, head, query].any(), (head, query))

    def test_wrong_elements_are_found(self):
        case = argparse.Namespace(failures=[], count=lambda *_: None)
        case.expect = lambda condition, message: condition or case.failures.append(message)
        expected = intervals.Float(np.array([1.0, 2.0]))
        checks.compare(case, "k: y", np.array([1.0, 2.0]), expected)
        self.assertEqual(case.failures, [])
        checks.compare(case, "k: y", np.array([1.0, np.nan]), expected)
        self.assertIn("1 of 2 elements are wrong, the first at (1,)", case.failures[0])


class Cases(unittest.TestCase):
    def run_check(self, check, **options):
        with tempfile.TemporaryDirectory() as folder:
            self.keep = pathlib.Path(folder)
            defaults = {"bin": pathlib.Path("/usr/bin"), "seed": "1", "keep": self.keep, "case": None, "minutes": None,
                        "cases": 3, "jobs": 1}
            with contextlib.redirect_stderr(io.StringIO()) as self.errors:
                result = harness.run_all(check, argparse.Namespace(**{**defaults, **options}), "kind")
            self.scripts = {path.parent.name: (path.read_text(), path.stat().st_mode & stat.S_IXUSR)
                            for path in self.keep.rglob("reproduce.sh")}
            return result

    def test_a_case_that_fails_is_saved(self):
        def check(case):
            (case.folder / "input").write_text("text")
            case.run("cat", "input")
            case.count("seen")
            case.expect(case.number != 1, "expects another number")
        counts, cases, failed = self.run_check(check)
        self.assertEqual((counts["seen"], cases, failed), (3, 3, 1))
        text, is_executable = self.scripts["kind-1-1"]
        self.assertIn("/usr/bin/cat input", text)
        self.assertIn("--seed 1 --case 1", text)
        self.assertIn("# expects another number", text)
        self.assertTrue(is_executable)
        self.assertIn("kind: case 1 failed: expects another number", self.errors.getvalue())

    def test_a_broken_check_is_a_failure(self):
        def check(case):
            raise ValueError("broken")
        self.assertEqual(self.run_check(check)[1:], (3, 3))

    def test_slow_programs_are_ended(self):
        def check(case):
            self.assertIsNone(case.run("sleep", "1000", seconds=0.1).code)
        self.assertEqual(self.run_check(check, cases=1)[2], 0)

    def test_refusals_have_a_place(self):
        def messages(code, errors):
            case = harness.Case(argparse.Namespace(seed="1"), "kind", 1, ".")
            harness.check_refusal(case, harness.Outcome(code, "", errors))
            return len(case.failures)
        self.assertEqual(messages(0, ""), 0)
        self.assertEqual(messages(1, "kernel.mlir:3:7: error: expects more"), 0)
        self.assertEqual(messages(1, "error: expects more"), 1)
        for code in (2, 3, -8, None):
            self.assertEqual(messages(code, "kernel.mlir:3:7: error: x"), 1)

    def test_numbers_and_seeds_make_the_cases(self):
        def text(seed, number):
            case = harness.Case(argparse.Namespace(seed=seed), "texts", number, ".")
            return texts.mutate(case.rng, texts.base_text(case.rng)), schedules.random_kernel(case.rng, "sm_89").text()
        self.assertEqual(text("1", 5), text("1", 5))
        self.assertNotEqual(text("1", 5), text("1", 6))
        self.assertNotEqual(text("1", 5), text("2", 5))

    def test_schedules_are_for_all_chips_of_the_table(self):
        chips = schedule_fields.CHIPS
        self.assertEqual(len(chips), schedule_fields.TABLE.read_text().count(".name = "))
        self.assertEqual(chips["sm_90a"], (227 << 10, True))
        self.assertEqual(chips["sm_89"], (99 << 10, False))
        # As many cases as the short run has.
        self.assertEqual({schedule_fields.chip_of(number) for number in range(20)}, set(chips))

    def test_too_few_hits_are_a_failure(self):
        kind = random_test.Kind(None, "sharp", "elements", 0.5)
        self.assertTrue(random_test.is_thin(kind, {"sharp": 4, "elements": 10}, 100))
        self.assertFalse(random_test.is_thin(kind, {"sharp": 5, "elements": 10}, 100))
        self.assertFalse(random_test.is_thin(kind, {"sharp": 0, "elements": 10}, 1))


if __name__ == "__main__":
    unittest.main()
