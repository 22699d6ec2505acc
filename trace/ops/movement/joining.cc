// Arrays that become one, and one that becomes several.
#include <algorithm>
#include <optional>
#include <set>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::axis_of;
using trace_internal::emit;
using trace_internal::one_program;
using trace_internal::PublicCall;

constexpr size_t kManyParts = 32;  // that one by one are faster than a program that is compiled
constexpr size_t kMostSizes = 4;   // of such parts: each size has a program

bool is_eager() { return trace_internal::Recorder::current() == nullptr; }

// What concat gives; none where the parts do not fit, which the shape rule says.
std::optional<Shape> shape_of_concat(const std::vector<Tensor>& parts, int64_t axis) {
  Dimensions sizes = parts[0].shape().dimensions();
  const auto place = static_cast<size_t>(axis);
  for (size_t i = 1; i < parts.size(); ++i) {
    Dimensions own = parts[i].shape().dimensions();
    if (own.size() != sizes.size()) return std::nullopt;
    const int64_t total = sizes[place] + own[place];
    own[place] = sizes[place];
    if (own != sizes) return std::nullopt;
    sizes[place] = total;
  }
  return Shape(parts[0].dtype(), std::move(sizes));
}

// What stack gives; none where the parts do not fit.
std::optional<Shape> shape_of_stack(const std::vector<Tensor>& parts, int64_t axis) {
  const Shape& first = trace_internal::node_of(parts[0]).shape;
  const auto fits = [&](const Tensor& part) {
    return same_type(trace_internal::node_of(part).shape, first);
  };
  if (axis < 0 || axis > first.rank() || !std::ranges::all_of(parts, fits)) return std::nullopt;
  Dimensions sizes = first.dimensions();
  sizes.insert(sizes.begin() + axis, static_cast<int64_t>(parts.size()));
  return Shape(first.dtype(), std::move(sizes));
}

// Without a program, which would be another one for each number of parts; no value where a program
// has to do it.
Tensor joined_at_once(const std::vector<Tensor>& parts, int64_t axis,
                      const std::optional<Shape>& shape) {
  return shape ? trace_internal::eager_join(parts, axis, *shape) : Tensor();
}

// errors: Error also where there is no part
void require_one_dtype(const std::vector<Tensor>& parts) {
  if (parts.empty()) trace_internal::refuse("has no parts; give at least one");
  const Shape& first = trace_internal::node_of(parts[0]).shape;
  for (const Tensor& part : parts) {
    const Shape& shape = trace_internal::node_of(part).shape;
    if (shape.dtype() == first.dtype()) continue;
    trace_internal::refuse("parts are ", first, " and ", shape, "; their dtypes must be equal, ",
                           cast_advice(parts[0], part));
  }
}

// Numbers as tensors of the dtype of the first tensor among them.
std::vector<Tensor> tensors_of(std::initializer_list<Operand> parts) {
  const auto* first = std::ranges::find_if(parts, &Operand::is_tensor);
  if (first == parts.end() && parts.size() > 0)
    trace_internal::refuse("has numbers alone; write array({1.0f, 2.0f})");
  std::vector<Tensor> tensors;
  for (const Operand& part : parts)
    tensors.push_back(part.is_tensor() ? part.tensor()
                                       : constant_like(part, first->tensor().dtype()));
  return tensors;
}

}  // namespace

Tensor concat(std::initializer_list<Operand> parts, base::Int axis, SourceLocation at) {
  const PublicCall call("concat", at);
  return concat(tensors_of(parts), axis, at);
}

Tensor stack(std::initializer_list<Operand> parts, base::Int axis, SourceLocation at) {
  const PublicCall call("stack", at);
  return stack(tensors_of(parts), axis, at);
}

Tensor concat(const std::vector<Tensor>& parts, base::Int axis, SourceLocation at) {
  const PublicCall call("concat", at);
  require_one_dtype(parts);
  const Shape& first = trace_internal::node_of(parts[0]).shape;
  int64_t index = axis_of(first, axis);
  if (parts.size() == 1) return parts[0];
  if (is_eager()) {
    Tensor made = joined_at_once(parts, index, shape_of_concat(parts, index));
    if (made.is_valid()) return made;
  }
  return emit({.opcode = Opcode::kConcatenate,
               .operands = parts,
               .attrs = hlo::DimensionsAttrs{.dimensions = {index}}});
}

Tensor stack(const std::vector<Tensor>& parts, base::Int axis, SourceLocation at) {
  const PublicCall call("stack", at);
  require_one_dtype(parts);
  int64_t rank = trace_internal::node_of(parts[0]).shape.rank();
  if (is_eager()) {
    const int64_t index = axis < 0 ? axis + rank + 1 : int64_t{axis};
    Tensor made = joined_at_once(parts, index, shape_of_stack(parts, index));
    if (made.is_valid()) return made;
  }
  return one_program("stack", [&] {
    std::vector<Tensor> rows;
    for (const Tensor& part : parts) {
      if (!same_dimensions(trace_internal::node_of(part).shape, parts[0].shape())) {
        trace_internal::refuse("parts are ", parts[0].shape(), " and ", part.shape(),
                               "; all must have one shape");
      }
      rows.push_back(expand_dims(part, axis));
    }
    return concat(rows, axis < 0 ? axis + rank + 1 : int64_t{axis});
  });
}

void trace_internal::split_to(Operand operand, base::Int axis, Tensor* out, int64_t count) {
  std::ranges::move(split(operand, count, axis), out);
}

std::vector<Tensor> split(Operand operand, base::Int count, base::Int axis) {
  const PublicCall call("split", operand.at());
  Tensor x = as_tensor(operand);
  int64_t size = x.dim(axis_of(x.shape(), axis));
  if (count < 1) trace_internal::refuse("the number of parts is ", count, "; it must be 1 or more");
  if (size % count != 0) {
    trace_internal::refuse("axis ", axis, " of ", x.shape(), " has size ", size,
                           "; it does not divide into ", count, " equal parts, use split_at");
  }
  std::vector<int64_t> positions;
  for (int64_t i = 1; i < count; ++i) positions.push_back(i * (size / count));
  const auto cut = [&] { return split_at(x, positions, axis); };
  if (is_eager() && positions.size() + 1 >= kManyParts) return cut();
  return trace_internal::in_program("split", cut);
}

std::vector<Tensor> split_at(Operand operand, const base::Ints& positions, base::Int axis) {
  const PublicCall call("split_at", operand.at());
  Tensor x = as_tensor(operand);
  int64_t size = x.dim(axis_of(x.shape(), axis));
  // One by one the starts are operands: parts of one size share a program.
  std::set<int64_t> sizes;
  for (size_t i = 1; i < positions.size(); ++i) sizes.insert(positions[i] - positions[i - 1]);
  const bool is_apart =
      is_eager() && positions.size() + 1 >= kManyParts && sizes.size() <= kMostSizes;
  const auto cut = [&] {
    std::vector<Tensor> parts;
    int64_t from = 0;
    for (size_t i = 0; i <= positions.size(); ++i) {
      int64_t to = i < positions.size() ? positions[i] : size;
      to = std::clamp<int64_t>(to < 0 ? to + size : to, 0, size);  // numpy's x[from:to]
      const int64_t count = std::max(to - from, int64_t{0});
      parts.push_back(is_apart ? dynamic_slice_in_dim(x, from, count, axis)
                               : slice_in_dim(x, from, from + count, 1, axis));
      from = to;
    }
    return parts;
  };
  return is_apart ? cut() : trace_internal::in_program("split_at", cut);
}

}  // namespace heddle
