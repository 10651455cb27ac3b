// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s
// RUN: sparsec-opt %s --sparsec-attach-target=chip=host --sparsec-select-schedule | FileCheck %s --check-prefix=HOST
// A pass takes 128 bytes of the smallest elements of a row. Operands of any alignment take single elements.

// A row takes several passes: a thread has one row at a time.
// CHECK-LABEL: sparsec.kernel @several_passes
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 4, tile_n = 32,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 16, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 8>
// HOST-LABEL: sparsec.kernel @several_passes
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16,
sparsec.kernel @several_passes(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// A row takes one pass: a thread has two rows.
// CHECK-LABEL: sparsec.kernel @one_pass
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 4, tile_n = 32,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 8>
// HOST-LABEL: sparsec.kernel @one_pass
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16,
sparsec.kernel @one_pass(%o1: tensor<?x?x?x64xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x64xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x64xf32>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

// A row has fewer lanes.
// CHECK-LABEL: sparsec.kernel @short_rows
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 32, tile_n = 8,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 128, tile_n = 8, tile_k = 1, stages = 1, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 8>
// HOST-LABEL: sparsec.kernel @short_rows
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16,
sparsec.kernel @short_rows(%o1: tensor<?x?x?x8xf32>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x8xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x8xf32>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}

// The last lanes of a pass have no columns.
// CHECK-LABEL: sparsec.kernel @cut
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 8, tile_n = 32,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 64, tile_n = 32, tile_k = 1, stages = 1, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 8>
// HOST-LABEL: sparsec.kernel @cut
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16,
sparsec.kernel @cut(%o1: tensor<?x?x?x24xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x24xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x24xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x24xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x24xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x24xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x24xbf16>, tensor<?x?x?xf32>
}

// An open size counts as 128.
// CHECK-LABEL: sparsec.kernel @open
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 4, tile_n = 32,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 16, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 8>
// HOST-LABEL: sparsec.kernel @open
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16,
sparsec.kernel @open(%o1: tensor<?x?x?x?xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x?xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x?xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x?xbf16>, tensor<?x?x?xf32>
}

// Rows are no whole vectors, whatever their alignment.
// CHECK-LABEL: sparsec.kernel @no_vectors
// CHECK-NOT: fallback_schedule
// CHECK-SAME: schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 8, tile_n = 32,
// HOST-LABEL: sparsec.kernel @no_vectors
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16,
sparsec.kernel @no_vectors(%o1: tensor<?x?x?x20xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x20xf32>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x20xf32>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x20xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x20xf32>, tensor<?x?x?xf32>) -> (tensor<?x?x?x20xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x20xf32>, tensor<?x?x?xf32>
}

// Where registers do not suffice, fewer CTAs share an SM. There is no third choice.
// CHECK-LABEL: sparsec.kernel @refused
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 16, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 4>
// HOST-LABEL: sparsec.kernel @refused
sparsec.kernel @refused(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>)
    attributes {sparsec.refused_schedules = ["spills", "spills"]} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
