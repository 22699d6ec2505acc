#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "heddle/hlo/text/internal/values.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/internal/places.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

// ---- what the IR keeps as text: {visualizing_index=1,stat-1=33}, {mode=highest},
// {tolerance={atol=0,rtol=1e-05,ulps=2}}

std::string statistics_text(const proto::StatisticsViz& from) {
  if (from.statistics_size() == 0) return {};
  std::string out = base::cat("{visualizing_index=", from.stat_index_to_visualize());
  for (const proto::Statistic& item : from.statistics())
    base::append(out, ",", item.stat_name(), "=", item.stat_val());
  return out + "}";
}

std::string accuracy_text(const proto::ResultAccuracy& from) {
  if (from.has_tolerance()) {
    const auto& t = from.tolerance();
    return base::cat("{tolerance={atol=", t.atol(), ",rtol=", t.rtol(), ",ulps=", t.ulps(), "}}");
  }
  return from.mode() == proto::ResultAccuracy::HIGHEST ? "{mode=highest}" : "";
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text, std::string_view chars) {
  const size_t first = text.find_first_not_of(chars);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(chars) - first + 1);
}

// The key=value pairs of a text, braces and spaces aside.
std::vector<std::pair<std::string_view, std::string_view>> pairs_of(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trim(text.substr(0, comma), "{} ");
    const size_t equals = std::min(item.find('='), item.size());
    out.emplace_back(trim(item.substr(0, equals), " "),
                     trim(item.substr(std::min(equals + 1, item.size())), "{} "));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

void write_statistics(std::string_view text, proto::StatisticsViz& to) {
  for (const auto& [key, value] : pairs_of(text)) {
    if (key == "visualizing_index") {
      to.set_stat_index_to_visualize(parse_number<int64_t>(value).value_or(0));
    } else if (auto number = parse_number<double>(value)) {
      to.add_statistics()->set_stat_name(std::string(key));
      to.mutable_statistics(to.statistics_size() - 1)->set_stat_val(*number);
    }
  }
}

void write_accuracy(std::string_view text, proto::ResultAccuracy& to) {
  if (text.find("tolerance") == text.npos) {
    to.set_mode(text.find("highest") == text.npos ? proto::ResultAccuracy::DEFAULT
                                                  : proto::ResultAccuracy::HIGHEST);
    return;
  }
  for (auto [key, value] : pairs_of(text.substr(text.find("tolerance") + 10))) {
    if (key == "atol") to.mutable_tolerance()->set_atol(parse_number<double>(value).value_or(0));
    if (key == "rtol") to.mutable_tolerance()->set_rtol(parse_number<double>(value).value_or(0));
    if (key == "ulps") to.mutable_tolerance()->set_ulps(parse_number<int64_t>(value).value_or(0));
  }
}

// XLA writes many parts that hold nothing; being there means nothing.
template <class Part>
bool has_nothing(bool is_there, const Part& part) {
  return !is_there || part.ByteSizeLong() == 0;
}

void clear_empty_parts(proto::HloInstructionProto& from) {
  if (has_nothing(from.has_frontend_attributes(), from.frontend_attributes()))
    from.clear_frontend_attributes();
  if (has_nothing(from.has_metadata(), from.metadata())) from.clear_metadata();
  if (has_nothing(from.has_statistics_viz(), from.statistics_viz())) from.clear_statistics_viz();
  if (has_nothing(from.has_parameter_replication(), from.parameter_replication()))
    from.clear_parameter_replication();
  if (has_nothing(from.has_result_accuracy(), from.result_accuracy())) from.clear_result_accuracy();
  if (has_nothing(from.has_original_value(), from.original_value())) from.clear_original_value();
  if (has_nothing(from.has_precision_config(), from.precision_config()))
    from.clear_precision_config();
}

// Has a part that take_parts() reads.
bool has_parts(const proto::HloInstructionProto& from) {
  return from.has_metadata() || from.has_sharding() || from.has_frontend_attributes() ||
         !from.backend_config().empty() || from.has_statistics_viz() ||
         from.has_result_accuracy() || from.has_parameter_replication() ||
         from.has_original_value() || !from.sharding_text().empty() || !from.origin_text().empty();
}

// A sharding that is read as text in a form without fields, or has such a part.
bool is_text(const Sharding& sharding) {
  return !sharding.unknown_text.empty() || std::ranges::any_of(sharding.tuple, is_text);
}

// What is no sharding stays in the message, and is kept as bytes.
void take_sharding_text(proto::HloInstructionProto& from, InstructionExtras& to) {
  TextCursor in(from.sharding_text());
  Sharding sharding;
  if (!text::Codec<Sharding>::read(in, sharding) || !in.at_end() || !is_text(sharding)) return;
  to.sharding = base::Box(std::move(sharding));
  from.clear_sharding_text();
}

void take_origin_text(proto::HloInstructionProto& from, InstructionExtras& to) {
  TextCursor in(from.origin_text());
  std::string origin;
  if (!text::read_group(in, origin) || !in.at_end()) return;
  to.origin = std::move(origin);
  from.clear_origin_text();
}

void take_texts(proto::HloInstructionProto& from, InstructionExtras& to) {
  if (from.has_metadata()) take_metadata(*from.mutable_metadata(), to.metadata);
  to.statistics = statistics_text(from.statistics_viz());
  to.result_accuracy = accuracy_text(from.result_accuracy());
  take_text(from, &proto::HloInstructionProto::backend_config,
            &proto::HloInstructionProto::mutable_backend_config, to.backend_config);
  from.clear_metadata();
  from.clear_statistics_viz();
  from.clear_result_accuracy();
}

Status take_parts(proto::HloInstructionProto& from, InstructionExtras& to) {
  if (from.has_sharding()) {
    HEDDLE_ASSIGN_OR_RETURN(Sharding sharding, take_sharding(*from.mutable_sharding()));
    to.sharding = base::Box(std::move(sharding));
    from.clear_sharding();
  }
  if (from.has_frontend_attributes()) {
    to.frontend_attributes = take_frontend_attributes(*from.mutable_frontend_attributes());
    from.clear_frontend_attributes();
  }
  const auto& replicated = from.parameter_replication().replicated_at_leaf_buffers();
  to.parameter_replication.assign(replicated.begin(), replicated.end());
  from.clear_parameter_replication();
  take_origin(from, to);
  if (!from.sharding_text().empty() && !to.sharding.has_value()) take_sharding_text(from, to);
  if (!from.origin_text().empty() && to.origin.empty()) take_origin_text(from, to);
  take_texts(from, to);
  return {};
}

}  // namespace

