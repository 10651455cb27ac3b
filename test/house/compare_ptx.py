# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/compare-ptx.py tells which kernels differ: with compilers that are shell scripts."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "compare-ptx.py"


class ComparePtx(unittest.TestCase):
    def compare(self, before, after):
        """The exit code and the output for two compilers, given as shell commands that see the kernel as $1."""
        with tempfile.TemporaryDirectory() as folder:
            compilers = []
            for name, command in [("before", before), ("after", after)]:
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\n{command}\n")
                program.chmod(0o755)
                compilers.append(program)
            run = subprocess.run([sys.executable, SCRIPT, *compilers, "--filter", "bench/kernels"], capture_output=True,
                                 text=True)
            return run.returncode, run.stdout

    def test_identical(self):
        code, output = self.compare('echo "$1 $2"', 'echo "$1 $2"')
        self.assertEqual(code, 0)
        self.assertEqual(output, "16 of 16 texts are identical\n")

    def test_different(self):
        longer = 'echo "$1"; case "$1$2" in *64x64_kn_mn.mlir--arch=sm_89) echo more;; esac'
        code, output = self.compare('echo "$1"', longer)
        self.assertEqual(code, 1)
        self.assertEqual(output, "bench/kernels/spmm_bf16_64x64_kn_mn.mlir sm_89: differs, 1 and 2 lines\n"
                         "15 of 16 texts are identical\n")

    def test_different_launch_info(self):
        code, output = self.compare('echo ".global .b8 sparsec_launch_info[1] = {1};"',
                                    'echo ".global .b8 sparsec_launch_info[1] = {2};"')
        self.assertEqual(code, 1)
        self.assertEqual(output.count(": launch info differs\n"), 16)

    def test_refusals_count(self):
        code, _ = self.compare("exit 1", "echo text")
        self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
