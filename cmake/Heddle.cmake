# Helpers of the build. Sources are globbed with CONFIGURE_DEPENDS, so a new file needs no line in any CMake file, and a folder
# without sources is skipped:
#
#   FOO/**/*.cc            static library heddle_FOO (heddle::FOO); headers are public but for those in internal/ and ops/
#   hlo/text/ hlo/wire/    libraries of their own, heddle::hlo_text and heddle::hlo_wire, whose tests are in heddle_hlo_test
#   FOO/**/*_test.cc       one test program heddle_FOO_test (label FOO)
#   FOO/proto/*.proto      compiled into heddle_FOO; its .cc files, its tests, and all programs below read
#                          "heddle/FOO/proto/NAME.pb.h"; no header may. Import as "heddle/FOO/proto/NAME.proto"
#   FOO/mock/*.cc          shared library that stands in for a foreign one, for the tests of FOO alone; they find it by
#                          HEDDLE_FOO_MOCK, the path of its file
#   *.h at the top         umbrella headers, public
#   tools/main.cc          the tool, build/PRESET/bin/heddle; the other tools/*.cc are a library that tools/*_test.cc link
#   examples/*.cc          one program each, build/PRESET/bin/NAME, run by ctest (label example); links the libraries whose headers it names
#   bench/baselines/       hand-written loops as a backend of the tool, bin/heddle_baselines
#   bench/*.cc             one Google Benchmark program each, bin/bench_NAME, run briefly by ctest (label bench)
#   tests/support/*.cc     library for all programs in tests/ and bench/
#   tests/numpy/bridge/    shared library through which python calls Heddle, for the tests of numpy
#   tests/FOO/**/*.cc      one test program heddle_tests_FOO that links everything (label FOO); may have proto/*.proto
#   tests/compile_fail/NAME.cc  mistakes that must not compile, and what g++ and clang++ say of them (label compile_fail)
#   tests/fuzz/NAME.cc     libFuzzer target fuzz_NAME where HEDDLE_FUZZ is on; else the same entry point run on the files of
#                          tests/fuzz/corpus/NAME (label fuzz)
#
# Tests run with the project's root as working folder, so data is opened as "tests/golden/...".

