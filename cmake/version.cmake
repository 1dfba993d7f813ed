# lathe_note_version(FILE): configures FILE.in to FILE in the build folder, with LATHE_VERSION and
# LATHE_COMMIT ("unknown" outside a repository). A new commit configures it again.
function(lathe_note_version file)
  set(LATHE_VERSION ${PROJECT_VERSION})
  set(LATHE_COMMIT unknown)
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE commit ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    if(NOT failed)
      set(LATHE_COMMIT ${commit})
      execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE log
        OUTPUT_STRIP_TRAILING_WHITESPACE)
      cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      if(EXISTS ${log})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
      endif()
    endif()
  endif()
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/${file}.in ${CMAKE_CURRENT_BINARY_DIR}/${file} @ONLY)
endfunction()
