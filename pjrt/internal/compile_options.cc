#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/internal/spmd.h"
#include "heddle/pjrt/proto/compile_options.pb.h"

namespace heddle::pjrt {

namespace {

void append_overrides(const std::vector<runtime::BackendOption>& options,
                      proto::CompileOptions& message) {
  for (const runtime::BackendOption& option : options) {
    if (option.name == kShardyOption) continue;
    proto::OptionOverride& set = *message.add_env_option_overrides();
    set.set_name(option.name);
    // XLA reads numbers and names from text, and a truth value from nothing but its own type.
    if (option.value == "true" || option.value == "false") {
      set.mutable_value()->set_flag(option.value == "true");
    } else {
      set.mutable_value()->set_text(option.value);
    }
  }
}

}  // namespace

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
  proto::DeviceAssignment& assignment = *build.mutable_device_assignment();
  assignment.set_replica_count(static_cast<int32_t>(replicas));
  assignment.set_partition_count(static_cast<int32_t>(partitions));
  for (int64_t p = 0; p < partitions; ++p) {
    auto& of_partition = *assignment.add_partitions();
    for (int64_t r = 0; r < replicas; ++r)
      of_partition.add_replica_device_ids(devices[static_cast<size_t>(r * partitions + p)]);
  }
  append_overrides(options, message);
  return message.SerializeAsString();
}

}  // namespace heddle::pjrt
