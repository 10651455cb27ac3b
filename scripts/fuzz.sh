#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Random tests for as long as one likes. What fails is left in build/fuzz/findings, with what repeats it.
#   scripts/fuzz.sh KIND [MINUTES] [SEED]    (default: 1 minute, a seed from the clock)
# KIND:
#   readers    each file reader of sparsec-run for so many minutes, with libFuzzer under AddressSanitizer and
#              UndefinedBehaviorSanitizer; needs clang-22. Inputs that broke one go to test/fuzz/corpus after the fix
#   texts      mutated kernels through the whole compiler: no crash, no hang, every refusal has a place
#   chips      kernels whose regions hold any ops, for GPUs: a schedule is found that ptxas takes as it is
#   schedules  hand-written schedules through ptxas: each compiles or is refused at a place
#   regions    epilogues, scores and masks of all ops, on the host, against intervals in double
#   kernels    products and attention of all shapes, on the host, against NumPy in double
#   images     compiled files of every kind with flipped bits: each is refused
# All but readers run the cases of test/random/random_test.py, on all processors.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
usage="scripts/fuzz.sh readers|texts|chips|schedules|regions|kernels|images [MINUTES] [SEED]"
kind=${1:-}
minutes=${2:-1}
seed=${3:-$(date +%s)}
findings=$PWD/build/fuzz/findings
[[ $minutes =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ ]] || fail "expects whole numbers of minutes and a seed: $usage"

fuzz_readers() {
  local build=build/fuzz readers=(pattern matrix_market numpy scipy) reader
  command -v clang++-22 >/dev/null || fail "needs clang++-22: install Debian's packages clang-22 and libclang-rt-22-dev"
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang-22 \
    -DCMAKE_CXX_COMPILER=clang++-22 -DSPARSEC_BUILD_COMPILER=OFF -DSPARSEC_FUZZ=ON >/dev/null
  cmake --build $build --target "${readers[@]/#/sparsec-fuzz-}"
  for reader in "${readers[@]}"; do
    step "fuzzing the reader $reader for $minutes minutes, seed $seed"
    mkdir -p "$build/corpus/$reader"
    # New inputs go to the first folder; the second is only read. The drivers allow the readers 64 MiB.
    "$build/bin/sparsec-fuzz-$reader" -max_total_time=$((60 * minutes)) -seed="$seed" -malloc_limit_mb=256 \
      -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 -verbosity=0 -artifact_prefix="$findings/$reader-" \
      "$build/corpus/$reader" "test/fuzz/corpus/$reader"
  done
}

# Prints the first python3 that has NumPy.
find_numpy_python() {
  local python
  for python in $(type -ap python3) /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  fail "needs a python3 with NumPy: run scripts/install-dependencies.sh"
}

run_random_test() {
  build release sparsec sparsec-run
  step "$kind for $minutes minutes, seed $seed"
  "$(find_numpy_python)" test/random/random_test.py "$kind" --bin build/release/bin --keep "$findings" \
    --minutes "$minutes" --seed "$seed"
}

mkdir -p "$findings"
case $kind in
  readers) fuzz_readers ;;
  texts | chips | schedules | regions | kernels | images) run_random_test ;;
  *) fail "$usage" ;;
esac
step "nothing found"
