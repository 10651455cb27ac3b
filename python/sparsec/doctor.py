# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this machine has of what the package needs, and a test on every device."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _native, arrays, cache, compiler, devices, module
from .bsr import BSR
from .errors import Error
from .kernel import Kernel
from .prune import random

_KERNEL_MODULE = Path("/proc/driver/nvidia/version")
_PACKAGES = ("ml_dtypes", "scipy", "torch", "jax")
_SELF_TEST = """
sparsec.kernel @self_test(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
"""


@dataclass(frozen=True)
class Finding:
    """A line of the report. A problem is something that does not work, not something that is only missing."""

    name: str
    text: str
    is_problem: bool = False


def findings() -> Iterator[Finding]:
    """Looks at this machine, one thing after the other."""
    yield Finding("sparsec", f"{_native.version()}, Python {platform.python_version()}, NumPy {np.__version__}")
    for name in _PACKAGES:
        yield Finding(name, _version_of(name))
    yield _compiler()
    driver = driver_release()
    yield _driver(driver)
    yield _ptxas(driver)
    yield _cache()
    yield _self_test("host", arrays.HOST, "host")
    yield from _gpus()


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _compiler() -> Finding:
    try:
        program = compiler.find_compiler()
    except Error as error:
        return Finding("compiler", str(error), True)
    return Finding("compiler", f"{program.version.splitlines()[0]}, {program.path}")


def driver_release() -> tuple[int, int] | None:
    """The release of CUDA that the driver is made for; None without a driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    return number.value // 1000, number.value % 1000 // 10


def _driver(release: tuple[int, int] | None) -> Finding:
    if release is None:
        return Finding("driver", "none")
    text = _KERNEL_MODULE.read_text() if _KERNEL_MODULE.is_file() else ""
    version = re.search(r"Kernel Module(?: for \S+)?\s+([\d.]+)", text)
    return Finding("driver", f"{version[1] + ', ' if version else ''}CUDA {release[0]}.{release[1]}")


def _ptxas(driver: tuple[int, int] | None) -> Finding:
    program, passed_over = compiler.search_ptxas()
    notes = "".join(f"; passed over {reason}" for reason in passed_over)
    if program is None:
        is_named = bool(os.environ.get("SPARSEC_PTXAS"))
        effect = "targets of a GPU need what SPARSEC_PTXAS names" if is_named else "the driver compiles PTX instead"
        return Finding("ptxas", f"none of CUDA 12.8 or later; {effect}{notes}")
    major, minor = compiler.release_of(program.version) or (0, 0)
    if driver is not None and major > driver[0]:
        notes = f"; later than the driver, which may refuse its cubins: see the tests of the GPUs{notes}"
    return Finding("ptxas", f"{major}.{minor}, {program.path}{notes}")


def _cache() -> Finding:
    entries = cache.entries()
    size = sum(entry.size for entry in entries) / 1e6
    return Finding("cache", f"{len(entries)} files, {size:.1f} MB, {cache.folder()}")


def _gpus() -> Iterator[Finding]:
    """The driver's GPUs. The test on a GPU shows whether the driver takes what ptxas makes."""
    try:
        count = _native.cuda_device_count()
    except Error as error:
        yield Finding("gpu", str(error), True)
        return
    if count == 0:
        yield Finding("gpu", "none, or no driver; kernels run on the host")
    for ordinal in range(count):
        name = f"gpu {ordinal}"
        try:
            info = devices.device(ordinal).info()
            known = devices.known_targets(compiler.find_compiler())
        except Error as error:
            yield Finding(name, str(error), True)
            continue
        capability = info["compute_capability"]
        target = devices.target_of(capability, known)
        text = f"{info['name']}, capability {capability / 10}, {info['memory_bytes'] / 2**30:.0f} GiB, target {target}"
        yield Finding(name, text, target is None)
        if target is not None:
            yield _self_test(name, ordinal, target)


def _self_test(name: str, ordinal: int, target: str) -> Finding:
    begin = time.monotonic()
    try:
        is_right = self_test(ordinal, target)
    except (Error, OSError) as caught:
        return Finding(f"{name} test", str(caught), True)
    result = "right" if is_right else "wrong"
    image = "takes the cubin of ptxas" if compiler.search_ptxas()[0] else "compiles the PTX"
    taken = "" if ordinal == arrays.HOST else f"the driver {image}, "
    return Finding(f"{name} test", f"{taken}{result} result, {time.monotonic() - begin:.1f} s", not is_right)


def self_test(ordinal: int, target: str) -> bool:
    """Compiles a product, runs it on a device and compares it with NumPy in double precision.

    Returns:
        Whether all errors are within the rounding of sums in f32.

    Raises:
        Error: it does not compile, load or launch.
    """
    generator = np.random.default_rng(0)
    a, x = generator.standard_normal((192, 160)), generator.standard_normal((160, 72)).astype(np.float16)
    w = BSR.from_dense(a, 32, random((192, 160), 32, 0.4), "f16")
    kernel = module.compile(_SELF_TEST, target)["self_test"]
    y = kernel(w, x) if ordinal == arrays.HOST else _run_on_gpu(kernel, ordinal, w, x)
    exact_w, exact_x = w.to_dense().astype(np.float64), x.astype(np.float64)
    return bool((np.abs(y - exact_w @ exact_x) <= 1e-6 * (np.abs(exact_w) @ np.abs(exact_x))).all())


def _run_on_gpu(kernel: Kernel, ordinal: int, w: BSR, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Runs a kernel on copies of host arrays, without another library."""
    device = devices.device(ordinal)
    y = np.empty((w.shape[0], x.shape[1]), np.float32)
    memories, views = [], []
    for array, dtype in ((w.row_ptr, "i32"), (w.col_idx, "i32"), (w.values, "f16"), (x, "f16"), (y, "f32")):
        memory = device.allocate(array.nbytes)
        memory.upload(np.ascontiguousarray(array))
        memories.append(memory)
        views.append(arrays.from_pointer(memory.pointer, array.shape, dtype, device=ordinal))
    kernel(BSR(views[0], views[1], views[2], w.shape), views[3], out=views[4])
    device.synchronize()
    memories[-1].download(y)
    return y
