// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt %s --mlir-print-op-generic | sparsec-opt | FileCheck %s

// The ops of sequences with sizes of their own: what the parser reads, the printer writes.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 2,
                              consumers_m = 2, consumers_n = 1>
!ring = !sparsec.ring<2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
!tensor = tensor<1x?x?x128xbf16>
!pages = tensor<?x?x64x128xbf16>

gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @sequences
  sparsec.program @sequences attributes {kernel = @sequences, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  // CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<1x?x?x128xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x64x128xbf16>, %[[QS:[a-z0-9]+]]: tensor<?xi32>, %[[KS:[a-z0-9]+]]: tensor<?xi32>, %[[N:[a-z0-9]+]]: tensor<?xi32>, %[[T:[a-z0-9]+]]: tensor<?x?xi32>, %[[P:[a-z0-9]+]]: !sparsec.pattern<128x64>, %[[O:[a-z0-9]+]]: tensor<1x?x?x128xbf16>):
  ^bb0(%q: !tensor, %k: !pages, %qs: tensor<?xi32>, %ks: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x?xi32>, %p: !sparsec.pattern<128x64>, %o: !tensor):
    %zero = arith.constant 0 : i32
    %ring = sparsec.ring {messages} : !ring
    %c = sparsec.cursor %ring : !ring
    // CHECK: %row, %[[BLOCK:block.*]] = sparsec.packed_tile %[[Q]], %[[QS]][%[[ZERO:.*]], %[[ZERO]]] {rows = 128 : i64} : tensor<1x?x?x128xbf16>, tensor<?xi32>
    %row, %block = sparsec.packed_tile %q, %qs[%zero, %zero] {rows = 128 : i64} : !tensor, tensor<?xi32>
    // CHECK-NEXT: %batch, %head, %key_head, %query = sparsec.query_tile %[[Q]], %[[K]][%row, %[[BLOCK]]] {forward, rows = 128 : i64} : tensor<1x?x?x128xbf16>, tensor<?x?x64x128xbf16>
    %batch, %head, %key_head, %first = sparsec.query_tile %q, %k[%row, %block] {forward, rows = 128 : i64} : !tensor, !pages
    // CHECK-NEXT: %query_row, %queries, %key_row, %keys = sparsec.sequence %[[Q]], %[[K]][%batch] query_starts(%[[QS]] : tensor<?xi32>) key_starts(%[[KS]] : tensor<?xi32>) key_lengths(%[[N]] : tensor<?xi32>) page_table(%[[T]] : tensor<?x?xi32>) : tensor<1x?x?x128xbf16>, tensor<?x?x64x128xbf16>
    %query_row, %queries, %key_row, %keys = sparsec.sequence %q, %k[%batch] query_starts(%qs : tensor<?xi32>) key_starts(%ks : tensor<?xi32>) key_lengths(%n : tensor<?xi32>) page_table(%t : tensor<?x?xi32>) : !tensor, !pages
    // CHECK-NEXT: %page, %page_row = sparsec.find_page %[[T]], %[[K]][%batch, %query] of %keys : tensor<?x?xi32>, tensor<?x?x64x128xbf16>
    %page, %page_row = sparsec.find_page %t, %k[%batch, %first] of %keys : tensor<?x?xi32>, !pages
    // CHECK-NEXT: %lists = sparsec.key_lists %[[P]][%batch, %head, %query] {packed} : <128x64>
    %lists = sparsec.key_lists %p[%batch, %head, %first] {packed} : <128x64>
    // CHECK-NEXT: %walk = sparsec.key_walk %lists at %query sizes(%queries, %keys) {rows = 128 : i64}
    // CHECK-NEXT: sparsec.walk %walk {
    %walk = sparsec.key_walk %lists at %first sizes(%queries, %keys) {rows = 128 : i64}
    sparsec.walk %walk {
    ^bb0(%step: i32):
      sparsec.yield
    }
    // CHECK: sparsec.key_walk %lists at %query sizes(%queries, %keys) {rows = 128 : i64}
    %others = sparsec.key_walk %lists at %first sizes(%queries, %keys) {rows = 128 : i64}
    // CHECK-NEXT: %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%[[ZERO]]) sizes(%queries, %keys)
    %softmax = sparsec.tile_softmax at(%batch, %head, %first) row(%zero) sizes(%queries, %keys)
    // CHECK-NEXT: sparsec.copy %[[K]][%page, %key_head, %page_row, %[[ZERO]]] end(%keys) to %ring[%{{.*}}] {index = 0 : i64, rows = array<i64: 64, 64>} : tensor<?x?x64x128xbf16>, !ring
    sparsec.copy %k[%page, %key_head, %page_row, %zero] end(%keys) to %ring[%c] {index = 0 : i64, rows = array<i64: 64, 64>} : !pages, !ring
    // CHECK: sparsec.scale_rows %ring[%{{.*}}] from %{{.*}} {exponent = -5 : i64, rows = 64 : i64} : !ring
    sparsec.scale_rows %ring[%c] from %row {exponent = -5 : i64, rows = 64 : i64} : !ring
    // CHECK-NEXT: sparsec.clear_rows %ring[%{{.*}}] from(%keys, %queries) {first_barrier = 3 : i64} : !ring
    sparsec.clear_rows %ring[%c] from(%keys, %queries) {first_barrier = 3 : i64} : !ring
    %sums = sparsec.zero : !sparsec.accumulator<128, 128>
    %state = sparsec.softmax_begin of %softmax : <128>
    // CHECK: sparsec.store_rows %{{.*}}, %{{.*}} to %[[O]][%[[ZERO]], %head, %query_row : i32, i32, i32] end(%queries) : <128, 128>, <128> -> tensor<1x?x?x128xbf16>
    sparsec.store_rows %sums, %state to %o[%zero, %head, %query_row : i32, i32, i32] end(%queries) : <128, 128>, <128> -> !tensor
  }

  // The examples of the descriptions.
  // CHECK-LABEL: sparsec.program @examples
  sparsec.program @examples attributes {kernel = @examples, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%q: tensor<1x?x?x128xbf16>, %k: tensor<?x?x64x128xbf16>, %starts: tensor<?xi32>, %lengths: tensor<?xi32>, %table: tensor<?x?xi32>):
    %head = arith.constant 0 : i32
    %panel = arith.constant 1 : i32
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    // CHECK: sparsec.packed_tile
    %row, %block = sparsec.packed_tile %q, %starts[%head, %panel] {rows = 128 : i64}
        : tensor<1x?x?x128xbf16>, tensor<?xi32>
    // CHECK: sparsec.find_page
    %page, %page_row = sparsec.find_page %table, %k[%row, %block] of %panel
        : tensor<?x?xi32>, tensor<?x?x64x128xbf16>
    // CHECK: sparsec.clear_rows
    sparsec.clear_rows %ring[%c] from(%panel) : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
  }
  // CHECK-LABEL: sparsec.program @examples_of_rows
  sparsec.program @examples_of_rows attributes {kernel = @examples, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %lengths: tensor<?xi32>):
    %batch = arith.constant 0 : i32
    // CHECK: sparsec.sequence
    %query_row, %queries, %key_row, %keys = sparsec.sequence %q, %k[%batch] key_lengths(%lengths : tensor<?xi32>)
        : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
  }
}
