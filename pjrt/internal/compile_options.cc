#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/proto/compile_options.pb.h"

namespace heddle::pjrt {

std::string compile_options(int device, const std::vector<runtime::BackendOption>& options) {
  proto::CompileOptions message;
  proto::BuildOptions& build = *message.mutable_build_options();
  build.set_device_ordinal(-1);
  build.set_replica_count(1);
  build.set_partition_count(1);
  proto::DeviceAssignment& assignment = *build.mutable_device_assignment();
  assignment.set_replica_count(1);
  assignment.set_partition_count(1);
  assignment.add_partitions()->add_replica_device_ids(device);
  for (const runtime::BackendOption& option : options) {
    proto::OptionOverride& set = *message.add_env_option_overrides();
    set.set_name(option.name);
    // XLA reads numbers and names from text, and a truth value from nothing but its own type.
    if (option.value == "true" || option.value == "false") {
      set.mutable_value()->set_flag(option.value == "true");
    } else {
      set.mutable_value()->set_text(option.value);
    }
  }
  return message.SerializeAsString();
}

}  // namespace heddle::pjrt
