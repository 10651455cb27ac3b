# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The extension module by itself: what its objects refuse, and what keeps them alive."""

import datetime
import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

import sparsec
from sparsec import _native

INVALID = sparsec.InvalidArgument
HOST = -1
ROW_PTR, COL_IDX = np.array([0, 1], np.int32), np.array([0], np.int32)


@pytest.fixture
def image(product):
    return _native.Image(_native.Device(threads=1), product.file.data)


@pytest.fixture
def arguments():
    """w = 2 I, x and y."""
    values = (2 * np.eye(16)).astype(np.float16)[None]
    w = _native.Blocks(16, 16, (16, 16), ROW_PTR, COL_IDX, None, None, values, 2, 1)
    return w, np.arange(128, dtype=np.float16).reshape(16, 8), np.zeros((16, 8), np.float32)


def test_dtype_names():
    assert [_native.dtype_name(number) for number in (1, 2, 3, 6)] == ["f32", "f16", "bf16", "i32"]


def test_device():
    info = _native.Device(threads=3).info()
    assert (info["ordinal"], info["multiprocessors"], info["compute_capability"]) == (HOST, 3, 0)
    _native.Device(check_memory=True).synchronize()
    with pytest.raises(sparsec.DriverError):
        _native.Device(10000)


def test_launch(image, arguments):
    kernel = image.kernel("product")
    kernel.launch(arguments, kernel.plan((arguments[0], None, None)), 0, None)
    np.testing.assert_array_equal(arguments[2], 2.0 * arguments[1])
    assert image.target == "host"
    with pytest.raises(sparsec.UnknownKernel, match="missing"):
        image.kernel("missing")


def test_handles_keep_what_they_need(product, arguments):
    kernel = _native.Image(_native.Device(), product.file.data).kernel("product")
    plan = kernel.plan((None, None, None))
    launcher = kernel.launcher(arguments, plan)
    del kernel, plan
    gc.collect()
    launcher.run()
    np.testing.assert_array_equal(arguments[2], 2.0 * arguments[1])


def test_types_and_references_are_released(product, arguments):
    kinds = (
        _native.Dense,
        _native.Blocks,
        _native.Device,
        _native.Image,
        _native.Kernel,
        _native.Plan,
        _native.Launcher,
    )

    def use():
        kernel = _native.Image(_native.Device(), product.file.data).kernel("product")
        plan = kernel.plan((arguments[0], None, None))
        launcher = kernel.launcher(arguments, plan)
        for _ in range(3):
            launcher.rebind(arguments)
            with pytest.raises(INVALID):
                launcher.rebind((arguments[0], arguments[1][:8], arguments[2]))
            with pytest.raises(INVALID):
                kernel.launch((arguments[0], "x", arguments[2]))

    use()
    gc.collect()
    counts = [sys.getrefcount(each) for each in (*kinds, *arguments, ROW_PTR, COL_IDX)]
    for _ in range(10):
        use()
    gc.collect()
    assert [sys.getrefcount(each) for each in (*kinds, *arguments, ROW_PTR, COL_IDX)] == counts


def test_view_keeps_its_array():
    array = np.zeros((2, 3), np.float32)
    reference = weakref.ref(array)
    view = _native.Dense(array)
    assert (view.pointer, view.shape, view.strides) == (array.ctypes.data, (2, 3), (3, 1))
    assert (view.dtype, view.device, view.read_only) == (1, HOST, False)
    del array
    gc.collect()
    assert reference() is not None
    del view
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(("array", "dtype"), [
    (np.zeros(3, ">f4"), 0), (np.zeros(3, "i2"), 0), (np.zeros(3, "u4"), 0), (np.zeros(3, "c8"), 0),
    (np.zeros(3, "f4,f4"), 0), (np.zeros(3, np.uint8), 3), (np.zeros(3, np.float32), 99), (b"abc", 0),
])  # fmt: skip
def test_formats_that_no_kernel_takes(array, dtype):
    with pytest.raises(INVALID, match="expects elements of f32, f16, bf16, f8, i64, i32, i8 or bool, but got format"):
        _native.Dense(array, dtype)


def test_strides_of_unused_dimensions_do_not_matter():
    one_row = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (1, 4), (7, 4))
    assert _native.Dense(one_row).shape == (1, 4)
    assert _native.Dense(np.zeros((0, 4), np.float32)).shape == (0, 4)
    assert _native.Dense(np.zeros((), np.float32)).shape == ()


@pytest.mark.parametrize("call", [
    lambda: _native.Dense.from_pointer(0, 1, (1,) * 6, None, HOST, False),
    lambda: _native.Dense.from_pointer(0, 1, (2, 3), (1,), HOST, False),
])  # fmt: skip
def test_from_pointer_refuses_ranks(call):
    with pytest.raises(ValueError, match="expects"):
        call()


class WrongCapsule:
    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **arguments):
        return "no capsule"


