// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --remarks -o %t.cubin 2>&1 | FileCheck %s
// RUN: sparsec %s --arch=sm_89 --remarks -o %t.cubin 2>&1 | FileCheck %s
// CHECK-NOT: {{refused by ptxas|warning:}}
// The first schedules spill nothing. Every head dimension and pair of blocks; all options where registers are fewest: 128 queries share
// them between two consumers with 128 keys and elements each, or tiles of 64 queries share them: two with heads of 128,
// three with heads of 64, two with a mask or where a score loads by position.

!bf16_64 = tensor<?x?x?x64xbf16>
!bf16_128 = tensor<?x?x?x128xbf16>
!f16_64 = tensor<?x?x?x64xf16>
!f16_128 = tensor<?x?x?x128xf16>
!lse = tensor<?x?x?xf32>

sparsec.kernel @d128_64x128_plain(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<64x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<64x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_64x128_causal(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<64x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) causal
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<64x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_64x128_window(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<64x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) window = [1024, 0]
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<64x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_64x128_softcap(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<64x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 30.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32
    sparsec.yield %z : f32
  }
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<64x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_64x128_mask(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<64x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %eight = arith.constant 8 : i32
    %group_i = arith.divsi %i, %eight : i32
    %group_j = arith.divsi %j, %eight : i32
    %same = arith.cmpi eq, %group_i, %group_j : i32
    sparsec.yield %same : i1
  }
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<64x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_64x128_causal_f16(%q: !f16_128, %k: !f16_128, %v: !f16_128, %p: !sparsec.pattern<64x128>)
    -> (o: !f16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) causal
    : (!f16_128, !f16_128, !f16_128, !sparsec.pattern<64x128>) -> (!f16_128, !lse)
  sparsec.return %o, %lse : !f16_128, !lse
}

sparsec.kernel @d128_128x128_plain(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<128x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<128x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_128x128_causal(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<128x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) causal
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<128x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_128x128_window(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<128x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) window = [1024, 0]
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<128x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_128x128_softcap(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<128x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 30.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32
    sparsec.yield %z : f32
  }
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<128x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_128x128_mask(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<128x128>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %eight = arith.constant 8 : i32
    %group_i = arith.divsi %i, %eight : i32
    %group_j = arith.divsi %j, %eight : i32
    %same = arith.cmpi eq, %group_i, %group_j : i32
    sparsec.yield %same : i1
  }
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<128x128>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_128x128_causal_f16(%q: !f16_128, %k: !f16_128, %v: !f16_128, %p: !sparsec.pattern<128x128>)
    -> (o: !f16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) causal
    : (!f16_128, !f16_128, !f16_128, !sparsec.pattern<128x128>) -> (!f16_128, !lse)
  sparsec.return %o, %lse : !f16_128, !lse
}

sparsec.kernel @d128_64x64_softcap(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<64x64>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 30.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32
    sparsec.yield %z : f32
  }
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<64x64>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d128_128x64_mask(%q: !bf16_128, %k: !bf16_128, %v: !bf16_128, %p: !sparsec.pattern<128x64>)
    -> (o: !bf16_128, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %eight = arith.constant 8 : i32
    %group_i = arith.divsi %i, %eight : i32
    %group_j = arith.divsi %j, %eight : i32
    %same = arith.cmpi eq, %group_i, %group_j : i32
    sparsec.yield %same : i1
  }
    : (!bf16_128, !bf16_128, !bf16_128, !sparsec.pattern<128x64>) -> (!bf16_128, !lse)
  sparsec.return %o, %lse : !bf16_128, !lse
}

sparsec.kernel @d64_64x64_window(%q: !bf16_64, %k: !bf16_64, %v: !bf16_64, %p: !sparsec.pattern<64x64>)
    -> (o: !bf16_64, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) window = [1024, 0]
    : (!bf16_64, !bf16_64, !bf16_64, !sparsec.pattern<64x64>) -> (!bf16_64, !lse)
  sparsec.return %o, %lse : !bf16_64, !lse
}

