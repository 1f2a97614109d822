# libcollsim, static and shared, out of the same objects: every layer below sim/cli, without the
# server's sockets, whose library only the program needs. That a layer
# includes only what is below it is what scripts/check_layers checks. Hidden is what CS_API does not
# name: the program and the tests, which use more, are linked with the static library.
file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS sim/*.c algorithms/*.c models/*.c traces/*.c)
list(FILTER library_sources EXCLUDE REGEX "/sim/cli/|/sim/serve/(serve|worker)\\.c$|/sim/doc/|/sim/campaign/mpi/|/traces/capture/")
include(CsPage)
add_library(cs_objects OBJECT ${library_sources})
set_target_properties(cs_objects cs_build PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_options(cs_objects PRIVATE -fno-semantic-interposition)
target_include_directories(cs_objects PRIVATE sim/include sim ${CMAKE_SOURCE_DIR})
target_compile_definitions(cs_objects PRIVATE COLLSIM_MODULE_FOLDER="${COLLSIM_MODULE_FOLDER}"
  COLLSIM_FIGURES_HERE="${COLLSIM_FIGURES_HERE}" COLLSIM_FIGURES_INSTALLED="${COLLSIM_FIGURES_INSTALLED}")
set(library_needs PkgConfig::collsim_jansson PkgConfig::collsim_sqlite3 PkgConfig::collsim_expat PkgConfig::collsim_yaml-0.1
    PkgConfig::collsim_zlib GSL::gsl GSL::gslcblas Threads::Threads ${CMAKE_DL_LIBS} m)
set(COLLSIM_GLPK_LINKS "")
if(COLLSIM_GLPK_BUILT)
  set_source_files_properties(algorithms/adapcc/lp.c PROPERTIES
    COMPILE_DEFINITIONS COLLSIM_HAS_GLPK INCLUDE_DIRECTORIES ${GLPK_INCLUDE_FOLDER})
  list(APPEND library_needs ${GLPK_LIBRARY})
  set(COLLSIM_GLPK_LINKS "-lglpk ") # in collsim.pc
endif()
target_link_libraries(cs_objects PRIVATE cs_build ${library_needs})
cs_use_simulators(cs_objects)

foreach(kind static shared)
  string(TOUPPER ${kind} KIND)
  add_library(collsim_${kind} ${KIND} $<TARGET_OBJECTS:cs_objects> $<TARGET_OBJECTS:cs_build>)
  target_include_directories(collsim_${kind} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/sim/include>)
  target_link_libraries(collsim_${kind} PRIVATE ${library_needs})
  set_target_properties(collsim_${kind} PROPERTIES OUTPUT_NAME collsim EXPORT_NAME ${kind})
endforeach()
set_target_properties(collsim_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
