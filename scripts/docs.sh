#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds the compiler and the Python package, and with them the documentation site. Warnings
# are errors. Needs no network where everything is installed.
#   scripts/docs.sh          preset release
#   scripts/docs.sh PRESET   another preset of CMakePresets.json that builds the compiler
# The site is build/PRESET/docs/html/index.html.
set -euo pipefail
case ${1:-} in
-h | --help)
  sed -n '3,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0"
  exit
  ;;
esac
source "$(dirname "$0")/lib.sh"
preset=${1:-release}

step "installing what is missing"
scripts/install-dependencies.sh --test

step "building the compiler, the package and the site, preset $preset"
configure_options+=(-DSPARSEC_PYTHON=ON -DSPARSEC_DOCS=ON -DSPARSEC_PYTHON_TESTS="$python_venv/bin/python")
build "$preset" docs

step "done: build/$preset/docs/html/index.html"
