// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | awk '/.visible .entry/ {skip = /_(unaligned|parts|merge|pattern|block_mask|top_k)[(]/} !skip' | FileCheck %s --check-prefix=SM90
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | awk '/.visible .entry/ {skip = /_(unaligned|parts|merge|pattern|block_mask|top_k)[(]/} !skip' | FileCheck %s --check-prefix=SM89
// Loads of regions, by queries and by keys: no score loads. Without the variants for any alignment and for few tiles, and
// without the kernels that make lists.

// Two queries a thread, once a tile. Of the 128 keys of a step each thread loads 4, in front of the wait for the scores. There
// all lanes compare them with the document of a query, until each row of the warp has its own: most often once. Blocks
// without a mask jump over both. After the wait a score takes a bit.
// SM90-LABEL: .entry documents(
// SM90: setmaxnreg.inc
// SM90-COUNT-2: ld.global.b32
// SM90: wgmma.commit_group
// SM90: bra [[FULL:\$L__BB[0-9_]+]];
// SM90-COUNT-4: ld.global.b32
// SM90-NOT: ld.global
// SM90: [[LOOP:\$L__BB[0-9_]+]]:
// SM90-NEXT: or.pred
// SM90-NEXT: vote.sync.ballot.b32
// SM90: shfl.sync.idx.b32 [[DOCUMENT:%r[0-9]+]], {{.*}}, 31, -1;
// SM90: setp.eq.b32 [[IS_SAME:%p[0-9]+]], {{%r[0-9]+}}, [[DOCUMENT]];
// SM90-NEXT: vote.sync.ballot.b32 {{%r[0-9]+}}, [[IS_SAME]], -1;
// SM90: setp.eq.b32 [[IS_SAME:%p[0-9]+]], {{%r[0-9]+}}, [[DOCUMENT]];
// SM90-NEXT: vote.sync.ballot.b32 {{%r[0-9]+}}, [[IS_SAME]], -1;
// SM90: setp.eq.b32 [[IS_SAME:%p[0-9]+]], {{%r[0-9]+}}, [[DOCUMENT]];
// SM90-NEXT: vote.sync.ballot.b32 {{%r[0-9]+}}, [[IS_SAME]], -1;
// SM90: setp.eq.b32 [[IS_SAME:%p[0-9]+]], {{%r[0-9]+}}, [[DOCUMENT]];
// SM90-NEXT: vote.sync.ballot.b32 {{%r[0-9]+}}, [[IS_SAME]], -1;
// SM90-NOT: vote
// SM90: bra.uni [[LOOP]];
// SM90: [[FULL]]:
// SM90: wgmma.wait_group.sync.aligned 0;
// SM90-NOT: {{ld.global|shfl.sync.idx|vote.sync.ballot}}
// SM90: wgmma.commit_group
// SM90: wgmma.commit_group
// SM90: bra [[FULL:\$L__BB[0-9_]+]];
// SM90-COUNT-4: ld.global.b32
// SM90-NOT: ld.global
// SM90: vote.sync.ballot.b32
// SM90: [[FULL]]:
// SM90: wgmma.wait_group.sync.aligned 1;
// SM90-NOT: {{ld.global|shfl.sync.idx|vote.sync.ballot}}
// SM90: setmaxnreg.dec

// A step has 64 keys here: 2 for each thread. They are loaded before the wait for copies.
// SM89-LABEL: .entry documents(
// SM89-COUNT-2: ld.global.b32
// SM89-NOT: ld.global.b32
// SM89: mma.sync
// SM89-COUNT-2: ld.global.b32
// SM89-NOT: ld.global.b32
// SM89-COUNT-3: vote.sync.ballot.b32
// SM89: cp.async.wait_group
// SM89-NOT: {{ld.global.b32|shfl.sync.idx|vote.sync.ballot}}
// SM89: ex2.approx
sparsec.kernel @documents(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x128>, %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p) extras(%t) causal
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %numbers: tensor<?x?xi32>) {
    %mine = sparsec.element %numbers[%b, %i] : tensor<?x?xi32>
    %theirs = sparsec.element %numbers[%b, %j] : tensor<?x?xi32>
    %r = arith.cmpi eq, %mine, %theirs : i32
    sparsec.yield %r : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>, tensor<?x?xi32>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
