# room(<name> DOOR <headers...> [SEES <rooms...>] [USES <libraries...>] FILES <sources...>)
#
# A room is a static library with a door: the headers that other rooms may include. The hall (build/doors/<room>) holds
# links to the door only, and a target sees the halls of the rooms in SEES and nothing else of the source tree, so a
# wrong #include does not resolve. tests/layers.sh checks the same arrows again from the object files.
function(room name)
  cmake_parse_arguments(R "" "" "DOOR;SEES;USES;FILES" ${ARGN})
  list(TRANSFORM R_FILES PREPEND ${CMAKE_SOURCE_DIR}/${name}/)
  add_library(${name} STATIC ${R_FILES})
  set(hall ${CMAKE_BINARY_DIR}/doors/${name})
  file(MAKE_DIRECTORY ${hall}/${name})
  set(doors "")
  foreach(door ${R_DOOR})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${name}/${door} ${hall}/${name}/${door} SYMBOLIC)
    list(APPEND doors ${hall}/${name}/${door})
  endforeach()
  # The file set is also what all_verify_interface_header_sets compiles one by one; a table (.def) is no header.
  list(FILTER doors INCLUDE REGEX "\\.h$")
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${hall} FILES ${doors})
  target_link_libraries(${name} PUBLIC ${R_SEES} PRIVATE ${R_USES})
  target_compile_options(${name} PRIVATE ${THINWIRE_WARNINGS})
  set_property(GLOBAL APPEND PROPERTY THINWIRE_ROOMS ${name})
endfunction()

# unit_test(<room> <file_test>... [LABELS <labels>]): tests/<room>/<name>.c becomes a test that also sees the room's
# private headers.
function(unit_test room)
  cmake_parse_arguments(T "" "" "LABELS;SEES" ${ARGN})
  if(NOT T_LABELS)
    set(T_LABELS quick)
  endif()
  foreach(name ${T_UNPARSED_ARGUMENTS})
    add_executable(${room}_${name} ${CMAKE_SOURCE_DIR}/tests/${room}/${name}.c)
    target_include_directories(${room}_${name} PRIVATE ${CMAKE_SOURCE_DIR}/${room} ${CMAKE_SOURCE_DIR}/tests/support)
    target_link_libraries(${room}_${name} PRIVATE ${room} ${T_SEES} cmocka m)
    target_compile_options(${room}_${name} PRIVATE ${THINWIRE_WARNINGS})
    target_compile_definitions(${room}_${name} PRIVATE
      SOURCE_DIR="${CMAKE_SOURCE_DIR}" SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared")
    add_test(NAME ${room}/${name} COMMAND ${room}_${name})
    set_tests_properties(${room}/${name} PROPERTIES LABELS "${T_LABELS}" TIMEOUT 300)
    add_dependencies(unit_tests ${room}_${name})
  endforeach()
endfunction()
