#include "heddle/pjrt/internal/host_calls.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/wire.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/pjrt/abi/ffi.h"
#include "heddle/pjrt/internal/call_memory.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/internal/reaper.h"
#include "heddle/pjrt/internal/types.h"
#include "heddle/runtime/throttle.h"
#include "heddle/transform/rebuilder.h"
#include "heddle/transform/state_thread.h"

namespace heddle::pjrt {
namespace {

constexpr char kAttribute[] = "heddle_call";

// Built into the evaluator, and XLA knows them by itself.
constexpr std::string_view kXlas[] = {
    "ApproxTopK",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    "TopK",
    "annotate_device_placement",
    "shape_assertion",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
    "xla.sdy.PropagationBarrier",
    "xla.sdy.ShardingGroup",
    "xla_mark_tensor",
};

// ---- Text of bytes, for an attribute.

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return text;
}

int value_of(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(value_of(hex[i]) << 4 | value_of(hex[i + 1])));
  return bytes;
}

// ---- The calls in a module.

bool is_passable(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() && !is_packed(shape.dtype());
}

bool has_function(const std::vector<std::string>& targets, const std::string& target) {
  return std::ranges::binary_search(targets, target) &&
         std::ranges::find(kXlas, target) == std::end(kXlas);
}

bool is_host_call(const hlo::Computation& computation, const Instruction& instruction,
                  const std::vector<std::string>& targets) {
  if (instruction.opcode != Opcode::kCustomCall) return false;
  if (!has_function(targets, instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_target))
    return false;
  std::vector<Shape> leaves;
  runtime::append_leaves(instruction.shape, leaves);
  return std::ranges::all_of(leaves, is_passable) &&
         std::ranges::all_of(instruction.operands, [&](InstructionId operand) {
           return is_passable(computation.at(operand).shape);
         });
}

Shape row_major(Shape shape) {
  shape.clear_layout();
  return shape;
}

// The instruction as a module: its operands are parameters.
hlo::Module alone(const hlo::Module& module, const hlo::Computation& computation,
                  const Instruction& instruction) {
  hlo::Module out = module;
  out.name = instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_target;
  out.extras = {};
  hlo::ComputationBuilder builder(out);
  Instruction call = instruction;
  for (InstructionId& operand : call.operands)
    operand = builder.parameter(row_major(computation.at(operand).shape));
  call.shape = row_major(call.shape);
  auto attrs = call.attrs.get<hlo::CustomCallAttrs>();
  attrs.constrain_layout = false;
  attrs.operand_layout_constraints.clear();
  attrs.output_to_operand_aliasing.clear();
  call.attrs = std::move(attrs);
  call.extras.mutate().control_predecessors.clear();
  call.extras.mutate().sharding = {};
  const InstructionId root = builder.append(std::move(call));
  out.entry = out.add(std::move(builder).finish(root));
  transform::sweep(out);
  return out;
}

// The call of the handler in the instruction's place.
Instruction through_handler(Instruction call, const std::vector<Shape>& operands,
                            const hlo::Module& alone, const std::string& handler) {
  const auto& old = call.attrs.get<hlo::CustomCallAttrs>();
  hlo::CustomCallAttrs attrs{.custom_call_target = handler,
                             .constrain_layout = true,
                             .custom_call_has_side_effect = old.custom_call_has_side_effect,
                             .api_version = hlo::ApiVersion::kTypedFfi};
  for (const Shape& operand : operands)
    attrs.operand_layout_constraints.push_back(row_major(operand));
  call.shape = row_major(call.shape);
  call.called.clear();
  call.attrs = std::move(attrs);
  call.extras.mutate().backend_config =
      base::cat("{", kAttribute, " = \"", hex_of(hlo::to_proto(alone)), "\"}");
  return call;
}

// ---- The handler.

// A call that was prepared.
struct Site {
  interpreter::Evaluator evaluator;
  std::vector<Shape> results;
};

