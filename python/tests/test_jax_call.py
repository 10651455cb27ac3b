# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels as operations of XLA: their structs, when they are compiled, and arrays of JAX in other calls."""

import shutil
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import sparsec

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
sj = pytest.importorskip("sparsec.jax")
call = pytest.importorskip("sparsec.jax.call")
pytestmark = pytest.mark.jax

SOURCES = Path(__file__).parents[1] / "src"
X = jnp.asarray(np.random.default_rng(0).integers(-4, 5, (5, 32)), "bfloat16")

# By the name in xla.h: the name in the header of jaxlib, and the names of fields that differ.
STRUCTS = {
    "XlaExtension": ("Extension_Base", "size struct_size kind type next next"),
    "XlaVersion": ("Api_Version", "extensions extension_start major major_version minor minor_version"),
    "XlaText": ("ByteSpan", "data ptr length len"),
    "XlaScalar": ("Scalar", "type dtype value value"),
    "XlaArray": ("Array", "type dtype count size data data"),
    "XlaBuffer": ("Buffer", "extensions extension_start type dtype data data rank rank sizes dims"),
    "XlaTypeId": ("TypeId", "id type_id"),
    "XlaTypeInfo": ("TypeInfo", "extensions extension_start deleter deleter"),
    "XlaBuffers": ("Args", "extensions extension_start count size kinds types list args"),
    "XlaAttributes": ("Attrs", "count size kinds types names names list attrs"),
    "XlaErrorRequest": ("Error_Create_Args", "message message code errc"),
    "XlaStateRequest": ("State_Get_Args", "context ctx stage stage type type_id state state"),
    "XlaStreamRequest": ("Stream_Get_Args", "context ctx stream stream"),
    "XlaOrdinalRequest": ("DeviceOrdinal_Get_Args", "context ctx ordinal device_ordinal"),
    "XlaApi": ("Api", "version api_version createError XLA_FFI_Error_Create getStream XLA_FFI_Stream_Get "
               "setState XLA_FFI_State_Set getState XLA_FFI_State_Get getOrdinal XLA_FFI_DeviceOrdinal_Get"),
    "XlaCall": ("CallFrame", "api api context ctx stage stage arguments args results rets attributes attrs"),
    "XlaMetadata": ("Metadata", "size struct_size version api_version traits traits stateType state_type_id"),
    "XlaMetadataExtension": ("Metadata_Extension", "base extension_base metadata metadata"),
}  # fmt: skip
CONSTANTS = {
    "XLA_VERSION_MAJOR": "API_MAJOR", "XLA_VERSION_MINOR": "API_MINOR",
    "XLA_EXTENSION_METADATA": "Extension_Metadata", "XLA_STAGE_INSTANTIATE": "ExecutionStage_INSTANTIATE",
    "XLA_ERROR_INVALID_ARGUMENT": "Error_Code_INVALID_ARGUMENT", "XLA_ERROR_INTERNAL": "Error_Code_INTERNAL",
    "XLA_ERROR_RESOURCE_EXHAUSTED": "Error_Code_RESOURCE_EXHAUSTED",
    "XLA_ERROR_UNAVAILABLE": "Error_Code_UNAVAILABLE", "XLA_TYPE_S32": "DataType_S32",
    "XLA_TYPE_F16": "DataType_F16", "XLA_TYPE_F32": "DataType_F32", "XLA_TYPE_BF16": "DataType_BF16",
    "XLA_TYPE_F8E5M2": "DataType_F8E5M2", "XLA_TYPE_F8E4M3FN": "DataType_F8E4M3FN",
    "XLA_TRAIT_COMMAND_BUFFER": "HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE",
}  # fmt: skip


