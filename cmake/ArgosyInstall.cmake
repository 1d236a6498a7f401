# One shared library from all folders, its public headers, and find_package(argosy).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Public headers are those that argosy/argosy.h reaches (scripts/check_headers.py holds them to the standard library);
# `result` gets their names, from the root of the sources or of the build.
function(argosy_header_file header result)
  set(${result} ${PROJECT_SOURCE_DIR}/${header} PARENT_SCOPE)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${header})
    set(${result} ${PROJECT_BINARY_DIR}/${header} PARENT_SCOPE)
  endif()
endfunction()
function(argosy_public_headers result)
  set(found argosy/argosy.h)
  set(queue argosy/argosy.h)
  while(queue)
    list(POP_FRONT queue header)
    argosy_header_file(${header} file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^#include \"argosy/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" name "${line}")
      if(NOT name IN_LIST found)
        list(APPEND found ${name})
        list(APPEND queue ${name})
      endif()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

get_property(folders GLOBAL PROPERTY ARGOSY_LIBRARIES)
list(REMOVE_ITEM folders argosy_testing)  # GoogleTest is not for users
add_library(argosy SHARED)
add_library(argosy::argosy ALIAS argosy)
target_compile_features(argosy PUBLIC cxx_std_20)
target_include_directories(argosy INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
foreach(folder IN LISTS folders)
  # All objects, since nobody inside refers to what users call; the library itself only brings what it links.
  target_sources(argosy PRIVATE $<TARGET_OBJECTS:${folder}>)
  target_link_libraries(argosy PRIVATE ${folder})
endforeach()
get_property(parts GLOBAL PROPERTY ARGOSY_OBJECTS)  # of those folders, compiled otherwise than the rest
foreach(part IN LISTS parts)
  target_sources(argosy PRIVATE $<TARGET_OBJECTS:${part}>)
endforeach()
target_link_options(argosy PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/argosy.map LINKER:--as-needed)
set_target_properties(argosy PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/argosy.map)

argosy_public_headers(headers)
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  argosy_header_file(${header} file)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT dev)
endforeach()
install(TARGETS argosy EXPORT argosyTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
install(TARGETS argosy_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/argosy)
install(EXPORT argosyTargets NAMESPACE argosy:: DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/argosyConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/argosyConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/argosyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/argosyConfig.cmake ${PROJECT_BINARY_DIR}/cmake/argosyConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT dev)
