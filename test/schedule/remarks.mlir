// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule --remarks-filter=sparsec-select-schedule 2>&1 | FileCheck %s
// Remarks list the candidates with their cost, the cheapest first, then those that break a limit, and why one won; first
// for the schedule, then for the fallback.

// CHECK: remark: [Analysis] candidate | Category:sparsec-select-schedule | Function=k | Remark="[[BEST:mma_sync cp_async [^:]*]]: [[COST:[0-9]+ useful flop per clock and SM, bound by L2]]"
// CHECK: remark: [Analysis] candidate | Category:sparsec-select-schedule | Function=k | Remark="[[SECOND:mma_sync cp_async [^:]*]]: {{[0-9]+}} useful flop
// CHECK: remark: [Failure] candidate | {{.*}} | Remark="mma_sync cp_async {{.*}}: expects at most 168 registers per thread on sm_89, but the schedule needs {{[0-9]+}} ({{[0-9]+}} too many)"
// CHECK: remark: [Passed] choice | {{.*}} | Remark="chose [[BEST]] for pointers and strides that are multiples of 16 bytes: [[COST]], {{[0-9.]+}} % less time than [[SECOND]]"
// CHECK: remark: [Passed] choice | {{.*}} | Remark="chose mma_sync gather {{.*}} for pointers and strides that are multiples of 2 bytes
sparsec.kernel @k(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
