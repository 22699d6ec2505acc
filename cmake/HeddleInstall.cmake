# Install: headers, libraries, the tool, a CMake package and a pkg-config file; and the tests that use them as a stranger would.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(heddle_install)
  if(NOT HEDDLE_INSTALL)
    return()
  endif()
  get_property(libraries GLOBAL PROPERTY HEDDLE_LIBRARIES)
  get_property(headers GLOBAL PROPERTY HEDDLE_HEADERS)
  foreach(header ${headers})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${header})
    get_filename_component(folder ${path} DIRECTORY)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/${folder})
  endforeach()

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
  install(TARGETS ${libraries} EXPORT heddle ARCHIVE INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  if(TARGET heddle_cpu_jit)
    install(TARGETS heddle_cpu_jit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(EXPORT heddle FILE heddle-targets.cmake NAMESPACE heddle:: DESTINATION ${package})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heddle-config.cmake.in ${PROJECT_BINARY_DIR}/heddle-config.cmake
    INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddle-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/heddle-config.cmake ${PROJECT_BINARY_DIR}/heddle-config-version.cmake
    DESTINATION ${package})
  heddle_install_pkg_config(${libraries})

  if(HEDDLE_TEST_INSTALL AND HEDDLE_BUILD_TESTS)
    heddle_test_install()
  endif()
endfunction()

# heddle.pc lists the archives with users before used, as static linking wants them.
function(heddle_install_pkg_config)
  set(HEDDLE_PC_LIBRARIES)
  foreach(library ${ARGN})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      string(PREPEND HEDDLE_PC_LIBRARIES "-l${library} ")
    endif()
  endforeach()
  file(RELATIVE_PATH HEDDLE_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/heddle.pc.in ${PROJECT_BINARY_DIR}/heddle.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/heddle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# tests/consumer is built and run against a prefix (by CMake and by pkg-config) and with this folder as its subfolder.
function(heddle_test_install)
  set(folder ${PROJECT_BINARY_DIR}/consumer)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  foreach(way install package subfolder pkg_config)
    add_test(NAME consumer.${way}
      COMMAND ${CMAKE_COMMAND} -DWAY=${way} -DHEDDLE_SOURCE_DIR=${PROJECT_SOURCE_DIR} -DHEDDLE_BINARY_DIR=${PROJECT_BINARY_DIR}
              -DFOLDER=${folder} -DCOMPILER=${CMAKE_CXX_COMPILER} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
              -DVERSION=${PROJECT_VERSION} -P ${PROJECT_SOURCE_DIR}/tests/consumer/consume.cmake)
    set_tests_properties(consumer.${way} PROPERTIES LABELS consumer TIMEOUT 1800)
  endforeach()
  set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP heddle_prefix)
  set_tests_properties(consumer.package consumer.pkg_config PROPERTIES FIXTURES_REQUIRED heddle_prefix)
  set_tests_properties(consumer.subfolder PROPERTIES PROCESSORS ${cores} COST 1000)
endfunction()
