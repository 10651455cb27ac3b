# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Shared by the scripts beside it, which source it. It moves to the project's top folder.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

ptxas_venv=${XDG_CACHE_HOME:-$HOME/.cache}/sparsec/ptxas-13.0
python_venv=${XDG_CACHE_HOME:-$HOME/.cache}/sparsec/python-tests
configure_options=() # of cmake, beside those of the preset

fail() {
  echo "error: $*" >&2
  exit 1
}

# Announces a step: its number, the seconds since the script began, what it does.
step() {
  step_number=$((${step_number:-0} + 1))
  printf '\n[step %d, %d s] %s\n' "$step_number" "$SECONDS" "$*"
}

# Is this ptxas there and of CUDA 12.8 or newer (the first to know all that the compiler emits)?
is_ptxas_usable() {
  local release
  release=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p') || return 1
  set -- $release
  [ $# = 2 ] && { [ "$1" -gt 12 ] || { [ "$1" = 12 ] && [ "$2" -ge 8 ]; }; }
}

# Prints the first usable ptxas, in the compiler's order: SPARSEC_PTXAS, PATH, the CUDA toolkit, the wheel.
find_ptxas() {
  local candidate
  for candidate in "${SPARSEC_PTXAS:-}" "$(command -v ptxas)" "${CUDA_HOME:-}/bin/ptxas" "${CUDA_PATH:-}/bin/ptxas" \
    /usr/local/cuda/bin/ptxas "$ptxas_venv"/lib/python3*/site-packages/nvidia/*/bin/ptxas; do
    if [ -x "$candidate" ] && is_ptxas_usable "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# build PRESET [TARGET...]: configures where needed and builds; no target means everything.
build() {
  local preset=$1
  shift
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_SLOPPINESS=pch_defines,time_macros
  fi
  cmake --preset "$preset" --log-level=NOTICE "${configure_options[@]}"
  cmake --build --preset "$preset" ${1:+--target "$@"}
  link_wheel_ptxas "build/$preset"
}

# The compiler looks for ptxas in lib/sparsec beside its own folder, so that it finds the wheel's without SPARSEC_PTXAS.
link_wheel_ptxas() {
  local ptxas
  ptxas=$(find_ptxas)
  if [[ "$ptxas" == "$ptxas_venv"/* ]]; then
    mkdir -p "$1/lib/sparsec"
    ln -sfn "$ptxas" "$1/lib/sparsec/ptxas"
  fi
}
