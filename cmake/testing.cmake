# Kinds of tests. Labels: `long` marks what the sanitizer builds leave out, `tsan` what the thread
# sanitizer runs. The targets short_tests, tsan_tests and fuzzers build what those runs need and no
# more.

foreach(group short_tests tsan_tests fuzzers)
  add_custom_target(${group})
endforeach()

function(lathe_group_test target labels)
  if(NOT "long" IN_LIST labels)
    add_dependencies(short_tests ${target})
  endif()
  if("tsan" IN_LIST labels)
    add_dependencies(tsan_tests ${target})
  endif()
endfunction()

# lathe_test(NAME SOURCES file... LINKS room... [USES target...] [NEEDS program-target...]
#            [LABELS label...])
# One GoogleTest program, one CTest entry. NEEDS names the programs it starts, so that they are
# built with it.
function(lathe_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINKS;USES;NEEDS;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_precompile_headers(${name} REUSE_FROM precompiled)
  list(TRANSFORM TEST_LINKS PREPEND lathe_)
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} ${TEST_USES} GTest::gtest_main)
  if(TEST_NEEDS)
    add_dependencies(${name} ${TEST_NEEDS})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${TEST_LABELS}")
  lathe_group_test(${name} "${TEST_LABELS}")
endfunction()

# lathe_check(NAME COMMAND word... [NEEDS program-target...] [LABELS label...]): a test that is a
# command, run in the source folder.
function(lathe_check name)
  cmake_parse_arguments(CHECK "" "" "COMMAND;NEEDS;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${CHECK_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "check;${CHECK_LABELS}")
  foreach(program IN LISTS CHECK_NEEDS)
    lathe_group_test(${program} "${CHECK_LABELS}")
  endforeach()
endfunction()

# lathe_fuzz(NAME SOURCES file... LINKS room... [USES target...]): a file with
# LLVMFuzzerTestOneInput. With LATHE_FUZZ it becomes a libFuzzer program; without, a test that
# replays the inputs kept in corpus/NAME/.
function(lathe_fuzz name)
  cmake_parse_arguments(FUZZ "" "" "SOURCES;LINKS;USES" ${ARGN})
  list(TRANSFORM FUZZ_LINKS PREPEND lathe_)
  if(LATHE_FUZZ)
    add_executable(${name} ${FUZZ_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  else()
    add_executable(${name} ${FUZZ_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.cpp)
    add_test(NAME ${name} COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    set_tests_properties(${name} PROPERTIES LABELS fuzz)
    lathe_group_test(${name} "")
  endif()
  target_link_libraries(${name} PRIVATE ${FUZZ_LINKS} ${FUZZ_USES})
endfunction()
