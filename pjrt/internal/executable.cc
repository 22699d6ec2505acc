#include "heddle/pjrt/internal/executable.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "heddle/base/arithmetic.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/internal/types.h"

namespace heddle::pjrt {

using runtime::BufferPtr;
using Code = StatusCode;

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;

// No allocation for programs of usual size.
template <class T>
using Few = absl::InlinedVector<T, 16>;

// A number by XLA's name for it.
void append_property(const abi::NamedValue& property, runtime::ProgramCost& cost) {
  const std::string name(property.name, property.name_size);
  double value = property.value.number;
  if (property.type == abi::NamedValueType::kInt64)
    value = static_cast<double>(property.value.integer);
  else if (property.type != abi::NamedValueType::kFloat)
    return;
  if (name == "flops") cost.flops = value;
  if (name == "bytes accessed") cost.bytes_accessed = value;
  cost.properties.emplace_back(name, value);
}

Status require_program(const Client& client, abi::Slot slot, abi::LoadedExecutable* program) {
  if (program != nullptr) return {};
  return client.api()->error(Code::kInternal, name_of(slot),
                             "succeeded without a program; the plugin is at fault");
}

}  // namespace

StatusOr<abi::LoadedExecutable*> compile(const Client& client, std::string code,
                                         std::string_view format, const std::string& options) {
  abi::Program program{.head = {sizeof(program)},
                       .code = code.data(),
                       .code_size = code.size(),
                       .format = format.data(),
                       .format_size = format.size()};
  abi::ClientCompileArgs args{.client = client.handle(),
                              .program = &program,
                              .compile_options = options.data(),
                              .compile_options_size = options.size()};
  HEDDLE_RETURN_IF_ERROR(client.api()->call(args));
  HEDDLE_RETURN_IF_ERROR(require_program(client, args.kSlot, args.executable));
  return args.executable;
}

StatusOr<std::shared_ptr<const Loaded>> Loaded::compile(std::shared_ptr<const Client> client,
                                                        const std::string& module,
                                                        const std::string& options,
                                                        const std::vector<Shape>& results) {
  HEDDLE_ASSIGN_OR_RETURN(abi::LoadedExecutable * program,
                          pjrt::compile(*client, module, "hlo", options));
  return checked(std::shared_ptr<Loaded>(new Loaded(std::move(client), program)), results);
}

StatusOr<std::shared_ptr<const Loaded>> Loaded::deserialize(std::shared_ptr<const Client> client,
                                                            std::string_view bytes,
                                                            const std::vector<Shape>& results) {
  abi::ExecutableDeserializeAndLoadArgs args{.client = client->handle(),
                                             .serialized_executable = bytes.data(),
                                             .serialized_executable_size = bytes.size()};
  HEDDLE_RETURN_IF_ERROR(client->api()->call(args));
  HEDDLE_RETURN_IF_ERROR(require_program(*client, args.kSlot, args.loaded_executable));
  std::shared_ptr<Loaded> loaded(new Loaded(std::move(client), args.loaded_executable));
  loaded->was_compiled_ = false;
  return checked(std::move(loaded), results);
}

StatusOr<std::shared_ptr<const Loaded>> Loaded::checked(std::shared_ptr<Loaded> loaded,
                                                        const std::vector<Shape>& results) {
  HEDDLE_RETURN_IF_ERROR(loaded->describe([&](abi::Executable* program) {
    loaded->read_sizes(program);
    return loaded->check_results(program, results);
  }));
  return loaded;
}

StatusOr<std::string> Loaded::serialize() const {
  std::string bytes;
  HEDDLE_RETURN_IF_ERROR(describe([&](abi::Executable* program) -> Status {
    abi::ExecutableSerializeArgs args{.executable = program};
    HEDDLE_RETURN_IF_ERROR(api().call(args));
    if (args.serialized_bytes != nullptr)
      bytes.assign(args.serialized_bytes, args.serialized_bytes_size);
    if (args.serialized_executable_deleter != nullptr)
      args.serialized_executable_deleter(args.serialized_executable);
    return {};
  }));
  return bytes;
}

StatusOr<std::string> Loaded::optimized_program() const {
  std::string code;
  HEDDLE_RETURN_IF_ERROR(describe([&](abi::Executable* program) -> Status {
    abi::Program optimized{.head = {sizeof(optimized)}};
    abi::ExecutableOptimizedProgramArgs args{.executable = program, .program = &optimized};
    HEDDLE_RETURN_IF_ERROR(api().call(args));
    if (std::string_view(optimized.format, optimized.format_size) != "hlo_with_config")
      return api().error(Code::kUnimplemented, name_of(args.kSlot),
                         "the plugin tells of no options with an optimized program");
    code.resize(optimized.code_size);
    optimized.code = code.data();
    return api().call(args);
  }));
  return code;
}

Loaded::~Loaded() { api().destroy(abi::LoadedExecutableDestroyArgs{.executable = handle_}); }

