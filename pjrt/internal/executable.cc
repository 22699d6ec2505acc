#include "heddle/pjrt/internal/executable.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "heddle/base/counters.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/internal/types.h"

namespace heddle::pjrt {

using runtime::BufferPtr;
using Code = absl::StatusCode;

namespace {

// No allocation for programs of usual size.
template <class T>
using Few = absl::InlinedVector<T, 16>;

}  // namespace

StatusOr<std::shared_ptr<const Loaded>> Loaded::compile(std::shared_ptr<const Client> client,
                                                        const std::string& module,
                                                        const std::string& options,
                                                        const std::vector<Shape>& results) {
  constexpr std::string_view kFormat = "hlo";
  std::string code = module;  // the interface takes it without const
  abi::Program program{.head = {sizeof(program)},
                       .code = code.data(),
                       .code_size = code.size(),
                       .format = kFormat.data(),
                       .format_size = kFormat.size()};
  abi::ClientCompileArgs args{.client = client->handle(),
                              .program = &program,
                              .compile_options = options.data(),
                              .compile_options_size = options.size()};
  const Api& api = *client->api();
  HEDDLE_RETURN_IF_ERROR(api.call(args));
  if (args.executable == nullptr) {
    return api.error(Code::kInternal, name_of(args.kSlot),
                     "succeeded without a program; the plugin is at fault");
  }
  std::shared_ptr<Loaded> loaded(new Loaded(std::move(client), args.executable));
  HEDDLE_RETURN_IF_ERROR(loaded->check_results(results));
  return loaded;
}

Loaded::~Loaded() { api().destroy(abi::LoadedExecutableDestroyArgs{.executable = handle_}); }

// Its results are written into arrays of ours, so their number must be right before the first run.
Status Loaded::check_results(const std::vector<Shape>& results) {
  abi::LoadedExecutableGetExecutableArgs got{.loaded_executable = handle_};
  HEDDLE_RETURN_IF_ERROR(api().call(got));
  const auto destroy = [this](abi::Executable* program) {
    api().destroy(abi::ExecutableDestroyArgs{.executable = program});
  };
  const std::unique_ptr<abi::Executable, decltype(destroy)> program(got.executable, destroy);
  abi::ExecutableNumOutputsArgs args{.executable = program.get()};
  HEDDLE_RETURN_IF_ERROR(api().call(args));
  if (args.outputs_count != results.size()) {
    return api().error(Code::kInternal, name_of(args.kSlot), "the program has ", results.size(),
                       " results and the plugin gives ", args.outputs_count,
                       "; the plugin is at fault");
  }
  read_sizes(program.get());
  return check_types(program.get(), results);
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
    const Shape told(dtype_of(types.output_types[i]), {next, next + dims.dim_sizes[i]});
    next += dims.dim_sizes[i];
    if (same_type(told, results[i])) continue;
    return api().error(Code::kInternal, name_of(dims.kSlot), "result ", i, " is ", told,
                       "; the program says ", results[i], "; the plugin is at fault");
  }
  return {};
}

void Loaded::read_sizes(abi::Executable* program) {
  abi::ExecutableGetCompiledMemoryStatsArgs args{.executable = program};
  if (!api().call(args).ok()) return;
  scratch_bytes_ = args.temp_size_in_bytes;
  code_bytes_ = args.generated_code_size_in_bytes;
}

PjrtExecutable::PjrtExecutable(const hlo::Module& module, runtime::Device& device,
                               std::shared_ptr<const Client> client,
                               std::shared_ptr<const Loaded> loaded, Compile compile,
                               std::shared_ptr<runtime::Throttle> throttle)
    : Executable(module, device),
      client_(std::move(client)),
      plain_(std::move(loaded)),
      compile_(std::move(compile)),
      throttle_(std::move(throttle)) {
  const runtime::ProgramCost cost = PjrtExecutable::cost();
  bytes_in_flight_ = cost.result_bytes + cost.scratch_bytes.value_or(0);
}

