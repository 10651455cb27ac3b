// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors that a kernel must not make: correct kernels run, and each damage to their text is reported.

#include "snippet.h"

#include <fmt/format.h>

namespace sparsec::simulator {
namespace {

/// The text with the first occurrence of a part replaced.
std::string replaced(std::string text, const std::string &part, const std::string &by) {
  const size_t place = text.find(part);
  if (place == std::string::npos)
    throw std::invalid_argument("the kernel has no '" + part + "'");
  return text.replace(place, part.size(), by);
}

struct Damage {
  const char *name, *part, *by, *report;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.name; }
std::string nameOf(const testing::TestParamInfo<Damage> &info) { return info.param.name; }

//===----------------------------------------------------------------------===//
// Tensor copies
//===----------------------------------------------------------------------===//

/// Copies 8 rows of 32 floats to shared memory, by threads to another place, and back to global memory.
const char *const tensorCopies = R"(
  setp.eq.u32 %p0, %r0, 0;
  mov.b32 %r1, smem;
  add.u32 %r2, %r1, 2048;
  add.u32 %r3, %r1, 1024;
  shl.b32 %r4, %r0, 2;
  add.u32 %r4, %r4, %r1;
  @%p0 mbarrier.init.shared.b64 [%r2], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
  griddepcontrol.wait;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;
  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {0, 0}], [%r2];
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0, 1000;
  @!%p1 bra AGAIN;
  ld.shared.b32 %r10, [%r4];
  ld.shared.b32 %r11, [%r4+128];
  ld.shared.b32 %r12, [%r4+256];
  ld.shared.b32 %r13, [%r4+384];
  ld.shared.b32 %r14, [%r4+512];
  ld.shared.b32 %r15, [%r4+640];
  ld.shared.b32 %r16, [%r4+768];
  ld.shared.b32 %r17, [%r4+896];
  st.shared.b32 [%r4+1024], %r10;
  st.shared.b32 [%r4+1152], %r11;
  st.shared.b32 [%r4+1280], %r12;
  st.shared.b32 [%r4+1408], %r13;
  st.shared.b32 [%r4+1536], %r14;
  st.shared.b32 [%r4+1664], %r15;
  st.shared.b32 [%r4+1792], %r16;
  st.shared.b32 [%r4+1920], %r17;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {0, 0}], [%r3];
  @%p0 cp.async.bulk.commit_group;
  @%p0 cp.async.bulk.wait_group.read 0;
)";

TensorMap mapOf(std::vector<float> &matrix) {
  TensorMap map = {};
  map.magic = TensorMap::magicNumber;
  map.rank = 2;
  map.elementBytes = 4;
  map.address = reinterpret_cast<uintptr_t>(matrix.data());
  map.strides[0] = 128;
  map.sizes[0] = 32, map.sizes[1] = 8;
  map.box[0] = 32, map.box[1] = 8;
  return map;
}

/// The same kernel with two tensors.
struct TensorCopies {
  std::vector<float> in, out;
  SnippetDevice device;
  SnippetShape shape;

  TensorCopies() : in(256), out(256) {
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = float(i);
    device.addMap(mapOf(in));
    device.addMap(mapOf(out));
    device.addBytes(in.data(), in.size() * sizeof(float));
    device.addBytes(out.data(), out.size() * sizeof(float));
    shape.shared = 4096;
  }
};

TEST(TensorCopyHazards, ACorrectKernelRunsWithEverySeed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TensorCopies test;
    test.shape.seed = seed;
    EXPECT_EQ(test.device.failure(tensorCopies, test.shape), "");
    EXPECT_EQ(test.out, test.in);
  }
}

class TensorCopyDamage : public testing::TestWithParam<Damage> {};

/// Whether a hazard occurs depends on when copies arrive: one of a few seeds must find it.
TEST_P(TensorCopyDamage, IsReported) {
  const std::string damaged = replaced(tensorCopies, GetParam().part, GetParam().by);
  std::string report;
  for (uint64_t seed = 1; seed <= 10 && report.empty(); ++seed) {
    TensorCopies test;
    test.shape.seed = seed;
    report = test.device.failure(damaged, test.shape);
  }
  EXPECT_NE(report.find(GetParam().report), std::string::npos) << "the report is: '" << report << "'";
}

