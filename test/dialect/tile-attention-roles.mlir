// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt %s --mlir-print-op-generic | sparsec-opt | FileCheck %s

// The ops of roles of attention: what the parser reads, the printer writes.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 3,
                              consumers_m = 2, consumers_n = 1>
!queries = !sparsec.ring<2, [!sparsec.buffer<128, 64, bf16, strip = 128>]>
!keys = !sparsec.ring<3, [!sparsec.buffer<128, 64, bf16, strip = 128>]>
!tensor = tensor<?x?x?x64xbf16>

gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @attention
  sparsec.program @attention attributes {kernel = @attention, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, tile_bytes = 1024 : i64} {
  // CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<?x?x?x64xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x?x64xbf16>, %[[PATTERN:[a-z0-9]+]]: !sparsec.pattern<64x64>, %[[SLOPES:[a-z0-9]+]]: tensor<?xf32>, %[[SCALE:[a-z0-9]+]]: f32, %[[O:[a-z0-9]+]]: tensor<?x?x?x64xbf16>, %[[LSE:[a-z0-9]+]]: tensor<?x?x?xf32>):
  ^bb0(%q: !tensor, %k: !tensor, %pattern: !sparsec.pattern<64x64>, %slopes: tensor<?xf32>, %scale: f32, %o: !tensor, %lse: tensor<?x?x?xf32>):
    // CHECK: %query_ring = sparsec.ring {messages, name = "query_ring"} : !ring
    %queries = sparsec.ring {messages, name = "query_ring"} : !queries
    // CHECK: %key_ring = sparsec.ring {messages, name = "key_ring"} : !ring1
    %keys = sparsec.ring {messages, name = "key_ring"} : !keys
    // CHECK: sparsec.role "consumer" warpgroup(2) registers(240) {
    sparsec.role "consumer" warpgroup(2) registers(240) {
      %group = sparsec.group
      %a = sparsec.view %queries rows(%group) {index = 0 : i64} : !queries -> <64, 64, bf16, k>
      %b = sparsec.view %keys {index = 0 : i64} : !keys -> <128, 64, bf16, k>
      %v = sparsec.view %keys {index = 0 : i64} : !keys -> <128, 64, bf16, mn>
      %cq = sparsec.cursor %queries : !queries
      %ck = sparsec.cursor %keys : !keys
      // CHECK: %[[TILE_ROW:message]], %[[PANEL:message_.*]] = sparsec.wait %query_ring[%[[CQ:.*]]] : !ring -> i32, i32
      %tile_row, %panel = sparsec.wait %queries[%cq] : !queries -> i32, i32
      // CHECK-NEXT: %batch, %head, %key_head, %query = sparsec.query_tile %[[Q]], %[[K]][%[[TILE_ROW]], %[[PANEL]]] {rows = 128 : i64} : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
      %batch, %head, %key_head, %first = sparsec.query_tile %q, %k[%tile_row, %panel] {rows = 128 : i64} : !tensor, !tensor
      // CHECK-NEXT: %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%group) scale(%[[SCALE]]) extras(%[[SLOPES]] : tensor<?xf32>) attributes {causal, window = array<i64: 5, -1>} score {
      // CHECK-NEXT: ^bb0(%s: f32, %batch_{{.*}}: i32, %head_{{.*}}: i32, %query_{{.*}}: i32, %key{{.*}}: i32, %extra: tensor<?xf32>):
      %softmax = sparsec.tile_softmax at(%batch, %head, %first) row(%group) scale(%scale) extras(%slopes : tensor<?xf32>) attributes {causal, window = array<i64: 5, -1>} score {
      ^bb0(%s: f32, %bi: i32, %hi: i32, %qi: i32, %ki: i32, %e: tensor<?xf32>):
        // CHECK-NEXT: sparsec.element %extra[%head_{{.*}}] : tensor<?xf32>
        %slope = sparsec.element %e[%hi] : tensor<?xf32>
        %biased = arith.addf %s, %slope : f32
        sparsec.yield %biased : f32
      // CHECK: } mask {
      } mask {
      ^bb0(%bi: i32, %hi: i32, %qi: i32, %ki: i32, %e: tensor<?xf32>):
        %allowed = arith.cmpi slt, %ki, %qi : i32
        sparsec.yield %allowed : i1
      }
      // CHECK: %[[BEGIN:.*]] = sparsec.softmax_begin of %softmax : <64>
      %state = sparsec.softmax_begin of %softmax : <64>
      // CHECK-NEXT: %[[A:.*]] = sparsec.load_fragment %{{.*}}[%[[CQ]]] : <64, 64, bf16, k> -> <64, 64, bf16>
      %fragment = sparsec.load_fragment %a[%cq] : <64, 64, bf16, k> -> <64, 64, bf16>
      // CHECK-NEXT: %[[KEY:key[_0-9]*]], %partial = sparsec.key_block %[[TILE_ROW]] {keys = 64 : i64}
      %key, %partial = sparsec.key_block %tile_row {keys = 64 : i64}
      // CHECK-NEXT: %[[BIAS:.*]] = sparsec.score_bias %softmax at(%[[KEY]]) partial(%partial) : <64, 128>
      %bias = sparsec.score_bias %softmax at(%key) partial(%partial) : <64, 128>
      // CHECK-NEXT: sparsec.sleep {nanoseconds = 200 : i64}
      sparsec.sleep {nanoseconds = 200 : i64}
      // CHECK-NEXT: sparsec.unset : <64, 128>
      %none = sparsec.unset : <64, 128>
      // CHECK-NEXT: %[[ISSUER:.*]] = sparsec.issuer {offset = 8 : i64}
      %issuer = sparsec.issuer {offset = 8 : i64}
      // CHECK-NEXT: sparsec.issue_begin %[[ISSUER]] {offset = 8 : i64}
      sparsec.issue_begin %issuer {offset = 8 : i64}
      // CHECK-NEXT: %[[S:.*]] = sparsec.product %[[A]], %{{.*}}[%{{.*}}], %[[BIAS]] {depth = 64 : i64} : !sparsec.fragment<64, 64, bf16>, !sparsec.view<128, 64, bf16, k>, !sparsec.accumulator<64, 128> -> !sparsec.pending<64, 128>
      %s0 = sparsec.product %fragment, %b[%ck], %bias {depth = 64 : i64} : !sparsec.fragment<64, 64, bf16>, !sparsec.view<128, 64, bf16, k>, !sparsec.accumulator<64, 128> -> !sparsec.pending<64, 128>
      // CHECK-NEXT: sparsec.product %{{.*}}[%[[CQ]]], %{{.*}}[%{{.*}}] {depth = 64 : i64, keeps_descriptors} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<128, 64, bf16, k> -> !sparsec.pending<64, 128>
      %s1 = sparsec.product %a[%cq], %b[%ck] {depth = 64 : i64, keeps_descriptors} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<128, 64, bf16, k> -> !sparsec.pending<64, 128>
      // CHECK-NEXT: sparsec.issue_end
      sparsec.issue_end
      %s = sparsec.await %s0 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
      // CHECK: %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %{{.*}}, %[[BEGIN]] at(%[[KEY]], %[[KEY]]) partial(%partial, %partial) : <64, 128>, <64>
      %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %s, %state at(%key, %key) partial(%partial, %partial) : <64, 128>, <64>
      // CHECK-NEXT: sparsec.any_probability %softmax, %scores, %raised : <64, 128>, <64>
      %any = sparsec.any_probability %softmax, %scores, %raised : <64, 128>, <64>
      scf.if %any {
      } else {
        // CHECK: sparsec.zero_probabilities %softmax, %scores, %raised : <64, 128>, <64>
        %p = sparsec.zero_probabilities %softmax, %scores, %raised : <64, 128>, <64>
      }
      // CHECK: %probabilities, %summed = sparsec.exponentiate %softmax, %scores, %raised at(%[[KEY]]) partial(%partial) : <64, 128>, <64>
      %p, %summed = sparsec.exponentiate %softmax, %scores, %raised at(%key) partial(%partial) : <64, 128>, <64>
      // CHECK-NEXT: sparsec.to_fragment %probabilities : <64, 128> -> <64, 128, bf16>
      %operand = sparsec.to_fragment %p : <64, 128> -> <64, 128, bf16>
      // CHECK-NEXT: %terms = sparsec.key_terms %softmax at(%[[KEY]]) partial(%partial)
      %terms = sparsec.key_terms %softmax at(%key) partial(%partial)
      // CHECK-NEXT: sparsec.row_maximum %softmax, %{{.*}}, %[[BEGIN]] at(%[[KEY]]) partial(%partial) terms(%terms) : <64, 128>, <64>
      %scores_of_terms, %raised_of_terms, %rescaling_of_terms = sparsec.row_maximum %softmax, %s, %state at(%key) partial(%partial) terms(%terms) : <64, 128>, <64>
      // CHECK-NEXT: sparsec.exponentiate %softmax, %{{.*}}, %{{.*}} at(%[[KEY]]) partial(%partial) terms(%terms) : <64, 128>, <64>
      %p_of_terms, %summed_of_terms = sparsec.exponentiate %softmax, %scores_of_terms, %raised_of_terms at(%key) partial(%partial) terms(%terms) : <64, 128>, <64>
      %output = sparsec.zero : !sparsec.accumulator<64, 64>
      // CHECK: %[[OUTPUT:.*]] = sparsec.rescale %{{.*}} by %rescaling : <64, 64>
      %rescaled = sparsec.rescale %output by %rescaling : <64, 64>
      // CHECK-NEXT: %[[SUMS:.*]] = sparsec.zero : !sparsec.accumulator<64, 72>
      // CHECK-NEXT: sparsec.sum_rows %summed, %[[SUMS]] : <64>, !sparsec.accumulator<64, 72>
      %output_with_sums = sparsec.zero : !sparsec.accumulator<64, 72>
      %rows_of_output = sparsec.sum_rows %summed, %output_with_sums : <64>, !sparsec.accumulator<64, 72>
      // CHECK-NEXT: %[[ROWS:.*]] = sparsec.sum_rows %summed : <64>
      %rows = sparsec.sum_rows %summed : <64>
      // CHECK-NEXT: sparsec.store_rows %[[OUTPUT]], %[[ROWS]] to %[[O]][%batch, %head, %query : i32, i32, i32] lse(%[[LSE]] : tensor<?x?x?xf32>) : <64, 64>, <64> -> tensor<?x?x?x64xbf16>
      sparsec.store_rows %rescaled, %rows to %o[%batch, %head, %first : i32, i32, i32] lse(%lse : tensor<?x?x?xf32>) : <64, 64>, <64> -> !tensor
    }
    // CHECK: sparsec.role "producer" thread(1) registers(24) {
    sparsec.role "producer" thread(1) registers(24) {
      %zero = arith.constant 0 : i32
      %begin = sparsec.cursor %queries : !queries
      // CHECK: sparsec.tile_loop init(%{{.*}} : !cursor) attributes {counter} -> !cursor {
      %end = sparsec.tile_loop init(%begin : !sparsec.cursor) attributes {counter} -> !sparsec.cursor {
      ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
        // CHECK: sparsec.tile_follows : i32
        %follows = sparsec.tile_follows : i32
        // CHECK-NEXT: %lists = sparsec.key_lists %[[PATTERN]][%tile_row, %panel, %panel] : <64x64>
        %lists = sparsec.key_lists %pattern[%tile_row, %panel, %panel] : <64x64>
        // CHECK-NEXT: %walk = sparsec.key_walk %lists at %panel {blocks = 2 : i64, causal, rows = 128 : i64, window = array<i64: 5, -1>}
        // CHECK-NEXT: sparsec.walk %walk {
        // CHECK-NEXT: ^bb0(%block: i32, %second: i32):
        %walk = sparsec.key_walk %lists at %panel {blocks = 2 : i64, causal, rows = 128 : i64, window = array<i64: 5, -1>}
        sparsec.walk %walk {
        ^bb0(%block: i32, %second: i32):
          // CHECK-NEXT: sparsec.post %query_ring[%[[C:.*]]] (%block, %second) : !ring
          sparsec.post %queries[%c] (%block, %second) : !queries
          // CHECK-NEXT: sparsec.copy %[[Q]][%tile_row, %panel, %block, %{{.*}}] to %query_ring[%[[C]]] {index = 0 : i64, rows = array<i64: 64, 64>} : tensor<?x?x?x64xbf16>, !ring
          sparsec.copy %q[%tile_row, %panel, %block, %zero] to %queries[%c] {index = 0 : i64, rows = array<i64: 64, 64>} : !tensor, !queries
          sparsec.yield
        }
        // CHECK: %[[ALL:walk.*]] = sparsec.key_walk at %panel {from_end, rows = 128 : i64}
        // CHECK-NEXT: %[[LAST:.*]] = sparsec.walk %[[ALL]] init(%[[C]] : !cursor) -> !cursor {
        %all = sparsec.key_walk at %panel {from_end, rows = 128 : i64}
        %last = sparsec.walk %all init(%c : !sparsec.cursor) -> !sparsec.cursor {
        // CHECK-NEXT: ^bb0(%block: i32, %[[CARRIED:carried.*]]: !cursor):
        ^bb0(%block: i32, %carried: !sparsec.cursor):
          sparsec.yield %carried : !sparsec.cursor
        }
        sparsec.yield %last : !sparsec.cursor
      }
      // CHECK: sparsec.post %query_ring[%{{.*}}] (%{{.*}}, %{{.*}}) {empty} : !ring
      sparsec.post %queries[%end] (%zero, %zero) {empty} : !queries
    }
  }

  // The examples of the descriptions.
  // CHECK-LABEL: sparsec.program @examples
  sparsec.program @examples attributes {kernel = @examples, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %pattern: !sparsec.pattern<128x64>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    sparsec.acquire %ring[%c] : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    // CHECK: sparsec.wait {{.*}} -> i32, i32
    %tile_row, %panel = sparsec.wait %ring[%c] : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]> -> i32, i32
    sparsec.post %ring[%c] (%tile_row, %panel) : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    %group = sparsec.group
    %group_row = arith.muli %group, %group : i32
    // CHECK: sparsec.query_tile
    %batch, %head, %key_head, %first = sparsec.query_tile %q, %k[%tile_row, %panel] {rows = 128 : i64}
        : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    // CHECK: sparsec.key_lists
    %lists = sparsec.key_lists %pattern[%batch, %head, %first] : !sparsec.pattern<128x64>
    %queries = sparsec.view %ring {index = 0 : i64} : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]> -> <64, 128, bf16, k>
    // CHECK: sparsec.key_walk
    %walk = sparsec.key_walk %lists at %first {causal, rows = 128 : i64}
    // CHECK: sparsec.walk
    %last = sparsec.walk %walk init(%c : !sparsec.cursor) -> !sparsec.cursor {
    ^bb0(%block: i32, %current: !sparsec.cursor):
      %key, %partial = sparsec.key_block %block {keys = 128 : i64}
      %a = sparsec.load_fragment %queries[%c] : <64, 128, bf16, k> -> <64, 128, bf16>
      sparsec.yield %current : !sparsec.cursor
    }
    %key, %partial = sparsec.key_block %tile_row {keys = 128 : i64}
    // CHECK: sparsec.tile_softmax
    %softmax = sparsec.tile_softmax at(%batch, %head, %first) row(%group_row) attributes {causal}
    %begin = sparsec.softmax_begin of %softmax : <64>
    %bias = sparsec.score_bias %softmax at(%key) partial(%partial) : <64, 128>
    %s = sparsec.zero : !sparsec.accumulator<64, 128>
    %state = sparsec.softmax_begin of %softmax : <64>
    %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %s, %state at(%key) partial(%partial) : <64, 128>, <64>
    %p, %summed = sparsec.exponentiate %softmax, %scores, %raised at(%key) partial(%partial) : <64, 128>, <64>
    %a = sparsec.to_fragment %p : <64, 128> -> <64, 128, bf16>
    %output = sparsec.zero : !sparsec.accumulator<64, 128>
    %rescaled = sparsec.rescale %output by %rescaling : <64, 128>
    %rows = sparsec.sum_rows %state : <64>
    %query = arith.addi %first, %group_row : i32
    %issuer = sparsec.issuer
    sparsec.issue_begin %issuer
    sparsec.issue_end
    // CHECK: sparsec.store_rows
    sparsec.store_rows %output, %state to %o[%batch, %head, %query : i32, i32, i32] lse(%lse : tensor<?x?x?xf32>)
        : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
  }
}
