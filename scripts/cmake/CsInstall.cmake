# What is installed where; `cmake --build BUILD --target uninstall` takes it away again.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME collsim) # a package each: scripts/cmake/CsPackage.cmake
set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/collsim)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/collsim)

install(TARGETS collsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(COLLSIM_MPI_BUILT)
  install(TARGETS collsim-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/collsim COMPONENT mpi)
endif()
foreach(name IN LISTS simulators)
  if(TARGET collsim-${name})
    install(TARGETS collsim-${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/collsim COMPONENT ${name})
  endif()
endforeach()
if(TARGET collsim-ns3) # has a licence of its own
  install(FILES models/ns3/copyright DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/collsim-ns3 COMPONENT ns3)
endif()

# The library: headers, pkg-config, find_package(collsim [COMPONENTS shared|static]).
foreach(kind shared static)
  install(TARGETS collsim_${kind} EXPORT collsim-${kind}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/collsim)
  install(EXPORT collsim-${kind} DESTINATION ${package_folder} NAMESPACE collsim::)
endforeach()
install(DIRECTORY sim/include/cs DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/collsim FILES_MATCHING PATTERN *.h)
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(scripts/cmake/collsim.pc.in collsim.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/collsim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(scripts/cmake/collsim-config.cmake.in collsim-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(collsim-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/collsim-config.cmake ${CMAKE_BINARY_DIR}/collsim-config-version.cmake
  DESTINATION ${package_folder})

set(COLLSIM_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING "where Python looks for modules, below the prefix")
install(FILES sim/python/collsim.py DESTINATION ${COLLSIM_PYTHON_FOLDER})

# Configurations, and the traces and references that some of them name, as they lie in the sources.
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/collsim)
install(DIRECTORY tests/figures DESTINATION ${CMAKE_INSTALL_DATADIR}/collsim/tests)
install(DIRECTORY traces DESTINATION ${CMAKE_INSTALL_DATADIR}/collsim
  FILES_MATCHING PATTERN *.json PATTERN *.csv PATTERN *.log PATTERN *.et PATTERN README.md PATTERN capture EXCLUDE)

install(FILES sim/doc/collsim.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY sim/doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN collsim.1 EXCLUDE)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(COLLSIM_PAGE_BUILT)
  install(FILES sim/report/page/d3-licence.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.d3)
endif()
install(FILES scripts/completion/collsim.bash RENAME collsim
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
set(COLLSIM_ZSH_FOLDER share/zsh/site-functions CACHE STRING "where zsh looks for completions, below the prefix")
install(FILES scripts/completion/_collsim DESTINATION ${COLLSIM_ZSH_FOLDER})
install(FILES scripts/completion/collsim.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

add_custom_target(uninstall VERBATIM COMMAND ${CMAKE_COMMAND}
  -D MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt -P ${CMAKE_SOURCE_DIR}/scripts/cmake/uninstall.cmake)