INSTANTIATE_TEST_SUITE_P(
    All, TensorCopyDamage,
    testing::Values(
        Damage{"NoFenceOfTheInitialisation", "@%p0 fence.mbarrier_init.release.cluster;", "", "no fence.mbarrier_init"},
        Damage{"NoInitialisation", "@%p0 mbarrier.init.shared.b64 [%r2], 1;", "", "that is not initialised"},
        Damage{"InitialisationTwice", "bar.sync 0;", "bar.sync 0; @%p0 mbarrier.init.shared.b64 [%r2], 1;",
               "initialises the mbarrier at 0xc00 again"},
        Damage{"TooFewBytes", "[%r2], 1024;", "[%r2], 512;", "0 arrivals and -512 bytes are missing"},
        Damage{"TooManyBytes", "[%r2], 1024;", "[%r2], 2048;", "0 arrivals and 1024 bytes are missing"},
        Damage{"TooManyArrivalsExpected", "[%r2], 1;", "[%r2], 2;", "1 arrivals and 0 bytes are missing"},
        Damage{"ArrivalTooMany", "@%p0 cp.async.bulk",
               "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];\n@%p0 cp.async.bulk",
               "whose phase 0 expects 0 of 1 more"},
        Damage{"NoWait", "mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0, 1000;\n  @!%p1 bra AGAIN;", "",
               "before the copy of PTX line"},
        Damage{"WaitThatMayEndEarly", "@!%p1 bra AGAIN;", "", "before the copy of PTX line"},
        Damage{"WriteBeforeTheArrival", "AGAIN:", "@%p0 st.shared.b32 [%r1], %r0;\nAGAIN:", "still writes it"},
        Damage{"NoProxyFence", "fence.proxy.async.shared::cta;", "", "has not executed fence.proxy.async"},
        Damage{"WriteWhileTheStoreReads", "@%p0 cp.async.bulk.wait_group.read 0;",
               "@%p0 st.shared.b32 [%r3], %r0; @%p0 cp.async.bulk.wait_group.read 0;", "still reads it"},
        Damage{"NoWaitForTheStore", "@%p0 cp.async.bulk.wait_group.read 0;", "",
               "ends while the bulk copy of PTX line"},
        Damage{"BoxNotAligned", "[%r1], [%rd0", "[%r1+64], [%rd0", "is not aligned to 128 bytes"},
        Damage{"WrongRank", ".2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {0, 0}]",
               ".3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd0, {0, 0, 0}]",
               "copies with 3 coordinates by a tensor map of 2"},
        Damage{"LoadThatWaitsForNoKernel", "griddepcontrol.wait;", "@!%p0 griddepcontrol.wait;",
               "before griddepcontrol.wait"},
        Damage{"BarrierReadAsData", "ld.shared.b32 %r10, [%r4];", "ld.shared.b32 %r10, [%r1+2048];",
               "as if it were data"},
        Damage{"BarrierWrittenAsData", "st.shared.b32 [%r4+1024], %r10;", "st.shared.b32 [%r1+2048], %r10;",
               "as if it were data"},
        Damage{"BarrierNotAligned", "add.u32 %r2, %r1, 2048;", "add.u32 %r2, %r1, 2052;", "is not aligned to 8 bytes"}),
    nameOf);

//===----------------------------------------------------------------------===//
// WGMMA
//===----------------------------------------------------------------------===//

/// 64 x 8 sums of 16 products, A from the registers %r30 to %r33 in the second instruction.
const char *const products = R"(
  mov.b32 %r1, smem;
  shl.b32 %r2, %r0, 4;
  add.u32 %r2, %r2, %r1;
  st.shared.v4.b32 [%r2], {0, 0, 0, 0};
  st.shared.v4.b32 [%r2+2048], {0, 0, 0, 0};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r3, %r1, 4;
  add.u32 %r4, %r3, 128;
  cvt.u64.u32 %rd20, %r3;
  cvt.u64.u32 %rd21, %r4;
  or.b64 %rd20, %rd20, 0x1000080000;
  or.b64 %rd21, %rd21, 0x1000080000;
  mov.b32 %r10, 0;
  mov.b32 %r11, 0;
  mov.b32 %r12, 0;
  mov.b32 %r13, 0;
  mov.b32 %r30, 0;
  mov.b32 %r31, 0;
  mov.b32 %r32, 0;
  mov.b32 %r33, 0;
  setp.eq.b32 %p0, %r0, %r0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %rd20, %rd21, %p0, 1, 1, 0, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13},
    {%r30, %r31, %r32, %r33}, %rd21, %p0, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.f32 %r10, %r10, %r11;
  mov.b32 %r30, 1;
  st.shared.b32 [%r2], %r10;
)";