def test_structs_are_those_of_jaxlib(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    lines = ['#include "xla.h"', '#include "xla/ffi/api/c_api.h"']
    for own, (other, fields) in STRUCTS.items():
        names = fields.split()
        for mine, theirs in zip(names[::2], names[1::2], strict=True):
            lines.append(f'_Static_assert(offsetof({own}, {mine}) == offsetof(XLA_FFI_{other}, {theirs}), "{own}");')
            sizes = f"sizeof((({own} *)0)->{mine}) == sizeof(((XLA_FFI_{other} *)0)->{theirs})"
            lines.append(f'_Static_assert({sizes}, "{own}.{mine}");')
    lines += [f'_Static_assert({own} == (int)XLA_FFI_{other}, "{own}");' for own, other in CONSTANTS.items()]
    source = tmp_path / "structs.c"
    source.write_text("\n".join(lines))
    command = [compiler, "-fsyntax-only", f"-I{SOURCES}", f"-I{jax.ffi.include_dir()}", source]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def matrix(block=16):
    w = sparsec.BSR.from_dense(np.eye(32), block, np.ones((32 // block, 32 // block), bool), "bf16")
    return w.with_values(jnp.asarray(w.values))


def test_exported_computations_need_no_registry(tmp_path):
    """Another process compiles the kernel when it instantiates the computation."""
    w = matrix()
    checks = [jax.export.DisabledSafetyCheck.custom_call("sparsec")]
    exported = jax.export.export(jax.jit(lambda x: sj.linear(2 * x, w)), disabled_checks=checks)(X)
    (tmp_path / "file").write_bytes(exported.serialize())
    np.save(tmp_path / "x.npy", np.asarray(X, np.float32))
    program = (
        "import sys, jax, jax.export, numpy, sparsec.jax\n"
        "exported = jax.export.deserialize(open(sys.argv[1] + '/file', 'rb').read())\n"
        "x = numpy.load(sys.argv[1] + '/x.npy')\n"
        "print((exported.call(x.astype(jax.numpy.bfloat16)) == 2 * x).all())\n"
    )
    result = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "True\n"


def test_what_the_compiler_refuses_is_said(monkeypatch, empty_cache):
    monkeypatch.setenv("SPARSEC_COMPILER", "nowhere")
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL: sparsec: there is no compiler at nowhere"):
        sj.linear(X, matrix(block=32), jnp.ones(32, "float16"), "silu")


def test_log_says_what_is_instantiated(monkeypatch, capfd):
    monkeypatch.setenv("SPARSEC_LOG", "1")
    sj.linear(X, matrix(), jnp.ones(32, "float16"), "relu").block_until_ready()
    assert "sparsec: linear: a computation of JAX on cpu takes it, for host" in capfd.readouterr().err


def test_old_versions_of_jax_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 9, 2))
    with pytest.raises(sparsec.Error, match="sparsec.jax needs JAX 0.10 or later, but this is"):
        call._register()


def test_kernels_take_arrays_of_jax():
    """Also those of bf16, which have no buffer. Their memory is not written."""
    kernel = sparsec.compile(sparsec.spmm(16, x_layout="nk", y_layout="nm"), "host")["spmm"]
    y = np.zeros((5, 32), ml_dtypes.bfloat16)
    parts = map(jnp.asarray, (matrix().row_ptr, matrix().col_idx, matrix().values))
    for w in (matrix(), sparsec.BSR(*parts, (32, 32))):
        kernel(w, X, out=y)
        assert (y == X).all()
        assert (w.to_dense() == np.eye(32)).all()
        assert (w.astype("f16").values == np.asarray(w.values)).all()
    with pytest.raises(sparsec.InvalidArgument, match="out: results are made for arrays of NumPy and torch"):
        kernel(matrix(), X)
    with pytest.raises(sparsec.InvalidArgument, match="out: expects arrays that may be written, but those of JAX"):
        kernel(matrix(), X, out=jnp.zeros((5, 32), "bfloat16"))


def test_no_memory_is_kept_by_a_matrix():
    """Optimizers donate the values."""
    values = jnp.ones((4, 16, 16), "bfloat16")
    w = sparsec.BSR(matrix().row_ptr, matrix().col_idx, values, (32, 32))
    update = jax.jit(lambda w: jax.tree.map(lambda each: each * 2, w), donate_argnums=0)
    assert (update(w).values == 2).all()
    assert values.is_deleted()
