# Builds from nothing compile several small files as one: most of the time of a small file is the headers and templates that
# it shares with its neighbours. Who edits one file then waits for those, so it is an option (preset release).
#
# argosy_together(target …), where the target is made: its files may be compiled so. Which ones is decided once all targets
# are known (argosy_group_together(), last in the top folder) by scripts/compile_together.py: files that have no name in
# common that either keeps to itself. A file that must stay alone has SKIP_UNITY_BUILD_INCLUSION.
set(ARGOSY_TOGETHER "" CACHE STRING "How many small files to compile as one at most; empty: each alone")

function(argosy_together)
  if(ARGOSY_TOGETHER)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_property(GLOBAL APPEND PROPERTY ARGOSY_TOGETHER_TARGETS ${ARGN})
  endif()
endfunction()

function(argosy_group_together)
  if(NOT ARGOSY_TOGETHER)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_property(targets GLOBAL PROPERTY ARGOSY_TOGETHER_TARGETS)
  set(lines "")
  foreach(target IN LISTS targets)
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^[^$<>]*\\.cc$")
    list(LENGTH sources count)
    if(count GREATER 1)
      list(TRANSFORM sources PREPEND ${folder}/ REGEX "^[^/]")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
      string(APPEND lines "${target}\t${ARGOSY_TOGETHER}\t${sources}\n")
    endif()
  endforeach()
  set(file ${PROJECT_BINARY_DIR}/together)
  file(WRITE ${file}.txt "${lines}")
  set(script ${PROJECT_SOURCE_DIR}/scripts/compile_together.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${script} ${file}.txt ${file}.cmake COMMAND_ERROR_IS_FATAL ANY)
  include(${file}.cmake)
endfunction()
