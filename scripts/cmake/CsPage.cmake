# The page of `report` and `serve`, with Debian's D3 built in. Included once library_sources are
# known, to which its C file is added.
find_file(D3_FILE d3.min.js PATHS /usr/share/nodejs/d3/dist /usr/share/javascript/d3 NO_DEFAULT_PATH)
cs_optional(COLLSIM_PAGE "pages of report and serve" "node-d3" D3_FILE)
set(d3 "")
if(COLLSIM_PAGE_BUILT)
  set(d3 ${D3_FILE})
endif()
file(GLOB page_files CONFIGURE_DEPENDS sim/report/page/*)
set(page_source ${CMAKE_BINARY_DIR}/page/page_parts.c)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DPAGE=${CMAKE_SOURCE_DIR}/sim/report/page -DD3=${d3} -DOUTPUT=${page_source}
          -P ${CMAKE_SOURCE_DIR}/scripts/cmake/embed_page.cmake
  DEPENDS ${page_files} ${CMAKE_SOURCE_DIR}/scripts/cmake/embed_page.cmake ${d3}
  COMMENT "page of report and serve" VERBATIM)
list(APPEND library_sources ${page_source})
