#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""plot_sweep.py on a small file. test/docs/test_sweeps.py has the pictures."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import plot_sweep

SCHEDULES = [  # name, predicted, TFLOP/s at two densities
    ("wgmma tma 128x256x64 stages 4 consumers 2x1 cluster 2 registers 40/232", 2800.0, 600.0, 500.0),
    ("wgmma tma 128x256x64 stages 3 consumers 2x1 cluster 2 registers 40/232", 2800.0, 570.0, 510.0),
    ("wgmma tma 128x64x64 stages 3 consumers 2x1 registers 40/96 group_m 64 ctas_per_sm 2", 1900.0, 640.0, 300.0),
]


def row_of(name, density, predicted, teraflops, error=""):
    return {"problem": "spmm bf16 128x128", "pattern": f"random:{density}", "density": density, "rows": 512,
            "depth": 1024, "columns": 256, "device": "a GPU", "name": name, "predicted": predicted,
            "teraflops": teraflops, "error": error}


class Sweep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rows = [row_of(name, density, predicted, speeds[index])
                for index, density in enumerate((0.25, 0.1)) for name, predicted, *speeds in SCHEDULES]
        rows.append(row_of(SCHEDULES[0][0], 0.25, 2800.0, 9999.0, error="elements are wrong"))
        self.file = self.folder / "measurements.jsonl"
        self.file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def test_panels_have_the_fastest_first(self):
        thin, dense = plot_sweep.load(self.file)
        self.assertEqual(dense.title, "spmm bf16 128x128\ndensity 0.25, 512 x 1024 x 256, a GPU")
        self.assertEqual([dense.name, thin.name], ["spmm-bf16-128x128-random-0.25", "spmm-bf16-128x128-random-0.1"])
        self.assertEqual([point.teraflops for point in dense.points], [640, 600, 570])
        self.assertEqual([point.teraflops for point in thin.points], [510, 500, 300])
        self.assertEqual(dense.tiles, ["128x64x64", "128x256x64"])

    def test_names_are_read(self):
        points = {point.name: point for point in plot_sweep.load(self.file)[0].points}
        cluster, small = points[SCHEDULES[0][0]], points[SCHEDULES[2][0]]
        self.assertEqual((cluster.tile, cluster.stages, cluster.roles), ("128x256x64", 4, "2x1 consumers, cluster 2"))
        self.assertEqual((small.tile, small.stages, small.roles), ("128x64x64", 3, "2x1 consumers, 2 CTAs"))
        with self.assertRaisesRegex(ValueError, "expects the description of a schedule, but got 'fast'"):
            plot_sweep.point_of({"name": "fast"})

    def test_the_choice_of_the_model_has_the_most_stages(self):
        for panel in plot_sweep.load(self.file):
            self.assertEqual(panel.choice.name, SCHEDULES[0][0])

    def test_table(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            plot_sweep.print_table(plot_sweep.load(self.file)[1:])
        self.assertEqual(text.getvalue(), "spmm bf16 128x128\ndensity 0.25, 512 x 1024 x 256, a GPU\n"
                         f"     640.0 TFLOP/s (1.000)  {SCHEDULES[2][0]}\n"
                         f"     600.0 TFLOP/s (0.938)  {SCHEDULES[0][0]}\n"
                         "  the model's choice: 0.938 of the best speed\n")


if __name__ == "__main__":
    unittest.main()
