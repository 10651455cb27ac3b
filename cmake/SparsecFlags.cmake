# Warnings, for our own code only. A unity build includes sources, which GCC takes for headers: it would warn of types
# in their anonymous namespaces (-Wsubobject-linkage).
add_library(sparsec_flags INTERFACE)
target_compile_options(sparsec_flags INTERFACE -Wall -Wextra -Wno-unused-parameter
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
  $<$<BOOL:${SPARSEC_WARNINGS_AS_ERRORS}>:-Werror>)
