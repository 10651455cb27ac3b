# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shape of the source: which folder may include which, and how long a file may be."""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST_FILE = 700
SOURCES = {".c", ".cpp", ".h", ".hpp", ".cu", ".td", ".def"}
COUNTED = SOURCES | {".py", ".sh", ".cmake"}
INCLUDE = re.compile(r'^\s*#?\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

# Folder -> folders whose headers it may include, besides its own. Data flows down this list and never back.
ALLOWED = {
    "dialect": [],
    "compiler/target": ["dialect", "compiler"],
    "compiler/schedule": ["dialect", "compiler", "compiler/target"],
    "compiler/tile": ["dialect", "compiler", "compiler/target", "compiler/schedule"],
    "compiler/emit": ["dialect", "compiler", "compiler/target", "compiler/schedule", "compiler/tile",
                      "compiler/emit/ampere", "compiler/emit/auxiliary", "compiler/emit/hopper", "compiler/emit/host",
                      "compiler/emit/softmax"],
    "compiler/binary": ["dialect", "compiler", "compiler/target", "compiler/schedule"],
    "compiler/families": ["dialect", "compiler", "compiler/target", "compiler/schedule", "compiler/tile",
                          "compiler/binary"],
    "compiler": ["dialect", "compiler/target", "compiler/schedule", "compiler/tile", "compiler/emit",
                 "compiler/binary", "compiler/include/sparsec"],
    "compiler/tools": ["dialect", "compiler"],
    "compiler/tools/sparsec": ["compiler/include/sparsec"],
}
# The headers of compiler/ itself that the folders of the pipeline may include: the declarations of the passes, and of
# the families, which passes ask what sets one kernel op apart from others.
DECLARATIONS = {"compiler/Passes.h", "compiler/Family.h", "compiler/Families.def"}
# The one header that compiler and runtime share.
SHARED = {"runtime/include/sparsec/launch_info.h", "runtime/include/sparsec/launch_info.hpp"}
READ_BACK = ("compiler/binary/ReadBack.cpp", "runtime/include/sparsec/runtime.h")


def folder_of(path):
    return str(pathlib.PurePath(path).parent)


def may_include(file, target):
    """Whether the rules let `file` include the project header `target`."""
    if folder_of(file) == folder_of(target) or target in SHARED or (file, target) == READ_BACK:
        return True
    if file.startswith("runtime/tools/"):  # programs, not the library
        return not target.startswith(("dialect/", "compiler/"))
    if file.startswith("runtime/"):
        return target.startswith("runtime/")
    rule = next((str(folder) for folder in pathlib.PurePath(file).parents if str(folder) in ALLOWED), None)
    if rule is None:
        return True
    if folder_of(target) == "compiler" and rule.startswith("compiler/") and rule != "compiler/tools":
        return target in DECLARATIONS and rule != "compiler/tools/sparsec"
    return folder_of(target) in [rule] + ALLOWED[rule]


def may_include_library(file, include):
    if file.startswith("runtime/") and not file.startswith("runtime/tools/"):
        return not include.startswith(("llvm/", "mlir/"))
    if not file.startswith(("dialect/", "compiler/")):
        return True
    if "NVVM" in include or "NVPTX" in include:
        return file == "compiler/Passes.h" or file.startswith(
            ("compiler/emit/", "compiler/binary/", "compiler/tools/", "test/"))
    return not re.match(r"cuda|nvrtc|cublas", include)


def problems_of(root):
    files = sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.suffix in SOURCES)
    files = [file for file in files if not file.startswith(("build", "."))]
    for file in files:
        for quoted, system in INCLUDE.findall((root / file).read_text()):
            include = quoted or system
            if not may_include_library(file, include):
                yield f"{file}: may not include {include}"
            # A name that several folders have is that of the file's own folder, or of any that the rules allow.
            targets = [target for target in files if target == include or target.endswith("/" + include)]
            if targets and not any(may_include(file, target) for target in targets):
                yield f"{file}: may not include {targets[0]}"


