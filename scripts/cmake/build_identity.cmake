# Which program these sources make, written to OUTPUT as a C source:
#   v0.1.0-12-g9c6c6324a1b2   `git describe --always --tags` of a commit
#   ..-dirty.1a2b3c4d         with changes since; the hash is that of the program's sources
#   ..-archive.1a2b3c4d       of `git archive`, which leaves its commit in archive_commit.txt
#   0.1.0-source.1a2b3c4d     sources that nobody knows where from
# Only what the program is made of counts: an edit of the documentation or of a test changes nothing.
# usage: cmake -D SOURCE=FOLDER -D VERSION=V -D OUTPUT=FILE.c -P build_identity.cmake
cmake_minimum_required(VERSION 3.25)
set(kinds c h cc hh def cmake)
set(folders sim algorithms models traces scripts/cmake)

# The first 8 digits of a hash over names and contents.
function(hash_sources result)
  set(patterns ${SOURCE}/CMakeLists.txt)
  foreach(folder IN LISTS folders)
    foreach(kind IN LISTS kinds)
      list(APPEND patterns ${SOURCE}/${folder}/*.${kind})
    endforeach()
  endforeach()
  file(GLOB_RECURSE names LIST_DIRECTORIES false RELATIVE ${SOURCE} ${patterns})
  list(SORT names)
  set(all "")
  foreach(name IN LISTS names)
    file(SHA1 ${SOURCE}/${name} hash)
    string(APPEND all "${name} ${hash}\n")
  endforeach()
  string(SHA1 hash "${all}")
  string(SUBSTRING ${hash} 0 8 hash)
  set(${result} ${hash} PARENT_SCOPE)
endfunction()

# What git says; empty where it fails.
function(ask_git result)
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} ${ARGN} OUTPUT_VARIABLE answer
    RESULT_VARIABLE code ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0)
    set(answer "")
  endif()
  set(${result} "${answer}" PARENT_SCOPE)
endfunction()

# The name of a commit by its tag may be long: its end is the commit.
function(shorten name)
  string(LENGTH "${${name}}" length)
  if(length GREATER 40)
    math(EXPR from "${length} - 40")
    string(SUBSTRING "${${name}}" ${from} 40 short)
    set(${name} "${short}" PARENT_SCOPE)
  endif()
endfunction()

# Of a checkout whose root is SOURCE, not of one that these sources were unpacked in.
function(identity_of_git result)
  set(${result} "" PARENT_SCOPE)
  find_program(GIT git)
  foreach(name GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE) # of a hook that builds
    unset(ENV{${name}})
  endforeach()
  if(NOT GIT)
    return()
  endif()
  ask_git(root rev-parse --show-toplevel)
  file(REAL_PATH "${SOURCE}" here)
  if(NOT root STREQUAL here)
    return()
  endif()
  ask_git(commit describe --always --tags --abbrev=12)
  shorten(commit)
  set(paths CMakeLists.txt)
  foreach(folder IN LISTS folders)
    foreach(kind IN LISTS kinds)
      list(APPEND paths "${folder}/*.${kind}")
    endforeach()
  endforeach()
  ask_git(changes status --porcelain --untracked-files=all -- ${paths})
  if(commit AND changes)
    hash_sources(hash)
    set(commit "${commit}-dirty.${hash}")
  endif()
  set(${result} "${commit}" PARENT_SCOPE)
endfunction()

function(identity_of_archive result)
  file(STRINGS ${SOURCE}/scripts/cmake/archive_commit.txt lines)
  list(GET lines 0 commit)
  list(LENGTH lines n_lines)
  if(commit MATCHES "Format")
    set(commit "${VERSION}-source")
  else()
    string(SUBSTRING "${commit}" 0 12 commit)
    if(n_lines GREATER 1)
      list(GET lines 1 commit) # by its tag
      shorten(commit)
    endif()
    string(APPEND commit "-archive")
  endif()
  hash_sources(hash)
  set(${result} "${commit}.${hash}" PARENT_SCOPE)
endfunction()

identity_of_git(identity)
if(NOT identity)
  identity_of_archive(identity)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "/* Made by scripts/cmake/build_identity.cmake. */
__attribute__((visibility(\"default\"))) const char *cs_build(void);
const char *cs_build(void)
{
    return \"@identity@\";
}
")
