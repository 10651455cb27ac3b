#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs clang-tidy (.clang-tidy has the checks) on every source that a build compiles, on all cores.
#   scripts/lint.sh                       all sources, as preset ci compiles them
#   scripts/lint.sh PRESET [REGEX...]     another preset; only files with a source whose path matches one of REGEX
# The preset must be built: headers that the build makes are read too.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
preset=${1:-ci}
shift || true

[ -f "build/$preset/compile_commands.json" ] || fail "build/$preset is not there; build preset $preset first"
scripts/prepare-lint.py "build/$preset" "$@"
run-clang-tidy-22 -p "build/$preset/lint" -j "$(nproc)" -quiet -hide-progress
