# cmake -DROOT=.. -DFOLDERS=a,b -DCOMPILED_BY=.. -DLLVM=PATH -DOUT=FILE -P BuildDigest.cmake
#
# Writes the source of codegen/jit/build_digest.h: a digest of the folders' sources, tests aside, and of how they are compiled.
string(REPLACE "," ";" folders ${FOLDERS})
set(digests "${COMPILED_BY}")
foreach(folder ${folders})
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/${folder}/*.cc ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.def
    ${ROOT}/${folder}/*.proto)
  list(FILTER sources EXCLUDE REGEX "_test\\.(cc|h)$|/mock/")
  list(SORT sources)
  foreach(source ${sources})
    file(SHA256 ${ROOT}/${source} digest)
    string(APPEND digests "${source} ${digest}\n")
  endforeach()
endforeach()
string(SHA256 digest "${digests}")
file(WRITE ${OUT} "#include \"heddle/codegen/jit/build_digest.h\"

namespace heddle::cpu {

const char* const kBuildDigest = \"${digest}\";
const char* const kLlvmLibrary = \"${LLVM}\";

}  // namespace heddle::cpu
")
