// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host images: a real one is loaded, planned, launched and compared with the reference; broken ones are refused.

#include "image/host_image.h"
#include "runtime_expect.h"
#include "runtime_images.h"
#include "runtime_views.h"
#include "sparsec/runtime.hpp"

#include <cmath>
#include <cstring>
#include <math.h>
#include <random>
#include <thread>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

TEST(HostFeatures, MissingInstructionsAreNamed) {
  EXPECT_OK(checkHostFeatures({true, true, true}));
  EXPECT_STATUS(checkHostFeatures({false, true, true}), SPARSEC_STATUS_DEVICE_LIMIT, "this one lacks AVX2");
  EXPECT_STATUS(checkHostFeatures({true, false, false}), SPARSEC_STATUS_DEVICE_LIMIT, "this one lacks FMA F16C");
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT

/// A problem with edges that cut blocks and tiles, an empty row, unsorted columns and padded rows.
struct Product {
  static constexpr int64_t m = 70, k = 50, n = 37;
  std::vector<int32_t> rowPtr = {0, 2, 2, 3, 6, 7}, colIdx = {3, 0, 1, 2, 0, 3, 1};
  std::vector<float> values = std::vector<float>(7 * 256), x = std::vector<float>(k * 40),
                     y = std::vector<float>(m * 48, NAN);

  Product() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-0.3f, 0.3f);
    for (float &value : values)
      value = uniform(random);
    for (float &value : x)
      value = uniform(random);
  }

  sparsec_blocks_t matrix() {
    return sparsec_blocks_bsr(m, k, 16, 16, 7, rowPtr.data(), colIdx.data(), SPARSEC_DTYPE_F32, values.data());
  }
  ArgumentList arguments() {
    sparsec_dense_t dense = sparsec_dense_2d(x.data(), SPARSEC_DTYPE_F32, k, n);
    dense.strides[0] = 40;
    sparsec_dense_t result = sparsec_dense_2d(y.data(), SPARSEC_DTYPE_F32, m, n);
    result.strides[0] = 48;
    return {matrix(), dense, result};
  }

  void check(sparsec_kernel_t kernel) {
    std::vector<double> expected(m * n);
    auto all = arguments();
    ASSERT_OK(sparsec_reference_run(kernel, all.data(), all.size(), 0, m, expected.data(), nullptr));
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < 48; ++column) {
        float got = y[row * 48 + column];
        if (column < n)
          ASSERT_NEAR(got, expected[row * n + column], 1e-5) << row << ", " << column;
        else
          ASSERT_TRUE(std::isnan(got)) << "the padding is not the kernel's";
      }
  }
};

TEST(HostImage, KernelRunsAndAgreesWithTheReference) {
  for (int threads : {1, 3}) {
    sparsec::Device device = sparsec::Device::host(threads);
    ByteVector object = hostObject(hostProduct());
    sparsec::Module module(device, object.data(), object.size());
    object.assign(object.size(), 0xee); // the bytes may go after loading
    sparsec::Kernel kernel = module.kernel("linear");
    Product problem;
    auto arguments = problem.arguments();
    ASSERT_OK(sparsec_launch(kernel.handle(), nullptr, arguments.data(), arguments.size(), nullptr));
    problem.check(kernel.handle());

    problem.y.assign(problem.y.size(), NAN);
    sparsec::Plan plan(kernel, {problem.matrix(), arguments[1].dense, arguments[2].dense});
    EXPECT_EQ(plan.info().tiles, 5 * 5);
    EXPECT_EQ(plan.info().workers, threads);
    kernel.launch(&plan, {problem.matrix(), arguments[1].dense, arguments[2].dense});
    problem.check(kernel.handle());
  }
}

TEST(HostImage, LaunchesFromSeveralThreads) {
  sparsec::Device device = sparsec::Device::host(2);
  ByteVector object = hostObject(hostProduct());
  sparsec::Module module(device, object.data(), object.size());
  Product problems[4];
  std::vector<std::thread> threads;
  for (Product &problem : problems)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto arguments = problem.arguments();
        EXPECT_OK(sparsec_launch(module.kernel().handle(), nullptr, arguments.data(), arguments.size(), nullptr));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Product &problem : problems)
    problem.check(module.kernel().handle());
}

