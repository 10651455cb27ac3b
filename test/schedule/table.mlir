// RUN: split-file %s %t
// RUN: sparsec-opt %t/kernels.mlir --sparsec-attach-target --sparsec-select-schedule=schedule-table=%t/table.jsonl --remarks-filter=sparsec-select-schedule > %t/out 2> %t/err
// RUN: FileCheck %t/kernels.mlir < %t/out
// RUN: FileCheck %t/kernels.mlir --check-prefix=REMARKS < %t/err
// A row of a schedule table with the chip and the problem of a kernel stands for the model's choice.

//--- table.jsonl
{"chip": "sm_89", "problem": "spmm bf16 128x128, w mk, x kn, y mn, 2 bytes", "schedule": "#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 2>"}

{"chip": "sm_90a", "problem": "spmm bf16 128x128, w mk, x kn, y mn, 2 bytes", "milliseconds": 0.5, "schedule": "#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 8>"}
{"chip": "sm_90a", "problem": "spmm bf16 64x64, w mk, x kn, y mn, 2 bytes", "schedule": "#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, walk = windows, block_stages = 8>"}
{"chip": "sm_90a", "problem": "spmm bf16 64x64, w mk, x kn, y mn, 2 bytes", "schedule": "#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232>"}
//--- kernels.mlir
// The row of another chip does not count. Copies for any alignment keep the model's schedule.
// CHECK-LABEL: sparsec.kernel @product(
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 8>
// REMARKS: Function=product | Remark="
// REMARKS-NEXT: schedule table {{.*}}table.jsonl:3: wgmma tma 128x128x64 stages 5 consumers 2x1 registers 40/232 group_m 8, chosen{{$}}
// REMARKS: for pointers and strides that are multiples of 2 bytes:
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Another layout is another problem.
// CHECK-LABEL: sparsec.kernel @transposed(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256,
// REMARKS: Function=transposed | Remark="
// REMARKS-NEXT: for pointers and strides that are multiples of 16 bytes:
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A schedule written by hand has precedence.
// CHECK-LABEL: sparsec.kernel @by_hand(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64,
// REMARKS: Function=by_hand | Remark="
// REMARKS-NEXT: for pointers and strides that are multiples of 2 bytes:
sparsec.kernel @by_hand(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A row by windows is that of the planned schedule.
// CHECK-LABEL: sparsec.kernel @windows(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, walk = windows, block_stages = 8>],
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 3,
// REMARKS: Function=windows | Remark="
// REMARKS-NEXT: schedule table {{.*}}table.jsonl:4: wgmma tma 128x256x64 {{.*}}windows block_stages 8, chosen{{$}}
// REMARKS: schedule table {{.*}}table.jsonl:5: wgmma tma 64x256x64 {{.*}}, chosen{{$}}
sparsec.kernel @windows(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// If ptxas refuses the row, it is the model's turn, with its first schedule.
// CHECK-LABEL: sparsec.kernel @refused(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192,
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512,
// REMARKS: Function=refused | Remark="
// REMARKS-NEXT: table.jsonl:4: {{.*}}, refused by ptxas: spills 4 bytes{{$}}
// REMARKS: table.jsonl:5: {{.*}}, refused by ptxas: spills 8 bytes{{$}}
// REMARKS: wgmma tma 64x512x64 {{.*}} chosen{{$}}
sparsec.kernel @refused(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {sparsec.refused_schedules = ["spills 8 bytes"], sparsec.refused_planned_schedules = ["spills 4 bytes"]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