set(HEDDLE_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
set(HEDDLE_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
set(HEDDLE_BIN_DIR ${PROJECT_BINARY_DIR}/bin)

if(HEDDLE_FUZZ)
  set(HEDDLE_BUILD_TOOL OFF)
  set(HEDDLE_BUILD_TESTS OFF)
  set(HEDDLE_BUILD_EXAMPLES OFF)
  set(HEDDLE_BUILD_BENCH OFF)
endif()
if(HEDDLE_BUILD_TESTS OR HEDDLE_FUZZ)
  enable_testing()
endif()

find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(Protobuf 3.21 REQUIRED MODULE)  # 3.21 ships no config package
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(ZLIB REQUIRED)
find_path(HEDDLE_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)  # base/hash.cc, headers only
if(HEDDLE_BUILD_TESTS)
  find_package(GTest REQUIRED CONFIG)
  include(GoogleTest)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  # Paths below the source folder are made relative, so that all clones on a machine share one cache.
  find_program(HEDDLE_CCACHE ccache)
  if(HEDDLE_CCACHE AND "${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "^(ccache)?$")
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${HEDDLE_CCACHE})
  endif()
endif()

# Where the machine has a fused multiply-add, as 64-bit Arm does, compilers make one of x * y + z by themselves. What the ops
# compute is rounded as written; kernels may fuse.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("
  #if !defined(__FMA__) && !defined(__aarch64__) && !defined(__FP_FAST_FMA)
  #error none
  #endif
  int main() {}" HEDDLE_COMPILER_FUSES)
set(HEDDLE_ROUND_AS_WRITTEN)
set(HEDDLE_MAY_FUSE)
if(HEDDLE_COMPILER_FUSES)
  set(HEDDLE_ROUND_AS_WRITTEN -ffp-contract=off)
  set(HEDDLE_MAY_FUSE -ffp-contract=fast)
endif()

# "heddle/hlo/shape.h" is found in the tree as it is after install.
file(MAKE_DIRECTORY ${HEDDLE_INCLUDE_DIR})
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${HEDDLE_INCLUDE_DIR}/heddle SYMBOLIC)

function(heddle_compile_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers ${HEDDLE_ROUND_AS_WRITTEN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # collects no garbage below 512 MiB, of which the precompiled header is a quarter
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=524288)
  endif()
  if(HEDDLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Sets `sources`, `tests` (*_test.cc) and `protos` in the caller for the folder, recursively.
function(heddle_glob folder)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER all EXCLUDE REGEX "/mock/|/bridge/|/codegen/jit/llvm/")
  set(tests ${all})
  if(folder STREQUAL hlo)
    list(FILTER all EXCLUDE REGEX "/hlo/(text|wire)/")
  endif()
  list(FILTER all EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/proto/*.proto)
  set(sources ${all} PARENT_SCOPE)
  set(tests ${tests} PARENT_SCOPE)
  set(protos ${protos} PARENT_SCOPE)
endfunction()

# Lets the .cc files of `target` include the generated headers; they give no warnings.
function(heddle_read_protos target)
  target_include_directories(${target} SYSTEM PRIVATE ${HEDDLE_GENERATED_DIR})
  target_link_libraries(${target} PRIVATE protobuf::libprotobuf)
endfunction()

# Compiles the protos into `target`.
function(heddle_compile_protos target)
  file(MAKE_DIRECTORY ${HEDDLE_GENERATED_DIR})
  foreach(proto ${ARGN})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${proto})
    string(REGEX REPLACE "\\.proto$" ".pb" stem ${HEDDLE_GENERATED_DIR}/heddle/${path})
    add_custom_command(
      OUTPUT ${stem}.cc ${stem}.h
      COMMAND protobuf::protoc --proto_path=${HEDDLE_INCLUDE_DIR} --cpp_out=${HEDDLE_GENERATED_DIR}
              ${HEDDLE_INCLUDE_DIR}/heddle/${path}
      COMMAND sed -i /AddDescriptorsRunner/d ${stem}.cc  # descriptors are made at first use, and not at each start
      DEPENDS ${ARGN} protobuf::protoc
      COMMENT "protoc ${path}"
      VERBATIM)
    set_source_files_properties(${stem}.cc PROPERTIES COMPILE_OPTIONS "-w;$<$<CONFIG:Release>:-Os>" SKIP_PRECOMPILE_HEADERS ON)
    target_sources(${target} PRIVATE ${stem}.cc ${stem}.h)
  endforeach()
  heddle_read_protos(${target})
endfunction()

# Precompiled headers, which halve what most files cost to compile. In libraries: heddle_hlo_pch has the IR, for the folders below
# trace/; heddle_trace_pch has Tensor too, for those above. In test programs: heddle_pch has heddle.h, for the folders whose tests
# trace; heddle_gtest_pch has GoogleTest alone, for those below, which a change of a higher header leaves as they are.
# OPTIONS: the function that gives a target the compile options of those that share the header.
function(heddle_make_pch target options)
  if(TARGET ${target})
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/${target}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// holds a precompiled header\n")
  add_library(${target} OBJECT ${source})
  target_include_directories(${target} PRIVATE ${HEDDLE_INCLUDE_DIR})
  cmake_language(CALL ${options} ${target})
  target_precompile_headers(${target} PRIVATE ${ARGN})
  heddle_compiles_pch(${target})
endfunction()

function(heddle_test_pch target)
  heddle_make_pch(${target} heddle_test_options <gmock/gmock.h> <gtest/gtest.h> ${ARGN})
  target_link_libraries(${target} PRIVATE GTest::gmock)
endfunction()

# For the target whose precompiled header it is.
function(heddle_compiles_pch target)
  set_property(TARGET ${target} PROPERTY CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/compile_pch ${CMAKE_CXX_COMPILER_LAUNCHER})
endfunction()

# As ccache asks of precompiled headers.
function(heddle_cache_pch target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_LAUNCHER)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

function(heddle_library_options target)
  heddle_compile_options(${target})
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  heddle_cache_pch(${target})
endfunction()

# A part of another project is compiled without: its options may differ from file to file.
function(heddle_library_pch target folder)
  if(NOT PROJECT_IS_TOP_LEVEL OR folder STREQUAL base)
    return()
  endif()
  set(headers <algorithm> <cmath> <functional> <map> <mutex> <optional> <unordered_map> <variant> "\"heddle/hlo/module.h\"")
  set(pch heddle_hlo_pch)
  set(options heddle_library_options)
  if(folder MATCHES "^(transform|hlo/wire)$")  # a precompiled header is for one kind of optimisation
    set(pch heddle_small_pch)
    set(options heddle_small_library_options)
  elseif(NOT folder MATCHES "^(hlo|hlo/text|hlo/wire|placeholder|runtime|interpreter|pjrt|codegen|cpu)$")
    set(pch heddle_trace_pch)
    list(APPEND headers "\"heddle/trace/operand.h\"" "\"heddle/trace/tensor.h\"")
  endif()
  heddle_make_pch(${pch} ${options} ${headers})
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# The compiler reads eight files of a library as one. So each name in an unnamed namespace occurs once in the library:
# tests/layers checks types and constants, the compiler finds functions that meet.
function(heddle_unity target)
  if(NOT HEDDLE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # g++ takes the files of a group for headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Little optimisation, which compiles a third faster.
function(heddle_optimise_little target)
  heddle_optimise(${target} -O1)
endfunction()

# A third smaller than that. All passes are in each program that compiles another one.
function(heddle_optimise_size target)
  heddle_optimise(${target} -Os)
endfunction()

function(heddle_small_library_options target)
  heddle_library_options(${target})
  heddle_optimise_size(${target})
endfunction()

function(heddle_optimise target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # g++ 12 sees at -O1 in its own std::string what is not there
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow)
  endif()
endfunction()

# Tests run once for each time that they are compiled.
function(heddle_test_options target)
  heddle_compile_options(${target})
  heddle_optimise_little(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  heddle_without_disk_cache(${target})
  heddle_cache_pch(${target})
endfunction()

# Tests and benchmarks compile what they compile, and leave the user's files alone, unless HEDDLE_CACHE is set.
function(heddle_without_disk_cache target)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/process/without_disk_cache.cc)
endfunction()

# A GoogleTest program; ctest knows its tests as LABEL.Suite.Name. PCH: heddle_pch, heddle_gtest_pch or none.
function(heddle_test_program target label)
  cmake_parse_arguments(ARG "" "PCH" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  heddle_test_options(${target})
  target_compile_options(${target} PRIVATE -Wno-unused-result)  # tests call functions for their errors
  if(ARG_PCH STREQUAL heddle_pch)
    heddle_test_pch(heddle_pch "\"heddle/heddle.h\"")
    target_link_libraries(${target} PRIVATE heddle)  # heddle.h makes the plugins known
  elseif(ARG_PCH)
    heddle_test_pch(${ARG_PCH})
  endif()
  if(ARG_PCH)
    target_precompile_headers(${target} REUSE_FROM ${ARG_PCH})
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 TEST_PREFIX ${label}.
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES LABELS ${label} TIMEOUT 600)
endfunction()

# heddle_library(FOLDER DEPS folder... package::target... PRIVATE package::target...)
# PRIVATE packages are used by .cc files alone. Folders in DEPS that have no code yet are skipped.
function(heddle_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE" ${ARGN})
  heddle_glob(${name})
  heddle_public_headers(headers ${name})
  if(NOT sources AND NOT headers)
    return()
  endif()
  set(deps ${ARG_DEPS})
  list(FILTER deps INCLUDE REGEX "::")
  foreach(dep ${ARG_DEPS})
    string(REPLACE "/" "_" dep ${dep})
    if(TARGET heddle_${dep})
      list(APPEND deps heddle_${dep})
    endif()
  endforeach()

  string(REPLACE "/" "_" export ${name})
  set(target heddle_${export})
  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
    heddle_library_options(${target})
    # The first six call ops, whose time is in trace/. The others run at a trace or a compile, where LLVM takes most of it.
    if(name MATCHES "^(numpy|optim|linalg|special|nn|random|grad|hlo/text|codegen|cpu)$")
      heddle_optimise_little(${target})
    elseif(name MATCHES "^(transform|hlo/wire)$")
      heddle_optimise_size(${target})
    elseif(name STREQUAL hlo)  # batching rules are in each program too: cpu/ batches the turns of loops
      file(GLOB rules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hlo/batching/*.cc)
      set_source_files_properties(${rules} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
    endif()
    heddle_library_pch(${target} ${name})
    heddle_unity(${target})
    if(protos)
      heddle_compile_protos(${target} ${protos})
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${HEDDLE_INCLUDE_DIR}>)
  target_link_libraries(${target} ${scope} ${deps} Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${target} INTERFACE LINKER:--gc-sections)  # a program has what it calls: see tests/consumer
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export})
  add_library(heddle::${export} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES ${target})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_HEADERS ${headers})

  if(tests AND HEDDLE_BUILD_TESTS AND NOT name MATCHES "/")
    set(pch heddle_pch)
    if(name MATCHES "^(base|hlo|placeholder|transform|runtime|interpreter|pjrt|codegen|cpu)$")
      set(pch heddle_gtest_pch)
    endif()
    set(oracle)
    if(name MATCHES "^(transform|runtime|pjrt|cpu)$")  # what their tests make runs on the interpreter
      set(oracle heddle_interpreter)
    elseif(name STREQUAL hlo)  # its tests are those of its parts too
      set(oracle heddle_hlo_wire)
    endif()
    heddle_test_program(${target}_test ${name} SOURCES ${tests} LIBRARIES ${oracle} ${target} PCH ${pch})
    if(protos OR name STREQUAL hlo)
      heddle_read_protos(${target}_test)
    endif()
    heddle_mock(${name})
  endif()
endfunction()

# The code generator of cpu/, codegen/jit/llvm/: a library that is loaded at the first compile; without LLVM there is none.
function(heddle_jit)
  include(GNUInstallDirs)
  target_compile_definitions(heddle_codegen PRIVATE
    HEDDLE_JIT_FOLDER="${PROJECT_BINARY_DIR}/lib" HEDDLE_JIT_INSTALLED="${CMAKE_INSTALL_FULL_LIBDIR}")
  # What runs in programs; the rest of the folder runs at a compile, and is small.
  set(kernels ${PROJECT_SOURCE_DIR}/cpu/kernels)
  set(runs $<$<CONFIG:Release>:-O2>)
  file(GLOB_RECURSE running CONFIGURE_DEPENDS ${kernels}/*.cc)
  list(FILTER running EXCLUDE REGEX "_test\\.cc$")
  set_source_files_properties(${running} ${PROJECT_SOURCE_DIR}/cpu/native_program.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${runs}")
  # What prepares a program or calls the evaluator stands in each program too, and takes little of the time.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/cpu/backend.cc ${PROJECT_SOURCE_DIR}/cpu/stored.cc ${kernels}/rule_kernel.cc
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
  # Kernels for each instruction set; which of them runs is decided where they run.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${kernels}/products/matmul_avx512.cc ${kernels}/fourier/fft_avx512.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "${runs};-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mfma;-mprefer-vector-width=512;${HEDDLE_MAY_FUSE}")
    set_source_files_properties(${kernels}/products/matmul_narrow_avx512.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "${runs};-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mprefer-vector-width=512")
    set_source_files_properties(${kernels}/products/matmul_narrow_vnni.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "${runs};-mavx512vnni;-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mprefer-vector-width=512")
    set_source_files_properties(${kernels}/products/matmul_bf16_avx512.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "${runs};-mavx512bf16;-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mprefer-vector-width=512")
    set_source_files_properties(${kernels}/products/matmul_narrow_amx.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "${runs};-mamx-tile;-mamx-bf16;-mamx-int8;-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mprefer-vector-width=512")
    set_source_files_properties(${kernels}/products/matmul_avx2.cc ${kernels}/fourier/fft_avx2.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "${runs};-mavx2;-mfma;${HEDDLE_MAY_FUSE}")
    set_source_files_properties(${kernels}/factors/factors_avx2.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "-O3;-mavx2;-mfma;-fno-math-errno;-fno-trapping-math;${HEDDLE_MAY_FUSE}")
    # Their vectors are explicit; at -O3 the loops of each size are written out, twice as large and 2 to 8 % faster.
    set_source_files_properties(${kernels}/spectra/spectra_avx2.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "-O2;-mavx2;-mfma;-fno-math-errno;-fno-trapping-math;${HEDDLE_MAY_FUSE}")
    set_source_files_properties(${kernels}/spectra/spectra_avx512.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "-O2;-mavx512f;-mavx512dq;-mavx512vl;-mavx512bw;-mfma;-mprefer-vector-width=512;-fno-math-errno;-fno-trapping-math;${HEDDLE_MAY_FUSE}")
    set_source_files_properties(${kernels}/direct/direct_avx2.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
      "-O3;-mavx2;-fno-math-errno;-fno-trapping-math")
  else()
    set_source_files_properties(${kernels}/products/matmul_avx512.cc ${kernels}/products/matmul_avx2.cc ${kernels}/fourier/fft_avx512.cc
      ${kernels}/products/matmul_narrow_avx512.cc ${kernels}/products/matmul_narrow_vnni.cc ${kernels}/products/matmul_bf16_avx512.cc
      ${kernels}/products/matmul_narrow_amx.cc
      ${kernels}/fourier/fft_avx2.cc ${kernels}/direct/direct_avx2.cc ${kernels}/factors/factors_avx2.cc
      ${kernels}/spectra/spectra_avx2.cc ${kernels}/spectra/spectra_avx512.cc PROPERTIES HEADER_FILE_ONLY ON)
  endif()
  set_source_files_properties(${kernels}/direct/direct_generic.cc ${kernels}/factors/factors_generic.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
    "-O3;-fno-math-errno;-fno-trapping-math")
  set_source_files_properties(${kernels}/spectra/spectra_generic.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
    "-O2;-fno-math-errno;-fno-trapping-math")
  set_source_files_properties(${kernels}/products/matmul_generic.cc ${kernels}/fourier/fft_generic.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
    "${runs};${HEDDLE_MAY_FUSE}")
  find_package(LLVM 19.1 QUIET CONFIG)
  heddle_build_digest()
  if(NOT LLVM_FOUND)
    message(STATUS "no LLVM 19.1: the backend cpu leaves every program to the evaluator")
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/codegen/jit/llvm/*.cc)
  add_library(heddle_cpu_jit MODULE ${sources} ${PROJECT_SOURCE_DIR}/codegen/plan/pieces.cc ${HEDDLE_GENERATED_DIR}/build_digest.cc)
  target_include_directories(heddle_cpu_jit PRIVATE ${HEDDLE_INCLUDE_DIR})
  target_include_directories(heddle_cpu_jit SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(heddle_cpu_jit PRIVATE LLVM)
  target_link_directories(heddle_cpu_jit PRIVATE ${LLVM_LIBRARY_DIRS})
  heddle_compile_options(heddle_cpu_jit)
  heddle_unity(heddle_cpu_jit)  # reads LLVM's headers once
  set_target_properties(heddle_cpu_jit PROPERTIES CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  add_dependencies(heddle_codegen heddle_cpu_jit)
endfunction()

# Which Heddle this is, for the disk cache: what was compiled by another is not found.
function(heddle_build_digest)
  set(folders base hlo transform runtime interpreter codegen cpu)
  set(all)
  foreach(folder ${folders})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc ${PROJECT_SOURCE_DIR}/${folder}/*.h
      ${PROJECT_SOURCE_DIR}/${folder}/*.def ${PROJECT_SOURCE_DIR}/${folder}/*.proto)
    list(FILTER sources EXCLUDE REGEX "_test\\.(cc|h)$|/mock/")
    list(APPEND all ${sources})
  endforeach()
  list(JOIN folders "," folders)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(compiled_by "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  set(llvm)
  if(LLVM_FOUND)
    string(APPEND compiled_by " LLVM ${LLVM_PACKAGE_VERSION}")
    string(REPLACE "${CMAKE_SYSROOT}/" "/" llvm "${LLVM_LIBRARY_DIRS}/libLLVM.so.19.1")  # where it is when it runs
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/BuildDigest.cmake)
  set(out ${HEDDLE_GENERATED_DIR}/build_digest.cc)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DFOLDERS=${folders} -DCOMPILED_BY=${compiled_by} -DLLVM=${llvm}
            -DOUT=${out} -P ${script}
    DEPENDS ${all} ${script}
    COMMENT "digest of the sources"
    VERBATIM)
  target_sources(heddle_codegen PRIVATE ${out})
endfunction()

# The library that the tests of a folder load.
function(heddle_mock folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/mock/*.cc)
  if(NOT sources)
    return()
  endif()
  set(target heddle_${folder}_mock)
  add_library(${target} MODULE ${sources})
  target_include_directories(${target} PRIVATE ${HEDDLE_INCLUDE_DIR})
  target_link_libraries(${target} PRIVATE Threads::Threads)
  heddle_compile_options(${target})
  string(TOUPPER HEDDLE_${folder}_MOCK definition)
  add_dependencies(heddle_${folder}_test ${target})
  target_compile_definitions(heddle_${folder}_test PRIVATE ${definition}="$<TARGET_FILE:${target}>")
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/mock/cuda)  # loaded under the name of the driver's library
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/mock/cuda/*.cc)
    add_library(heddle_cuda_mock MODULE ${sources})
    target_include_directories(heddle_cuda_mock PRIVATE ${HEDDLE_INCLUDE_DIR})
    target_link_options(heddle_cuda_mock PRIVATE -Wl,-soname,libcuda.so.1)
    heddle_compile_options(heddle_cuda_mock)
    add_dependencies(heddle_${folder}_test heddle_cuda_mock)
    target_compile_definitions(heddle_${folder}_test PRIVATE HEDDLE_CUDA_MOCK="$<TARGET_FILE:heddle_cuda_mock>")
  endif()
endfunction()

# What others may include of a folder: all but internal/, ops/ and what serves tests.
function(heddle_public_headers out folder)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/${folder}/*.h ${PROJECT_SOURCE_DIR}/${folder}/*.def)
  list(FILTER headers EXCLUDE REGEX "/internal/|/mock/|^(hlo|interpreter)/ops/|_test\\.h$")
  if(folder STREQUAL hlo)
    list(FILTER headers EXCLUDE REGEX "^hlo/(text|wire)/")
  endif()
  list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
  set(${out} ${headers} PARENT_SCOPE)
endfunction()

# heddle::heddle is the whole library.
function(heddle_umbrella)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.h)
  get_property(libraries GLOBAL PROPERTY HEDDLE_LIBRARIES)
  add_library(heddle INTERFACE)
  target_link_libraries(heddle INTERFACE ${libraries})
  add_library(heddle::heddle ALIAS heddle)
  set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES heddle)
  set_property(GLOBAL APPEND PROPERTY HEDDLE_HEADERS ${headers})
endfunction()

# The libraries whose headers a source names, also by headers of examples/; heddle.h is all of them.
function(heddle_libraries_of out source)
  file(STRINGS ${source} lines REGEX "^#include \"heddle/")
  set(libraries)
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"heddle/([^\"]*)\".*" "\\1" header ${line})
    string(REGEX REPLACE "/.*" "" folder ${header})
    if(folder STREQUAL examples)
      heddle_libraries_of(more ${PROJECT_SOURCE_DIR}/${header})
      list(APPEND libraries ${more})
    elseif(header MATCHES "^hlo/(text|wire)[./]")
      list(APPEND libraries heddle_hlo_${CMAKE_MATCH_1})
    elseif(TARGET heddle_${folder})
      list(APPEND libraries heddle_${folder})
    else()
      list(APPEND libraries heddle)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

# A program that links everything and lies in bin/.
function(heddle_program target output)
  heddle_program_of(${target} ${output} heddle ${ARGN})
endfunction()

# LIBRARIES is a list.
function(heddle_program_of target output libraries)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${libraries})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} RUNTIME_OUTPUT_DIRECTORY ${HEDDLE_BIN_DIR})
  heddle_compile_options(${target})
endfunction()

function(heddle_tool)
  heddle_glob(tools)
  set(main ${PROJECT_SOURCE_DIR}/tools/main.cc)
  list(REMOVE_ITEM sources ${main})
  if(NOT HEDDLE_BUILD_TOOL OR NOT EXISTS ${main})
    return()
  endif()
  find_package(CLI11 REQUIRED CONFIG)
  heddle_program(heddle_tool heddle ${main})
  target_link_libraries(heddle_tool PRIVATE CLI11::CLI11)
  heddle_read_protos(heddle_tool)
  if(sources)
    add_library(heddle_tools STATIC ${sources})
    heddle_compile_options(heddle_tools)
    heddle_optimise_little(heddle_tools)
    target_compile_definitions(heddle_tools PUBLIC HEDDLE_VERSION="${PROJECT_VERSION}")
    heddle_unity(heddle_tools)  # reads heddle.h and CLI11 once for eight files
    target_link_libraries(heddle_tools PUBLIC heddle CLI11::CLI11 PRIVATE ZLIB::ZLIB)
    if(protos)
      heddle_compile_protos(heddle_tools ${protos})
    else()
      heddle_read_protos(heddle_tools)
    endif()
    target_link_libraries(heddle_tool PRIVATE heddle_tools)
  endif()
  if(tests AND HEDDLE_BUILD_TESTS)
    heddle_test_program(heddle_tools_test tools SOURCES ${tests} LIBRARIES heddle_tools PCH heddle_pch)
    heddle_read_protos(heddle_tools_test)
  endif()
  if(HEDDLE_INSTALL)
    install(TARGETS heddle_tool RUNTIME)
  endif()
endfunction()

function(heddle_examples)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cc)
  if(NOT HEDDLE_BUILD_EXAMPLES)
    return()
  endif()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    file(READ ${source} text)
    if(NOT HEDDLE_BUILD_TESTS AND text MATCHES "gtest/gtest\\.h")
      continue()
    endif()
    heddle_libraries_of(libraries ${source})
    heddle_program_of(example_${name} ${name} "${libraries}" ${source})
    if(HEDDLE_BUILD_TESTS)
      if(text MATCHES "gtest/gtest\\.h")  # an example of how to test
        target_link_libraries(example_${name} PRIVATE GTest::gtest_main)
      endif()
      file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
      set(folder)
      if(text MATCHES "plot\\.h")  # draws into the folder it is given
        set(folder .)
      endif()
      add_test(NAME example.${name} COMMAND example_${name} ${folder} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
      set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT 600 ENVIRONMENT HEDDLE_CACHE=0)
    endif()
  endforeach()
endfunction()

# The tool with a backend of hand-written loops, which are compiled for this machine alone.
function(heddle_baselines)
  if(NOT TARGET heddle_tools)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/baselines/*.cc)
  heddle_program(heddle_baselines heddle_baselines ${sources})
  target_link_libraries(heddle_baselines PRIVATE heddle_tools)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  # Vectors of 64 bytes are two of 32 where the machine has no AVX-512: nothing but these files calls their functions.
  set(best -O3 -march=native -mprefer-vector-width=512 -Wno-psabi)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${best};-ffast-math")
  # Chains of scalars: another order of their operations is a longer one.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/baselines/scalars.cc PROPERTIES COMPILE_OPTIONS "${best}")
endfunction()

function(heddle_benchmarks)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc)
  if(NOT HEDDLE_BUILD_BENCH OR NOT sources)
    return()
  endif()
  heddle_baselines()
  find_package(benchmark REQUIRED CONFIG)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_bench$" "" name ${name})
    file(STRINGS ${source} tools REGEX "heddle/tools/")
    if(tools AND NOT TARGET heddle_tools)
      continue()
    endif()
    heddle_program(bench_${name} bench_${name} ${source})
    heddle_read_protos(bench_${name})
    heddle_link_test_support(bench_${name})
    if(tools)  # reads programs as the tool does
      target_link_libraries(bench_${name} PRIVATE heddle_tools)
    endif()
    heddle_without_disk_cache(bench_${name})
    target_link_libraries(bench_${name} PRIVATE benchmark::benchmark_main Eigen3::Eigen)
    if(TARGET heddle_pjrt_mock)
      add_dependencies(bench_${name} heddle_pjrt_mock)
      target_compile_definitions(bench_${name} PRIVATE HEDDLE_PJRT_MOCK="$<TARGET_FILE:heddle_pjrt_mock>")
    endif()
    if(HEDDLE_BUILD_TESTS)
      add_test(NAME bench.${name} COMMAND bench_${name} --benchmark_min_time=0.001 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(bench.${name} PROPERTIES LABELS bench TIMEOUT 600)
    endif()
  endforeach()
endfunction()

# What several programs of tests/ and bench/ share.
function(heddle_link_test_support target)
  if(NOT TARGET heddle_test_support)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc)
    list(FILTER sources EXCLUDE REGEX "/process/")  # what is linked whole: see heddle_without_disk_cache()
    if(NOT sources)
      return()
    endif()
    add_library(heddle_test_support STATIC ${sources})
    heddle_compile_options(heddle_test_support)
    heddle_read_protos(heddle_test_support)
    target_link_libraries(heddle_test_support PUBLIC heddle)
  endif()
  target_link_libraries(${target} PRIVATE heddle_test_support)
endfunction()

function(heddle_tests)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*)
  list(REMOVE_ITEM folders compile_fail consumer support)
  if(NOT HEDDLE_BUILD_TESTS)
    return()
  endif()
  foreach(folder ${folders})
    heddle_glob(tests/${folder})
    if(folder STREQUAL fuzz)
      set(sources)
    endif()
    if(tests AND (TARGET heddle_tools OR NOT folder MATCHES "^(apps|conformance|cpu|plugins)$"))
      set(target heddle_tests_${folder})
      heddle_test_program(${target} ${folder} SOURCES ${sources} ${tests} LIBRARIES heddle PCH heddle_pch)
      if(folder MATCHES "^(apps|conformance|cpu|plugins)$")  # read cases as the tool does
        target_link_libraries(${target} PRIVATE heddle_tools)
      endif()
      heddle_link_test_support(${target})
      if(protos)
        heddle_compile_protos(${target} ${protos})
      else()
        heddle_read_protos(${target})
      endif()
    endif()
  endforeach()
  heddle_compile_fail_tests()
  foreach(test errors layers pages)  # of the sources as text: without python3 they are skipped
    add_test(NAME layers.${test} COMMAND sh -c "command -v python3 >/dev/null || exit 77; exec python3 -B tests/layers/${test}_test.py"
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(layers.${test} PROPERTIES LABELS layers SKIP_RETURN_CODE 77)
  endforeach()
  add_test(NAME docs.quoted_code COMMAND ${PROJECT_SOURCE_DIR}/tools/quote_code --check)
  set_tests_properties(docs.quoted_code PROPERTIES LABELS docs)
endfunction()

# Mistakes that must not compile, by g++ and by clang++: tests/compile_fail/run says how. A compiler that is not there is skipped.
function(heddle_compile_fail_tests)
  set(run ${PROJECT_SOURCE_DIR}/tests/compile_fail/run)
  file(GLOB cases CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cc)
  find_program(HEDDLE_GXX g++)
  find_program(HEDDLE_CLANGXX NAMES clang++ clang++-14)
  foreach(compiler g++ clang++)
    set(program ${HEDDLE_GXX})
    if(compiler STREQUAL clang++)
      set(program ${HEDDLE_CLANGXX})
    endif()
    if(NOT program)
      set(program missing)
    endif()
    set(arguments ${program} ${HEDDLE_INCLUDE_DIR} ${PROJECT_BINARY_DIR}/compile_fail/${compiler})
    set(prefix compile_fail.${compiler})
    add_test(NAME ${prefix}.headers COMMAND ${run} headers ${arguments})
    set_tests_properties(${prefix}.headers PROPERTIES FIXTURES_SETUP ${prefix})
    set(names ${prefix}.headers)
    foreach(case ${cases})
      get_filename_component(name ${case} NAME_WE)
      add_test(NAME ${prefix}.${name} COMMAND ${run} cases ${arguments} ${case})
      set_tests_properties(${prefix}.${name} PROPERTIES FIXTURES_REQUIRED ${prefix})
      list(APPEND names ${prefix}.${name})
    endforeach()
    set_tests_properties(${names} PROPERTIES LABELS compile_fail SKIP_RETURN_CODE 77 TIMEOUT 600
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endforeach()
endfunction()

function(heddle_fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(NOT HEDDLE_BUILD_TESTS AND NOT HEDDLE_FUZZ)
    return()
  endif()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(target fuzz_${name})
    set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE heddle_hlo_wire)  # the readers and what is under them: `./dev fuzz` builds no more
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${HEDDLE_BIN_DIR})
    heddle_compile_options(${target})
    heddle_read_protos(${target})
    if(HEDDLE_FUZZ)
      set(found ${PROJECT_BINARY_DIR}/corpus/${name})  # new inputs go to the first folder given
      file(MAKE_DIRECTORY ${found} ${corpus})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      add_test(NAME fuzz.${name} COMMAND ${target} -runs=20000 -max_total_time=30 ${found} ${corpus})
    else()
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay/main.cc)
      add_test(NAME fuzz.${name} COMMAND ${target} ${corpus})
    endif()
    set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 600)
  endforeach()
endfunction()

# Public headers compile together: one file includes them all. `./dev check` compiles it; no target that is built has it.
# With HEDDLE_CHECK_HEADERS each compiles alone. One whose .cc includes it first has shown that (tests/layers sees to the
# order); each of the others gets a source of its own, which includes it twice.
function(heddle_check_headers)
  get_property(headers GLOBAL PROPERTY HEDDLE_HEADERS)
  list(FILTER headers INCLUDE REGEX "\\.h$")
  set(all ${PROJECT_BINARY_DIR}/header_check/all_headers.cc)
  set(sources)
  set(includes)
  foreach(header ${headers})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${header})
    string(APPEND includes "#include \"heddle/${path}\"\n")
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    if(EXISTS ${source} OR NOT HEDDLE_CHECK_HEADERS)
      continue()
    endif()
    set(source ${PROJECT_BINARY_DIR}/header_check/${path}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"heddle/@path@\"\n#include \"heddle/@path@\"  // again\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  file(CONFIGURE OUTPUT ${all} CONTENT "${includes}")
  add_library(heddle_all_headers OBJECT EXCLUDE_FROM_ALL ${all})
  set(targets heddle_all_headers)
  if(sources)
    add_library(heddle_header_check OBJECT ${sources})
    list(APPEND targets heddle_header_check)
  endif()
  foreach(target ${targets})
    target_link_libraries(${target} PRIVATE heddle)
    target_compile_options(${target} PRIVATE -O0 -g0)
    heddle_compile_options(${target})
    if(HEDDLE_BUILD_TESTS)
      target_link_libraries(${target} PRIVATE GTest::gtest)
    endif()
  endforeach()
endfunction()

include(HeddleInstall)
