// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule --remarks-filter=sparsec-select-schedule 2>&1 | FileCheck %s
// One table for each kernel: the candidates with their predicted speed, the fastest first, then those that break a
// limit; first for the schedule, then for the fallback.

// CHECK: remark: [Analysis] candidates | Category:sparsec-select-schedule | Function=product | Remark="
// CHECK-NEXT: for pointers and strides that are multiples of 16 bytes:
// CHECK-NEXT:   instruction tile stages roles flop/clock/SM bound verdict{{$}}
// CHECK-NEXT:   mma_sync cp_async 128x128x{{[0-9]+ [0-9]}} consumers 2x4 registers {{.*[0-9]}} L2 chosen{{$}}
// CHECK-NEXT:   mma_sync cp_async {{.*}}L2{{$}}
// CHECK:        mma_sync cp_async {{.*}} expects at most 168 registers per thread on sm_89, but the schedule needs {{[0-9]+}} ({{[0-9]+}} too many){{$}}
// CHECK:      for pointers and strides that are multiples of 2 bytes:
// CHECK-NEXT:   instruction
// CHECK-NEXT:   mma_sync scalar {{.*}} chosen{{$}}
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// The selection passes over a schedule that ptxas refused, and the table tells why.
// CHECK: remark: {{.*}} Function=attention |
// CHECK:        mma_sync cp_async 128x64x128 2 consumers 8x1 group_m 1 {{[0-9]+}} tensor cores refused by ptxas: spills 8 bytes{{$}}
// CHECK-NEXT:   mma_sync cp_async 128x32x128 2 consumers 8x1 group_m 1 {{[0-9]+}} tensor cores chosen{{$}}
// CHECK:      multiples of 2 bytes:
// CHECK-NEXT:   instruction
// CHECK-NEXT:   mma_sync scalar {{.*}} chosen{{$}}
// CHECK-NOT: remark
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {sparsec.refused_schedules = ["spills 8 bytes"]} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