void write_frontend_attributes(const FrontendAttributes& attributes,
                               proto::FrontendAttributes& to) {
  for (const auto& [key, value] : attributes) {
    auto& entry = *to.add_map();
    entry.set_key(valid_utf8(key));
    entry.set_value(valid_utf8(value));
  }
}

FrontendAttributes take_frontend_attributes(proto::FrontendAttributes& from) {
  FrontendAttributes to;
  to.reserve(static_cast<size_t>(from.map_size()));
  // What is no UTF-8 is changed here and not only when it is written: the attributes of equal
  // modules are equal.
  for (auto& entry : *from.mutable_map()) {
    to.emplace_back(valid_utf8(std::move(*entry.mutable_key())),
                    valid_utf8(std::move(*entry.mutable_value())));
  }
  const auto key = &FrontendAttributes::value_type::first;
  // as most are
  if (std::ranges::adjacent_find(to, std::ranges::greater_equal(), key) == to.end()) return to;
  std::ranges::stable_sort(to, {}, key);
  // Of equal keys the last counts, as in any map of a proto.
  const auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  to.erase(to.begin(), std::unique(to.rbegin(), to.rend(), same_key).base());
  return to;
}

void write_extras(const Instruction& instruction, proto::HloInstructionProto& to) {
  const InstructionExtras& extras = *instruction.extras;
  static const Metadata kNone;
  if (!(extras.metadata == kNone)) write_metadata(extras.metadata, *to.mutable_metadata());
  if (extras.metadata.source_file.empty() && instruction.at.known()) {
    to.mutable_metadata()->set_source_file(valid_utf8(instruction.at.file));
    to.mutable_metadata()->set_source_line(static_cast<int32_t>(instruction.at.line));
  }
  if (!instruction.extras.has_value()) return;
  if (extras.sharding.has_value()) {
    if (is_text(*extras.sharding)) {
      text::Codec<Sharding>::write(*to.mutable_sharding_text(), *extras.sharding);
    } else {
      write_sharding(*extras.sharding, *to.mutable_sharding());
    }
  }
  if (!extras.frontend_attributes.empty()) {
    write_frontend_attributes(extras.frontend_attributes, *to.mutable_frontend_attributes());
  }
  to.set_backend_config(extras.backend_config);
  for (bool replicated : extras.parameter_replication) {
    to.mutable_parameter_replication()->add_replicated_at_leaf_buffers(replicated);
  }
  if (!extras.statistics.empty()) write_statistics(extras.statistics, *to.mutable_statistics_viz());
  if (!extras.origin.empty()) write_origin(extras.origin, to);
  if (!extras.result_accuracy.empty())
    write_accuracy(extras.result_accuracy, *to.mutable_result_accuracy());
}

Status take_extras(proto::HloInstructionProto& from, base::Box<InstructionExtras>& to) {
  clear_empty_parts(from);
  if (has_parts(from)) HEDDLE_RETURN_IF_ERROR(take_parts(from, to.mutate()));
  if (std::string rest = bytes_of(from); !rest.empty()) to.mutate().unknown_proto = std::move(rest);
  static const InstructionExtras kNone;
  if (to.has_value() && *to == kNone) to.reset();
  return {};
}

}  // namespace heddle::hlo::wire
