#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a small subset of the device tests under every tool of compute-sanitizer.
# usage: sanitize.sh PROGRAM KERNELS [GoogleTest options]
set -euo pipefail
(($# >= 2)) || { echo "usage: sanitize.sh PROGRAM KERNELS [GoogleTest options]" >&2; exit 2; }
program=$1 kernels=$2
shift 2
command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not on the PATH" >&2; exit 3; }

status=0
for tool in memcheck racecheck synccheck initcheck; do
  start=$SECONDS
  log=$(mktemp)
  if compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$program" --kernels="$kernels" --device=cuda --subset=sanitizer "$@" >"$log" 2>&1; then
    echo "$tool: clean ($((SECONDS - start)) s)"
  else
    status=1
    echo "$tool: FAILED ($((SECONDS - start)) s)"
    grep -E -m 60 '^=========|FAILED|error' "$log" || true
  fi
  rm "$log"
done
exit $status
