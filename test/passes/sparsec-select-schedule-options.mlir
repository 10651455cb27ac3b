// RUN: not sparsec-opt %s --sparsec-select-schedule=expect-density=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not sparsec-opt %s --sparsec-select-schedule=expect-density=1.5 2>&1 | FileCheck %s --check-prefix=ABOVE
// RUN: not sparsec-opt %s --sparsec-select-schedule=expect-n=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// ZERO: error: expects expect-density to be above 0 and at most 1, but got 0
// ABOVE: error: expects expect-density to be above 0 and at most 1, but got 1.5
// NEGATIVE: error: expects expect-n to be 0 or more, but got -1
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {}
