#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a clean clone to a result: installs what is missing, builds, compiles two kernels for three targets into one file
# and runs them on two real matrices, then attention with a sliding window, on the GPU if there is one and on the
# processor otherwise.
#   scripts/demo.sh          preset release
#   scripts/demo.sh PRESET   another preset of CMakePresets.json
set -euo pipefail
source "$(dirname "$0")/lib.sh"
preset=${1:-release}
programs=build/$preset/bin
kernels=build/$preset/demo.bundle
attention=build/$preset/demo_attention.bundle
table=build/$preset/demo.txt

# run FILE KERNEL NAME=VALUE...: runs a kernel of the demo with these arguments; its row goes to the table.
run() {
  local file=$1 arguments=(--kernel "$2" --check --repeat 3) argument header
  shift 2
  for argument in "$@"; do
    arguments+=(--arg "$argument")
  done
  "$programs/sparsec-run" "$file" "${arguments[@]}" >"$table.one"
  # Columns are as wide in every run of a family: one header is enough.
  header=$(head -n -1 "$table.one")
  grep -qFx "$header" "$table" || echo "$header" >>"$table"
  tail -n 1 "$table.one" >>"$table"
}

step "installing what is missing"
scripts/install-dependencies.sh

step "building the compiler and the runtime, preset $preset (the first time this takes minutes)"
build "$preset" sparsec sparsec-run

step "compiling examples/demo.mlir for sm_90a, sm_89 and the host into $kernels"
"$programs/sparsec" examples/demo.mlir --arch=sm_90a,sm_89,host -o "$kernels" --verbose
step "compiling examples/05_attention_mask for the same targets into $attention"
"$programs/sparsec" examples/05_attention_mask/kernel.mlir --arch=sm_90a,sm_89,host -o "$attention" --verbose

: >"$table"
step "linear layer with GELU, weights: a pruned Transformer's pattern, each nonzero stands for a 64 x 64 block"
run "$kernels" linear_gelu w=examples/data/transformer-magnitude-0.95-q512x512.smtx x=random:256x32768 bias=random:32768

step "product, matrix: bcsstk13, a stiffness matrix, cut into 16 x 16 blocks"
run "$kernels" product w=examples/data/bcsstk13.mtx x=random:2003x4096

step "attention, 8 heads of 2048 tokens: a window of 256 keys and the first 4, in blocks that the mask region chooses"
run "$attention" window_and_sink q=random:1x8x2048x64 k=random:1x2x2048x64 v=random:1x2x2048x64 p=mask

step "done"
cat "$table"
