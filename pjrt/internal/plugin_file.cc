#include "heddle/pjrt/internal/plugin_file.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "heddle/base/text/strings.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/record.h"
#include "heddle/pjrt/proto/plugin_file.pb.h"

namespace heddle::pjrt {
namespace {

using OptionValue = google::protobuf::Value;

template <class... Parts>
Status error(const std::string& path, const Parts&... parts) {
  return base::invalid_argument("plugin file ", path, ": ", parts...);
}

bool is_integer(double number) { return std::floor(number) == number && std::abs(number) < 1e18; }

// JSON has one kind of numbers: a whole one is an int64, unless the option is known to be a float.
StatusOr<CreateOption> create_option(const std::string& path, const std::string& name,
                                     const OptionValue& value) {
  const double number = value.number_value();
  switch (value.kind_case()) {
    case OptionValue::kBoolValue: return CreateOption{name, value.bool_value()};
    case OptionValue::kStringValue: return CreateOption{name, value.string_value()};
    case OptionValue::kNumberValue:
      if (is_integer(number) && !is_float_option(name))
        return CreateOption{name, static_cast<int64_t>(number)};
      return CreateOption{name, static_cast<float>(number)};
    case OptionValue::kListValue: {
      std::vector<int64_t> integers;
      for (const OptionValue& element : value.list_value().values()) {
        if (element.kind_case() != OptionValue::kNumberValue || !is_integer(element.number_value()))
          return error(path, "create option ", name, " is a list of other than integers");
        integers.push_back(static_cast<int64_t>(element.number_value()));
      }
      return CreateOption{name, std::move(integers)};
    }
    default:
      return error(path, "create option ", name,
                   " must be a bool, a number, a string or a list of integers");
  }
}

// The text that XLA reads: true, 7, 0.5.
StatusOr<runtime::BackendOption> compile_option(const std::string& path, const std::string& name,
                                                const OptionValue& value) {
  const double number = value.number_value();
  switch (value.kind_case()) {
    case OptionValue::kBoolValue: return {{name, value.bool_value() ? "true" : "false"}};
    case OptionValue::kStringValue: return {{name, value.string_value()}};
    case OptionValue::kNumberValue:
      return {
          {name, is_integer(number) ? base::cat(static_cast<int64_t>(number)) : base::cat(number)}};
    default: return error(path, "compile option ", name, " must be a bool, a number or a string");
  }
}

StatusOr<proto::PluginFile> parse(const std::string& path) {
  std::ifstream file(path);
  if (!file) return base::not_found("plugin file ", path, ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  proto::PluginFile message;
  const auto status = google::protobuf::util::JsonStringToMessage(text.str(), &message);
  if (!status.ok()) return error(path, status.ToString());
  if (message.library().empty()) return error(path, "names no \"library\"");
  return message;
}

Status read_types(const std::string& path, const proto::PluginFile& message, DevicePlugin& to) {
  for (const std::string& name : message.dtypes()) {
    const std::optional<DType> dtype = parse_dtype(name);
    if (!dtype.has_value()) return error(path, "\"", name, "\" of dtypes is no element type");
    to.dtypes.push_back(*dtype);
  }
  if (message.rng().empty()) return {};
  constexpr auto& kNames = hlo::EnumText<hlo::RandomAlgorithm>::kNames;
  const auto* found = std::ranges::find(kNames, message.rng());
  if (found == std::end(kNames)) {
    return error(path, "rng is \"", message.rng(), "\"; it must be ", base::join(kNames, ", "));
  }
  to.rng = static_cast<hlo::RandomAlgorithm>(found - std::begin(kNames));
  return {};
}

Status read_expansions(const std::string& path, const proto::PluginFile& message,
                       DevicePlugin& to) {
  if (!message.has_expansions()) return {};
  to.expansions.emplace();
  for (const OptionValue& target : message.expansions().values()) {
    if (target.kind_case() != OptionValue::kStringValue)
      return error(path, "expansions is a list of other than strings");
    to.expansions->push_back(target.string_value());
  }
  return {};
}

}  // namespace

StatusOr<DevicePlugin> read_plugin_file(const std::string& path) {
  HEDDLE_ASSIGN_OR_RETURN(const proto::PluginFile message, parse(path));
  DevicePlugin plugin;
  plugin.library = std::filesystem::path(path).parent_path() / message.library();
  for (const auto& [name, value] : message.create_options()) {
    HEDDLE_ASSIGN_OR_RETURN(CreateOption option, create_option(path, name, value));
    plugin.create_options.push_back(std::move(option));
  }
  for (const auto& [name, value] : message.compile_options()) {
    HEDDLE_ASSIGN_OR_RETURN(runtime::BackendOption option, compile_option(path, name, value));
    plugin.compile_options.push_back(std::move(option));
  }
  if (message.has_launches()) plugin.limits.launches = message.launches();
  if (message.has_bytes()) plugin.limits.bytes = message.bytes() == 0 ? INT64_MAX : message.bytes();
  if (message.has_donation()) plugin.donation = message.donation();
  HEDDLE_RETURN_IF_ERROR(read_types(path, message, plugin));
  HEDDLE_RETURN_IF_ERROR(read_expansions(path, message, plugin));
  HEDDLE_RETURN_IF_ERROR(base::annotate(check_record(plugin), "plugin file ", path, ": "));
  return plugin;
}

}  // namespace heddle::pjrt