// By the attribute's text. Programs have few calls; one that makes ever new ones forgets the old.
class Sites {
 public:
  StatusOr<std::shared_ptr<const Site>> find(std::string_view text) {
    std::scoped_lock lock(mutex_);
    if (const auto it = sites_.find(text); it != sites_.end()) return it->second;
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module module, hlo::from_proto(bytes_of(text)));
    HEDDLE_ASSIGN_OR_RETURN(interpreter::Evaluator evaluator,
                            interpreter::Evaluator::prepare(module));
    std::vector<Shape> results;
    runtime::append_leaves(module.entry_computation().result_shape(), results);
    if (sites_.size() >= kMost) sites_.clear();
    auto site = std::make_shared<const Site>(Site{std::move(evaluator), std::move(results)});
    return sites_.emplace(text, std::move(site)).first->second;
  }

 private:
  static constexpr size_t kMost = 1024;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Site>, std::less<>> sites_;
};

Sites& sites() {
  static Sites& instance = *new Sites;
  return instance;
}

StatusOr<std::string_view> attribute_of(const abi::FfiAttributes& attributes) {
  for (int64_t i = 0; i < attributes.count; ++i) {
    const abi::FfiText& name = *attributes.names[i];
    if (std::string_view(name.data, name.size) != kAttribute ||
        attributes.types[i] != abi::kFfiStringAttribute)
      continue;
    const auto& text = *static_cast<const abi::FfiText*>(attributes.values[i]);
    return std::string_view(text.data, text.size);
  }
  return base::make_error(StatusCode::kInternal, "the call has no attribute ", kAttribute);
}

// The memory of an array that must be of `shape`.
StatusOr<void*> memory_of(const abi::FfiBuffers& buffers, size_t number, const Shape& shape) {
  const auto& buffer = *static_cast<const abi::FfiBuffer*>(buffers.buffers[number]);
  const std::span<const int64_t> dims(buffer.dims, static_cast<size_t>(buffer.rank));
  if (buffers.types[number] == abi::kFfiBuffer && std::ranges::equal(dims, shape.dimensions()))
    return buffer.data;
  return base::make_error(StatusCode::kInternal, "the plugin passes array ", number,
                          " with other dimensions than ", shape);
}

Status check_count(const abi::FfiBuffers& buffers, size_t count, std::string_view what) {
  if (buffers.count == static_cast<int64_t>(count)) return {};
  return base::make_error(StatusCode::kInternal, "the plugin passes ", buffers.count, " ", what,
                          " for ", count);
}

// The arguments are copied: a function may keep what it is given. They are there after a wait.
Status read_arguments(const abi::FfiFrame& frame, const hlo::Computation& entry,
                      const CallMemory& memory, std::vector<Literal>& arguments) {
  HEDDLE_RETURN_IF_ERROR(check_count(frame.arguments, entry.parameter_count(), "arguments"));
  arguments.reserve(entry.parameter_count());  // copies point into them
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    const Shape& shape = entry.parameter_shape(i);
    HEDDLE_ASSIGN_OR_RETURN(const void* from, memory_of(frame.arguments, i, shape));
    Literal& to = arguments.emplace_back(Literal::uninitialised(shape));
    HEDDLE_RETURN_IF_ERROR(
        memory.read(to.mutable_bytes(), from, static_cast<size_t>(to.byte_size())));
  }
  return {};
}

// After an error too, since copies that were asked for use arrays of ours.
Status waited(Status status, const CallMemory& memory) {
  const Status done = memory.wait();
  return status.ok() ? done : status;
}

Status write_result(const Literal& value, const abi::FfiFrame& frame, const CallMemory& memory,
                    size_t& next) {
  if (value.is_tuple()) {
    for (const Literal& element : value.elements())
      HEDDLE_RETURN_IF_ERROR(write_result(element, frame, memory, next));
    return {};
  }
  HEDDLE_ASSIGN_OR_RETURN(void* to, memory_of(frame.results, next++, value.shape()));
  return memory.write(to, value.bytes(), static_cast<size_t>(value.byte_size()));
}

