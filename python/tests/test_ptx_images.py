# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled files of PTX, for machines without ptxas."""

import pytest

import conftest
import sparsec
from sparsec import compiler, ptx_images


def emitted(target):
    options = compiler.Options((target,))
    return compiler.run(conftest.PRODUCT, None, options, compiler.find_compiler(), None, "ptx")


def test_images_are_those_that_the_compiler_embeds():
    image = ptx_images.ptx_image("sm_89", emitted("sm_89"))
    embedded = sparsec.compile(conftest.PRODUCT, "sm_89", embed_ptx=True).data
    assert len(image.launch_info) > 1000
    assert image.launch_info in embedded
    assert image.data in embedded
    assert image.data[-1] == 0


def test_without_ptxas_the_driver_compiles(no_ptxas, empty_cache, capsys):
    module = sparsec.compile(conftest.PRODUCT, "sm_90a,host,sm_89", embed_ptx=True)
    assert [(image.target, image.is_ptx) for image in module.images] == [
        ("sm_90a", True), ("host", False), ("sm_89", True),
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert "found no ptxas of CUDA 12.8 or later: the driver will compile the PTX" in said
    w, x = conftest.matrix(), conftest.dense((52, 24))
    conftest.assert_product(module["product"](w, x), w, x)
    assert sparsec.compile(conftest.PRODUCT, "sm_90a,host,sm_89", embed_ptx=True).data == module.data
    assert capsys.readouterr().err == ""
    assert len(list(empty_cache.iterdir())) == 1


def test_files_with_and_without_ptxas_are_kept_apart(empty_cache, monkeypatch):
    with_ptxas = sparsec.compile(conftest.PRODUCT, "sm_89")
    monkeypatch.setattr(compiler, "ptxas_or_none", lambda ptxas: None)
    assert [image.is_ptx for image in sparsec.compile(conftest.PRODUCT, "sm_89").images] == [True]
    assert [image.is_ptx for image in with_ptxas.images] == [False]
    assert len(list(empty_cache.iterdir())) == 2


def test_damaged_images_are_seen():
    """The checksums are of what they should be."""
    image = ptx_images.ptx_image("sm_90a", emitted("sm_90a"))
    data = bytearray(ptx_images.bundle([image]))
    assert [each.target for each in sparsec.load(bytes(data)).images] == ["sm_90a"]
    for place in (40, data.index(image.data), data.index(image.launch_info) + 200):
        data[place] ^= 1
        with pytest.raises(sparsec.InvalidImage):
            sparsec.load(bytes(data))
        data[place] ^= 1


def test_text_without_a_launch_info_is_refused():
    with pytest.raises(sparsec.CompileError, match="the PTX for sm_89 has no launch info"):
        ptx_images.ptx_image("sm_89", b".version 8.0")


def test_ptx_runs_on_a_simulated_gpu():
    printed = conftest.on_simulator(
        "from sparsec import doctor\n"
        "print(doctor.self_test(0, 'sm_90a'))\n"
        "print(*(finding.text for finding in doctor.findings() if finding.name == 'gpu 0 test'))\n"
    )
    first, second = printed.splitlines()
    assert first == "True"
    assert second.startswith("the driver compiles the PTX, right result")
