# Required libraries, by pkg-config, each with the Debian package to install.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
function(cs_require module package)
  pkg_check_modules(collsim_${module} IMPORTED_TARGET GLOBAL ${module})
  if(NOT collsim_${module}_FOUND)
    message(FATAL_ERROR "collsim needs ${module}: apt-get install ${package} (scripts/demo does it)")
  endif()
endfunction()
cs_require(jansson libjansson-dev)
cs_require(sqlite3 libsqlite3-dev)
cs_require(expat libexpat1-dev)
cs_require(yaml-0.1 libyaml-dev)
cs_require(zlib zlib1g-dev)
find_package(GSL QUIET)
if(NOT GSL_FOUND)
  message(FATAL_ERROR "collsim needs gsl: apt-get install libgsl-dev (scripts/demo does it)")
endif()

# Optional ones.
include(GNUInstallDirs)
include(CsOptional)
pkg_check_modules(OMPI IMPORTED_TARGET QUIET ompi-c)
cs_optional(COLLSIM_MPI "sweep and montecarlo under mpirun" "libopenmpi-dev" OMPI_FOUND)
find_path(GLPK_INCLUDE_FOLDER glpk.h) # it has no file for pkg-config
find_library(GLPK_LIBRARY glpk)
cs_optional(COLLSIM_GLPK "the synthesisers packing and milp" "libglpk-dev" GLPK_INCLUDE_FOLDER GLPK_LIBRARY)
pkg_check_modules(MICROHTTPD IMPORTED_TARGET GLOBAL QUIET libmicrohttpd)
cs_optional(COLLSIM_SERVE "the command serve" "libmicrohttpd-dev" MICROHTTPD_FOUND)
file(RELATIVE_PATH COLLSIM_MODULE_FOLDER ${CMAKE_INSTALL_FULL_BINDIR}
     ${CMAKE_INSTALL_FULL_LIBDIR}/collsim)
# From the folder of the program to the figures: in the source tree, and where it is installed.
file(RELATIVE_PATH COLLSIM_FIGURES_HERE ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/configs/figures)
file(RELATIVE_PATH COLLSIM_FIGURES_INSTALLED ${CMAKE_INSTALL_FULL_BINDIR}
     ${CMAKE_INSTALL_FULL_DATADIR}/collsim/configs/figures)