runtime::ProgramCost PjrtExecutable::cost() const {
  runtime::ProgramCost cost = Executable::cost();
  cost.scratch_bytes = plain_->scratch_bytes();
  cost.code_bytes = plain_->code_bytes();
  return cost;
}

StatusOr<std::vector<BufferPtr>> PjrtExecutable::run(std::span<const BufferPtr> arguments,
                                                     const runtime::ExecuteOptions& options) {
  if (options.donate.empty()) return launch(*plain_, arguments, {});
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded, loaded_for(options.donate));
  StatusOr<std::vector<BufferPtr>> results = launch(*loaded, arguments, options.donate);
  for (int number : options.donate) arguments[static_cast<size_t>(number)]->release();
  return results;
}

StatusOr<std::shared_ptr<const Loaded>> PjrtExecutable::loaded_for(std::vector<int> donated) {
  std::ranges::sort(donated);
  donated.erase(std::unique(donated.begin(), donated.end()), donated.end());
  std::scoped_lock lock(mutex_);
  if (auto it = donating_.find(donated); it != donating_.end()) return it->second;
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded, compile_(donated));
  count(&Counters::compiles);
  return donating_.emplace(std::move(donated), std::move(loaded)).first->second;
}

StatusOr<std::vector<BufferPtr>> PjrtExecutable::launch(const Loaded& loaded,
                                                        std::span<const BufferPtr> arguments,
                                                        const std::vector<int>& donated) const {
  Few<Pin> pins;
  Few<abi::Buffer*> handles;
  Few<int64_t> kept;  // arguments that the run may not take, whatever the program says
  for (size_t i = 0; i < arguments.size(); ++i) {
    pins.emplace_back(static_cast<const PjrtBuffer&>(*arguments[i]));  // of this device
    handles.push_back(pins.back().get());
    // execute() saw the buffers whole, so another thread released this one since.
    if (handles.back() == nullptr)
      return runtime::deleted_error(cat("run ", name(), ": argument ", i), parameter_shapes()[i]);
    const bool is_donated = std::ranges::find(donated, static_cast<int>(i)) != donated.end();
    if (!is_donated) kept.push_back(static_cast<int64_t>(i));
  }
  abi::ExecuteOptions options{.head = {sizeof(options)},
                              .non_donatable_input_indices = kept.data(),
                              .non_donatable_input_indices_count = kept.size(),
                              .use_major_to_minor_data_layout_for_callbacks = true};
  Few<abi::Buffer*> outputs(result_shapes().size());
  abi::Buffer* const* const argument_list = handles.data();
  abi::Buffer** const output_list = outputs.data();
  abi::LoadedExecutableExecuteArgs args{.executable = loaded.handle(),
                                        .options = &options,
                                        .argument_lists = &argument_list,
                                        .devices_count = 1,
                                        .args_count = handles.size(),
                                        .output_lists = &output_list};
  runtime::Throttle::Ticket ticket = throttle_->acquire(bytes_in_flight_);
  Status status = client_->api()->call(args);
  if (!status.ok()) return annotate(status, "run ", name(), ": ");
  StatusOr<std::vector<BufferPtr>> results = results_of(outputs);
  if (results.ok() && !results->empty())
    static_cast<PjrtBuffer&>(*results->front()).hold_until_done(std::move(ticket));
  return results;
}

StatusOr<std::vector<BufferPtr>> PjrtExecutable::results_of(
    std::span<abi::Buffer* const> handles) const {
  std::vector<BufferPtr> results;
  results.reserve(handles.size());
  Status status;
  for (size_t i = 0; i < handles.size(); ++i) {
    if (handles[i] == nullptr) {
      status = client_->api()->error(Code::kInternal, "LoadedExecutableExecute", "gave no result ",
                                     i, "; the plugin is at fault");
      continue;
    }
    const Shape& shape = result_shapes()[i];
    results.push_back(
        std::make_shared<PjrtBuffer>(client_, device(), shape, shape.byte_size(), handles[i]));
  }
  if (!status.ok()) return status;
  return results;
}

}  // namespace heddle::pjrt
