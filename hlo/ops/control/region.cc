#include "heddle/hlo/ops/control/region.h"

#include <algorithm>

namespace heddle::hlo {
namespace {

bool agree_but_for_precision(DType a, DType b) {
  return a == b || (is_floating(a) && is_floating(b)) || (is_complex(a) && is_complex(b));
}

std::vector<Shape> scalars(std::span<const DType> first, std::span<const DType> second) {
  std::vector<Shape> shapes;
  for (DType dtype : first) shapes.push_back(Shape::scalar(dtype));
  for (DType dtype : second) shapes.push_back(Shape::scalar(dtype));
  return shapes;
}

// The types that a reducer returns; null where they are no n scalars.
std::vector<const Shape*> returned(const Shape& result, size_t n) {
  std::vector<const Shape*> parts;
  if (!result.is_tuple()) {
    parts.push_back(&result);
  } else {
    for (const Shape& element : result.elements()) parts.push_back(&element);
  }
  bool scalar = std::ranges::all_of(parts, [](const Shape* part) { return part->is_scalar(); });
  if (!scalar || parts.size() != n) parts.clear();
  return parts;
}

}  // namespace

Status check_callee(const InferArgs& in, size_t which, std::string_view role) {
  if (which >= in.called().size()) return in.error("has no ", role);
  const Computation& callee = *in.called()[which];
  auto inside = [&](InstructionId id) { return id.value < callee.instructions.size(); };
  if (!inside(callee.root)) return in.error(role, " has no root");
  for (size_t i = 0; i < callee.parameter_count(); ++i) {
    if (!inside(callee.parameters[i])) return in.error(role, " has no parameter ", i);
  }
  return {};
}

Status check_takes(const InferArgs& in, size_t which, std::string_view role,
                   std::span<const Shape> parameters) {
  HEDDLE_RETURN_IF_ERROR(check_callee(in, which, role));
  const Computation& callee = *in.called()[which];
  if (callee.parameter_count() != parameters.size()) {
    return in.error(role, " takes ", callee.parameter_count(), " parameters; must take ",
                    parameters.size(), ": (", base::join(parameters, ", "), ")");
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (same_type(callee.parameter_shape(i), parameters[i])) continue;
    return in.error(role, " takes ", to_string(callee.parameter_shape(i)), " as parameter ", i,
                    "; must take ", to_string(parameters[i]));
  }
  return {};
}

Status check_returns(const InferArgs& in, size_t which, std::string_view role,
                     const Shape& result) {
  HEDDLE_RETURN_IF_ERROR(check_callee(in, which, role));
  const Shape& got = in.called()[which]->result_shape();
  if (same_type(got, result)) return {};
  return in.error(role, " returns ", to_string(got), "; must return ", to_string(result));
}

StatusOr<std::vector<DType>> check_reducer(const InferArgs& in, size_t which, std::string_view role,
                                           std::span<const DType> values,
                                           std::span<const DType> accumulators) {
  HEDDLE_RETURN_IF_ERROR(check_callee(in, which, role));
  const Computation& callee = *in.called()[which];
  const std::vector<Shape> want = scalars(accumulators, values);
  if (callee.parameter_count() != want.size()) return check_takes(in, which, role, want);
  for (size_t i = 0; i < want.size(); ++i) {
    const Shape& got = callee.parameter_shape(i);
    if (!got.is_scalar() || !agree_but_for_precision(got.dtype(), want[i].dtype())) {
      return check_takes(in, which, role, want);
    }
  }
  const std::vector<const Shape*> parts = returned(callee.result_shape(), values.size());
  std::vector<DType> result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!agree_but_for_precision(parts[i]->dtype(), accumulators[i])) break;
    result.push_back(parts[i]->dtype());
  }
  if (result.size() == values.size()) return result;
  std::vector<Shape> accumulated = scalars(accumulators, {});
  return in.error(role, " returns ", to_string(callee.result_shape()), "; must return ",
                  accumulated.size() == 1 ? accumulated[0] : Shape::tuple(std::move(accumulated)));
}

Status check_dimensions(const InferArgs& in, std::span<const int64_t> dimensions,
                        const Shape& shape, std::string_view operand) {
  uint64_t seen = 0;
  for (int64_t d : dimensions) {
    if (!shape.has_dimension(d))
      return in.error(operand, "dimensions has ", d, "; must be in [0, ", shape.rank(), ") as of ",
                      to_string(shape));
    if ((seen >> d) & 1)
      return in.error(operand, "dimensions has ", d, " twice; each dimension may stand once");
    seen |= uint64_t{1} << d;
  }
  return {};
}

}  // namespace heddle::hlo
