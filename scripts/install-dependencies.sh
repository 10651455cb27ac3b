#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what building and testing sparsec needs and is missing: packages of Debian 12, and ptxas. Run as root or with
# sudo at hand. Does nothing when everything is there.
#   scripts/install-dependencies.sh          to build and to run
#   scripts/install-dependencies.sh --test   also what the Python tests and the documentation need
#   scripts/install-dependencies.sh --lint   also what the style checks of .ci/run need
set -euo pipefail
source "$(dirname "$0")/lib.sh"

packages=(g++ cmake ninja-build python3 python3-dev python3-numpy python3-venv libmlir-22-dev mlir-22-tools
  llvm-22-dev llvm-22-tools libfmt-dev libgtest-dev libgmock-dev libminizip-dev zlib1g-dev libzstd-dev pkgconf)
[ "${1:-}" != --test ] || packages+=(doxygen)
[ "${1:-}" != --lint ] || packages+=(git clang-format-22 clang-tidy-22)

# Prints those of the named packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "installing packages needs root: run this as root or install sudo, or install them yourself: ${missing[*]}"
  fi
}

install_packages() {
  command -v apt-get >/dev/null || fail "needs Debian 12 and its packages: ${missing[*]}"
  echo "installing Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  if [[ "$(apt-cache policy libmlir-22-dev)" != *'Candidate: 1:22'* ]]; then
    fail "this machine's package sources have no libmlir-22-dev. LLVM and MLIR 22 are among Debian 12's security" \
      "updates: add the suite bookworm-security, component main, to the package sources and run this again"
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_ptxas() {
  echo "installing ptxas: PyPI package nvidia-cuda-nvcc 13.0 in $ptxas_venv"
  python3 -m venv "$ptxas_venv"
  "$ptxas_venv/bin/pip" install --quiet --disable-pip-version-check --no-deps 'nvidia-cuda-nvcc==13.0.*'
  find_ptxas >/dev/null || fail "the package nvidia-cuda-nvcc in $ptxas_venv has no ptxas that runs"
}

# Installs torch for the Python tests: the CPU build of a machine that has its wheel, or from the index that
# SPARSEC_TORCH_INDEX names. Never from the default index, whose build and CUDA libraries are 3 GB.
install_torch() {
  local pip=("$python_venv/bin/pip" install --quiet --disable-pip-version-check)
  if "${pip[@]}" --no-index --no-deps 'torch==2.13.0' 2>/dev/null; then
    "${pip[@]}" filelock fsspec jinja2 networkx 'setuptools>=77.0.3' sympy typing-extensions
  elif [ -n "${SPARSEC_TORCH_INDEX:-}" ]; then
    "${pip[@]}" --index-url "$SPARSEC_TORCH_INDEX" torch
  else
    echo "skipping the tests that need torch: SPARSEC_TORCH_INDEX does not name an index of its CPU build"
  fi
}

# The copy of the list of requirements is written last: with it, everything is there.
has_python_tests() {
  cmp -s python/tests/requirements.txt "$python_venv/requirements.txt"
}

install_python_tests() {
  echo "installing what the Python tests and the documentation need in $python_venv"
  python3 -m venv --clear "$python_venv"
  "$python_venv/bin/pip" install --quiet --disable-pip-version-check -r python/tests/requirements.txt
  install_torch
  cp python/tests/requirements.txt "$python_venv/requirements.txt"
}

mapfile -t missing < <(missing_packages "${packages[@]}")
[ ${#missing[@]} = 0 ] || install_packages
find_ptxas >/dev/null || install_ptxas
[ "${1:-}" != --test ] || has_python_tests || install_python_tests
echo "everything that sparsec needs is installed; ptxas is $(find_ptxas)"