SnippetShape shapeOfProducts(uint64_t seed) {
  SnippetShape shape;
  shape.threads = 128;
  shape.shared = 8192;
  shape.seed = seed;
  return shape;
}

TEST(WgmmaHazards, ACorrectKernelRunsWithEverySeed) {
  for (uint64_t seed = 1; seed <= 10; ++seed)
    EXPECT_EQ(SnippetDevice().failure(products, shapeOfProducts(seed)), "");
}

class WgmmaDamage : public testing::TestWithParam<Damage> {};

TEST_P(WgmmaDamage, IsReported) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SnippetDevice device;
    EXPECT_FAILURE(device, GetParam().report, replaced(products, GetParam().part, GetParam().by),
                   shapeOfProducts(seed));
  }
}

constexpr const char *wait = "wgmma.wait_group.sync.aligned 0;";

INSTANTIATE_TEST_SUITE_P(
    All, WgmmaDamage,
    testing::Values(
        Damage{"NoFence", "wgmma.fence.sync.aligned;", "", "no wgmma.fence precedes the first WGMMA"},
        Damage{"SumReadBehindTheFence", "wgmma.fence.sync.aligned;",
               "wgmma.fence.sync.aligned; add.f32 %r20, %r10, %r11;", "no wgmma.fence follows"},
        Damage{"OperandWrittenBehindTheFence", "wgmma.fence.sync.aligned;",
               "wgmma.fence.sync.aligned;\nadd.u32 %r31, %r0, 1;", "no wgmma.fence follows"},
        Damage{"NoProxyFence", "fence.proxy.async.shared::cta;", "", "has not executed fence.proxy.async"},
        Damage{"AccumulatorReadBeforeTheWait", wait, "add.f32 %r20, %r10, %r10;\nwgmma.wait_group.sync.aligned 0;",
               "reads a register to which a WGMMA"},
        Damage{"AccumulatorReadOfAGroupNotWaitedFor", wait,
               "wgmma.wait_group.sync.aligned 1;\nadd.f32 %r20, %r10, %r10;\nwgmma.wait_group.sync.aligned 0;",
               "reads a register to which a WGMMA"},
        Damage{"AccumulatorWrittenBeforeTheWait", wait, "mov.b32 %r10, 0;\nwgmma.wait_group.sync.aligned 0;",
               "writes a register to which a WGMMA"},
        Damage{"OperandWrittenBeforeTheWait", wait, "mov.b32 %r30, 0;\nwgmma.wait_group.sync.aligned 0;",
               "writes a register that a WGMMA"},
        Damage{"MemoryWrittenBeforeTheWait", wait, "st.shared.b32 [%r2], %r0;\nwgmma.wait_group.sync.aligned 0;",
               "still reads it"},
        Damage{"NoWait", wait, "exit;", "ends while a WGMMA is not waited for"},
        Damage{"NoCommit", "wgmma.commit_group.sync.aligned;", "",
               "a register to which a WGMMA that is not waited for"},
        Damage{"GuardedForSomeLanes", "wgmma.mma_async",
               "and.b32 %r40, %r0, 1;\nsetp.eq.b32 %p1, %r40, 0;\n@%p1 wgmma.mma_async",
               "an .aligned instruction is executed by the lanes 0x55555555 of 0xffffffff"},
        Damage{"DifferentDescriptors", "or.b64 %rd20, %rd20, 0x1000080000;",
               "or.b64 %rd20, %rd20, 0x1000080000;\nshr.u32 %r40, %r0, 5;\ncvt.u64.u32 %rd22, %r40;\nadd.u64 %rd20, "
               "%rd20, %rd22;",
               "the warps of a warpgroup issue different WGMMAs"},
        Damage{"LanesWithDifferentDescriptors", "cvt.u64.u32 %rd20, %r3;",
               "add.u32 %r3, %r3, %r0;\ncvt.u64.u32 %rd20, %r3;",
               "the lanes of a warp have different matrix descriptors"},
        Damage{"OneWarpStaysAway", "wgmma.mma_async", "setp.gt.u32 %p2, %r0, 95;\n@%p2 exit;\nwgmma.mma_async",
               "the other warps of its warpgroup"},
        Damage{"BeyondSharedMemory", "cvt.u64.u32 %rd21, %r4;", "add.u32 %r4, %r4, 1024;\ncvt.u64.u32 %rd21, %r4;",
               "out of bounds"},
        Damage{"SetRegistersNotAMultipleOf8", "bar.sync 0;", "setmaxnreg.dec.sync.aligned.u32 42;\nbar.sync 0;",
               "sets 42 registers"}),
    nameOf);

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

