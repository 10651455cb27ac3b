# Installs `build` into a folder of `work`, moves that folder, and builds app/ against it in two ways: with find_package
# and with pkg-config. `flags` are those of the build, which a static library under a sanitizer needs.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix ${work}/moved)
file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/installed)
file(RENAME ${work}/installed ${prefix})

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/app -B ${work}/app -D CMAKE_PREFIX_PATH=${prefix}
  -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags})
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
