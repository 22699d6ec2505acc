// HloModule name, is_scheduled=true, input_output_alias={..}, entry_computation_layout={(..)->..},
// .. and the blocks of stack frames.
#include "heddle/hlo/text/internal/frames.h"
#include "heddle/hlo/text/internal/parser.h"
#include "heddle/hlo/text/internal/shapes.h"

namespace heddle::hlo::text {

bool Parser::read_header() {
  std::string_view name;
  if (in_.peek_word() == "ENTRY") return in_.fail_expected("the module's name");  // it was left out
  if (!read_name(name)) return false;
  module_.name = name;
  std::vector<std::string_view> seen;
  while (in_.accept(',')) {
    size_t at = in_.position();
    std::string_view attribute = in_.word();
    if (attribute.empty()) return in_.fail_expected("name=");
    if (is_one_of(attribute, seen)) {
      return in_.fail_at(at, base::invalid_argument(attribute, " stands in the header twice"));
    }
    seen.push_back(attribute);
    if (!in_.expect('=')) return false;
    if (attribute == "entry_computation_layout") layout_at_ = at;
    if (!read_header_attribute(attribute)) {
      return in_.fail_at(at, base::invalid_argument("a module has no attribute ", attribute));
    }
  }
  return !in_.failed() && read_frames();
}

// False with no error where the name is not known.
bool Parser::read_header_attribute(std::string_view name) {
  if (name == "is_scheduled") return in_.read_bool(header_.is_scheduled);
  if (name == "is_dynamic") return in_.read_bool(header_.is_dynamic);
  if (name == "alias_passthrough_params") return in_.read_bool(header_.alias_passthrough_params);
  if (name == "entry_computation_layout") return read_entry_layout();
  if (name == "replica_count") return in_.read_int(header_.replica_count);
  if (name == "num_partitions") return in_.read_int(header_.num_partitions);
  if (name == "frontend_attributes")
    return Codec<FrontendAttributes>::read(in_, header_.frontend_attributes);
  if (name == "origin_recovery_table") return read_group(in_, header_.origin_recovery_table);
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return Codec<std::vector<bool>>::read(in_, header_.propagate_sharding_to_parameters);
  }
  if (name == "allow_spmd_sharding_propagation_to_output") {
    return Codec<std::vector<bool>>::read(in_, header_.propagate_sharding_to_output);
  }
  if (name == "input_output_alias") {
    return in_.expect('{') && read_items(in_, '}', [&] {
             return read_alias(header_.input_output_alias.emplace_back());
           });
  }
  if (name == "buffer_donor") {
    return in_.expect('{') &&
           read_items(in_, '}', [&] { return read_donor(header_.buffer_donors.emplace_back()); });
  }
  return false;
}

bool Parser::read_alias(InputOutputAlias& alias) {
  if (!Codec<Dims>::read(in_, alias.output_index) || !in_.expect(':') || !in_.expect('('))
    return false;
  if (!in_.read_int(alias.parameter) || !in_.expect(',') ||
      !Codec<Dims>::read(in_, alias.parameter_index))
    return false;
  if (in_.accept(',')) {
    bool must = in_.accept_word("must-alias");
    if (!must && !in_.accept_word("may-alias")) return in_.fail_expected("may-alias or must-alias");
    alias.kind = must ? InputOutputAlias::Kind::kMust : InputOutputAlias::Kind::kMay;
  }
  return in_.expect(')');
}

bool Parser::read_donor(BufferDonor& donor) {
  return in_.expect('(') && in_.read_int(donor.parameter) && in_.expect(',') &&
         Codec<Dims>::read(in_, donor.parameter_index) && in_.expect(')');
}

bool Parser::read_entry_layout() {
  if (!in_.expect('{') || !in_.expect('(')) return false;
  auto read_parameter = [&] {
    return read_shape(in_, header_.entry_parameter_layouts.emplace_back());
  };
  return read_items(in_, ')', read_parameter) && in_.expect("->") &&
         read_shape(in_, header_.entry_result_layout) && in_.expect('}');
}

// Checked, and kept as they stand.
bool Parser::read_frames() {
  Frames checked;
  size_t start = in_.position();
  size_t end = start;
  if (!text::read_frames(in_, checked, end)) return false;
  header_.frames = in_.between(start, end);
  return true;
}

}  // namespace heddle::hlo::text
