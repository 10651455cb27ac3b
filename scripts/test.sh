#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds everything and runs every test.
#   scripts/test.sh          preset ci: all of it, optimised, warnings as errors
#   scripts/test.sh PRESET   another preset of CMakePresets.json; asan, tsan: the runtime under sanitizers
# Ends with the line "N passed, M failed, K skipped", which counts lit tests and GoogleTest cases one by one.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
preset=${1:-ci}

step "installing what is missing"
scripts/install-dependencies.sh --test
SPARSEC_PTXAS=$(find_ptxas)
export SPARSEC_PTXAS

# The sanitizers' presets have no compiler, which the Python tests and the documentation need.
case $preset in
asan | tsan) ;;
*) configure_options+=(-DSPARSEC_PYTHON=ON -DSPARSEC_DOCS=ON -DSPARSEC_PYTHON_TESTS="$python_venv/bin/python") ;;
esac

step "building everything, preset $preset"
build "$preset"

step "running the tests"
results=$PWD/build/$preset/test-results.xml
rm -f "$results"
status=0
ctest --preset "$preset" --parallel "$(nproc)" --timeout 900 --no-tests=error --output-junit "$results" \
  --test-output-size-passed 100000000 --test-output-size-failed 100000000 || status=$?

step "summary"
scripts/count-tests.py "$results" && [ "$status" = 0 ]