@pytest.mark.parametrize("arguments", [{}, {"max_version": (1, 0)}])
def test_capsules(arguments):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    if arguments and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy makes no capsules of DLPack 1.0")
    assert _native.Dense(array.__dlpack__(**arguments)).pointer == array.ctypes.data


def test_other_capsules_are_refused():
    with pytest.raises(INVALID, match="expects a DLPack capsule, but got <capsule"):
        _native.Dense(datetime.datetime_CAPI)


def test_dlpack_that_gives_no_capsule():
    with pytest.raises(INVALID, match="expects a DLPack capsule, but got 'no capsule'"):
        _native.Dense(WrongCapsule())


class WithoutBuffer(np.ndarray):
    """An array that has a buffer of no type and refuses to make one, as arrays of bf16 of JAX."""

    def __dlpack__(self, **arguments):
        return self.view(np.int16).view(np.ndarray).view(np.float16).__dlpack__()


def test_dlpack_where_the_buffer_is_refused():
    array = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    with pytest.raises(ValueError, match="cannot include dtype"):
        memoryview(array)
    view = _native.Dense(array.view(WithoutBuffer))
    assert (view.pointer, view.shape, view.dtype) == (array.ctypes.data, (2, 3), 2)


def test_buffer_errors_are_invalid_arguments():
    with pytest.raises(INVALID, match="the array gives no memory: DLPack only supports"):
        _native.Dense(np.zeros(3, ml_dtypes.bfloat16))


class Refuses:
    def __init__(self, error):
        self.error = error

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **arguments):
        raise self.error


def test_what_libraries_raise():
    with pytest.raises(INVALID, match="^the array gives no memory: no storage$"):
        _native.Dense(Refuses(RuntimeError("no storage\nframe #0: c10")))
    with pytest.raises(KeyError):
        _native.Dense(Refuses(KeyError("x")))


@pytest.mark.jax
def test_arrays_of_jax():
    """bf16 has no format of a buffer."""
    numpy = pytest.importorskip("jax.numpy")
    for dtype, number in ((numpy.bfloat16, 3), (numpy.float16, 2), (numpy.float32, 1)):
        view = _native.Dense(numpy.ones((16, 8), dtype))
        assert (view.shape, view.dtype, view.device) == ((16, 8), number, HOST)


@pytest.mark.parametrize(("change", "message"), [
    ({"rows": -1}, "expects sizes of 0 to"),
    ({"capacity": 2**40}, "expects sizes of 0 to"),
    ({"block": (0, 16)}, "blocks of 1 to 65536"),
    ({"batches": 2**20, "heads": 2**20}, "expects sizes of 0 to"),
    ({"full_starts": ROW_PTR[:1]}, "full starts: expects at least 2 elements, but got 1"),
    ({"capacity": 2}, "full indices: expects at least 2 elements, but got 1"),
    ({"dtype": 3}, "values: expects elements of bf16, but got f16"),
    ({"values": np.zeros((1, 8, 16), np.float16)}, "values: expects at least 256 elements, but got 128"),
    ({"full_indices": _native.Dense.from_pointer(0, 6, (1,), None, 3, True)},
     "full indices: expects memory of device -1, as the arrays before it, but got device 3"),
])  # fmt: skip
def test_blocks_refuse(change, message):
    fields = {
        "rows": 16, "columns": 16, "block": (16, 16), "full_starts": ROW_PTR, "full_indices": COL_IDX,
        "partial_starts": None, "partial_indices": None, "values": np.zeros((1, 16, 16), np.float16), "dtype": 2,
        "capacity": 1,
    }  # fmt: skip
    assert _native.Blocks(**fields).device == HOST
    with pytest.raises(INVALID, match=message):
        _native.Blocks(**{**fields, **change})


def test_wrong_objects_are_refused(image, arguments):
    kernel = image.kernel("product")
    for call, message in (
        (lambda: _native.check_blocks(3), "expects Blocks"),
        (lambda: kernel.launch(arguments, image), "expects a plan, but got"),
        (lambda: kernel.variant(arguments, 7), "expects a plan, but got"),
        (lambda: kernel.launch(arguments, None, 0, image), "expects a workspace, but got"),
        (lambda: kernel.launcher(arguments, image), "expects a plan, but got"),
        (lambda: kernel.launcher(arguments, None, image), "expects a workspace, but got"),
        (lambda: kernel.reference(arguments, 5, 4, 8), "expects rows in ascending order"),
        (lambda: kernel.reference(arguments, 0, 2**62, 8), "expects rows in ascending order, and results that fit"),
        (lambda: kernel.reference(arguments, 0, 17, 8), "row_end 17"),
    ):
        with pytest.raises(INVALID, match=message):
            call()
    with pytest.raises(TypeError):
        _native.Image(3, b"")
    for kind in (_native.Memory, _native.Kernel, _native.Plan, _native.Launcher):
        with pytest.raises(TypeError, match="cannot create"):
            kind()
        with pytest.raises(TypeError):
            type("Sub", (kind,), {})
