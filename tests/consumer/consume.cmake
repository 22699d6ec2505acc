# Builds and runs tests/consumer in one of these ways; ctest calls it (cmake/HeddleInstall.cmake).
#   WAY=install      installs the build tree HEDDLE_BINARY_DIR into FOLDER/prefix and looks at what came
#   WAY=package      find_package(heddle) on that prefix
#   WAY=pkg_config   one compiler call with the flags of heddle.pc
#   WAY=subfolder    add_subdirectory(HEDDLE_SOURCE_DIR); builds the libraries of one program, a loop on `cpu`

set(ENV{HEDDLE_CACHE} 0)  # what the user's folder holds is not looked at
set(prefix ${FOLDER}/prefix)
set(consumer ${HEDDLE_SOURCE_DIR}/tests/consumer)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# A program has what it calls and little else.
function(limit_size program most)
  file(SIZE ${program} bytes)
  message(STATUS "${program}: ${bytes} bytes")
  if(bytes GREATER most)
    message(FATAL_ERROR "${program}: has ${bytes} bytes; it may have ${most}. `nm -C --size-sort` tells what came into it")
  endif()
endfunction()

# Of the libraries, heddle::hlo_wire and heddle::pjrt have protobuf, which a program maps before it starts.
function(loads_no_protobuf program)
  execute_process(COMMAND readelf -d ${program} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  if(needed MATCHES "libprotobuf")
    message(FATAL_ERROR "${program}: loads protobuf; it may only where it uses heddle::hlo_wire")
  endif()
endfunction()

# build_and_run(FOLDER SOURCES PROGRAM OPTION..)
function(build_and_run folder sources program)
  run(${CMAKE_COMMAND} -G Ninja -S ${sources} -B ${folder} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=${COMPILER}
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_CXX_FLAGS_DEBUG=-O0 ${ARGN})
  set(programs ${program})
  if(program STREQUAL "consumer")
    list(APPEND programs empty names parts)
  endif()
  run(${CMAKE_COMMAND} --build ${folder} --target ${programs})
  run(${folder}/${program})
  if(program STREQUAL "consumer")
    run(${folder}/names)
    run(${folder}/parts)
    loads_no_protobuf(${folder}/parts)
    limit_size(${folder}/empty 2000000)
  endif()
endfunction()

if(WAY STREQUAL "install")
  file(REMOVE_RECURSE ${prefix})
  run(${CMAKE_COMMAND} --install ${HEDDLE_BINARY_DIR} --prefix ${prefix})
  file(GLOB_RECURSE strangers ${prefix}/include/*)
  list(FILTER strangers EXCLUDE REGEX "/include/heddle/.*\\.(h|def)$")
  file(GLOB_RECURSE tests ${prefix}/include/*_test.h ${prefix}/include/*.pb.h ${prefix}/include/heddle/tests/*)
  if(strangers OR tests)
    message(FATAL_ERROR "install: files that are no public headers: ${strangers} ${tests}")
  endif()
elseif(WAY STREQUAL "package")
  build_and_run(${FOLDER}/package ${consumer} consumer -DCMAKE_PREFIX_PATH=${prefix} -DHEDDLE_PREFIX=${prefix}
    -DHEDDLE_VERSION=${VERSION})
  build_and_run(${FOLDER}/quickstart ${consumer}/quickstart first -DCMAKE_PREFIX_PATH=${prefix})  # README.md quotes it
  limit_size(${FOLDER}/quickstart/first 9500000)  # of one scan: all backends, since the device is chosen as it runs
elseif(WAY STREQUAL "subfolder")
  build_and_run(${FOLDER}/subfolder ${consumer} parts -DHEDDLE_SUBFOLDER=${HEDDLE_SOURCE_DIR})
elseif(WAY STREQUAL "pkg_config")
  file(GLOB_RECURSE pc ${prefix}/*/heddle.pc)
  get_filename_component(folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND pkg-config --cflags --libs heddle OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} ${consumer}/main.cc -o ${FOLDER}/consumer_pkg_config ${flags})
  run(${FOLDER}/consumer_pkg_config)
  run(${COMPILER} ${consumer}/empty.cc -o ${FOLDER}/empty_pkg_config ${flags})
  limit_size(${FOLDER}/empty_pkg_config 2000000)
else()
  message(FATAL_ERROR "WAY is '${WAY}'")
endif()
