// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// Terms of regions of attention: values that are made of elements of the query or of the key alone. A thread has scores of
// two queries and of 16 keys in a step of 64; of two of these keys it computes the terms.

// The documents of the queries are loaded for the tile, those of the keys before the wait for the scores, where a mask
// applies to the block. There they become words: the warp compares its keys with the document of a row that has not found
// its own yet, and all rows of this document take the bits (0x11111111: every fourth one, those of a column). After the wait
// there are bits alone.
// CHECK-LABEL: llvm.func @documents(
// CHECK: nvvm.setmaxregister increase
// CHECK: [[FIRST:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: [[SECOND:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.wgmma.commit.group
// CHECK: scf.if %{{.*}} -> (i32, i32) {
// CHECK: [[KEY0:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: [[KEY1:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: scf.while ([[OPEN0:%[a-z0-9]+]] = %true, [[OPEN1:%[a-z0-9]+]] = %true,
// CHECK: [[OPEN:%[0-9]+]] = arith.ori [[OPEN0]], [[OPEN1]] : i1
// CHECK: nvvm.vote.sync ballot %{{.*}}, [[OPEN]]
// CHECK: scf.condition
// CHECK: [[WANTED:%[0-9]+]] = arith.select %{{.*}}, [[FIRST]], [[SECOND]] : i32
// CHECK: [[DOCUMENT:%[0-9]+]] = nvvm.shfl.sync idx %{{.*}}, [[WANTED]],
// CHECK: [[IS_SAME:%[0-9]+]] = arith.cmpi eq, [[KEY0]], [[DOCUMENT]] : i32
// CHECK: nvvm.vote.sync ballot %{{.*}}, [[IS_SAME]]
// CHECK: [[IS_SAME:%[0-9]+]] = arith.cmpi eq, [[KEY1]], [[DOCUMENT]] : i32
// CHECK: nvvm.vote.sync ballot %{{.*}}, [[IS_SAME]]
// CHECK-COUNT-2: arith.constant 286331153
// CHECK: arith.cmpi eq, [[FIRST]], [[DOCUMENT]] : i32
// CHECK: arith.cmpi eq, [[SECOND]], [[DOCUMENT]] : i32
// CHECK: scf.yield
// CHECK: } else {
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: {{llvm.load %.* : !llvm.ptr<1>|nvvm.shfl.sync idx|vote.sync ballot}}
// CHECK: nvvm.wgmma.commit.group
// CHECK: nvvm.wgmma.commit.group
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.setmaxregister decrease
sparsec.kernel @documents(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %t_: tensor<?x?xi32>) {
    %mine = sparsec.element %t_[%b, %i] : tensor<?x?xi32>
    %theirs = sparsec.element %t_[%b, %j] : tensor<?x?xi32>
    %r = arith.cmpi eq, %mine, %theirs : i32
    sparsec.yield %r : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?xi32>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// Terms that are compared for their order are no words. A comparison takes that of the key from another lane, in the own
// column (799 = 3 << 8 | 31), once for both queries.
// CHECK-LABEL: llvm.func @order(
// CHECK: nvvm.setmaxregister increase
// CHECK: [[FIRST:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: [[SECOND:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.wgmma.commit.group
// CHECK: [[KEYS:%[0-9]+]]:2 = scf.if %{{.*}} -> (i32, i32) {
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: } else {
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: [[CLAMP:%[a-z0-9_]+]] = arith.constant 799 : i32
// CHECK: [[KEY0:%[0-9]+]] = nvvm.shfl.sync idx %{{.*}}, [[KEYS]]#0, %{{.*}}, [[CLAMP]]
// CHECK: [[KEY1:%[0-9]+]] = nvvm.shfl.sync idx %{{.*}}, [[KEYS]]#1, %{{.*}}, %{{.*}}
// CHECK-NOT: nvvm.shfl
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: arith.cmpi slt, [[SECOND]], [[KEY0]]
// CHECK-NOT: nvvm.shfl
// CHECK: arith.cmpi slt, [[SECOND]], [[KEY1]]
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: scf.while
// CHECK: nvvm.wgmma.commit.group
// CHECK: nvvm.wgmma.commit.group
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.setmaxregister decrease
sparsec.kernel @order(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %t_: tensor<?x?xi32>) {
    %mine = sparsec.element %t_[%b, %i] : tensor<?x?xi32>
    %theirs = sparsec.element %t_[%b, %j] : tensor<?x?xi32>
    %r = arith.cmpi slt, %mine, %theirs : i32
    sparsec.yield %r : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?xi32>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// What the key alone determines is a word of bits of lanes, of which each takes those of its column: 1 << 4 for the next
// group of 8 keys. Nothing is exchanged.
// CHECK-LABEL: llvm.func @padding(
// CHECK: nvvm.wgmma.commit.group
// CHECK: [[WORDS:%[0-9]+]]:2 = scf.if %{{.*}} -> (i32, i32) {
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NEXT: [[VALID:%[0-9]+]] = arith.cmpi ne
// CHECK: [[BITS:%[0-9]+]] = nvvm.vote.sync ballot %{{.*}}, [[VALID]]
// CHECK-NEXT: arith.shrui [[BITS]]
// CHECK: [[BOTH:%[0-9]+]] = arith.ori
// CHECK: scf.yield [[BOTH]], [[BOTH]] : i32, i32
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: {{nvvm.shfl.sync idx|vote.sync ballot}}
// CHECK: arith.ori [[WORDS]]#0,
// CHECK: [[BIT:%[a-z0-9_]+]] = arith.constant 16 : i32
// CHECK-NEXT: arith.andi %{{[0-9]+}}, [[BIT]]
// CHECK: scf.while
sparsec.kernel @padding(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %t_: tensor<?x?xi32>) {
    %zero = arith.constant 0 : i32
    %valid = sparsec.element %t_[%b, %j] : tensor<?x?xi32>
    %r = arith.cmpi ne, %valid, %zero : i32
    sparsec.yield %r : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?xi32>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// Terms of a score are computed in every step. What the query and the key determine together is loaded for each score:
// after 2 loads of terms, 32.
// CHECK-LABEL: llvm.func @mixed(
// CHECK: nvvm.wgmma.commit.group
// CHECK-NOT: scf.if
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-COUNT-32: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: scf.while
sparsec.kernel @mixed(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %t: tensor<?xf32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t_: tensor<?xf32>) {
    %scale = sparsec.element %t_[%j] : tensor<?xf32>
    %distance = arith.subi %i, %j : i32
    %bias = sparsec.element %t_[%distance] : tensor<?xf32>
    %r = math.fma %s, %scale, %bias : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?xf32>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// A region has three terms of keys, and computes others for each score. Those of queries count apart: one that only batch
// and head determine, by an index that is computed, is loaded for a tile too.
// CHECK-LABEL: llvm.func @most_terms(
// CHECK: nvvm.setmaxregister increase
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.wgmma.commit.group
// CHECK-COUNT-6: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-COUNT-32: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: scf.while
sparsec.kernel @most_terms(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %t: tensor<?xf32>, %u: tensor<?xf32>, %v0: tensor<?xf32>, %w: tensor<?xf32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v extras(%t, %u, %v0, %w)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t_: tensor<?xf32>, %u_: tensor<?xf32>, %v0_: tensor<?xf32>, %w_: tensor<?xf32>) {
    %t0 = sparsec.element %t_[%j] : tensor<?xf32>
    %t1 = sparsec.element %u_[%j] : tensor<?xf32>
    %t2 = sparsec.element %v0_[%j] : tensor<?xf32>
    %t3 = sparsec.element %w_[%j] : tensor<?xf32>
    %four = arith.constant 4 : i32
    %group = arith.divsi %h, %four : i32
    %t4 = sparsec.element %t_[%group] : tensor<?xf32>
    %s0 = arith.addf %s, %t0 : f32
    %s1 = arith.mulf %s0, %t1 : f32
    %s2 = arith.addf %s1, %t2 : f32
    %s3 = arith.mulf %s2, %t3 : f32
    %r = arith.addf %s3, %t4 : f32
    sparsec.yield %r : f32
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
