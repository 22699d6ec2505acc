// Where Python packages keep their PJRT plugins. No Python is needed to use one: it is a file.
#pragma once

#include <string>
#include <vector>

namespace heddle::pjrt {

struct FoundPlugin {
  std::string name;     // "xla-cpu", "xla-cuda13", "tpu"
  std::string library;  // path of the shared library
};

// The plugins of the Python packages below `prefix`: a virtual environment, a system's /usr, a
// folder site-packages, or one that a wheel was unpacked into. Found are
//   xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so   xla-cpu      of xla-cpu-pjrt, xla-cuda13-pjrt, ..
//   jax_plugins/xla_cuda13/xla_cuda_plugin.so  xla-cuda13   of jax-cuda12-pjrt, jax-cuda13-pjrt, ..
//   libtpu/libtpu.so                           tpu          of libtpu
// sorted by name; of one name the first counts. Nothing is loaded. A folder that cannot be read has
// none.
[[nodiscard]] std::vector<FoundPlugin> find_plugins(const std::string& prefix);

}  // namespace heddle::pjrt