const char *const copies = R"(
  mov.b32 %r1, smem;
  shl.b32 %r2, %r0, 4;
  add.u32 %r1, %r1, %r2;
  cvt.u64.u32 %rd20, %r2;
  add.u64 %rd20, %rd20, %rd0;
  cp.async.cg.shared.global [%r1], [%rd20], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r1+512], [%rd20], 16, 8;
  cp.async.commit_group;
  cp.async.wait_group 1;
  ld.shared.b32 %r10, [%r1];
  cp.async.wait_group 0;
  ld.shared.b32 %r11, [%r1+516];
  ld.shared.b32 %r12, [%r1+520];
  add.u32 %r10, %r10, %r11;
  add.u32 %r10, %r10, %r12;
  add.u64 %rd21, %rd1, %rd15;
  st.global.b32 [%rd21], %r10;
)";

struct Copies {
  std::vector<uint32_t> in, out;
  SnippetDevice device;
  SnippetShape shape;
  Copies() : in(128), out(32) {
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = uint32_t(i * i);
    device.add(in);
    device.add(out);
    shape.shared = 1024;
  }
};

TEST(CopyHazards, ACorrectKernelCopiesAndFillsWithZeros) {
  Copies test;
  test.device.run(copies, test.shape);
  for (uint32_t thread = 0; thread < 32; ++thread)
    EXPECT_EQ(test.out[thread], 16 * thread * thread + (4 * thread + 1) * (4 * thread + 1));
}

class CopyDamage : public testing::TestWithParam<Damage> {};

TEST_P(CopyDamage, IsReported) {
  Copies test;
  EXPECT_FAILURE(test.device, GetParam().report, replaced(copies, GetParam().part, GetParam().by), test.shape);
}

INSTANTIATE_TEST_SUITE_P(
    All, CopyDamage,
    testing::Values(Damage{"NoWait", "cp.async.wait_group 1;", "", "before the copy of PTX line"},
                    Damage{"WaitForTheFirstGroupOnly", "cp.async.wait_group 0;", "", "before the copy of PTX line"},
                    Damage{"NoCommit", "cp.async.commit_group;", "", "before the copy of PTX line"},
                    Damage{"WriteBeforeTheArrival", "cp.async.wait_group 1;",
                           "st.shared.b32 [%r1], %r0;\ncp.async.wait_group 1;", "still writes it"},
                    Damage{"NotWaitedForAtTheEnd", "cp.async.wait_group 0;", "exit;", "is not waited for"},
                    Damage{"OutOfBounds", "[%rd20], 16;", "[%rd20+16], 16;", "reads 16 bytes of global memory"},
                    Damage{"NotAligned", "[%rd20], 16;", "[%rd20+8], 16;", "which are not aligned to them"},
                    Damage{"MoreThanTheCopy", "16, 8;", "16, 20;", "reads 20 bytes for a copy of 16"}),
    nameOf);

/// Threads read what their neighbours copy, behind an mbarrier at which the copies arrive.
const char *const arrivingCopies = R"(
  setp.eq.u32 %p0, %r0, 0;
  mov.b32 %r1, smem;
  add.u32 %r2, %r1, 768;
  @%p0 mbarrier.init.shared.b64 [%r2], 32;
  bar.sync 0;
  shl.b32 %r3, %r0, 2;
  add.u32 %r4, %r1, %r3;
  cvt.u64.u32 %rd20, %r3;
  add.u64 %rd20, %rd20, %rd0;
  cp.async.ca.shared.global [%r4], [%rd20], 4;
  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0, 1000;
  @!%p1 bra AGAIN;
  xor.b32 %r3, %r3, 4;
  add.u32 %r4, %r1, %r3;
  ld.shared.b32 %r10, [%r4];
  add.u64 %rd21, %rd1, %rd15;
  st.global.b32 [%rd21], %r10;
)";