TEST(HostImage, SymbolThatIsNoFunction) {
  LaunchInfoBuilder info = hostProduct();
  std::strcpy(info.stages[0].symbol, "test_tiles_computed");
  ByteVector object = hostObject(info);
  sparsec_device_t device = nullptr;
  sparsec_module_t module = nullptr;
  ASSERT_OK(sparsec_device_open_host(1, &device));
  EXPECT_STATUS(sparsec_module_load(device, object.data(), object.size(), &module), SPARSEC_STATUS_INVALID_IMAGE,
                "host image has no function 'test_tiles_computed'");
  sparsec_device_destroy(device);
}

#endif // SPARSEC_HAS_TEST_HOST_OBJECT

/// An object with 16 bytes of code and one relocation in it against the symbol `kernel` (1) or `external` (2).
struct ObjectSpec {
  Elf64_Rela relocation = {8, ELF64_R_INFO(2, R_X86_64_64), 0};
  std::string external = "memcpy";
  ElfSpec elf = {ET_REL, EM_X86_64, {}, {}};

  ObjectSpec() {
    ElfSectionSpec relocations = {".rela.text", SHT_RELA, 0, {}};
    relocations.entrySize = sizeof(Elf64_Rela);
    relocations.info = 1;
    elf.sections = {{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, ByteVector(16, 0xc3)}, relocations};
    elf.symbols = {{"kernel", 1, 0, 16, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
                   {"external", SHN_UNDEF, 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)}};
  }

  ByteVector build() {
    const auto *bytes = reinterpret_cast<const uint8_t *>(&relocation);
    elf.sections[1].contents.assign(bytes, bytes + sizeof(relocation));
    elf.symbols[1].name = external;
    if (elf.sections[1].link == 0)
      elf.sections[1].link = uint32_t(elf.sections.size()) + 1; // makeElf puts the symbols there
    return makeElf(elf);
  }
};

/// Loads the object, and reads the address that the relocation has put into its code.
Status loadObject(ObjectSpec spec, uint64_t *patched = nullptr, uint64_t *address = nullptr) {
  if (checkHostFeatures(detectHostFeatures()))
    return {};
  HostImage image;
  ByteVector bytes = spec.build();
  SPARSEC_RETURN_IF_ERROR(image.load(bytes));
  sparsec_host_kernel_t function;
  SPARSEC_RETURN_IF_ERROR(image.function("kernel", function));
  if (patched) {
    *address = reinterpret_cast<uint64_t>(function);
    std::memcpy(patched, reinterpret_cast<const char *>(function) + 8, sizeof(*patched));
  }
  return {};
}

TEST(HostImage, Relocations) {
  if (checkHostFeatures(detectHostFeatures()))
    GTEST_SKIP() << "needs a processor that host kernels run on";
  uint64_t patched = 0, address = 0;
  ObjectSpec spec;
  ASSERT_OK(loadObject(spec, &patched, &address));
  EXPECT_NE(patched, 0u);
  spec.relocation = {8, ELF64_R_INFO(1, R_X86_64_64), 5};
  ASSERT_OK(loadObject(spec, &patched, &address));
  EXPECT_EQ(patched, address + 5);
}

TEST(HostImage, FunctionsThatKernelsMayCall) {
  if (checkHostFeatures(detectHostFeatures()))
    GTEST_SKIP() << "needs a processor that host kernels run on";
#define SPARSEC_EXPECT_ADDRESS(FUNCTION)                                                                               \
  {                                                                                                                    \
    uint64_t patched = 0, address = 0;                                                                                 \
    ObjectSpec spec;                                                                                                   \
    spec.external = #FUNCTION;                                                                                         \
    EXPECT_OK(loadObject(spec, &patched, &address));                                                                   \
    EXPECT_EQ(patched, reinterpret_cast<uintptr_t>(&::FUNCTION)) << #FUNCTION;                                         \
  }
  SPARSEC_HOST_FUNCTIONS(SPARSEC_EXPECT_ADDRESS)
#undef SPARSEC_EXPECT_ADDRESS
}

