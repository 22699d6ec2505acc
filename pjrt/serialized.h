// Compiled programs as bytes, to keep on disk: what a plugin serialises, behind a header that says
// which plugin, version, platform, build and program it is of. Plugins read one another's bytes as
// they please, or crash: bytes of anything else never reach one.
//
//   std::string bytes = pjrt::serialize(*executable).value();
//   auto executable = pjrt::load(bytes, module, {}, device).value();  // also in another process
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"

namespace heddle::pjrt {

// Returns the program's bytes. Programs that it was compiled to for donations are not in them.
// errors   InvalidArgument for a program that no plugin compiled; the plugin's, Unimplemented where
//          it cannot
[[nodiscard]] StatusOr<std::string> serialize(const runtime::Executable& program);

// Returns the program that compile(module, options, device) would, from its bytes. They may come
// from anywhere and have any length; but whoever can forge their checksum writes to the plugin, so
// take them from where programs are taken from.
//
// errors   InvalidArgument for a device of no plugin, or bytes that are damaged or not of
//          serialize(); FailedPrecondition that names the difference where they are of another
//          plugin, version, platform, build, program, options or device
[[nodiscard]] StatusOr<std::shared_ptr<runtime::Executable>> load(
    std::string_view bytes, const hlo::Module& module, const runtime::CompileOptions& options,
    runtime::Device& device);

}  // namespace heddle::pjrt
