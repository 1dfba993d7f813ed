# lathe::lathe is the library behind lathe/lathe.h, lathe::command the program `lathe`.
include(${CMAKE_CURRENT_LIST_DIR}/lathe-targets.cmake)

# lathe_add_kernel(NAME COMPILE word... [RECORDS file]): a library target NAME of the program that
# `lathe compile word...` writes, with its header NAME.h and an example, NAME_example.c, in
# ${CMAKE_CURRENT_BINARY_DIR}. RECORDS are what `lathe export` wrote, kept beside the sources: the
# best of them for this machine is compiled. Without them the models choose, unless the words say
# --schedule.
function(lathe_add_kernel name)
  cmake_parse_arguments(KERNEL "" "RECORDS" "COMPILE" ${ARGN})
  if(NOT KERNEL_COMPILE OR KERNEL_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lathe_add_kernel(${name}): give COMPILE and the words of `lathe compile`")
  endif()
  set(stem ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(database ${stem}.db)
  set(commands COMMAND ${CMAKE_COMMAND} -E rm -f ${database})
  set(schedule)
  if(KERNEL_RECORDS)
    cmake_path(ABSOLUTE_PATH KERNEL_RECORDS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND commands COMMAND lathe::command import ${KERNEL_RECORDS} --db ${database})
  elseif(NOT "--schedule" IN_LIST KERNEL_COMPILE)
    set(schedule --schedule predicted)
  endif()
  add_custom_command(OUTPUT ${stem}.so ${stem}.h ${stem}_example.c
    ${commands}
    COMMAND lathe::command compile ${KERNEL_COMPILE} ${schedule} --db ${database} -o ${stem}.so
    DEPENDS ${KERNEL_RECORDS} lathe::command
    COMMENT "Compiling the kernel ${name}"
    VERBATIM)
  add_custom_target(${name}_kernel DEPENDS ${stem}.so ${stem}.h)
  add_library(${name} SHARED IMPORTED)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${stem}.so
    INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR})
  add_dependencies(${name} ${name}_kernel)
endfunction()