Status answer(const abi::FfiFrame& frame, const CallMemory& memory) {
  const runtime::Throttle::Exempt own_work;  // of programs that the function runs
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view text, attribute_of(frame.attributes));
  HEDDLE_ASSIGN_OR_RETURN(const std::shared_ptr<const Site> site, sites().find(text));
  HEDDLE_RETURN_IF_ERROR(check_count(frame.results, site->results.size(), "results"));
  const hlo::Computation& entry = site->evaluator.module().entry_computation();
  std::vector<Literal> arguments;
  HEDDLE_RETURN_IF_ERROR(waited(read_arguments(frame, entry, memory, arguments), memory));
  HEDDLE_ASSIGN_OR_RETURN(const Literal result, site->evaluator.run(std::move(arguments), {}));
  size_t next = 0;
  return waited(write_result(result, frame, memory, next), memory);
}

// What the handler says it speaks. Some plugins refuse any minor version but theirs and those
// below; none says so.
std::atomic<int> spoken_minor{0};
constexpr int kNewestMinor = 3;

bool asks_for_version(const abi::FfiFrame& frame) {
  abi::Extension* extension = frame.head.extensions;
  if (extension == nullptr || static_cast<int32_t>(extension->type) != abi::kFfiMetadata)
    return false;
  abi::FfiMetadata& metadata = *reinterpret_cast<abi::FfiMetadataExtension*>(extension)->metadata;
  metadata.version = {
      .head = {.struct_size = sizeof(abi::Version)}, .major = 0, .minor = spoken_minor.load()};
  metadata.traits = 0;
  return true;
}

abi::FfiError* error_of(const abi::FfiFrame& frame, StatusCode code, const char* text) {
  abi::FfiErrorCreateArgs args{
      .head = {sizeof(args)}, .message = text, .code = static_cast<int32_t>(code)};
  return frame.api->error_create(&args);
}

// Called by plugins, on any thread. An exception would end there, of whatever type: also one of
// putting an error into words.
template <bool kOnCuda>
abi::FfiError* handle(abi::FfiFrame* frame) {
  const InPluginsCall here;
  if (asks_for_version(*frame) || frame->stage != abi::FfiStage::kExecute) return nullptr;
  try {
    Status status;
    try {
      StatusOr<CallMemory> memory = CallMemory::on_host();
      if constexpr (kOnCuda) memory = CallMemory::on_cuda(*frame);
      status = memory.ok() ? answer(*frame, *memory) : memory.status();
    } catch (const std::exception& error) {
      status = base::make_error(StatusCode::kInternal, "the function threw: ", error.what());
    }
    if (status.ok()) return nullptr;
    return error_of(*frame, status.code(), base::message_of(status).c_str());
  } catch (...) {
    return error_of(*frame, StatusCode::kInternal,
                    "the function threw what is no std::exception, or memory ran out");
  }
}

// ---- Registration.

// Compiles a call of the handler, and nothing else.
bool knows_handler(const std::shared_ptr<const Client>& client, const std::string& handler) {
  hlo::Module probe{.name = "probe"};
  hlo::ComputationBuilder builder(probe);
  Instruction call{.opcode = Opcode::kCustomCall, .shape = Shape::scalar(pred)};
  call.attrs = hlo::CustomCallAttrs{.custom_call_target = handler,
                                    .custom_call_has_side_effect = true,
                                    .api_version = hlo::ApiVersion::kTypedFfi};
  const InstructionId root = builder.append(std::move(call));
  probe.entry = probe.add(std::move(builder).finish(root));
  return Loaded::compile(client, hlo::to_proto(probe), compile_options(client->devices()[0].id, {}),
                         {Shape::scalar(pred)})
      .ok();
}

Status register_handler(const Client& client, const std::string& handler) {
  const Api& api = *client.api();
  const auto& extension =
      *reinterpret_cast<const abi::FfiExtension*>(api.extension(abi::ExtensionType::kFfi));
  abi::FfiRegisterHandlerArgs args{.target_name = handler.data(),
                                   .target_name_size = handler.size(),
                                   .handler = reinterpret_cast<void*>(
                                       client.platform() == kCuda ? &handle<true> : &handle<false>),
                                   .platform_name = client.platform().data(),
                                   .platform_name_size = client.platform().size()};
  return api.take(extension.register_handler(&args), "FfiRegisterHandler");
}

