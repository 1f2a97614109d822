# Warnings, optimisation and sanitizers, the same for every target.
add_compile_options(
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wold-style-definition> $<$<COMPILE_LANGUAGE:C>:-Wwrite-strings>
  -Wformat=2 -Wdouble-promotion -Wswitch-enum -Wnull-dereference
  -fvisibility=hidden -ffp-contract=off)
add_compile_definitions(_GNU_SOURCE COLLSIM_VERSION="${PROJECT_VERSION}")
if(COLLSIM_WERROR)
  add_compile_options(-Werror)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3")
set(COLLSIM_SANITIZE "" CACHE STRING "e.g. address,undefined")
if(COLLSIM_SANITIZE)
  add_compile_options(-fsanitize=${COLLSIM_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${COLLSIM_SANITIZE})
endif()
option(COLLSIM_COVERAGE "count lines (gcovr)" OFF)
if(COLLSIM_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()
