// Running traced modules. Private to Heddle.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "heddle/hlo/module.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// The executable of a traced module on a device, of the cache of programs.
// errors: FailedPrecondition where a part is compiled for another device; those of compile_traced()
StatusOr<std::shared_ptr<runtime::Executable>> executable_for(
    const runtime::ModulePtr& traced, runtime::Device& device,
    const runtime::CompileOptions& options = {}, runtime::ProgramHandle* handle = nullptr);
StatusOr<std::shared_ptr<runtime::Executable>> executable_for(
    hlo::Module traced, runtime::Device& device, runtime::ProgramHandle* handle = nullptr);

// The buffers of concrete tensors. errors: throws Error naming the operand that has none
std::vector<runtime::BufferPtr> buffers_of(std::span<const Tensor> tensors, std::string_view what);

// Appends the buffers of concrete tensors and returns the device that all of `buffers` are on (as
// device_of()). Captured numbers go there now, counted in `number_operands`.
// errors: throws Error naming the operand that has none
runtime::Device& append_buffers(std::span<const Tensor> tensors,
                                std::vector<runtime::BufferPtr>& buffers, std::string_view what);
// Of several lists at once. A scalar that was made of a C++ number on another device, scan's 0.0f,
// goes where the others are.
runtime::Device& append_buffers(std::span<const std::span<const Tensor>> lists,
                                std::vector<runtime::BufferPtr>& buffers, std::string_view what);

// The device that the buffers are on, or the default one. errors: throws Error where they are on
// several
runtime::Device& device_of(std::span<const runtime::BufferPtr> buffers, std::string_view what);

// Runs an executable; results are concrete tensors, perhaps still pending.
std::vector<Tensor> run_executable(runtime::Executable& executable,
                                   std::span<const runtime::BufferPtr> arguments,
                                   const runtime::ExecuteOptions& options = {});

// Throws Error where the status of such a run is one, with the line of the call: the executable may
// have been made of equal code on other lines.
void throw_at_once(const Status& status);
// The same for a function that is called outside of a trace. errors: as throw_at_once()
std::vector<Tensor> run_at_once(runtime::Executable& executable,
                                std::span<const runtime::BufferPtr> arguments);

}  // namespace heddle::trace_internal
