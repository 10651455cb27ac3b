#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""competitors.py on the processor: operands, the check of results, and the choice of the fastest way. Needs torch."""

import ctypes
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

try:
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(0)

import competitors
import cusparse

TEXT = "3, 4, 5\n0 2 2 5\n1 3 0 1 3\n"
STORED = [(0, 1), (0, 3), (2, 0), (2, 1), (2, 3)]


class ProblemCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "p.smtx"
        self.path.write_text(TEXT)
        self.problem = competitors.Problem((48, 64, 24), 16, competitors.Pattern.read(self.path, "cpu"), "cpu")


class Problems(ProblemCase):
    def test_dense_matrix_has_the_blocks(self):
        expected = torch.zeros(48, 64, dtype=torch.bfloat16)
        for (row, column), block in zip(STORED, self.problem.values, strict=True):
            expected[16 * row : 16 * row + 16, 16 * column : 16 * column + 16] = block
        self.assertTrue(torch.equal(self.problem.dense, expected))
        self.assertEqual(self.problem.flops, 2 * 5 * 16 * 16 * 24)
        self.assertEqual(self.problem.pattern.block_rows().tolist(), [0, 0, 2, 2, 2])

    def test_a_size_that_is_not_that_of_the_pattern(self):
        with self.assertRaisesRegex(ValueError, "3 x 4 blocks of 32 is no"):
            competitors.Problem((48, 64, 24), 32, self.problem.pattern, "cpu")

    def test_check_of_results(self):
        problem = self.problem
        y = (problem.dense.double() @ problem.x.double()).bfloat16()
        self.assertEqual(problem.error(y), "")
        place = int(y[0].abs().argmax())
        exact = float(y[0, place])
        unit = 2.0 ** (torch.frexp(torch.tensor(exact)).exponent.item() - 8)
        for units, is_right in ((1, True), (4, False), (-4, False)):
            other = y.clone()
            other[0, place] = exact + units * unit
            self.assertEqual(problem.error(other) == "", is_right, units)
        empty = y.clone()
        empty[16, 0] = 2.0**-10  # in a row without blocks
        self.assertIn("should be 0", problem.error(empty))
        y[47, 3] = float("nan")
        self.assertEqual(problem.error(y), "elements are NaN or not written")

    def test_rows_of_blocked_ell(self):
        columns, values = cusparse.ell_arrays(self.problem)
        self.assertEqual(columns.tolist(), [[1, 3, -1], [-1, -1, -1], [0, 1, 3]])
        # A row-major matrix of 48 x (3 blocks of 16).
        matrix = values.reshape(48, 48)
        for place, block in enumerate(self.problem.values[2:]):
            self.assertTrue(torch.equal(matrix[32:, 16 * place : 16 * place + 16], block))
        self.assertTrue(torch.equal(matrix[:16, :32], torch.cat(list(self.problem.values[:2]), dim=1)))
        self.assertEqual(int(matrix[16:32].count_nonzero() + matrix[:16, 32:].count_nonzero()), 0)


class FakeCuSparse(cusparse.CuSparse):
    """Notes the matrices that are made: the name of the call, the values in memory, and the last number."""

    def __init__(self):
        self.handle = ctypes.c_void_p()
        self.made = []

    def call(self, name, *arguments):
        if name in ("cusparseCreateBsr", "cusparseCreateBlockedEll"):
            pointers = [each for each in arguments if isinstance(each, ctypes.c_void_p)]
            self.made.append((name, ctypes.string_at(pointers[-1].value, 512), arguments[-1]))


class MatricesOfCuSparse(ProblemCase):
    def made(self, ways):
        """The matrices of the first group of ways, by its names."""
        fake, found = FakeCuSparse(), {}
        with mock.patch.object(cusparse, "CuSparse", lambda: fake):
            for way in next(ways(self.problem, competitors.Way)):
                way.prepare()
                found[way.name] = fake.made.pop()
        return found

    def test_bsr_in_both_orders(self):
        made = self.made(cusparse.bsr_ways)
        block = self.problem.values[0]
        for name, values, order in (("row-major", block, 2), ("column-major", block.T.contiguous(), 1)):
            expected = ("cusparseCreateBsr", ctypes.string_at(values.data_ptr(), 512), order)
            for of_x in ("row-major", "column-major"):
                self.assertEqual(made[f"bfloat16, {name} blocks, {of_x} X and Y"], expected)
        self.assertEqual(len(made), 4)

    def test_blocked_ell(self):
        made = self.made(cusparse.ell_ways)
        values = cusparse.ell_arrays(self.problem)[1]
        expected = ("cusparseCreateBlockedEll", ctypes.string_at(values.data_ptr(), 512), cusparse.CUDA_R_16BF)
        ways = ("bfloat16, row-major X and Y", "bfloat16, column-major X and Y")
        self.assertEqual(made, dict.fromkeys(ways, expected))


