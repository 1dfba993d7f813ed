# Language level, warnings and sanitizers, the same for every target.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE)
  # Tests have precompiled headers, and ccache is to trust them. What a file includes is asked of
  # the compiler: the preprocessor need not run before it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${LATHE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LATHE_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # false alarms on std::string operator+ in GCC 12
  # Without this GCC spends a tenth of its time on looking for memory that it can reuse.
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
endif()

set(LATHE_SANITIZE "" CACHE STRING
  "Sanitizers, as given to -fsanitize= (address,undefined or thread)")
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  # These four check every access to memory and take 40 % of the time to compile. Of what they find
  # the address sanitizer finds most, though no access that is merely not aligned.
  if(LATHE_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,alignment,vptr,object-size)
  endif()
  add_link_options(-fsanitize=${LATHE_SANITIZE})
endif()

option(LATHE_FUZZ "Build the fuzzers of tests/fuzz with libFuzzer (clang only)" OFF)
if(LATHE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
