#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each coverage of generate_kernels.py promises."""
import itertools
import unittest

import generate_kernels as generator


class Coverage(unittest.TestCase):
    def check_meetings(self, coverage, strength):
        kernels = generator.select(coverage)
        factors = [generator.DTYPES, generator.BLOCKS, generator.LAYOUTS, generator.RESULTS,
                   list(generator.EPILOGUES)]
        for positions in itertools.combinations(range(len(factors)), strength):
            met = {tuple(kernel[position] for position in positions) for kernel in kernels}
            for wanted in itertools.product(*(factors[position] for position in positions)):
                self.assertIn(wanted, met)

    def test_pairs_have_every_two_features(self):
        self.check_meetings("pairs", 2)

    def test_triples_have_every_three_features(self):
        self.check_meetings("triples", 3)

    def test_full_has_everything_once(self):
        names = [generator.name_of(kernel) for kernel in generator.select("full")]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 2 * 6 * 4 * 2 * 6)

    def test_every_region_names_its_operands(self):
        for epilogue, operands in generator.EPILOGUES.items():
            region = "\n".join(generator.REGIONS.get(epilogue, []))
            for name, _, _ in operands:
                self.assertIn(f"%{name}_element", region, epilogue)


if __name__ == "__main__":
    unittest.main()
