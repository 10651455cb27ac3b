// RUN: sparsec %s --arch=sm_89 --emit=ptx -o %t.sm_89.ptx
// RUN: FileCheck %s < %t.sm_89.ptx
// RUN: FileCheck %s --check-prefix=ONE-ROLE < %t.sm_89.ptx
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.sm_90a.ptx
// RUN: FileCheck %s < %t.sm_90a.ptx
// RUN: FileCheck %s --check-prefix=TWO-ROLES < %t.sm_90a.ptx

// Lists hold the tiles of a period of panels. A round is another period further on; it ends with the list, or with the
// first tile beyond the result. A tile costs an addition and a comparison, and no division.
// CHECK: .visible .entry spmm(
// CHECK-DAG: ld.param.b32 [[PANELS:%r[0-9]+]], [spmm_param_0];
// CHECK-DAG: ld.param.b32 [[PERIOD:%r[0-9]+]], [spmm_param_1];
// CHECK: add.s32 [[FIRST:%r[0-9]+]], [[FIRST]], [[PERIOD]];
// CHECK-NEXT: setp.lt.s32 {{%p[0-9]+}}, [[FIRST]], [[PANELS]];
// CHECK: setp.ge.s32 {{%p[0-9]+}}, [[TILE:%r[0-9]+]], [[END:%r[0-9]+]];
// CHECK: ld.global.nc.b32 [[ROW:%r[0-9]+]], [[[ENTRY:%rd[0-9]+]]];
// CHECK-NEXT: ld.global.nc.b32 [[PANEL:%r[0-9]+]], [[[ENTRY]]+4];
// CHECK: add.s32 [[NEXT:%r[0-9]+]], [[PANEL]], [[FIRST]];
// CHECK: setp.ge.s32 {{%p[0-9]+}}, [[NEXT]], [[PANELS]];

// The raster of launches without a plan divides twice in every role, and nothing else does.
// ONE-ROLE: .visible .entry spmm(
// ONE-ROLE-COUNT-2: div.u32
// ONE-ROLE-NOT: div.u32
// ONE-ROLE: .visible .entry spmm_write_lists(
// TWO-ROLES: .visible .entry spmm(
// TWO-ROLES-COUNT-4: div.u32
// TWO-ROLES-NOT: div.u32
// TWO-ROLES: .visible .entry spmm_unaligned(
sparsec.kernel @spmm(%w: !sparsec.bsr<?x?xf16, block = 64x64>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 64x64>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}