TEST(HostImage, BrokenObjectsAreRefused) {
  if (checkHostFeatures(detectHostFeatures()))
    GTEST_SKIP() << "needs a processor that host kernels run on";
  struct {
    const char *message;
    void (*change)(ObjectSpec &);
  } cases[] = {
      {"expects an x86-64 relocatable object, but got type 2", [](auto &s) { s.elf.type = ET_EXEC; }},
      {"for machine 183", [](auto &s) { s.elf.machine = 183; }},
      {"it refers to 'sparsec_no_such_function', which is no function that host images may call",
       [](auto &s) { s.external = "sparsec_no_such_function"; }},
      // The process has them, and this library even exports the first.
      {"it refers to 'sparsec_launch', which", [](auto &s) { s.external = "sparsec_launch"; }},
      {"it refers to 'system', which", [](auto &s) { s.external = "system"; }},
      {"it refers to '', which", [](auto &s) { s.relocation.r_info = ELF64_R_INFO(0, R_X86_64_64); }},
      {"expects relocations of type 1 (R_X86_64_64), but got 2",
       [](auto &s) { s.relocation.r_info = ELF64_R_INFO(2, R_X86_64_PC32); }},
      {"a relocation at offset 9 is beyond the 16 bytes", [](auto &s) { s.relocation.r_offset = 9; }},
      {"a relocation at offset 18446744073709551615", [](auto &s) { s.relocation.r_offset = UINT64_MAX; }},
      {"refers to symbol 3 of 3", [](auto &s) { s.relocation.r_info = ELF64_R_INFO(3, R_X86_64_64); }},
      {"relocations of section 99", [](auto &s) { s.elf.sections[1].info = 99; }},
      {"expects relocations of 24 bytes, but got 24 bytes of 16", [](auto &s) { s.elf.sections[1].entrySize = 16; }},
      {"the symbols of relocations are in section 1, which is no symbol table",
       [](auto &s) { s.elf.sections[1].link = 1; }},
      {"the symbols of relocations are in section 99", [](auto &s) { s.elf.sections[1].link = 99; }},
      {"section '.rela.text' is of unknown type 9", [](auto &s) { s.elf.sections[1].type = SHT_REL; }},
      {"section '.rela.text' is of unknown type 19", [](auto &s) { s.elf.sections[1].type = 19; }}, // SHT_RELR
      {"section '.rela.text' is of unknown type 1073741844",
       [](auto &s) { s.elf.sections[1].type = 0x40000014; }}, // SHT_CREL
      {"section '.text' is of unknown type 14", [](auto &s) { s.elf.sections[0].type = SHT_INIT_ARRAY; }},
      {"symbol 'kernel' is of unknown type 10",
       [](auto &s) {
         s.relocation.r_info = ELF64_R_INFO(1, R_X86_64_64);
         s.elf.symbols[0].info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
       }},
      {"symbol 'kernel' is not in a loaded section",
       [](auto &s) {
         s.relocation.r_info = ELF64_R_INFO(1, R_X86_64_64);
         s.elf.symbols[0].section = 2;
       }},
      {"symbol 'kernel' is not in a loaded section",
       [](auto &s) {
         s.relocation.r_info = ELF64_R_INFO(1, R_X86_64_64);
         s.elf.symbols[0].value = 17;
       }},
      {"no function 'kernel'", [](auto &s) { s.elf.symbols[0].value = 16; }},
      {"no function 'kernel'", [](auto &s) { s.elf.symbols[0].name = "other"; }},
      {"cannot load section 1 with flags 1030", [](auto &s) { s.elf.sections[0].flags |= SHF_TLS; }},
      {"and alignment 3", [](auto &s) { s.elf.sections[0].alignment = 3; }},
      {"and alignment 1048576", [](auto &s) { s.elf.sections[0].alignment = 1 << 20; }},
      {"section 3 has 9223372036854775807 bytes",
       [](auto &s) {
         ElfSectionSpec huge = {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, {}};
         huge.sizeWithoutContents = INT64_MAX;
         s.elf.sections.push_back(huge);
       }},
  };
  for (auto [message, change] : cases) {
    ObjectSpec spec;
    change(spec);
    EXPECT_STATUS(loadObject(spec), SPARSEC_STATUS_INVALID_IMAGE, message);
  }
}

TEST(HostImage, UnwindTablesAreLeftOut) {
  if (checkHostFeatures(detectHostFeatures()))
    GTEST_SKIP() << "needs a processor that host kernels run on";
  ObjectSpec spec;
  spec.elf.sections.push_back({".eh_frame", SHT_PROGBITS, SHF_ALLOC, ByteVector(16)});
  spec.elf.sections[1].info = 3; // the relocations are of it now
  spec.relocation.r_info = ELF64_R_INFO(1, R_X86_64_PC32);
  EXPECT_OK(loadObject(spec));
}

} // namespace