TEST(ArrivingCopyHazards, ACorrectKernelReadsWhatOthersCopied) {
  Copies test;
  test.device.run(arrivingCopies, test.shape);
  for (uint32_t thread = 0; thread < 32; ++thread)
    EXPECT_EQ(test.out[thread], (thread ^ 1) * (thread ^ 1));
}

class ArrivingCopyDamage : public testing::TestWithParam<Damage> {};

TEST_P(ArrivingCopyDamage, IsReported) {
  Copies test;
  EXPECT_FAILURE(test.device, GetParam().report, replaced(arrivingCopies, GetParam().part, GetParam().by), test.shape);
}

INSTANTIATE_TEST_SUITE_P(
    All, ArrivingCopyDamage,
    testing::Values(Damage{"NoWait", "mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0, 1000;\n  @!%p1 bra AGAIN;", "",
                           "before the copy of PTX line"},
                    Damage{"TooManyArrivalsExpected", "[%r2], 32;", "[%r2], 33;", "1 arrivals and 0 bytes are missing"},
                    Damage{"TooFewArrivalsExpected", "[%r2], 32;", "[%r2], 31;", "arrives 32 times"},
                    Damage{"CopiesOfAGroup", "cp.async.mbarrier", "cp.async.commit_group;\ncp.async.mbarrier",
                           "arrives with copies of groups"},
                    Damage{"SeveralBarriers", "b64 [%r2];\nAGAIN", "b64 [%r4];\nAGAIN", "arrive at several mbarriers"}),
    nameOf);

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

TEST(MemoryHazards, AnAccessOutOfBoundsNamesLaneAddressAndLine) {
  std::vector<uint32_t> buffer(31);
  SnippetDevice device;
  device.add(buffer);
  const std::string report = device.failure("add.u64 %rd1, %rd0, %rd15;\nst.global.b32 [%rd1], %r0;\n");
  for (const std::string &part :
       {std::string("writes 4 bytes of global memory at "), fmt::format("{:#x}", uintptr_t(buffer.data() + 31)),
        std::string("the allocation before it has 124 bytes"), std::string("lane 31"),
        std::string("st.global.b32 [%rd1], %r0;"), std::string("in kernel k, CTA 0, warp 0")})
    EXPECT_NE(report.find(part), std::string::npos) << part << " in " << report;
}

TEST(MemoryHazards, OtherAccessesAreReported) {
  std::vector<uint32_t> buffer(64);
  SnippetDevice device;
  device.add(buffer);
  SnippetShape shape;
  shape.shared = 256;
  EXPECT_FAILURE(device, "not aligned", "ld.global.b32 %r1, [%rd0+2];", shape);
  EXPECT_FAILURE(device, "reads 4 bytes of global memory", "ld.global.b32 %r1, [%rd0+256];", shape);
  EXPECT_FAILURE(device, "touches 4 bytes of shared memory", "ld.shared.b32 %r1, [smem+256];", shape);
  EXPECT_FAILURE(device, "constant memory",
                 "mov.b64 %rd1, k_param_0; cvta.param.u64 %rd1, %rd1; st.global.b32 [%rd1], 0;", shape);
  EXPECT_FAILURE(device, "reads beyond the parameters", "ld.param.b32 %r1, [k_param_0+4096];", shape);
}

TEST(BarrierHazards, AreReported) {
  SnippetDevice device;
  SnippetShape shape;
  shape.threads = 64;
  EXPECT_FAILURE(device, "barrier 3: 64 of 96 threads are there", "bar.sync 3, 96;", shape);
  EXPECT_FAILURE(device, "barrier 16", "bar.sync 16;", shape);
  EXPECT_FAILURE(device, "expects 33 threads", "bar.sync 1, 33;", shape);
  EXPECT_FAILURE(device, "an .aligned instruction",
                 "setp.lt.u32 %p0, %r0, 8;\n@%p0 bra IN;\nbra OUT;\nIN:\nbar.sync 0;\nOUT:", shape);
  EXPECT_FAILURE(
      device, "at the warp that came first",
      "setp.lt.u32 %p0, %r0, 32;\n@%p0 bra IN;\nbar.sync 1, 64;\nbra OUT;\nIN:\nbar.sync 1, 96;\nOUT:", shape);
  EXPECT_FAILURE(device, "without an arrival", "barrier.cluster.wait;", shape);
  EXPECT_FAILURE(device, "arrives twice", "barrier.cluster.arrive;\nbarrier.cluster.arrive;", shape);
}

