# LEMON, a C++ header library, is optional: with it and a C++ compiler variant=matching of
# stragglar is there, without it that variant is refused and says what is missing.
find_path(LEMON_INCLUDE_DIR lemon/matching.h)
mark_as_advanced(LEMON_INCLUDE_DIR)
cs_optional(COLLSIM_LEMON "stragglar's variant=matching" "liblemon-dev g++" CMAKE_CXX_COMPILER LEMON_INCLUDE_DIR)
if(COLLSIM_LEMON_BUILT)
  enable_language(CXX)
  set(CMAKE_CXX_STANDARD 17)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_CXX_FLAGS_RELEASE "-O3")
endif()

function(cs_use_lemon target)
  if(COLLSIM_LEMON_BUILT)
    set(source ${CMAKE_SOURCE_DIR}/algorithms/stragglar/matching.cc)
    target_sources(${target} PRIVATE ${source})
    # Templates: slow without optimisation, and gcc warns inside of them.
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
      "-O2;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
    target_include_directories(${target} SYSTEM PRIVATE ${LEMON_INCLUDE_DIR})
    target_compile_definitions(${target} PRIVATE COLLSIM_HAS_LEMON)
  else()
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/algorithms/stragglar/matching_missing.c)
  endif()
endfunction()