sparsec.kernel @d64_64x128_softcap_f16(%q: !f16_64, %k: !f16_64, %v: !f16_64, %p: !sparsec.pattern<64x128>)
    -> (o: !f16_64, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 30.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32
    sparsec.yield %z : f32
  }
    : (!f16_64, !f16_64, !f16_64, !sparsec.pattern<64x128>) -> (!f16_64, !lse)
  sparsec.return %o, %lse : !f16_64, !lse
}

sparsec.kernel @d64_softcap(%q: !bf16_64, %k: !bf16_64, %v: !bf16_64) -> (o: !bf16_64) {
  %o = sparsec.attention %q, %k, %v
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32
    sparsec.yield %z : f32
  }
    : (!bf16_64, !bf16_64, !bf16_64) -> !bf16_64
  sparsec.return %o : !bf16_64
}

sparsec.kernel @d64_softcap_approximate(%q: !bf16_64, %k: !bf16_64, %v: !bf16_64) -> (o: !bf16_64) {
  %o = sparsec.attention %q, %k, %v
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %x = arith.divf %s, %cap fastmath<arcp,reassoc> : f32
    %y = math.tanh %x fastmath<afn> : f32
    %z = arith.mulf %y, %cap : f32
    sparsec.yield %z : f32
  }
    : (!bf16_64, !bf16_64, !bf16_64) -> !bf16_64
  sparsec.return %o : !bf16_64
}

sparsec.kernel @d64_128x64_causal(%q: !bf16_64, %k: !bf16_64, %v: !bf16_64, %p: !sparsec.pattern<128x64>)
    -> (o: !bf16_64, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) causal
    : (!bf16_64, !bf16_64, !bf16_64, !sparsec.pattern<128x64>) -> (!bf16_64, !lse)
  sparsec.return %o, %lse : !bf16_64, !lse
}

sparsec.kernel @d64_128x128_mask_f16(%q: !f16_64, %k: !f16_64, %v: !f16_64, %p: !sparsec.pattern<128x128>)
    -> (o: !f16_64, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
      mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %eight = arith.constant 8 : i32
    %group_i = arith.divsi %i, %eight : i32
    %group_j = arith.divsi %j, %eight : i32
    %same = arith.cmpi eq, %group_i, %group_j : i32
    sparsec.yield %same : i1
  }
    : (!f16_64, !f16_64, !f16_64, !sparsec.pattern<128x128>) -> (!f16_64, !lse)
  sparsec.return %o, %lse : !f16_64, !lse
}

sparsec.kernel @d64_64x64_documents(%q: !bf16_64, %k: !bf16_64, %v: !bf16_64, %p: !sparsec.pattern<64x64>,
    %documents: tensor<?x?xi32>) -> (o: !bf16_64, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) extras(%documents)
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %ids: tensor<?x?xi32>) {
    %mine = sparsec.element %ids[%b, %i] : tensor<?x?xi32>
    %theirs = sparsec.element %ids[%b, %j] : tensor<?x?xi32>
    %same = arith.cmpi eq, %mine, %theirs : i32
    sparsec.yield %same : i1
  }
    : (!bf16_64, !bf16_64, !bf16_64, !sparsec.pattern<64x64>, tensor<?x?xi32>) -> (!bf16_64, !lse)
  sparsec.return %o, %lse : !bf16_64, !lse
}

sparsec.kernel @d64_64x64_causal_window_and_sink(%q: !bf16_64, %k: !bf16_64, %v: !bf16_64, %p: !sparsec.pattern<64x64>)
    -> (o: !bf16_64, lse: !lse) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) causal mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %distance = arith.subi %i, %j : i32
    %window = arith.constant 256 : i32
    %is_near = arith.cmpi slt, %distance, %window : i32
    %sinks = arith.constant 4 : i32
    %is_sink = arith.cmpi slt, %j, %sinks : i32
    %is_visible = arith.ori %is_near, %is_sink : i1
    sparsec.yield %is_visible : i1
  }
    : (!bf16_64, !bf16_64, !bf16_64, !sparsec.pattern<64x64>) -> (!bf16_64, !lse)
  sparsec.return %o, %lse : !bf16_64, !lse
}
