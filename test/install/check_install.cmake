# Installs `build` into a folder of `work`, moves that folder, and builds app/ against it in two ways: with find_package
# and with pkg-config. Where the build has the compiler (`has_compiler`), also runs its programs and builds
# app_compiler/ against its library. `flags` are those of the build, which a static library under a sanitizer needs.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix ${work}/moved)
file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/installed)
file(RENAME ${work}/installed ${prefix})

set(settings -G ${generator}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags})
set(no_mlir -D CMAKE_DISABLE_FIND_PACKAGE_MLIR=ON -D CMAKE_DISABLE_FIND_PACKAGE_LLVM=ON)
# The runtime alone does not ask for LLVM.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/app -B ${work}/app ${settings} ${no_mlir})
run(${CMAKE_COMMAND} --build ${work}/app)
run(${work}/app/app)

file(GLOB_RECURSE description ${prefix}/*/sparsec.pc)
cmake_path(GET description PARENT_PATH folder)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --cflags --libs sparsec
  OUTPUT_VARIABLE arguments COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(arguments UNIX_COMMAND "${arguments}")
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${compiler} ${flags} -std=c++17 ${CMAKE_CURRENT_LIST_DIR}/app/app.cpp -o ${work}/app-pkg-config ${arguments})
run(${work}/app-pkg-config)

# Configures app_compiler, which cannot be found, and expects the reason.
function(expect_no_compiler reason)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/app_compiler -B ${work}/no_compiler ${settings}
    ${ARGN} RESULT_VARIABLE result ERROR_VARIABLE error)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  if(result EQUAL 0 OR NOT error MATCHES "${reason}")
    message(FATAL_ERROR "expected to fail with '${reason}', but got ${result}: ${error}")
  endif()
endfunction()

if(has_compiler)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/app_compiler -B ${work}/app_compiler ${settings})
  run(${CMAKE_COMMAND} --build ${work}/app_compiler)
  run(${work}/app_compiler/app_compiler)
  expect_no_compiler("the compiler of sparsec needs MLIR 22.1" ${no_mlir})

  set(kernel ${CMAKE_CURRENT_LIST_DIR}/../../examples/01_spmm/kernel.mlir)
  run(${prefix}/bin/sparsec ${kernel} --arch=host -o ${work}/spmm.o)
  run(${prefix}/bin/sparsec-opt ${kernel} --sparsec-host-pipeline -o ${work}/spmm.mlir)
  run(${prefix}/bin/sparsec-lsp-server --help OUTPUT_QUIET)
  run(${prefix}/bin/sparsec-reduce --help OUTPUT_QUIET)
else()
  expect_no_compiler("this installation of sparsec has no compiler")
endif()
