# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Colours MLIR in the documentation."""

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class MlirLexer(RegexLexer):
    """MLIR in its custom and its generic syntax. Text in no other form, such as the dots of an excerpt, is plain."""

    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"//.*?$", Comment.Single),
            (r'"(?:[^"\\]|\\.)*"', String.Double),
            (r"%[\w.$-]+(?:[:#]\d+)?", Name.Variable),
            (r"@(?:[\w.$-]+|\"[^\"]*\")", Name.Function),
            (r"\^[\w.$-]+", Name.Label),
            (r"[!#](?:[A-Za-z_][\w.$]*)?", Keyword.Type),
            (r"(?:[su]?i\d+|bf16|tf32|f(?:16|32|64|8E\w+)|index|none)\b", Keyword.Type),
            (r"\b(?:tensor|vector|memref|tuple|complex)\b(?=<)", Keyword.Type),
            # Before numbers: a shape such as ?x64xbf16.
            (r"(?:\?|\d+)x(?=[?\d!]|(?:bf|f|i)\d)", Number),
            (r"0x[0-9a-fA-F]{3,}\b", Number.Hex),
            (r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", Number),
            (r"\b(?:true|false|unit|dense|loc|attributes)\b", Keyword.Constant),
            (r"\b[a-z_]\w*\.[\w.$]+", Name.Builtin),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|[=*+/?-]", Operator),
            (r"[^\s\w]", Punctuation),
        ]
    }
