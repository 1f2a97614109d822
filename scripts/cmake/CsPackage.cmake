# Debian packages by CPack: collsim with everything that is always there, and collsim-mpi,
# collsim-simgrid and collsim-ns3, whose libraries are large and not everybody's. What each depends on
# is computed by dpkg-shlibdeps. scripts/smoke_deb builds and tries them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME collsim)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The collsim maintainers <maintainers@collsim.invalid>" CACHE STRING "maintainer of the packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(summary "how long a collective takes when a GPU is late or a NIC is broken")
set(CPACK_COMPONENTS_ALL collsim)
set(CPACK_DEBIAN_COLLSIM_PACKAGE_NAME collsim)
set(CPACK_COMPONENT_COLLSIM_DESCRIPTION "${summary}
Replays the schedules of collectives (Ring, StragglAR, OptCC and others) over
network models, with late ranks and degraded NICs, verifies every schedule,
and prints a proven lower bound beside every time. With the library, its
headers and a module for Python.")
set(CPACK_DEBIAN_COLLSIM_PACKAGE_RECOMMENDS "gnuplot-nox, graphviz")
set(CPACK_DEBIAN_COLLSIM_PACKAGE_SUGGESTS "collsim-mpi, collsim-simgrid, collsim-ns3, python3, python3-pandas, libgsl-dev, libjansson-dev, libsqlite3-dev, libexpat1-dev, libyaml-dev, zlib1g-dev, libglpk-dev")
set(CPACK_DEBIAN_COLLSIM_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/scripts/cmake/deb/triggers ${CMAKE_SOURCE_DIR}/scripts/cmake/deb/postrm)
foreach(part mpi ${simulators})
  string(TOUPPER ${part} PART)
  if(TARGET collsim-${part})
    list(APPEND CPACK_COMPONENTS_ALL ${part})
    set(CPACK_DEBIAN_${PART}_PACKAGE_NAME collsim-${part})
    set(CPACK_DEBIAN_${PART}_PACKAGE_DEPENDS "collsim (= ${PROJECT_VERSION})")
  endif()
endforeach()
set(CPACK_COMPONENT_MPI_DESCRIPTION "collsim under mpirun
Shares the scenarios of a sweep out among the ranks of Open MPI.")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_COMPONENT_SIMGRID_DESCRIPTION "collsim's model simgrid
Lets SimGrid time the messages of a collective.")
set(CPACK_COMPONENT_NS3_DESCRIPTION "collsim's model ns3
Lets ns-3 carry the packets of a collective.")
include(CPack)
