# What was compiled before is not compiled again, where ccache is installed.
find_program(COLLSIM_CCACHE ccache)
mark_as_advanced(COLLSIM_CCACHE)
foreach(language C CXX)
  if(COLLSIM_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${COLLSIM_CCACHE})
  endif()
endforeach()

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
# A release is hardened: checked copies into buffers, guarded stacks, addresses that nobody can know,
# and tables of the linker that are read-only before main() begins (scripts/check_hardening). What
# sanitizers and coverage instrument is not, and nothing without optimisation.
set(COLLSIM_HARDENED OFF)
if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$" AND NOT COLLSIM_SANITIZE AND NOT COLLSIM_COVERAGE)
  set(COLLSIM_HARDENED ON)
  include(CheckCSourceCompiles)
  set(fortify "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=") # some distributions set it for everybody
  set(CMAKE_REQUIRED_FLAGS "-O2 ${fortify}3")
  check_c_source_compiles("#include <stdio.h>
#if __USE_FORTIFY_LEVEL < 3
#error
#endif
int main(void) { return 0; }" COLLSIM_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(level 2)
  if(COLLSIM_FORTIFY_3)
    set(level 3)
  endif()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  add_compile_options("SHELL:${fortify}${level}" -fstack-protector-strong)
  add_link_options(LINKER:-z,relro,-z,now $<${is_program}:-pie>)
endif()