TEST(LaneHazards, AreReported) {
  SnippetDevice device;
  EXPECT_FAILURE(device, "the member mask is 0xffffffff, but the lanes 0x000000ff",
                 "setp.lt.u32 %p0, %r0, 8;\n@%p0 shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;");
  EXPECT_FAILURE(device, "takes a value of lane 9",
                 "setp.lt.u32 %p0, %r0, 8;\n@%p0 shfl.sync.idx.b32 %r1, %r0, 9, 31, 255;");
  EXPECT_FAILURE(device, "maps to a CTA that the cluster does not have", "mapa.shared::cluster.u32 %r1, %r0, 4;");
  EXPECT_FAILURE(device, "executes trap", "trap;");
}

/// Loads of threads are not judged: what a launch says is static may be read early.
TEST(DependentLaunchHazards, AreReported) {
  std::vector<uint32_t> buffer(64);
  SnippetDevice device;
  device.add(buffer);
  SnippetShape shape;
  shape.shared = 64;
  const char *const expected = "touches global memory before griddepcontrol.wait, although the kernel has one";
  const std::string wait = "griddepcontrol.wait;\n", store = "st.global.b32 [%rd0], %r0;\n",
                    copy = "mov.b32 %r1, smem;\ncp.async.cg.shared.global [%r1], [%rd0], 16;\ncp.async.commit_group;\n"
                           "cp.async.wait_group 0;\n";
  for (const std::string &access : {store, copy}) {
    shape.threads = 1;
    EXPECT_EQ(device.failure(wait + access, shape), "");
    EXPECT_EQ(device.failure(access, shape), "");
    EXPECT_FAILURE(device, expected, access + wait, shape);
  }
  EXPECT_EQ(device.failure("ld.global.b32 %r2, [%rd0];\n" + wait + store, shape), "");
  shape.threads = 32;
  EXPECT_FAILURE(device, expected, "setp.eq.u32 %p0, %r0, 0;\n@%p0 griddepcontrol.wait;\n" + store, shape);
}

/// The second CTA may end before the first arrives at its barrier.
TEST(ClusterHazards, AnArrivalAtACtaThatHasEndedIsReported) {
  SnippetShape shape;
  shape.ctas = shape.cluster = 2;
  shape.shared = 64;
  const std::string body = R"(
    mov.b32 %r1, smem;
    setp.eq.u32 %p0, %r0, 0;
    mov.u32 %r2, %cluster_ctarank;
    @%p0 mbarrier.init.shared.b64 [%r1], 1;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    setp.eq.u32 %p1, %r2, 1;
    @%p1 exit;
    mov.u32 %r5, 0;
  SPIN:
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 20000;
    @%p2 bra SPIN;
    mapa.shared::cluster.u32 %r3, %r1, 1;
    @%p0 mbarrier.arrive.shared::cluster.b64 _, [%r3];
  )";
  SnippetDevice device;
  EXPECT_FAILURE(device, "CTA 1 of the cluster, which has ended", body, shape);
}

TEST(UnknownPtx, IsAnErrorWithItsLine) {
  SnippetDevice device;
  EXPECT_FAILURE(device, "'frobnicate.b32': does not know this instruction", "frobnicate.b32 %r1, %r2;");
  EXPECT_FAILURE(device, "does not know the modifier .quickly", "add.quickly.s32 %r1, %r2, %r3;");
  EXPECT_FAILURE(device, "does not know the name '%r999'", "add.s32 %r1, %r2, %r999;");
  EXPECT_FAILURE(device, "does not know the label 'NOWHERE'", "bra NOWHERE;");
  EXPECT_FAILURE(device, "expects 3 operands, but got 4", "add.s32 %r1, %r2, %r3, %r4;");
  EXPECT_FAILURE(device, "expects one more operand", "add.s32 %r1, %r2;");
  EXPECT_FAILURE(device, "'%rd1' has not the width of the operand", "add.s32 %r1, %r2, %rd1;");
  EXPECT_FAILURE(device, "'%p1' is a predicate", "add.s32 %r1, %r2, %p1;");
  EXPECT_FAILURE(device, "does not know the directive .frobnicate", ".frobnicate 1;");
  EXPECT_FAILURE(device, "expects a number, but got '12x'", "add.s32 %r1, %r2, 12x;");
  EXPECT_FAILURE(device, "PTX line 1", "add.quickly.s32 %r1, %r2, %r3;");
}

} // namespace
} // namespace sparsec::simulator