template <class Use>
Status Loaded::describe(const Use& use) const {
  abi::LoadedExecutableGetExecutableArgs got{.loaded_executable = handle_};
  HEDDLE_RETURN_IF_ERROR(api().call(got));
  if (got.executable == nullptr) {
    return api().error(Code::kInternal, name_of(got.kSlot),
                       "succeeded without a program; the plugin is at fault");
  }
  const auto destroy = [this](abi::Executable* program) {
    api().destroy(abi::ExecutableDestroyArgs{.executable = program});
  };
  const std::unique_ptr<abi::Executable, decltype(destroy)> program(got.executable, destroy);
  return use(program.get());
}

// Its results are written into arrays of ours, so their number must be right before the first run.
Status Loaded::check_results(abi::Executable* program, const std::vector<Shape>& results) const {
  abi::ExecutableNumOutputsArgs args{.executable = program};
  HEDDLE_RETURN_IF_ERROR(api().call(args));
  if (args.outputs_count != results.size()) {
    return api().error(Code::kInternal, name_of(args.kSlot), "the program has ", results.size(),
                       " results and the plugin gives ", args.outputs_count,
                       "; the plugin is at fault");
  }
  return check_types(program, results);
}

Status Loaded::check_types(abi::Executable* program, const std::vector<Shape>& results) const {
  abi::ExecutableOutputElementTypesArgs types{.executable = program};
  abi::ExecutableOutputDimensionsArgs dims{.executable = program};
  if (!api().call(types).ok() || !api().call(dims).ok()) return {};  // it cannot say
  if (types.output_types_count != results.size() || dims.outputs_count != results.size()) {
    return api().error(Code::kInternal, name_of(types.kSlot), "tells of ", types.output_types_count,
                       " results, of the program's ", results.size(), "; the plugin is at fault");
  }
  const int64_t* next = dims.dims;
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t rank = dims.dim_sizes[i];
    if (rank > static_cast<size_t>(Shape::kMaxRank)) {
      return api().error(Code::kInternal, name_of(dims.kSlot), "result ", i, " has rank ", rank,
                         "; the program says ", results[i], "; the plugin is at fault");
    }
    const Shape told(dtype_of(types.output_types[i]), {next, next + rank});
    next += rank;
    if (same_type(told, results[i])) continue;
    return api().error(Code::kInternal, name_of(dims.kSlot), "result ", i, " is ", told,
                       "; the program says ", results[i], "; the plugin is at fault");
  }
  return {};
}

void Loaded::read_sizes(abi::Executable* program) {
  abi::ExecutableGetCompiledMemoryStatsArgs args{.executable = program};
  if (!api().call(args).ok()) return;
  // Sizes are added up: none is negative, or more than any device has.
  if (args.temp_size_in_bytes >= 0) scratch_bytes_ = std::min(args.temp_size_in_bytes, kMostBytes);
  if (args.generated_code_size_in_bytes >= 0) code_bytes_ = args.generated_code_size_in_bytes;
  if (args.peak_memory_in_bytes > 0) peak_bytes_ = args.peak_memory_in_bytes;  // since 0.72
}

void Loaded::append_cost(runtime::ProgramCost& cost) const {
  cost.scratch_bytes = scratch_bytes_;
  cost.code_bytes = code_bytes_;
  cost.peak_bytes = peak_bytes_;
  (void)describe([&](abi::Executable* program) -> Status {
    abi::ExecutableGetCostAnalysisArgs args{.executable = program};
    HEDDLE_RETURN_IF_ERROR(api().call(args));
    for (size_t i = 0; i < args.properties_count; ++i) append_property(args.properties[i], cost);
    return {};
  });
}

namespace {

bool shows_lines(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const hlo::Instruction& each) {
      return hlo::is_debug_call(each) && !hlo::is_custom(each, hlo::kReportCall);
    });
  });
}

}  // namespace

PjrtExecutable::PjrtExecutable(const hlo::Module& module, runtime::Device& device,
                               std::shared_ptr<const Client> client,
                               std::shared_ptr<const Loaded> loaded, Compile compile,
                               const base::Hash128& program_hash, How how)
    : Executable(module, device),
      client_(std::move(client)),
      programs_(std::move(loaded), std::move(compile)),
      program_hash_(program_hash),
      how_(how),
      shows_lines_(shows_lines(module)) {
  if (!programs_.plain()->was_compiled()) mark_from_disk();
  bytes_in_flight_ = saturating_add(runtime::total_bytes(result_shapes()),
                                    programs_.plain()->scratch_bytes().value_or(0));
}

runtime::ProgramCost PjrtExecutable::cost() const {
  runtime::ProgramCost cost = Executable::cost();
  loaded().append_cost(cost);
  return cost;
}

