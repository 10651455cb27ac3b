# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit settings. Run a folder or a file of the tests with: lit -v BUILD/test/dialect[/spmm.mlir]

Features that a test may name in REQUIRES or UNSUPPORTED:
  ptxas  NVIDIA's assembler is there
  gpu    a CUDA driver with at least one device is there
  scipy  the interpreter that runs lit has SciPy
Substitutions: %ptxas is the assembler's path, %examples the folder examples/, %python the interpreter that runs lit;
programs are found through PATH.
"""

import ctypes
import glob
import importlib.util
import os
import shutil
import sys

import lit.formats

config.name = "sparsec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "device", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.sparsec_test_build_dir

config.environment["PATH"] = os.pathsep.join(
    [config.sparsec_tools_dir, config.llvm_tools_dir, config.environment["PATH"]])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
config.substitutions.append(("%examples", os.path.join(config.sparsec_source_dir, "examples")))
config.substitutions.append(("%python", sys.executable))


def find_ptxas():
    """As the compiler, in its order: SPARSEC_PTXAS, lib/sparsec of the build, PATH, the CUDA toolkit, the wheel."""
    named = os.environ.get("SPARSEC_PTXAS")
    if named:
        return shutil.which(named)
    folders = [os.path.join(os.environ[variable], "bin")
               for variable in ("CUDA_HOME", "CUDA_PATH") if variable in os.environ] + ["/usr/local/cuda/bin"]
    if "VIRTUAL_ENV" in os.environ:
        for package in ("cu13", "cuda_nvcc"):
            pattern = os.path.join(os.environ["VIRTUAL_ENV"], "lib", "*", "site-packages", "nvidia", package, "bin")
            folders += glob.glob(pattern)
    beside = os.path.join(config.sparsec_tools_dir, "..", "lib", "sparsec")
    return shutil.which("ptxas", path=os.pathsep.join([beside, os.environ["PATH"], *folders]))


def has_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


ptxas = find_ptxas()
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
    config.environment["SPARSEC_PTXAS"] = ptxas
if has_gpu():
    config.available_features.add("gpu")
if importlib.util.find_spec("scipy"):
    config.available_features.add("scipy")
