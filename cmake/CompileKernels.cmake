# cmake -P CompileKernels.cmake nvcc ARGUMENT…: compiles a file of kernels, and fails where a kernel keeps what should be in
# registers in a GPU's memory. ptxas moves a few bytes there now and then, for nothing that anyone could mend: up to
# MOST_SPILLED are let through.
set(MOST_SPILLED 128)

set(command "")
set(last ${CMAKE_ARGC})
math(EXPR last "${last} - 1")
foreach(i RANGE 3 ${last})  # behind cmake -P and this file's name
  list(APPEND command ${CMAKE_ARGV${i}})
endforeach()
execute_process(COMMAND ${command} -Xptxas -v OUTPUT_VARIABLE log ERROR_VARIABLE log RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${log}")
endif()

string(REGEX MATCHALL "(Compiling entry function '[^\n]*|[0-9]+ bytes spill stores)" facts "${log}")
set(spilled "")
foreach(fact IN LISTS facts)
  if(fact MATCHES "entry function '([^']+)' for '([^']+)'")
    set(kernel "${CMAKE_MATCH_1} for ${CMAKE_MATCH_2}")
  elseif(fact MATCHES "([0-9]+) bytes" AND CMAKE_MATCH_1 GREATER MOST_SPILLED)
    string(APPEND spilled "  ${kernel}: ${fact}\n")
  endif()
endforeach()
if(spilled)
  message(FATAL_ERROR "Kernels that do not fit into registers:\n${spilled}Unroll less, or give a thread less to hold.")
endif()
