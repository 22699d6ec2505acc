#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "heddle/base/system/files.h"
#include "heddle/base/text/near_name.h"
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

Status check_truth(std::string_view name, const std::vector<BackendOption>& options) {
  const std::string* value = find(options, name);
  if (value == nullptr || is_truth(*value)) return {};
  return base::invalid_argument("option ", name, " is \"", *value, "\"; it must be true or false");
}

Status check_precision(const std::vector<BackendOption>& options) {
  constexpr auto& kNames = hlo::EnumText<hlo::Precision>::kNames;
  const std::string* value = find(options, kPrecisionOption);
  if (value == nullptr || std::ranges::find(kNames, *value) != std::end(kNames)) return {};
  return base::invalid_argument("option ", kPrecisionOption, " is \"", *value,
                                "\"; it must be one of ", base::join(kNames, ", "));
}

// The options of XLA's CPU, which ignores others.
constexpr std::string_view kCpuNames[] = {
    "xla_cpu_disable_loop_unrolling",
    "xla_cpu_disable_new_fusion_emitters",
    "xla_cpu_disable_platform_dependent_math",
    "xla_cpu_disable_slp_vectorizer",
    "xla_cpu_enable_platform_dependent_math",
    "xla_cpu_fold_all_constants",
    "xla_cpu_optimize_for_size",
    "xla_cpu_small_while_loop_byte_threshold",
    "xla_force_enable_experimental_llvm_ir_gemm",
    "xla_llvm_dot_tiling_factor",
    "xla_llvm_ir_gemm_tile_size",
};

// Whether the code of the library can compare a text with the name: it has each whole word of 8
// bytes of it, in one text or in instructions. Not known, and so true, where instructions hold
// shorter pieces, or where the file cannot be read.
bool may_know(const std::string& library, std::string_view name) {
#if defined(__x86_64__)
  const auto file = base::MappedFile::open(library);
  if (!file.ok()) return true;
  constexpr size_t kWord = 8;
  for (; name.size() >= kWord; name.remove_prefix(kWord)) {
    const std::string_view bytes = file->bytes();
    if (memmem(bytes.data(), bytes.size(), name.data(), kWord) == nullptr) return false;
  }
#endif
  return true;
}

// XLA hands what does not begin so to the command line of LLVM, which ends the process over a name
// that it does not know.
Status check_extra_name(std::string_view option, const std::string& name,
                        const OptionsReader& reader) {
  constexpr std::string_view kPrefix = "xla_";
  if (!reader.is_xla) return {};
  if (!name.starts_with(kPrefix)) {
    return base::invalid_argument(
        "option ", option, ": \"", name,
        "\" must begin with xla_: the plugin may end the process over other names; "
        "leave it out");
  }
  if (reader.library.empty() || may_know(reader.library, name)) return {};
  const std::string_view near = base::near_name(name, kCpuNames, kPrefix.size());
  return base::invalid_argument("option ", option, ": \"", name, "\" is no option of the plugin; ",
                                near.empty() ? "leave it out" : base::cat("is it ", near, "?"));
}

// "name=value,name=value"
StatusOr<proto::DebugOptions> extra_options_of(const std::string& text) {
  proto::DebugOptions added;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return base::invalid_argument("option ", kExtraOption, ": \"", item,
                                    "\" must be NAME=VALUE, with commas between several");
    }
    (*added.mutable_xla_backend_extra_options())[item.substr(0, equals)] = item.substr(equals + 1);
  }
  return added;
}

Status check_extra_names(std::string_view option, const proto::DebugOptions& debug,
                         const OptionsReader& reader) {
  std::set<std::string> names;  // a map of the message has no order
  for (const auto& [name, value] : debug.xla_backend_extra_options()) names.insert(name);
  for (const std::string& name : names)
    HEDDLE_RETURN_IF_ERROR(check_extra_name(option, name, reader));
  return {};
}

Status check_extra_options(const std::vector<BackendOption>& options, const OptionsReader& reader) {
  if (const std::string* extra = find(options, kExtraOption)) {
    HEDDLE_ASSIGN_OR_RETURN(const proto::DebugOptions added, extra_options_of(*extra));
    HEDDLE_RETURN_IF_ERROR(check_extra_names(kExtraOption, added, reader));
  }
  const std::string* debug = find(options, kDebugOption);
  if (debug == nullptr || !reader.is_xla) return {};
  proto::DebugOptions given;
  if (!given.ParseFromString(*debug)) {
    return base::invalid_argument(
        "option ", kDebugOption,
        " is no serialised DebugOptions; serialise the message, or leave the "
        "option out");
  }
  return check_extra_names(kDebugOption, given, reader);
}

void set_option(const BackendOption& option, proto::CompileOptions& message) {
  if (option.name == kShardyOption || option.name == kPrecisionOption) return;
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

Status check_options(const std::vector<BackendOption>& options, size_t devices,
                     const OptionsReader& reader) {
  HEDDLE_RETURN_IF_ERROR(check_truth(kPortableOption, options));
  HEDDLE_RETURN_IF_ERROR(check_truth(kShardyOption, options));
  HEDDLE_RETURN_IF_ERROR(check_precision(options));
  HEDDLE_RETURN_IF_ERROR(check_extra_options(options, reader));
  if (is_portable(options) && devices > 1) {
    return base::invalid_argument(
        "option ", kPortableOption, ": a program of ", devices,
        " devices names them; compile it for one, or leave the option out");
  }
  return {};
}

bool is_portable(const std::vector<BackendOption>& options) {
  const std::string* portable = find(options, kPortableOption);
  return portable != nullptr && *portable == "true";
}

hlo::Precision matmul_precision(const std::vector<BackendOption>& options) {
  constexpr auto& kNames = hlo::EnumText<hlo::Precision>::kNames;
  const std::string* value = find(options, kPrecisionOption);
  if (value == nullptr) return hlo::Precision::kDefault;
  return static_cast<hlo::Precision>(std::ranges::find(kNames, *value) - std::begin(kNames));
}

Status resolve_extra_options(const std::function<StatusOr<std::string>()>& defaults,
                             std::vector<BackendOption>& options) {
  const std::string* extra = find(options, kExtraOption);
  if (extra == nullptr) return {};
  HEDDLE_ASSIGN_OR_RETURN(const proto::DebugOptions added, extra_options_of(*extra));
  const std::string* given = find(options, kDebugOption);
  StatusOr<std::string> debug = given == nullptr ? defaults() : *given;
  HEDDLE_RETURN_IF_ERROR(base::annotate(debug.status(), "option ", kExtraOption, ": "));
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
    return base::make_error(StatusCode::kInternal, "the plugin's program has no debug options");
  return program.config().debug_options();
}

std::optional<bool> wants_shardy(const std::vector<BackendOption>& options) {
  const std::string* wanted = find(options, kShardyOption);
  return wanted == nullptr ? std::nullopt : std::optional(*wanted == "true");
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
  build.set_use_shardy_partitioner(partitions > 1 && wants_shardy(options).value_or(false));
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
