#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles a folder of kernels for several chips, on all cores: OUT/<chip>/<name>.cubin (or .o for the host).
# Without --sources it compiles the kernels of generate_kernels.py, those of scheduled_kernels.py into
# OUT/<chip>_schedules, and one file that no other chip may load.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<USAGE
usage: build_kernels.sh --out DIR [--sparsec PROGRAM] [--sources DIR] [--arch LIST] [--coverage SET]
  --out DIR          where the compiled kernels go
  --sparsec PROGRAM  the compiler (default: sparsec on the PATH)
  --sources DIR      .mlir files to compile instead of the generated ones
  --arch LIST        chips, separated by commas (default: sm_90a,sm_89,host)
  --coverage SET     pairs (default), triples or full: see generate_kernels.py
USAGE
}

out='' sparsec=sparsec sources='' archs=sm_90a,sm_89,host coverage=pairs
while (($#)); do
  case $1 in
    --out) out=$2 ;;
    --sparsec) sparsec=$2 ;;
    --sources) sources=$2 ;;
    --arch) archs=$2 ;;
    --coverage) coverage=$2 ;;
    --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift 2
done
[[ $out ]] || { usage >&2; exit 2; }

mkdir -p "$out"
jobs=$out/jobs.txt
: >"$jobs"
if [[ ! $sources ]]; then
  sources=$out/sources
  python3 "$here/generate_kernels.py" --out "$sources" --coverage "$coverage"
  # A sm_89 file without PTX: only sm_89 devices may load it.
  if [[ ,$archs, == *,sm_89,* ]]; then
    mkdir -p "$out/sm_89_only"
    first=$(find "$sources" -name 'spmm_bf16_64x64.mlir')
    printf '%s\t%s\t%s\n' "$first" "--arch=sm_89" "$out/sm_89_only/$(basename "$first" .mlir).cubin" >>"$jobs"
  fi
  python3 "$here/scheduled_kernels.py" --out "$out/schedules"
fi

for arch in ${archs//,/ }; do
  mkdir -p "$out/$arch"
  suffix=.cubin flags=--arch=$arch
  [[ $arch == host ]] && suffix=.o
  # Chips without chip-specific instructions carry PTX, so that later chips run it.
  [[ $arch == host || $arch == *a ]] || flags+=" --embed-ptx"
  rm -f "$out/$arch"/*"$suffix"
  for source in "$sources"/*.mlir; do
    # These have schedules for wgmma.
    refusable=''
    [[ $source != */sddmm_wgmma_* || $arch == host || $arch == *a ]] || refusable=may-be-refused
    printf '%s\t%s\t%s\t%s\n' "$source" "$flags" "$out/$arch/$(basename "$source" .mlir)$suffix" "$refusable" >>"$jobs"
  done
  [[ -d $out/schedules/$arch ]] || continue
  mkdir -p "$out/${arch}_schedules"
  rm -f "$out/${arch}_schedules"/*
  for source in "$out/schedules/$arch"/*.mlir; do
    printf '%s\t%s\t%s\t%s\n' "$source" "$flags" "$out/${arch}_schedules/$(basename "$source" .mlir)$suffix" \
      may-be-refused >>"$jobs"
  done
done

# One line a job: source, flags, output, and whether the compiler may say that the input is wrong.
compile() {
  local source flags output refusable message code=0
  IFS=$'\t' read -r source flags output refusable <<<"$1"
  # shellcheck disable=SC2086  # several flags
  message=$("$sparsec" "$source" $flags -o "$output" 2>&1) || code=$?
  [[ $code == 1 && $refusable ]] && return
  [[ ! $message ]] || echo "$message" >&2
  [[ $code == 0 ]] || { echo "failed: $sparsec $source $flags -o $output" >&2; return 1; }
}
export -f compile
export sparsec
start=$SECONDS
status=0
tr '\n' '\0' <"$jobs" | xargs -0 -P "$(nproc)" -I {} bash -c 'compile "$1"' _ {} || status=1
echo "$(wc -l <"$jobs") files in $((SECONDS - start)) s, $(du -sh "$out" | cut -f1)"
rm "$jobs"
# Were most schedules refused, the generator would no longer make what is to be tested.
for folder in "$out"/*_schedules; do
  [[ -d $folder ]] || continue
  chip=$(basename "$folder" _schedules)
  compiled=$(find "$folder" -type f | wc -l) written=$(find "$out/schedules/$chip" -type f | wc -l)
  echo "$chip: $compiled of $written random schedules compiled"
  if ((2 * compiled < written)); then
    echo "failed: expects at least half of the random schedules of $chip" >&2
    status=1
  fi
done
exit $status
