// Which Heddle this is: what compiles for `cpu` depends on it.
#pragma once

namespace heddle::cpu {

// A digest of the sources that a program passes on its way to machine code, and how they were
// compiled. The build writes it (cmake/BuildDigest.cmake).
extern const char* const kBuildDigest;
// The file of LLVM's library; empty: there is none.
extern const char* const kLlvmLibrary;

}  // namespace heddle::cpu
