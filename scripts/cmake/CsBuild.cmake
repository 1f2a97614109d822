# The identity of what is built (cs/build.h), found again at every build: a commit or an edit since
# the last configuration must not go under the old name. The source is written only where the
# identity has changed, so that a build with nothing to do compiles nothing.
set(identity_source ${CMAKE_BINARY_DIR}/build_identity.c)
add_custom_target(cs_build_identity
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
          -D OUTPUT=${identity_source} -P ${CMAKE_SOURCE_DIR}/scripts/cmake/build_identity.cmake
  BYPRODUCTS ${identity_source}
  COMMENT "Asking which build this is" VERBATIM)
add_library(cs_build OBJECT ${identity_source})
add_dependencies(cs_build cs_build_identity)
target_compile_options(cs_build PRIVATE -fno-sanitize=all) # programs with simulators have none
target_include_directories(cs_build PUBLIC ${CMAKE_SOURCE_DIR}/sim/include)
