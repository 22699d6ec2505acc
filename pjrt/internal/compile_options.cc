#include <algorithm>
#include <sstream>

#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/internal/spmd.h"
#include "heddle/pjrt/proto/compile_options.pb.h"

namespace heddle::pjrt {

using runtime::BackendOption;

namespace {

bool is_truth(std::string_view value) { return value == "true" || value == "false"; }

const std::string* find(const std::vector<BackendOption>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &BackendOption::name);
  return found == options.end() ? nullptr : &found->value;
}

void set_option(const BackendOption& option, proto::CompileOptions& message) {
  if (option.name == kShardyOption) return;
  if (option.name == kPortableOption)
    return message.set_compile_portable_executable(option.value == "true");
  if (option.name == kDebugOption)
    return message.mutable_build_options()->set_debug_options(option.value);
  proto::OptionOverride& set = *message.add_env_option_overrides();
  set.set_name(option.name);
  // XLA reads numbers and names from text, and a truth value from nothing but its own type.
  if (is_truth(option.value)) {
    set.mutable_value()->set_flag(option.value == "true");
  } else {
    set.mutable_value()->set_text(option.value);
  }
}

}  // namespace

Status check_options(const std::vector<BackendOption>& options, size_t devices) {
  const std::string* portable = find(options, kPortableOption);
  if (portable != nullptr && !is_truth(*portable)) {
    return invalid_argument("option ", kPortableOption, " is \"", *portable,
                            "\"; it must be true or false");
  }
  if (is_portable(options) && devices > 1) {
    return invalid_argument("option ", kPortableOption, ": a program of ", devices,
                            " devices names them; compile it for one, or leave the option out");
  }
  return {};
}

bool is_portable(const std::vector<BackendOption>& options) {
  const std::string* portable = find(options, kPortableOption);
  return portable != nullptr && *portable == "true";
}

Status resolve_extra_options(const std::function<StatusOr<std::string>()>& defaults,
                             std::vector<BackendOption>& options) {
  const std::string* extra = find(options, kExtraOption);
  if (extra == nullptr) return {};
  proto::DebugOptions added;
  std::istringstream items(*extra);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return invalid_argument("option ", kExtraOption, ": \"", item,
                              "\" must be NAME=VALUE, with commas between several");
    }
    (*added.mutable_xla_backend_extra_options())[item.substr(0, equals)] = item.substr(equals + 1);
  }
  const std::string* given = find(options, kDebugOption);
  StatusOr<std::string> debug = given == nullptr ? defaults() : *given;
  HEDDLE_RETURN_IF_ERROR(annotate(debug.status(), "option ", kExtraOption, ": "));
  std::erase_if(options, [](const BackendOption& option) {
    return option.name == kExtraOption || option.name == kDebugOption;
  });
  // Serialised messages one after the other are the fields of both.
  options.push_back({std::string(kDebugOption), *debug + added.SerializeAsString()});
  return {};
}

StatusOr<std::string> debug_options_of(std::string_view optimized_program) {
  proto::ProgramWithConfig program;
  if (!program.ParseFromArray(optimized_program.data(),
                              static_cast<int>(optimized_program.size())) ||
      program.config().debug_options().empty())
    return make_error(absl::StatusCode::kInternal, "the plugin's program has no debug options");
  return program.config().debug_options();
}

StatusOr<std::optional<bool>> wants_shardy(const std::vector<runtime::BackendOption>& options) {
  std::optional<bool> wanted;
  for (const runtime::BackendOption& option : options) {
    if (option.name != kShardyOption) continue;
    if (option.value != "true" && option.value != "false") {
      return invalid_argument("option ", kShardyOption, ": is \"", option.value,
                              "\"; it must be true or false");
    }
    wanted = option.value == "true";
  }
  return wanted;
}

std::string compile_options(int device, const std::vector<runtime::BackendOption>& options) {
  return spmd_compile_options({device}, 1, 1, options);
}

std::string spmd_compile_options(const std::vector<int>& devices, int64_t replicas,
                                 int64_t partitions,
                                 const std::vector<runtime::BackendOption>& options) {
  proto::CompileOptions message;
  proto::BuildOptions& build = *message.mutable_build_options();
  build.set_device_ordinal(-1);
  build.set_replica_count(replicas);
  build.set_partition_count(partitions);
  build.set_use_spmd_partitioning(partitions > 1);
  const auto shardy = wants_shardy(options);
  build.set_use_shardy_partitioner(partitions > 1 && shardy.ok() && shardy->value_or(false));
  for (const BackendOption& option : options) set_option(option, message);
  if (message.compile_portable_executable()) return message.SerializeAsString();
  proto::DeviceAssignment& assignment = *build.mutable_device_assignment();
  assignment.set_replica_count(static_cast<int32_t>(replicas));
  assignment.set_partition_count(static_cast<int32_t>(partitions));
  for (int64_t p = 0; p < partitions; ++p) {
    auto& of_partition = *assignment.add_partitions();
    for (int64_t r = 0; r < replicas; ++r)
      of_partition.add_replica_device_ids(devices[static_cast<size_t>(r * partitions + p)]);
  }
  return message.SerializeAsString();
}

}  // namespace heddle::pjrt
