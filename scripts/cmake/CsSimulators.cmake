# Simulators of others are optional: with one and a C++ compiler there is a program beside collsim
# that the model of its name starts; without it that model is refused and says what is missing.
set(simulators simgrid ns3)
pkg_check_modules(SIMGRID IMPORTED_TARGET QUIET simgrid)
pkg_check_modules(NS3 QUIET ns3-core ns3-network ns3-point-to-point ns3-internet ns3-traffic-control)
foreach(name IN LISTS simulators)
  string(TOUPPER ${name} NAME)
  cs_optional(COLLSIM_${NAME} "the model ${name}" "lib${name}-dev g++" CMAKE_CXX_COMPILER ${NAME}_FOUND)
  if(COLLSIM_${NAME}_BUILT)
    enable_language(CXX)
  endif()
endforeach()

# ns-3's own description also names libraries of another licence that it uses itself: a program needs
# none but these.
function(cs_find_ns3)
  add_library(ns3 INTERFACE)
  target_compile_options(ns3 INTERFACE -Wno-null-dereference) # in its templates
  target_include_directories(ns3 SYSTEM INTERFACE ${NS3_INCLUDEDIR})
  foreach(part core network point-to-point internet traffic-control)
    find_library(NS3_${part}_LIBRARY ns3-${part} HINTS ${NS3_LIBDIR} REQUIRED)
    target_link_libraries(ns3 INTERFACE ${NS3_${part}_LIBRARY})
  endforeach()
endfunction()

# The child processes of the models in a target.
function(cs_use_simulators models)
  set(libraries_simgrid PkgConfig::SIMGRID)
  set(libraries_ns3 ns3)
  foreach(name IN LISTS simulators)
    string(TOUPPER ${name} NAME)
    if(NOT COLLSIM_${NAME}_BUILT)
      continue()
    endif()
    if(name STREQUAL ns3)
      cs_find_ns3()
    endif()
    target_compile_definitions(${models} PRIVATE COLLSIM_HAS_${NAME})
    add_executable(collsim-${name} ${CMAKE_SOURCE_DIR}/models/${name}/child.cc)
    target_include_directories(collsim-${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(collsim-${name} PRIVATE cs_build ${libraries_${name}})
    set_target_properties(collsim-${name} PROPERTIES
      CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF ENABLE_EXPORTS OFF)
    # SimGrid's actors have stacks of their own, which sanitizers do not follow; ns-3 is built without
    # them, and keeps its resolution of time in an inline function, of which there must be one.
    target_compile_options(collsim-${name} PRIVATE -O2 -fno-sanitize=all -fvisibility=default)
    target_link_options(collsim-${name} PRIVATE -fno-sanitize=all)
  endforeach()
endfunction()
