# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text that kernels were compiled from."""

from __future__ import annotations

from dataclasses import dataclass

from . import compiler
from .errors import InvalidArgument


@dataclass(frozen=True)
class Source:
    """The text of a module and the options of its compile; None for a compiled file, which does not hold them."""

    text: str | None
    options: compiler.Options | None

    def emit(self, stage: str, target: str | None) -> str:
        """Compiles the text again, up to a stage, as Module.emit."""
        if self.text is None or self.options is None:
            raise InvalidArgument("emit needs the text of the kernels, which a compiled file does not hold")
        options = compiler.Options(
            (target or self.options.targets[0],),
            self.options.expect_density,
            self.options.expect_n,
            allow_spills=self.options.allow_spills,
            ptxas=self.options.ptxas,
        )
        ptxas = compiler.find_ptxas(options.ptxas) if options.needs_ptxas and stage == "cubin" else None
        return compiler.run(self.text, None, options, compiler.find_compiler(), ptxas, stage).decode()
