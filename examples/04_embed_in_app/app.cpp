// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime in an app: load a kernel, view a block-sparse matrix, plan, launch, read.
//
//   sparsec ../01_spmm/kernel.mlir --arch=sm_90a,sm_89,host -o spmm.sparsec
//   embed_in_app spmm.sparsec          # on the first GPU, or the processor where there is none
//   embed_in_app spmm.sparsec host     # on the processor

#include <sparsec/runtime.hpp>

#include <cstdio>
#include <cstring>
#include <string>

int main(int argc, char **argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s FILE [host]\n", argv[0]);
    return 2;
  }
  bool useHost = (argc == 3 && std::string(argv[2]) == "host") || sparsec::Device::cudaCount() == 0;
  sparsec::Device device = useHost ? sparsec::Device::host() : sparsec::Device::cuda();
  sparsec::Module module = sparsec::Module::fromFile(device, argv[1]);
  sparsec::Kernel kernel = module.kernel();

  // W is 192 x 256 in blocks of 64 x 64: two blocks in the first block row, none in the second, one in the third.
  const int64_t m = 192, k = 256, n = 100;
  const uint16_t one = 0x3f80; // 1.0 in bf16
  sparsec::Buffer rowPtr(device, std::vector<int32_t>{0, 2, 2, 3});
  sparsec::Buffer colIdx(device, std::vector<int32_t>{0, 3, 1});
  sparsec::Buffer values(device, std::vector<uint16_t>(3 * 64 * 64, one));
  sparsec_blocks_t w = sparsec_blocks_bsr(m, k, 64, 64, 3, rowPtr.as<int32_t>(), colIdx.as<int32_t>(),
                                          SPARSEC_DTYPE_BF16, values.data());

  sparsec::Buffer xData(device, std::vector<uint16_t>(k * n, one)), yData(device, m * n * sizeof(uint16_t));
  sparsec_dense_t x = sparsec_dense_2d(xData.data(), SPARSEC_DTYPE_BF16, k, n);
  sparsec_dense_t y = sparsec_dense_2d(yData.data(), SPARSEC_DTYPE_BF16, m, n);

  sparsec::Plan plan(kernel, {w, x, y}); // once for a pattern; the values may change from launch to launch
  kernel.launch(&plan, {w, x, y});
  device.synchronize();

  std::vector<uint16_t> result = yData.download<uint16_t>();
  for (int64_t row : {0, 64, 128}) {
    uint32_t bits = uint32_t(result[row * n]) << 16; // bf16 is the upper half of an f32
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    std::printf("y[%d][0] = %g\n", int(row), value); // 64 for each block of the row: 128, 0, 64
  }
  return 0;
} catch (const sparsec::Error &error) {
  std::fprintf(stderr, "%s: %s\n", sparsec_status_code_name(error.code()), error.what());
  return 1;
}