def unbuilt(root):
    """Sources that no CMakeLists.txt beside them or above them names: a test in such a file never runs. The names of
    the programs in test/fuzz/ are made from those of the readers."""
    for file in sorted(root.rglob("*.cpp")):
        name = str(file.relative_to(root))
        if name.startswith(("compiler/", "dialect/", "runtime/", "bench/", "test/device/", "test/unit/")):
            lists = [folder / "CMakeLists.txt" for folder in file.parents if folder.is_relative_to(root)]
            texts = [path.read_text() for path in lists if path.is_file()]
            if not any(re.search(rf"(^|[\s/(]){re.escape(file.name)}\b", text) for text in texts):
                yield name


class Structure(unittest.TestCase):
    def test_every_source_is_built(self):
        self.assertEqual(list(unbuilt(ROOT)), [])

    def test_includes_go_to_the_left(self):
        problems = list(problems_of(ROOT))
        self.assertFalse(problems, "\n" + "\n".join(problems))

    def test_files_are_short(self):
        listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                 check=True, capture_output=True, text=True).stdout.splitlines()
        lengths = {name: len((ROOT / name).read_text().splitlines()) for name in set(listing)
                   if pathlib.PurePath(name).suffix in COUNTED and (ROOT / name).is_file()}
        self.assertFalse([f"{name}: {length} lines, at most {LONGEST_FILE}"
                          for name, length in lengths.items() if length > LONGEST_FILE])


class Rules(unittest.TestCase):
    """The rules bite: each wrong include in a made-up tree is found."""

    def check(self, file, include, *expected):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("compiler/emit/Ptx.h", "compiler/target/TargetInfo.h", "compiler/Passes.h",
                         "compiler/Pipeline.h", "dialect/SparsecDialect.h", "runtime/plan/plan.h", *SHARED):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(f'#include "{include}"\n')
            self.assertEqual([problem.split(": ", 1)[1] for problem in problems_of(root)], list(expected))

    def test_left_is_allowed(self):
        self.check("compiler/emit/EmitTiles.cpp", "TargetInfo.h")
        self.check("compiler/emit/EmitTiles.cpp", "Passes.h")
        self.check("compiler/emit/EmitTiles.cpp", "SparsecDialect.h")
        self.check("compiler/binary/Bundle.cpp", "sparsec/launch_info.h")

    def test_right_is_refused(self):
        self.check("compiler/target/TargetInfo.cpp", "Ptx.h", "may not include compiler/emit/Ptx.h")
        self.check("compiler/tile/LowerToTiles.cpp", "Pipeline.h", "may not include compiler/Pipeline.h")
        self.check("dialect/SparsecDialect.cpp", "TargetInfo.h", "may not include compiler/target/TargetInfo.h")
        self.check("compiler/tools/sparsec/sparsec.cpp", "Pipeline.h", "may not include compiler/Pipeline.h")

    def test_runtime_and_compiler_share_one_header(self):
        self.check("compiler/binary/Bundle.cpp", "plan.h", "may not include runtime/plan/plan.h")
        self.check("runtime/plan/plan.cpp", "Passes.h", "may not include compiler/Passes.h")
        self.check("runtime/tools/run.cpp", "Passes.h", "may not include compiler/Passes.h")

    def test_a_source_that_is_not_built_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "test" / "unit"
            unit.mkdir(parents=True)
            for name in ("one_test.cpp", "another_one_test.cpp"):
                (unit / name).touch()
            (unit / "CMakeLists.txt").write_text("add_executable(tests\n  another_one_test.cpp)\n")
            self.assertEqual(list(unbuilt(pathlib.Path(folder))), ["test/unit/one_test.cpp"])

    def test_libraries(self):
        self.check("runtime/plan/plan.cpp", "llvm/ADT/ArrayRef.h", "may not include llvm/ADT/ArrayRef.h")
        self.check("runtime/tools/run.cpp", "llvm/ADT/ArrayRef.h")
        self.check("compiler/binary/Ptxas.cpp", "cuda.h", "may not include cuda.h")
        self.check("compiler/tile/LowerToTiles.cpp", "mlir/Dialect/LLVMIR/NVVMDialect.h",
                   "may not include mlir/Dialect/LLVMIR/NVVMDialect.h")
        self.check("compiler/emit/EmitTiles.cpp", "mlir/Dialect/LLVMIR/NVVMDialect.h")


if __name__ == "__main__":
    unittest.main()
