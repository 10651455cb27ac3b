# LLVM and MLIR 22 as Debian packages them: the shared libraries libMLIR and libLLVM, and for a wheel the archives.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(fmt REQUIRED)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# What every part of the compiler links.
add_library(sparsec_mlir INTERFACE)
target_include_directories(sparsec_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(SPARSEC_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_definitions(sparsec_mlir INTERFACE ${SPARSEC_LLVM_DEFINITIONS})
if(SPARSEC_WHEEL)
  # The imported targets of the archives link libLLVM.so, so the archives are linked by their paths.
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  list(JOIN archives "," archives)
  target_link_libraries(sparsec_mlir INTERFACE "$<LINK_GROUP:RESCAN,${archives}>" z libzstd.a rt m ${CMAKE_DL_LIBS})
  set(SPARSEC_FMT fmt::fmt-header-only)
else()
  target_link_libraries(sparsec_mlir INTERFACE MLIR LLVM)
  set(SPARSEC_FMT fmt::fmt)
endif()
target_link_libraries(sparsec_mlir INTERFACE sparsec_flags)
# mlir-tblgen reads the include path of the folder.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

sparsec_precompiled_headers(sparsec_mlir_headers sparsec_mlir HEADERS
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/IRMapping.h>
  <mlir/IR/ImplicitLocOpBuilder.h>
  <mlir/IR/OpImplementation.h>
  <mlir/Interfaces/FunctionInterfaces.h>
  <mlir/Parser/Parser.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <llvm/ADT/StringExtras.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/FileSystem.h>
  <llvm/Support/FormatVariadic.h>
  <llvm/Support/MemoryBuffer.h>
)
