# What the programs and the extension of a wheel link, so that they run on systems with glibc 2.34 or later, whatever
# their C++ library is. The newest symbols of libstdc++ and arc4random would ask for newer systems. libgcc stays shared,
# because its static version asks for a newer glibc.
add_library(sparsec_wheel INTERFACE)
if(SPARSEC_WHEEL)
  # An object, so that programs with precompiled headers of C++ get no source of another language.
  add_library(sparsec_arc4random OBJECT ${CMAKE_CURRENT_LIST_DIR}/arc4random.c)
  target_sources(sparsec_wheel INTERFACE $<TARGET_OBJECTS:sparsec_arc4random>)
  target_link_options(sparsec_wheel INTERFACE -static-libstdc++ -shared-libgcc LINKER:--gc-sections LINKER:--strip-all)
endif()