StatusOr<std::vector<BufferPtr>> PjrtExecutable::run(std::span<const BufferPtr> arguments,
                                                     const runtime::ExecuteOptions& options) {
  std::vector<BufferPtr> results(result_shapes().size());
  HEDDLE_RETURN_IF_ERROR(run_into(arguments, results, options));
  return results;
}

Status PjrtExecutable::run_into(std::span<const BufferPtr> arguments, std::span<BufferPtr> results,
                                const runtime::ExecuteOptions& options) {
  Few<BufferPtr> made(results.size());  // the place of a result may be an argument's
  bool started = false;
  if (options.donate.empty()) {
    HEDDLE_RETURN_IF_ERROR(
        launch(loaded(), arguments, {made.data(), made.size()}, options, started));
  } else {
    std::shared_ptr<const Loaded> program = programs_.plain();
    if (how_.donates) {
      HEDDLE_ASSIGN_OR_RETURN(program, programs_.program_for(options.donate));
    }
    const Status status = launch(*program, arguments, {made.data(), made.size()}, options, started);
    if (started) {
      for (int number : options.donate) arguments[static_cast<size_t>(number)]->release();
    }
    HEDDLE_RETURN_IF_ERROR(status);
  }
  std::ranges::move(made, results.begin());
  // What the next run prints comes after what this one does. An error is told by the results.
  if (shows_lines_ && !results.empty()) (void)results[0]->await();
  return {};
}

bool is_donated_by(const runtime::ExecuteOptions& how, size_t argument) {
  return std::ranges::find(how.donate, static_cast<int>(argument)) != how.donate.end();
}

StatusOr<std::shared_ptr<const Loaded>> DonatingPrograms::program_for(std::vector<int> donated) {
  std::ranges::sort(donated);
  donated.erase(std::unique(donated.begin(), donated.end()), donated.end());
  std::scoped_lock lock(mutex_);
  if (auto it = donating_.find(donated); it != donating_.end()) return it->second;
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded, compile_(donated));
  if (loaded->was_compiled()) count(&Counters::compiles);
  return donating_.emplace(std::move(donated), std::move(loaded)).first->second;
}

Status PjrtExecutable::launch(const Loaded& loaded, std::span<const BufferPtr> arguments,
                              std::span<BufferPtr> results, const runtime::ExecuteOptions& how,
                              bool& started) const {
  LaunchPins pins;
  Few<int64_t> kept;  // arguments that the run may not take, whatever the program says
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_donated = how_.donates && is_donated_by(how, i);
    pins.add(static_cast<PjrtBuffer&>(*arguments[i]), is_donated);  // of this device
    if (!is_donated) kept.push_back(static_cast<int64_t>(i));
  }
  if (const auto refusal = pins.pin(!how.only_if_room); refusal.has_value())
    return LaunchPins::error_of(*refusal, name(), parameter_shapes());
  Few<abi::Buffer*> handles;
  for (size_t i = 0; i < arguments.size(); ++i) handles.push_back(pins[i]);
  abi::ExecuteOptions options{.head = {sizeof(options)},
                              .non_donatable_input_indices = kept.data(),
                              .non_donatable_input_indices_count = kept.size(),
                              .use_major_to_minor_data_layout_for_callbacks = true};
  Few<abi::Buffer*> outputs(results.size());
  abi::Buffer* const* const argument_list = handles.data();
  abi::Buffer** const output_list = outputs.data();
  abi::Event* complete = nullptr;  // asked for where no result says it
  abi::LoadedExecutableExecuteArgs args{
      .executable = loaded.handle(),
      .options = &options,
      .argument_lists = &argument_list,
      .devices_count = 1,
      .args_count = handles.size(),
      .output_lists = &output_list,
      .device_complete_events = outputs.empty() ? &complete : nullptr,
      .execute_device = how_.execute_device};
  HEDDLE_ASSIGN_OR_RETURN(runtime::Throttle::Ticket ticket, admit(bytes_in_flight_, how));
  started = true;
  const Status status = client_->api()->call(args);
  pins.delete_donated();
  if (!status.ok()) return base::annotate(status, "run ", name(), ": ");
  HEDDLE_RETURN_IF_ERROR(take_results(outputs, results));
  if (!results.empty()) {
    results.front()->hold_until_ready(std::move(ticket));
  } else if (complete != nullptr) {
    keep_room(make_held(Event(client_->api(), complete)), std::move(ticket));
  }
  return {};
}

Status PjrtExecutable::take_results(std::span<abi::Buffer* const> handles,
                                    std::span<BufferPtr> results) const {
  const std::vector<Shape>& shapes = result_shapes();
  Status status;
  for (size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == nullptr) {
      status = client_->api()->error(Code::kInternal, "LoadedExecutableExecute", "gave no result ",
                                     i, "; the plugin is at fault");
      continue;
    }
    const int64_t bytes = shapes[i].byte_size();
    results[i] = PjrtBuffer::make(client_, device(), shapes[i], bytes, handles[i]);
  }
  return status;
}

}  // namespace heddle::pjrt