class SteppingTimer:
    """Gives a time that each call sets."""

    def once(self, run):
        return run()

    def back_to_back(self, run, count):
        return [run() for _ in range(count)]


class Ways(ProblemCase):
    def way(self, name, milliseconds, y):
        return competitors.Way(name, lambda: (lambda: milliseconds, lambda: y))

    def fastest(self, *groups):
        return competitors.fastest(self.problem, groups, SteppingTimer())

    def test_the_fastest_right_way_counts(self):
        right = self.problem.dense @ self.problem.x

        def refuse():
            raise RuntimeError("not supported\nat all")

        slow, fast = self.way("slow", 9.0, right), self.way("fast", 3.0, right)
        wrong, refused = self.way("wrong", 1.0, right + 9), competitors.Way("refused", refuse)
        result = self.fastest([wrong], [refused, slow, fast], [self.way("later", 2.0, right)])
        self.assertEqual((result["way"], result["median_ms"], result["launches"]), ("fast", 3.0, competitors.LAUNCHES))
        self.assertEqual(len(result["refused"]), 2)
        self.assertIn("wrong: an element is", result["refused"][0])
        self.assertEqual(result["refused"][1], "refused: RuntimeError: not supported")
        self.assertEqual(self.fastest([refused]), {"failure": "refused: RuntimeError: not supported"})
        self.assertEqual(self.fastest([self.way("slow", 30.0, right)])["launches"], competitors.LAUNCHES_OF_SLOW)

    def test_a_way_that_writes_nothing_is_wrong(self):
        run = competitors.Way("idle", lambda: (lambda: 1.0, lambda: self.problem.y))
        self.assertEqual(self.fastest([run]), {"failure": "idle: elements are NaN or not written"})

    def test_summary(self):
        self.assertEqual(
            competitors.summary([1, 2, 3, 4, 50]), {"median_ms": 3, "quartiles_ms": [2, 4], "best_ms": 1, "launches": 5}
        )

    def test_answers_lines(self):
        def ways(problem):
            yield [competitors.Way("mm", lambda: (lambda: torch.mm(problem.dense, problem.x, out=problem.y),
                                                  lambda: problem.y))]  # fmt: skip

        requests = [{"key": "a", "size": [48, 64, 24], "block": 16, "pattern": str(self.path)},
                    {"key": "b", "size": [48, 64, 24], "block": 8, "pattern": str(self.path)},
                    {"key": "c", "size": [48, 64, 24], "block": 16, "pattern": "gone.smtx"}]  # fmt: skip
        output = io.StringIO()
        with (mock.patch.dict(competitors.LIBRARIES, triton=ways),
              mock.patch.object(sys, "argv", ["competitors.py", "triton", "--device=cpu"]),
              mock.patch.object(sys, "stdin", io.StringIO("\n".join(map(json.dumps, requests)))),
              mock.patch.object(sys, "stdout", output)):  # fmt: skip
            competitors.main()
        versions, first, second, third = map(json.loads, output.getvalue().splitlines())
        self.assertEqual(versions["versions"]["torch"], torch.__version__)
        self.assertEqual((first["key"], first["way"], first["block_count"]), ("a", "mm", 5))
        self.assertGreater(first["tflops"], 0)
        self.assertGreater(first["dense_ms"], 0)
        self.assertEqual((second["key"], second["failure"].split(":")[0]), ("b", "ValueError"))
        self.assertEqual((third["key"], third["failure"].split(":")[0]), ("c", "FileNotFoundError"))


class FakeTorch:
    """Notes what is submitted. The clock of its events advances by 2 with every call that is timed, and by 5 with a
    flush."""

    int32 = None

    def __init__(self):
        self.log, self.now, self.cuda = [], 0, self

    def zeros(self, *_, **__):
        return "other data"

    def amax(self, data):
        assert data == "other data"
        self.submit("flush", 5)

    def submit(self, name, milliseconds):
        self.log.append(name)
        self.now += milliseconds

    def _sleep(self, cycles):
        assert cycles >= 2_000_000
        self.submit("sleep", 100)

    def synchronize(self):
        self.log.append("synchronize")

    def Event(self, **_):  # noqa: N802 - torch's name
        event = mock.Mock()
        event.record = lambda: setattr(event, "time", self.now)
        event.elapsed_time = lambda other: other.time - event.time
        return event


class Timers(unittest.TestCase):
    def test_back_to_back(self):
        fake = FakeTorch()
        timer = competitors.Timer(fake, 15)
        self.assertEqual(timer.back_to_back(lambda: fake.submit("run", 2), 3), [2, 2, 2])
        # The host waits for the GPU only before the first timed call and after the last one.
        self.assertEqual(fake.log, ["run", "synchronize", "sleep", *["flush", "run"] * 3, "synchronize"])


if __name__ == "__main__":
    unittest.main()
