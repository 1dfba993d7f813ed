# LATHE_WHEEL: everything in one library, which asks little of the system that it comes to: LLVM,
# SQLite, zstd and the C++ runtime are linked statically, and the programs `lathe` and
# `lathe-builder` are a few bytes that call into it.
option(LATHE_WHEEL "Build what a Python wheel carries" OFF)
set(LATHE_FMT fmt::fmt)
set(LATHE_SPDLOG spdlog::spdlog)
if(LATHE_WHEEL)
  set(LATHE_FMT fmt::fmt-header-only)
  set(LATHE_SPDLOG spdlog::spdlog_header_only)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections -s)
  add_compile_options(-ffunction-sections -fdata-sections)
endif()

# lathe_llvm(OUT): what code generation links of LLVM, once that is found.
function(lathe_llvm out)
  set(${out} LLVM PARENT_SCOPE)
  if(LATHE_WHEEL)
    if(NOT TARGET zstd::libzstd_shared)  # by this name LLVM asks for it
      add_library(zstd::libzstd_shared ALIAS zstd::libzstd_static)
    endif()
    llvm_map_components_to_libnames(libraries x86codegen x86asmparser x86desc x86info
      aarch64codegen aarch64asmparser aarch64desc aarch64info nvptxcodegen nvptxdesc nvptxinfo
      core support target targetparser codegen mc object asmprinter)
    set(${out} ${libraries} PARENT_SCOPE)
  endif()
endfunction()

# lathe_program(NAME MAIN LINKS room...): a program; in a wheel its main() stands in the library,
# as a function of another name.
function(lathe_program name main)
  cmake_parse_arguments(PROGRAM "" "" "LINKS" ${ARGN})
  if(NOT LATHE_WHEEL)
    add_executable(${name} ${main})
    target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS})
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${name}_main entry)
  set(stub ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${stub} CONTENT
    "int @entry@(int, char**);\nint main(int argc, char** argv) { return @entry@(argc, argv); }\n"
    @ONLY)
  add_executable(${name} ${stub})
  target_link_libraries(${name} PRIVATE liblathe)
  add_library(${name}_main OBJECT ${main})
  target_compile_definitions(${name}_main PRIVATE main=${entry})
  target_link_libraries(${name}_main PRIVATE ${PROGRAM_LINKS})
  set_property(GLOBAL APPEND PROPERTY LATHE_MAINS ${name}_main)
  set_property(GLOBAL APPEND PROPERTY LATHE_MAIN_ROOMS ${PROGRAM_LINKS})
endfunction()
