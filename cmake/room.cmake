# lathe_room(NAME SOURCES file... [LINKS room...] [USES third-party-target...]
#            [EXPOSES third-party-target...])
#
# A room is one library target `lathe_NAME` with its sources listed. LINKS names the rooms whose
# headers it may include (tests/layering checks that it includes no others); USES names third-party
# libraries, linked privately: no public header of a room exposes their types, except `base`,
# through which fmt and JSON reach everyone.
function(lathe_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS;USES;EXPOSES" ${ARGN})
  if(ROOM_SOURCES)
    add_library(lathe_${name} STATIC ${ROOM_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(lathe_${name} PRIVATE ${ROOM_USES})
  else()
    add_library(lathe_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(lathe_${name} ${scope} ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(lathe_${name} ${scope} ${ROOM_EXPOSES})
  foreach(room IN LISTS ROOM_LINKS)
    target_link_libraries(lathe_${name} ${scope} lathe_${room})
  endforeach()
endfunction()
