# What `cmake --install` puts in place: the command, its helpers, the library with its header, the
# models that come with Lathe, and packages for CMake and pkg-config. Each part finds the others
# from where it is itself, so the tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(helpers ${CMAKE_INSTALL_LIBEXECDIR}/lathe)

# The rooms behind the headers in one library that shows the headers' names alone. The objects of
# its functions are named, so that they are in it though nothing inside asks for them.
set(outward lathe model_outward recording search session)
list(JOIN outward "|" any)
list(TRANSFORM outward REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/api/\\1.cpp")
set_source_files_properties(${outward} TARGET_DIRECTORY lathe_api
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_library(liblathe SHARED "$<FILTER:$<TARGET_OBJECTS:lathe_api>,INCLUDE,/(${any})[.]cpp>")
set(names ${PROJECT_SOURCE_DIR}/src/api/exported.map)
set_target_properties(liblathe PROPERTIES OUTPUT_NAME lathe EXPORT_NAME lathe LINKER_LANGUAGE CXX
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${names})
if(NOT LATHE_WHEEL)  # which has no links, only copies
  set_target_properties(liblathe PROPERTIES VERSION ${PROJECT_VERSION})
endif()
get_property(mains GLOBAL PROPERTY LATHE_MAINS)
get_property(main_rooms GLOBAL PROPERTY LATHE_MAIN_ROOMS)
target_link_libraries(liblathe PRIVATE ${mains} ${main_rooms} lathe_api
  -Wl,--version-script=${names})
target_compile_features(liblathe INTERFACE cxx_std_23)
target_include_directories(liblathe INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The same rooms in an archive, for programs that want Lathe inside. They link what it uses of
# others themselves: lathe-config.cmake and lathe.pc list that.
lathe_objects_of(api objects)
add_library(liblathe_static STATIC ${objects})
set_target_properties(liblathe_static PROPERTIES OUTPUT_NAME lathe LINKER_LANGUAGE CXX)
set(LATHE_STATIC_NEEDS fmt spdlog sqlite3 xgboost zstd protobuf-lite LLVM-19)

# What is installed is linked with the RUNPATH that it is installed with, which is none: CMake would
# end another one with an empty entry, to have a text to replace, and that means the current folder.
# Where the loader does not find LLVM by itself, CMAKE_INSTALL_RPATH names its folder.
foreach(target lathe lathe-builder lathe-runner lathe-opencl-runner lathe-cuda-runner lathe-torch
    liblathe)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
endforeach()

set_target_properties(lathe PROPERTIES EXPORT_NAME command)
install(TARGETS lathe EXPORT lathe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lathe)
install(TARGETS lathe-builder lathe-runner lathe-opencl-runner lathe-cuda-runner
  RUNTIME DESTINATION ${helpers} COMPONENT lathe)
if(TARGET lathe-torch)
  install(TARGETS lathe-torch LIBRARY DESTINATION ${helpers} COMPONENT torch)
endif()
install(TARGETS liblathe EXPORT lathe
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lathe)
install(FILES $<TARGET_FILE:liblathe_static> DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT static)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT lathe)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe
  COMPONENT lathe FILES_MATCHING PATTERN "*.model")

# What the command says of itself, for shells and for man.
set(words ${PROJECT_BINARY_DIR}/words)
file(MAKE_DIRECTORY ${words})
add_custom_command(OUTPUT ${words}/lathe ${words}/_lathe ${words}/lathe.fish ${words}/lathe.1
  COMMAND lathe completion --shell bash > ${words}/lathe
  COMMAND lathe completion --shell zsh > ${words}/_lathe
  COMMAND lathe completion --shell fish > ${words}/lathe.fish
  COMMAND lathe manual > ${words}/lathe.1
  DEPENDS lathe VERBATIM)
add_custom_target(lathe-words ALL DEPENDS ${words}/lathe.1)
install(FILES ${words}/lathe COMPONENT lathe
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${words}/_lathe COMPONENT lathe
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${words}/lathe.fish COMPONENT lathe
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${words}/lathe.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT lathe)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lathe)
install(EXPORT lathe NAMESPACE lathe:: FILE lathe-targets.cmake DESTINATION ${package}
  COMPONENT lathe)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lathe-config-version.cmake
  COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lathe-config.cmake.in
  ${PROJECT_BINARY_DIR}/lathe-config.cmake INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
install(FILES ${PROJECT_BINARY_DIR}/lathe-config-version.cmake
  ${PROJECT_BINARY_DIR}/lathe-config.cmake DESTINATION ${package} COMPONENT lathe)

file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
list(TRANSFORM LATHE_STATIC_NEEDS PREPEND -l OUTPUT_VARIABLE static_needs)
list(JOIN static_needs " " static_needs)
configure_file(${CMAKE_CURRENT_LIST_DIR}/lathe.pc.in ${PROJECT_BINARY_DIR}/lathe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lathe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT lathe)

# `scripts/package`: lathe, and what trains TreeGRU as a package of its own, for libtorch is large.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lathe)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The developers of Lathe <lathe@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL lathe)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LATHE_PACKAGE_NAME lathe)
set(CPACK_DEBIAN_LATHE_PACKAGE_DEPENDS binutils)  # `ld` links every candidate
set(CPACK_DEBIAN_LATHE_DESCRIPTION
  "finds the fastest program for a tensor operator by measuring candidates")
if(TARGET lathe-torch)
  list(APPEND CPACK_COMPONENTS_ALL torch)
  set(CPACK_DEBIAN_TORCH_PACKAGE_NAME lathe-torch)
  set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "lathe (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_TORCH_DESCRIPTION "trains the TreeGRU models of lathe, with libtorch")
endif()
list(APPEND CPACK_COMPONENTS_ALL static)
set(CPACK_DEBIAN_STATIC_PACKAGE_NAME lathe-static)
set(CPACK_DEBIAN_STATIC_PACKAGE_DEPENDS "lathe (= ${PROJECT_VERSION}), libfmt-dev, libspdlog-dev, \
libsqlite3-dev, libxgboost-dev, libzstd-dev, libprotobuf-dev, llvm-19-dev")
set(CPACK_DEBIAN_STATIC_DESCRIPTION "the library of lathe as an archive, to link it into programs")
include(CPack)

# What the wheel carries, in its package's folder. Programs find the library, and it finds them.
if(LATHE_WHEEL)
  set_target_properties(lathe PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  set_target_properties(lathe-builder PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib")
  install(TARGETS lathe RUNTIME DESTINATION bin COMPONENT wheel)
  install(TARGETS lathe-builder lathe-runner lathe-opencl-runner lathe-cuda-runner
    RUNTIME DESTINATION libexec/lathe COMPONENT wheel)
  install(TARGETS liblathe LIBRARY DESTINATION lib COMPONENT wheel NAMELINK_SKIP)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/records DESTINATION . COMPONENT wheel)
endif()
