# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of another device than the first one are refused by name, on the host and on a GPU."""

import numpy as np
import pytest

import conftest
import sparsec

ELSEWHERE = 4096  # an address that no call may read


def test_memory_of_a_gpu_in_calls_of_the_host(product):
    w, x = conftest.matrix(), conftest.dense((52, 24))
    x_there = sparsec.from_pointer(ELSEWHERE, (52, 24), "f16", device=0)
    y_there = sparsec.from_pointer(ELSEWHERE, (70, 24), "f32", device=0)
    message = "expects memory of the host, but got memory of device 0"
    with pytest.raises(sparsec.InvalidArgument, match=f"argument 1 'x': {message}"):
        product(w, x_there, out=np.empty((70, 24), np.float32))
    with pytest.raises(sparsec.InvalidArgument, match=f"argument 2 'y': {message}"):
        product(w, x, out=y_there)


def test_memory_of_the_host_in_calls_of_a_simulated_gpu():
    lines = conftest.on_simulator(
        f"TEXT = {conftest.PRODUCT!r}\n"
        "import contextlib, numpy as np, sparsec\n"
        "with contextlib.suppress(ImportError): import torch\n"  # which may be built without CUDA
        "from sparsec import devices\n"
        "device, memories = devices.device(0), []\n"
        "def upload(array, dtype):\n"
        "    memories.append(device.allocate(array.nbytes))\n"
        "    memories[-1].upload(np.ascontiguousarray(array))\n"
        "    return sparsec.from_pointer(memories[-1].pointer, array.shape, dtype, device=0)\n"
        "kernel = sparsec.compile(TEXT, 'sm_90a,host')['product']\n"
        "w = sparsec.BSR.from_dense(np.ones((48, 32)), 16, dtype='f16')\n"
        "x, y = np.ones((32, 8), np.float16), np.zeros((48, 8), np.float32)\n"
        "w_there = sparsec.BSR(upload(w.row_ptr, 'i32'), upload(w.col_idx, 'i32'), upload(w.values, 'f16'), w.shape)\n"
        "x_there, y_there = upload(x, 'f16'), upload(y, 'f32')\n"
        "for arguments in ((w_there, x_there, y_there), (w, x_there, y_there), (w_there, x, y_there), "
        "(w_there, x_there, y)):\n"
        "    try:\n"
        "        kernel(*arguments[:2], out=arguments[2])\n"
        "        device.synchronize()\n"
        "        memories[-1].download(y)\n"
        "        print((y == 32).all())\n"
        "    except sparsec.InvalidArgument as error:\n"
        "        print(error)\n"
    ).splitlines()
    assert lines == [
        "True",
        "argument 1 'x': expects memory of the host, but got memory of device 0",
        "argument 1 'x': expects memory of device 0, but got memory of the host",
        "argument 2 'y': expects memory of device 0, but got memory of the host",
    ]


def test_lists_and_values_of_one_matrix():
    w = conftest.matrix()
    values = sparsec.from_pointer(ELSEWHERE, w.values.shape, "f16", device=0)
    with pytest.raises(sparsec.InvalidArgument, match="expects memory of device -1, as the arrays before it, but got"):
        sparsec.BSR(w.row_ptr, w.col_idx, values, w.shape)
