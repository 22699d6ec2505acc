// Programs of plugins in the disk cache (runtime/cache/disk_cache.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/executable.h"

namespace heddle::pjrt {

// What a program is compiled from: a prepared module for one device, and serialised options.
struct ProgramSource {
  const hlo::Module& module;
  const std::string& options;
  const std::string& build;  // of the plugin's library; empty: not known
};

// Loaded::compile(), or what the disk cache has of it. Where the plugin serialises programs, and
// its build is known, what was compiled is kept.
// errors: as Loaded::compile()
StatusOr<std::shared_ptr<const Loaded>> compile_or_read(const std::shared_ptr<const Client>& client,
                                                        const ProgramSource& source,
                                                        const std::vector<Shape>& results);

}  // namespace heddle::pjrt
