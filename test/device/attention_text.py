# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of an attention kernel."""


def attention_text(name, arguments, clauses, output, has_lse):
    """`arguments` and `output` are pairs of a name and a type; the first three arguments are Q, K and V."""
    results = [output] + ([("lse", "tensor<?x?x?xf32>")] if has_lse else [])
    values = ", ".join(f"%{name}" for name, _ in results)
    types = ", ".join(type for _, type in results)
    return (f"sparsec.kernel @{name}({', '.join(f'%{argument}: {type}' for argument, type in arguments)})\n"
            f"    -> ({', '.join(f'{result}: {type}' for result, type in results)}) {{\n"
            f"  {values} = sparsec.attention %q, %k, %v{clauses}\n"
            f"    : ({', '.join(type for _, type in arguments)}) -> {f'({types})' if has_lse else types}\n"
            f"  sparsec.return {values} : {types}\n"
            "}\n")
