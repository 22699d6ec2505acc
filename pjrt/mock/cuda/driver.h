// A stand-in for the CUDA driver's library, which tests load before libcuda.so.1 is asked for.
#pragma once

#include <cstddef>
#include <vector>

namespace heddle::pjrt::mock {

struct Stream {
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
  };
  std::vector<Copy> copies;  // that nobody has waited for
  int error = 0;             // what calls answer with
};

}  // namespace heddle::pjrt::mock
