// RUN: sparsec-opt %s --sparsec-attach-target | FileCheck %s --check-prefix=DEFAULT
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 | FileCheck %s --check-prefix=SM_89
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_80 | FileCheck %s --check-prefix=SM_80
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_86 | FileCheck %s --check-prefix=SM_86
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_120 | FileCheck %s --check-prefix=SM_120
// RUN: sparsec-opt %s --sparsec-attach-target=chip=host | FileCheck %s --check-prefix=HOST
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-attach-target=chip=host | FileCheck %s --check-prefix=HOST
// RUN: not sparsec-opt %s --sparsec-attach-target=chip=sm_12 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// DEFAULT: module attributes {sparsec.target = #sparsec.target<"sm_90a">}
// SM_89: module attributes {sparsec.target = #sparsec.target<"sm_89">}
// SM_80: module attributes {sparsec.target = #sparsec.target<"sm_80">}
// SM_86: module attributes {sparsec.target = #sparsec.target<"sm_86">}
// SM_120: module attributes {sparsec.target = #sparsec.target<"sm_120">}
// HOST: module attributes {sparsec.target = #sparsec.target<"host">}
// UNKNOWN: error: expects the chip to be one of sm_80, sm_86, sm_89, sm_90a, sm_120, host, but got "sm_12"
module {}
