# Warnings, for our own code only.
add_library(sparsec_flags INTERFACE)
target_compile_options(sparsec_flags INTERFACE -Wall -Wextra -Wno-unused-parameter
  $<$<BOOL:${SPARSEC_WARNINGS_AS_ERRORS}>:-Werror>)
