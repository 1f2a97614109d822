# Writes the suites of a test program beside it: suites_FOLDER.cmake.
# usage: cmake -D PROGRAM=test_FOLDER -D FOLDER=NAME -P list_suites.cmake
cmake_minimum_required(VERSION 3.25)
set(ENV{ASAN_OPTIONS} detect_leaks=0)
execute_process(COMMAND ${PROGRAM} --list OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[A-Za-z0-9_]+: [0-9]+ test" lines "${text}")
list(TRANSFORM lines REPLACE ":.*" "" OUTPUT_VARIABLE suites)
if(NOT suites)
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
cmake_path(GET PROGRAM PARENT_PATH beside)
file(WRITE ${beside}/suites_${FOLDER}.cmake "set(suites ${suites})\n")
