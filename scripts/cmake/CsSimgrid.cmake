# SimGrid is optional: with it and a C++ compiler there is a program beside collsim that the model
# simgrid starts; without it that model is refused and says what is missing.
pkg_check_modules(SIMGRID IMPORTED_TARGET QUIET simgrid)
cs_optional(COLLSIM_SIMGRID "the model simgrid" "libsimgrid-dev g++" CMAKE_CXX_COMPILER SIMGRID_FOUND)
if(COLLSIM_SIMGRID_BUILT)
  enable_language(CXX)
endif()

function(cs_use_simgrid models)
  if(NOT COLLSIM_SIMGRID_BUILT)
    return()
  endif()
  target_compile_definitions(${models} PRIVATE COLLSIM_HAS_SIMGRID)
  add_executable(collsim-simgrid ${CMAKE_SOURCE_DIR}/models/simgrid/child.cc)
  target_include_directories(collsim-simgrid PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(collsim-simgrid PRIVATE cs_build PkgConfig::SIMGRID)
  set_target_properties(collsim-simgrid PROPERTIES
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF ENABLE_EXPORTS OFF)
  # SimGrid's actors have stacks of their own, which sanitizers do not follow.
  target_compile_options(collsim-simgrid PRIVATE -O2 -fno-sanitize=all)
  target_link_options(collsim-simgrid PRIVATE -fno-sanitize=all)
endfunction()
