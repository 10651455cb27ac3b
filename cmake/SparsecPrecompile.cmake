# Precompiled headers. Parsing MLIR's headers takes nine tenths of the time to compile a file of the compiler. The build
# parses them once for all libraries and programs of the compiler, and GoogleTest's headers once for all tests.

# ccache needs to see in GCC's preprocessed output which precompiled header a file uses. It also needs
# CCACHE_SLOPPINESS=pch_defines,time_macros, which scripts/lib.sh sets.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

# sparsec_precompiled_headers(NAME LIBRARY... HEADERS HEADER...): precompiles system headers, as a target that links the
# libraries, for sparsec_use_precompiled_headers.
function(sparsec_precompiled_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// Carries the precompiled headers.\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# sparsec_use_precompiled_headers(NAME TARGET...): the targets' files begin with these headers.
function(sparsec_use_precompiled_headers name)
  foreach(target ${ARGN})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      # Precompiled headers hold for one kind of position-independent code, that of the libraries.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()
