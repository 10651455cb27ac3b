#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each coverage of generate_kernels.py promises."""
import itertools
import random
import unittest

import attention_kernels
import epilogue_regions
import generate_kernels as generator
import merge_kernels
import scheduled_kernels
import sddmm_kernels
import spgemm_kernels


class Coverage(unittest.TestCase):
    def check_meetings(self, coverage, strength):
        factors = [generator.DTYPES, generator.BLOCKS, generator.LAYOUTS, generator.RESULTS,
                   list(epilogue_regions.EPILOGUES)]
        self.check_table(generator.select(coverage), factors, strength)

    def check_table(self, kernels, factors, strength, may_meet=lambda positions, values: True):
        for positions in itertools.combinations(range(len(factors)), strength):
            met = {tuple(kernel[position] for position in positions) for kernel in kernels}
            for wanted in itertools.product(*(factors[position] for position in positions)):
                if may_meet(positions, wanted):
                    self.assertIn(wanted, met)

    def test_pairs_have_every_two_features(self):
        self.check_meetings("pairs", 2)

    def test_triples_have_every_three_features(self):
        self.check_meetings("triples", 3)

    def test_full_has_everything_once(self):
        names = [generator.name_of(kernel) for kernel in generator.select("full")]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 2 * 6 * 4 * 2 * 6)

    def test_transposed_matrices_have_every_two_features(self):
        factors = [generator.DTYPES, generator.TRANSPOSED_BLOCKS, generator.LAYOUTS, generator.RESULTS]
        self.check_table(generator.select("pairs"), factors, 2)
        texts = [generator.text_of(kernel) for kernel in generator.select("pairs") if kernel.block == "64x32t"]
        self.assertTrue(all("block = 64x32, transposed>" in text for text in texts))

    def test_f8_has_every_two_features(self):
        factors = [generator.F8_DTYPES, generator.F8_BLOCKS, generator.F8_LAYOUTS, generator.F8_RESULTS]
        self.check_table(generator.select("pairs"), factors, 2)

    def test_scales_have_every_two_features(self):
        factors = [generator.F8_DTYPES, generator.SCALED_BLOCKS, generator.F8_LAYOUTS, generator.F8_RESULTS,
                   ["none", "everything"], generator.SCALES]
        self.check_table(generator.select("pairs"), factors, 2)
        texts = [generator.text_of(kernel) for kernel in generator.select("pairs") if kernel.scales == "bothscales"]
        self.assertTrue(all("sparsec.spmm %w scales(%s), %x x_scale(%t)" in text for text in texts))

    def test_fast_sums_have_every_two_features(self):
        factors = [generator.F8_DTYPES, generator.FAST_BLOCKS, generator.F8_LAYOUTS, generator.F8_RESULTS,
                   ["none", "everything"], [generator.FAST]]
        self.check_table(generator.select("pairs"), factors, 2)
        texts = [generator.text_of(kernel) for kernel in generator.select("pairs") if kernel.scales == generator.FAST]
        self.assertTrue(all(" accumulation(fast)" in text for text in texts))

    def test_every_region_names_its_operands(self):
        for epilogue, operands in epilogue_regions.EPILOGUES.items():
            region = "\n".join(epilogue_regions.REGIONS.get(epilogue, []))
            for name, _, _ in operands:
                self.assertIn(f"%{name}_element", region, epilogue)

    def test_attention_has_every_two_features(self):
        # Only the two block sizes depend on one another: a kernel has a pattern or none.
        blocks = (2, 3)
        for factors in (attention_kernels.FACTORS, attention_kernels.WIDE_FACTORS):
            self.check_table(attention_kernels.select("pairs"), factors, 2,
                             lambda positions, values:
                             positions != blocks or (values[0] is None) == (values[1] is None))

    def test_attention_names_differ(self):
        names = [attention_kernels.name_of(kernel) for kernel in attention_kernels.select("pairs")]
        self.assertEqual(len(names), len(set(names)))

    def test_attention_names_are_not_too_long(self):
        # SPEC.md: 63 characters.
        names = (attention_kernels.Kernel(*values)
                 for factors in (attention_kernels.FACTORS, attention_kernels.WIDE_FACTORS)
                 for values in itertools.product(*factors) if attention_kernels.is_allowed(*values))
        self.assertLessEqual(max(len(attention_kernels.name_of(kernel)) for kernel in names), 63)

    def test_attention_has_values_of_other_widths(self):
        texts = [attention_kernels.text_of(kernel) for kernel in attention_kernels.select("pairs")
                 if kernel.dimension == "192v128"]
        self.assertTrue(all(text.count("x192x") > 2 and text.count("x128x") > 2 for text in texts))
        self.assertTrue(texts)

    def test_every_attention_region_uses_its_operands(self):
        for name, regions in attention_kernels.REGIONS.items():
            lines = "\n".join(line for body in regions.bodies.values() for line in body)
            for operand, _ in regions.operands:
                self.assertIn(f"%{operand}_region[", lines, name)

    def test_sddmm_has_every_two_features(self):
        self.check_table(sddmm_kernels.select("pairs"), sddmm_kernels.FACTORS, 2)

    def test_sddmm_names_differ_and_are_not_too_long(self):
        names = [sddmm_kernels.name_of(kernel) for kernel in sddmm_kernels.select("triples")]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(max(map(len, names)), 63)

    def test_spgemm_has_every_two_features(self):
        self.check_table(spgemm_kernels.select("pairs"), spgemm_kernels.FACTORS, 2)

    def test_spgemm_names_differ_and_are_not_too_long(self):
        names = [spgemm_kernels.name_of(kernel) for kernel in spgemm_kernels.select("triples")]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(max(map(len, names)), 63)

    def test_merge_has_every_two_features(self):
        self.check_table(merge_kernels.select("pairs"), merge_kernels.FACTORS, 2)

    def test_merge_names_differ(self):
        names = [merge_kernels.name_of(kernel) for kernel in merge_kernels.select("triples")]
        self.assertEqual(len(names), len(set(names)))

    def test_scheduled_kernels(self):
        rng = random.Random("1")
        kernels = scheduled_kernels.kernels_of(rng, 20)
        names = [name for name, _, _ in kernels]
        self.assertEqual(len(set(names)), 20)
        self.assertEqual(sum(name.startswith("spmm_") for name in names), 10)
        for name, text, kernel in kernels:
            schedule = scheduled_kernels.schedule_for(rng, "sm_90a", kernel)
            lines = scheduled_kernels.scheduled(text, schedule).split("\n")
            self.assertIn(f"sparsec.kernel @{name}(", lines[0])
            self.assertTrue(lines[1].endswith(f") attributes {{schedule = {schedule}}} {{"), lines[1])
            self.assertTrue(schedule.startswith("#sparsec.schedule<instruction = "))


if __name__ == "__main__":
    unittest.main()
