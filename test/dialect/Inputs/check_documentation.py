# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that dialect/SPEC.md, the verifiers, the tests and the examples in the descriptions agree."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
dialect, tests = root / "dialect", root / "test" / "dialect"
LABEL = r"[a-z_]+_c\d+"
problems = []


def text_of(folder, *patterns):
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(folder.glob(pattern)))


def squeeze(text):
    """Without what a test adds to an example: checks, indentation, line breaks."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*// (CHECK|expected)", line)]
    return " ".join(" ".join(lines).split())


# Constraints: in the specification, in a comment of the source, as a negative test of that name.
spec = re.findall(rf"^\| ({LABEL}) \|", (dialect / "SPEC.md").read_text(), re.MULTILINE)
places = {
    "dialect/SPEC.md": set(spec),
    "a comment in dialect/": {
        label for comment in re.findall(r"//(.*)", text_of(dialect, "*.cpp", "*.td"))
        for label in re.findall(rf"\b{LABEL}\b", comment)},
    "a function in test/dialect/*-invalid.mlir":
        set(re.findall(rf'(?:@|sym_name = ")({LABEL})\b', text_of(tests, "*-invalid.mlir"))),
}
for place, labels in places.items():
    for label in sorted(set.union(*places.values()) - labels):
        problems.append(f"{label} is not in {place}")
if len(spec) != len(set(spec)):
    problems.append("a label of SPEC.md stands there twice")

# The ops of regions: in the specification and in the test that uses each.
table = (dialect / "ElementwiseOps.def").read_text()
for kind, namespace, op in re.findall(r"^SPARSEC_(\w+)_OP\((?:mlir::)?(\w+)::(\w+)Op,", table, re.MULTILINE):
    name = f"{namespace}.{op.lower()}"
    for place in [dialect / "SPEC.md", tests / ("attention.mlir" if kind == "INTEGER" else "spmm.mlir")]:
        if not re.search(rf"\b{name}\b", place.read_text()):
            problems.append(f"{name} is in ElementwiseOps.def, but not in {place.name}")

# Examples are taken from tests; every op, type and attribute has a description.
tested = squeeze(text_of(tests, "*.mlir"))
definitions = text_of(dialect, "*.td")
for example in re.findall(r"```mlir\n(.*?)```", definitions, re.DOTALL):
    if squeeze(example) not in tested:
        problems.append(f"the example is in no test of test/dialect/: {squeeze(example)}")
for name, body in re.findall(r"^def (Sparsec_\w+) : Sparsec_(?:Op|Type|Attr|EnumAttr)<(.*?)^\}", definitions,
                             re.MULTILINE | re.DOTALL):
    if "let summary" not in body or "let description" not in body:
        problems.append(f"{name} has no summary or no description")

print("\n".join(problems))
sys.exit(bool(problems))
