// scan(inputs.., carries..), dimensions={d}, num_carries=n, to_apply=f: walks the inputs along
// dimension d, from the last index down when is_reverse. f maps (slices.., carries..) to
// (outputs.., carries..); a slice has no dimension d. The result is the tuple of the outputs,
// stacked along d at the index that they were read from, and the last carries. A single result may
// stand bare.
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/ops/control/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kScanOperands[] = {"operand"};

Status check_attributes(const InferArgs& in) {
  const auto& attrs = in.attrs<ScanAttrs>();
  if (attrs.dimensions.size() != 1) {
    return in.error("has dimensions {", base::join(attrs.dimensions, ","), "}; takes exactly one");
  }
  if (attrs.num_carries < 0 || attrs.num_carries > static_cast<int64_t>(in.size())) {
    return in.error("num_carries is ", attrs.num_carries, "; must be 0 .. ", in.size(),
                    ", the number of operands");
  }
  return {};
}

struct Sizes {
  size_t inputs;
  size_t carries;
  int64_t dimension;
  int64_t length = -1;  // -1: no input says
};

StatusOr<Sizes> read_inputs(const InferArgs& in) {
  const auto& attrs = in.attrs<ScanAttrs>();
  const auto carries = static_cast<size_t>(attrs.num_carries);
  Sizes sizes{in.size() - carries, carries, attrs.dimensions[0]};
  for (size_t i = 0; i < sizes.inputs; ++i) {
    if (!in[i].is_array() || !in[i].has_dimension(sizes.dimension)) {
      return in.error("input ", i, " is ", to_string(in[i]), "; must be an array with dimension ",
                      sizes.dimension, ", which is scanned");
    }
    const int64_t length = in[i].dimension(sizes.dimension);
    if (in[i].is_dynamic_dimension(sizes.dimension)) {
      return in.error("input ", i, " is ", to_string(in[i]), "; its dimension ", sizes.dimension,
                      " is scanned and must have a fixed size");
    }
    if (i > 0 && length != sizes.length) {
      return in.error("input ", i, " is ", to_string(in[i]), "; dimension ", sizes.dimension,
                      " must be ", sizes.length, " as in input 0");
    }
    sizes.length = length;
  }
  return sizes;
}

Status check_parameters(const InferArgs& in, const Sizes& sizes) {
  std::vector<Shape> parameters;
  for (size_t i = 0; i < in.size(); ++i) {
    parameters.push_back(i < sizes.inputs ? without_dimensions(in[i], {&sizes.dimension, 1})
                                          : in[i]);
  }
  return check_takes(in, 0, "body", parameters);
}

std::span<const Shape> values_of(const Shape& shape) {
  if (shape.is_tuple()) return shape.elements();
  return {&shape, 1};
}

Status check_carries(const InferArgs& in, const Sizes& sizes, std::span<const Shape> returned) {
  const size_t outputs = returned.size() - sizes.carries;
  for (size_t i = 0; i < sizes.carries; ++i) {
    const Shape& enters = in[sizes.inputs + i];
    if (same_type(enters, returned[outputs + i])) continue;
    return in.error("carry ", i, " enters the body as ", to_string(enters), " and leaves it as ",
                    to_string(returned[outputs + i]), "; must leave it as it enters");
  }
  return {};
}

// Without inputs, the declared type of the first output says how long the scan is.
StatusOr<int64_t> declared_length(const InferArgs& in, const Sizes& sizes, size_t outputs) {
  if (in.declared() == nullptr || outputs == 0) {
    return in.error(
        "has no inputs, so its length is not known; give it one, or declare its outputs");
  }
  const std::span<const Shape> declared = values_of(*in.declared());
  if (declared.empty() || !declared[0].is_array() || !declared[0].has_dimension(sizes.dimension)) {
    return in.error("result is declared as ", to_string(*in.declared()),
                    "; output 0 must have dimension ", sizes.dimension,
                    ", whose size is the length, as there is no input");
  }
  return declared[0].dimension(sizes.dimension);
}

StatusOr<Shape> infer_scan(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_attributes(in));
  HEDDLE_ASSIGN_OR_RETURN(Sizes sizes, read_inputs(in));
  HEDDLE_RETURN_IF_ERROR(check_parameters(in, sizes));
  const Shape& root = in.called()[0]->result_shape();
  const std::span<const Shape> returned = values_of(root);
  if (returned.size() < sizes.carries) {
    return in.error("body returns ", to_string(root), "; must return ", sizes.carries,
                    " carries at the end");
  }
  HEDDLE_RETURN_IF_ERROR(check_carries(in, sizes, returned));
  const size_t outputs = returned.size() - sizes.carries;
  if (sizes.inputs == 0) {
    HEDDLE_ASSIGN_OR_RETURN(sizes.length, declared_length(in, sizes, outputs));
  }
  std::vector<Shape> result(returned.begin(), returned.end());
  for (size_t i = 0; i < outputs; ++i) {
    if (!result[i].is_array() || sizes.dimension < 0 || sizes.dimension > result[i].rank() ||
        result[i].rank() == Shape::kMaxRank) {
      return in.error("output ", i, " is ", to_string(result[i]),
                      " in the body; must be an array that can be stacked along dimension ",
                      sizes.dimension);
    }
    result[i] = with_dimension_inserted(result[i], sizes.dimension, sizes.length);
  }
  const bool bare = in.declared() != nullptr ? !in.declared()->is_tuple() : !root.is_tuple();
  if (bare && result.size() == 1) return result[0];
  return Shape::tuple(std::move(result));
}

}  // namespace

const OpDef kScanDef = {
    Opcode::kScan, kScanOperands, {Work::kStays, Rows::kByRule, kPlain}, infer_scan};

}  // namespace heddle::hlo
