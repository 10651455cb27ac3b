// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "l2_flush.h"

namespace sparsec::bench {

using namespace harness;

namespace {

constexpr unsigned threadsOfCta = 256, vectorBytes = 16, byteOfBuffer = 0x5a;

/// `read_all` reads a buffer of whole passes of the grid, 16 bytes for each thread and pass. It stores a word that it
/// does not find there, so that no assembler may leave out the loads.
constexpr const char *kernels = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry do_nothing()
{
  ret;
}

.visible .entry read_all(.param .u64 data, .param .u32 passes)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [passes];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r4, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r4, 16;
  add.u64 %rd2, %rd1, %rd2;
  mov.u32 %r5, %nctaid.x;
  mul.lo.u32 %r5, %r5, %r3;
  mul.wide.u32 %rd3, %r5, 16;
  mov.u32 %r6, 0;
LOOP:
  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd2];
  or.b32 %r7, %r7, %r8;
  or.b32 %r9, %r9, %r10;
  or.b32 %r7, %r7, %r9;
  or.b32 %r6, %r6, %r7;
  add.u64 %rd2, %rd2, %rd3;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra LOOP;
  setp.ne.u32 %p2, %r6, 0x5a5a5a5a;
  @%p2 st.global.u32 [%rd1], %r6;
  ret;
}
)";

// Values of CUdevice_attribute.
constexpr int multiprocessorCount = 16, l2CacheSize = 38;

int attributeOfDevice(int attribute) {
  const CudaDriver &driver = *CudaDriver::get();
  int device = 0, value = 0;
  driver.check(driver.contextGetDevice(&device), "cuCtxGetDevice");
  driver.check(driver.deviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

} // namespace

size_t l2Bytes() { return attributeOfDevice(l2CacheSize); }

/// The buffer has four times the bytes of L2, whose lines are not replaced in the order in which they came.
L2Flush::L2Flush(sparsec_device_t device, const CudaStream &stream) : stream(stream) {
  constexpr unsigned ctasOfMultiprocessor = 8;
  const CudaDriver &driver = *CudaDriver::get();
  ctas = ctasOfMultiprocessor * static_cast<unsigned>(attributeOfDevice(multiprocessorCount));
  const size_t bytesOfPass = static_cast<size_t>(ctas) * threadsOfCta * vectorBytes;
  passes = 4 * static_cast<uint32_t>(l2Bytes() / bytesOfPass + 1);
  buffer = DeviceBuffer(device, passes * bytesOfPass);
  driver.check(driver.moduleLoadDataEx(&module, kernels, 0, nullptr, nullptr), "cuModuleLoadDataEx");
  driver.check(driver.moduleGetFunction(&readAll, module, "read_all"), "cuModuleGetFunction");
  driver.check(driver.moduleGetFunction(&doNothing, module, "do_nothing"), "cuModuleGetFunction");
}

L2Flush::~L2Flush() { CudaDriver::get()->moduleUnload(module); }

void L2Flush::enqueue() const {
  const CudaDriver &driver = *CudaDriver::get();
  auto data = reinterpret_cast<uint64_t>(buffer.data());
  driver.check(driver.memsetAsync(data, byteOfBuffer, buffer.bytes(), stream.handle()), "cuMemsetD8Async");
  uint32_t count = passes;
  void *parameters[] = {&data, &count};
  launch(readAll, ctas, parameters);
}

void L2Flush::enqueueEmptyKernel() const { launch(doNothing, /*grid=*/1, nullptr); }

void L2Flush::launch(void *function, unsigned grid, void **parameters) const {
  const CudaDriver &driver = *CudaDriver::get();
  driver.check(driver.launchKernel(function, grid, 1, 1, threadsOfCta, 1, 1, 0, stream.handle(), parameters, nullptr),
               "cuLaunchKernel");
}

} // namespace sparsec::bench