// The name that each plugin knows the handler by, from its first use on.
class Handlers {
 public:
  // A plugin may take a handler of a version that it does not like, say nothing, and not know it:
  // each version is tried by a program.
  StatusOr<std::string> name_for(const std::shared_ptr<const Client>& client) {
    std::scoped_lock lock(mutex_);
    std::string& name = names_[client->api()->table()];
    if (!name.empty()) return name;
    for (int minor = 0; minor <= kNewestMinor; ++minor) {
      const std::string tried = base::cat("heddle_host_call_", minor);
      spoken_minor = minor;
      HEDDLE_RETURN_IF_ERROR(register_handler(*client, tried));
      if (!knows_handler(client, tried)) continue;
      name = tried;
      return name;
    }
    return client->api()->error(StatusCode::kFailedPrecondition, "FfiRegisterHandler",
                                "it took a handler of each version from 0.0 to 0.", kNewestMinor,
                                " and does not know it afterwards; the program's custom-call "
                                "functions cannot be called from it");
  }

 private:
  std::mutex mutex_;
  std::map<const abi::Table*, std::string> names_;
};

Handlers& handlers() {
  static Handlers& instance = *new Handlers;
  return instance;
}

bool can_call_back(const Client& client) {
  const abi::Extension* extension = client.api()->extension(abi::ExtensionType::kFfi);
  const bool reaches_arrays =
      client.platform() == "cpu" || (client.platform() == kCuda && has_cuda_driver());
  return reaches_arrays && extension != nullptr &&
         extension->struct_size >= sizeof(abi::FfiExtension) &&
         reinterpret_cast<const abi::FfiExtension*>(extension)->register_handler != nullptr;
}

Status refuse_debug_calls(const hlo::Module& module, const Client& client) {
  for (const hlo::Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (!hlo::is_debug_call(instruction)) continue;
      const std::string_view what = hlo::is_custom(instruction, hlo::kPrintCall) ? "debug_print"
                                    : hlo::is_custom(instruction, hlo::kProgressCall)
                                        ? "progress"
                                        : "debug_check or check_nans";
      return base::unimplemented(
          "compile ", module.name, ": ", what, ": platform ", client.platform(),
          " cannot call functions of this process, and a step that waits for the host would cost "
          "more than the loop; run the program on cpu, or leave it out on this device",
          instruction.at.known() ? base::cat(" [", instruction.at, "]") : "");
    }
  }
  return {};
}

}  // namespace

bool has_host_calls(const hlo::Module& module) {
  std::vector<std::string> targets;
  for (const hlo::Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode != Opcode::kCustomCall) continue;
      if (targets.empty()) targets = interpreter::custom_call_targets();
      if (is_host_call(computation, instruction, targets)) return true;
    }
  }
  return false;
}

StatusOr<hlo::Module> with_host_calls(const hlo::Module& given,
                                      const std::shared_ptr<const Client>& client) {
  if (!has_host_calls(given)) return given;
  if (!can_call_back(*client)) {
    HEDDLE_RETURN_IF_ERROR(refuse_debug_calls(given, *client));
    return given;
  }
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module module, transform::with_debug_calls_in_order(given));
  HEDDLE_ASSIGN_OR_RETURN(const std::string handler, handlers().name_for(client));
  const std::vector<std::string> targets = interpreter::custom_call_targets();
  transform::ModuleRebuilder into(module);
  for (hlo::ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    for (InstructionId i : to.order()) {
      const Instruction& old = to.old(i);
      if (!is_host_call(to.from(), old, targets)) {
        to.copy(i);
        continue;
      }
      std::vector<Shape> operands;
      for (InstructionId operand : old.operands) operands.push_back(to.old(operand).shape);
      to.replace(i, to.builder().append(through_handler(to.mapped(i), operands,
                                                        alone(module, to.from(), old), handler)));
    }
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

}  // namespace heddle::pjrt
