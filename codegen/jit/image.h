// CodeImage: machine code as bytes that run wherever they are loaded: in this process, or in
// another that reads them from a file. On x86-64 and 64-bit Arm, with pages of 4 KiB.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::cpu {

// A function that code calls by its name.
struct Import {
  std::string name;
  const void* address = nullptr;
};

// First what is executed, then what is read. All that code reaches in its image it reaches by
// distances, and all else through slots, which are filled when it is loaded.
struct CodeImage {
  static constexpr int64_t kPage = 4096;
  struct Slot {
    int64_t at = 0;       // where in `bytes` an address of 8 bytes stands
    int64_t import = -1;  // in `imports`; -1: the address is what stands there, from the beginning
  };
  std::string bytes;           // whole pages
  int64_t executed_bytes = 0;  // whole pages
  int64_t entry = 0;           // where the program's function begins
  std::vector<std::string> imports;
  std::vector<Slot> slots;
};

}  // namespace heddle::cpu
