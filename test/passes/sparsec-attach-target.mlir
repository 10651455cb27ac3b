// RUN: sparsec-opt %s --sparsec-attach-target | FileCheck %s --check-prefix=DEFAULT
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 | FileCheck %s --check-prefix=SM_89
// RUN: sparsec-opt %s --sparsec-attach-target=chip=host | FileCheck %s --check-prefix=HOST
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-attach-target=chip=host | FileCheck %s --check-prefix=HOST
// RUN: not sparsec-opt %s --sparsec-attach-target=chip=sm_12 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// DEFAULT: module attributes {sparsec.target = #sparsec.target<"sm_90a">}
// SM_89: module attributes {sparsec.target = #sparsec.target<"sm_89">}
// HOST: module attributes {sparsec.target = #sparsec.target<"host">}
// UNKNOWN: error: expects the chip to be one of sm_89, sm_90a, host, but got "sm_12"
module {}
