#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzes the file readers of sparsec-run with libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer. Needs
# clang-22. Inputs that break a reader are left in build/fuzz/findings; once mended, they go to test/fuzz/corpus.
#   scripts/fuzz.sh            a minute for each reader
#   scripts/fuzz.sh SECONDS    another time
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seconds=${1:-60}
build=build/fuzz
readers=(pattern matrix_market numpy scipy)
command -v clang++-22 >/dev/null || fail "needs clang++-22: install Debian's packages clang-22 and libclang-rt-22-dev"

cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang-22 \
  -DCMAKE_CXX_COMPILER=clang++-22 -DSPARSEC_BUILD_COMPILER=OFF -DSPARSEC_FUZZ=ON >/dev/null
cmake --build $build --target "${readers[@]/#/sparsec-fuzz-}"

mkdir -p $build/findings
for reader in "${readers[@]}"; do
  step "fuzzing the reader $reader for $seconds s"
  mkdir -p "$build/corpus/$reader"
  # New inputs go to the first folder; the second is only read. The drivers allow the readers 64 MiB.
  "$build/bin/sparsec-fuzz-$reader" -max_total_time="$seconds" -malloc_limit_mb=256 -rss_limit_mb=1024 -timeout=10 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/findings/$reader-" \
    "$build/corpus/$reader" "test/fuzz/corpus/$reader"
done
step "nothing found"
