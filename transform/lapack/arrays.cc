#include "heddle/transform/lapack/internal/arrays.h"

#include <algorithm>

namespace heddle::transform::lapack {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

Emitter& emit(const Array& x) { return x.scope().emit(); }

Array make(const Array& like, Opcode opcode, Shape shape, std::vector<InstructionId> operands,
           hlo::Attrs attrs = {}, std::vector<ComputationId> called = {}) {
  return like.scope().wrap(emit(like).op(opcode, std::move(shape), std::move(operands),
                                         std::move(attrs), std::move(called)));
}

Array unary(Opcode opcode, const Array& x) { return make(x, opcode, x.shape(), {x.id()}); }

// Of two arrays to be combined element by element.
std::vector<int64_t> common_sizes(const Array& a, const Array& b) {
  if (a.shape().rank() == 0) return b.shape().dimensions();
  std::vector<int64_t> sizes = a.shape().dimensions();
  if (b.shape().rank() == 0) return sizes;
  for (int64_t d = 0; d < a.shape().rank(); ++d) {
    if (sizes[static_cast<size_t>(d)] == 1) sizes[static_cast<size_t>(d)] = b.size(d);
  }
  return sizes;
}

DType common_type(const Array& a, const Array& b) {
  return is_complex(b.dtype()) ? b.dtype() : a.dtype();
}

std::pair<Array, Array> alike(const Array& a, const Array& b) {
  const std::vector<int64_t> sizes = common_sizes(a, b);
  const DType dtype = common_type(a, b);
  return {stretched(convert(a, dtype), sizes), stretched(convert(b, dtype), sizes)};
}

Array complex(const Array& re, const Array& im, DType dtype) {
  return make(re, Opcode::kComplex, re.shape().with_dtype(dtype), {re.id(), im.id()});
}

Array binary(Opcode opcode, const Array& a, const Array& b) {
  const auto [x, y] = alike(a, b);
  return make(x, opcode, x.shape(), {x.id(), y.id()});
}

Array compare(hlo::ComparisonDirection direction, const Array& a, const Array& b) {
  const auto [x, y] = alike(a, b);
  return make(x, Opcode::kCompare, x.shape().with_dtype(pred), {x.id(), y.id()},
              hlo::CompareAttrs{.direction = direction});
}

// Keeps the dimensions.
Array reduce(const Array& x, Opcode opcode, double start, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> left, kept = x.shape().dimensions();
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (std::ranges::count(dimensions, d) == 0) left.push_back(x.size(d));
  }
  for (int64_t d : dimensions) kept[static_cast<size_t>(d)] = 1;
  const ComputationId combiner = x.scope().writer().combiner(opcode, x.dtype());
  const Array reduced =
      make(x, Opcode::kReduce, Shape(x.dtype(), left), {x.id(), x.number(start).id()},
           hlo::DimensionsAttrs{.dimensions = dimensions}, {combiner});
  return reshape(reduced, kept);
}

// Multiplies or divides each part of z by a real number: nothing is squared on the way.
Array by_parts(Opcode opcode, const Array& z, const Array& x) {
  return complex(binary(opcode, real(z), x), binary(opcode, imag(z), x), z.dtype());
}

// The integer type of a real type's width.
DType bits_of(DType dtype) { return dtype == f32 ? u32 : u64; }

Arrays elements(Scope& scope, InstructionId tuple) {
  Arrays out;
  for (InstructionId id : scope.emit().elements(tuple)) out.emplace_back(scope, id);
  return out;
}

Shape tuple_shape(const Arrays& state) {
  std::vector<Shape> shapes;
  for (const Array& each : state) shapes.push_back(each.shape());
  return Shape::tuple(std::move(shapes));
}

}  // namespace

ComputationId Writer::combiner(Opcode opcode, DType dtype) {
  const auto known = combiners_.find({opcode, dtype});
  if (known != combiners_.end()) return known->second;
  Scope scope(*this);
  const Array a = scope.parameter(Shape::scalar(dtype)), b = scope.parameter(Shape::scalar(dtype));
  const ComputationId id = std::move(scope).finish_with(binary(opcode, a, b));
  combiners_.emplace(std::pair(opcode, dtype), id);
  return id;
}

ComputationId Writer::comparator(hlo::ComparisonDirection direction,
                                 const std::vector<DType>& all) {
  Scope scope(*this);
  Arrays operands;
  for (DType dtype : all) {
    operands.push_back(scope.parameter(Shape::scalar(dtype)));
    operands.push_back(scope.parameter(Shape::scalar(dtype)));
  }
  return std::move(scope).finish_with(compare(direction, operands[0], operands[1]));
}

hlo::Module Writer::finish(ComputationId entry) && {
  module_.entry = entry;
  return std::move(module_);
}

Array Scope::wrap(InstructionId id) { return {*this, id}; }
Array Scope::parameter(const Shape& shape) { return wrap(builder_.parameter(shape)); }

Array Scope::number(DType dtype, double value) {
  return wrap(builder_.constant(Literal::scalar(dtype, value)));
}

Array Scope::integers(const std::vector<int64_t>& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  const Shape shape(s32, {static_cast<int64_t>(values.size())});
  return wrap(builder_.constant(Literal::from<int32_t>(shape, std::span<const int32_t>(narrow))));
}

Array Scope::iota(const std::vector<int64_t>& sizes, int64_t along) {
  return wrap(
      emit_.op(Opcode::kIota, Shape(s32, sizes), {}, hlo::IotaAttrs{.iota_dimension = along}));
}

Array Scope::zeros(const Shape& shape) { return wrap(emit_.zeros(shape)); }

ComputationId Scope::finish(const Arrays& results) && {
  std::vector<InstructionId> ids;
  for (const Array& each : results) ids.push_back(each.id());
  return writer_.add(std::move(builder_).finish(emit_.tuple(std::move(ids))));
}
ComputationId Scope::finish_with(const Array& result) && {
  return writer_.add(std::move(builder_).finish(result.id()));
}

Array operator+(const Array& a, const Array& b) { return binary(Opcode::kAdd, a, b); }
Array operator-(const Array& a, const Array& b) { return binary(Opcode::kSubtract, a, b); }
Array operator*(const Array& a, const Array& b) {
  if (is_complex(a.dtype()) && !is_complex(b.dtype())) return by_parts(Opcode::kMultiply, a, b);
  if (is_complex(b.dtype()) && !is_complex(a.dtype())) return by_parts(Opcode::kMultiply, b, a);
  return binary(Opcode::kMultiply, a, b);
}
Array operator/(const Array& a, const Array& b) {
  if (is_complex(a.dtype()) && !is_complex(b.dtype())) return by_parts(Opcode::kDivide, a, b);
  return binary(Opcode::kDivide, a, b);
}
Array operator-(const Array& a) { return unary(Opcode::kNegate, a); }
Array operator&(const Array& a, const Array& b) { return binary(Opcode::kAnd, a, b); }
Array operator|(const Array& a, const Array& b) { return binary(Opcode::kOr, a, b); }
Array operator!(const Array& a) { return unary(Opcode::kNot, a); }
Array operator<(const Array& a, const Array& b) {
  return compare(hlo::ComparisonDirection::kLt, a, b);
}
Array operator<=(const Array& a, const Array& b) {
  return compare(hlo::ComparisonDirection::kLe, a, b);
}
Array operator>(const Array& a, const Array& b) {
  return compare(hlo::ComparisonDirection::kGt, a, b);
}
Array operator>=(const Array& a, const Array& b) {
  return compare(hlo::ComparisonDirection::kGe, a, b);
}
Array operator==(const Array& a, const Array& b) {
  return compare(hlo::ComparisonDirection::kEq, a, b);
}
Array maximum(const Array& a, const Array& b) { return binary(Opcode::kMaximum, a, b); }
Array minimum(const Array& a, const Array& b) { return binary(Opcode::kMinimum, a, b); }

Array abs(const Array& x) {
  return make(x, Opcode::kAbs, x.shape().with_dtype(real_part(x.dtype())), {x.id()});
}
Array sqrt(const Array& x) { return unary(Opcode::kSqrt, x); }

Array real(const Array& x) {
  if (!is_complex(x.dtype())) return x;
  return make(x, Opcode::kReal, x.shape().with_dtype(real_part(x.dtype())), {x.id()});
}
Array imag(const Array& x) {
  if (!is_complex(x.dtype())) return x.scope().zeros(x.shape());
  return make(x, Opcode::kImag, x.shape().with_dtype(real_part(x.dtype())), {x.id()});
}
Array conjugate(const Array& x) {
  if (!is_complex(x.dtype())) return x;
  return complex(real(x), -imag(x), x.dtype());
}
Array is_finite(const Array& x) {
  if (is_complex(x.dtype())) return is_finite(real(x)) & is_finite(imag(x));
  return make(x, Opcode::kIsFinite, x.shape().with_dtype(pred), {x.id()});
}
Array squared_size(const Array& x) {
  if (!is_complex(x.dtype())) return x * x;
  return squared_size(real(x)) + squared_size(imag(x));
}

Array convert(const Array& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return make(x, Opcode::kConvert, x.shape().with_dtype(dtype), {x.id()});
}

// The exponent's bits alone.
Array power_of_two(const Array& x) {
  const DType bits = bits_of(x.dtype());
  const bool is_single = x.dtype() == f32;
  const auto constant = [&](uint64_t value) {
    const Literal literal =
        is_single ? Literal::from<uint32_t>(Shape::scalar(u32), {static_cast<uint32_t>(value)})
                  : Literal::from<uint64_t>(Shape::scalar(u64), {value});
    return x.scope().wrap(emit(x).builder().constant(literal));
  };
  const int shift = is_single ? 23 : 52;
  const Array word = make(x, Opcode::kBitcastConvert, x.shape().with_dtype(bits), {x.id()});
  const Array exponent = word & constant((is_single ? uint64_t{0xFF} : uint64_t{0x7FF}) << shift);
  const Array normal = maximum(exponent, constant(uint64_t{1} << shift));
  return make(x, Opcode::kBitcastConvert, x.shape(), {normal.id()});
}

Array select(const Array& p, const Array& x, const Array& y) {
  const auto [a, b] = alike(x, y);
  const std::vector<int64_t> sizes = common_sizes(p, a);
  const Array left = stretched(a, sizes), right = stretched(b, sizes);
  return make(left, Opcode::kSelect, left.shape(),
              {stretched(p, sizes).id(), left.id(), right.id()});
}

Array sum(const Array& x, const std::vector<int64_t>& dimensions) {
  return reduce(x, Opcode::kAdd, 0, dimensions);
}
Array greatest(const Array& x, const std::vector<int64_t>& dimensions) {
  return reduce(x, Opcode::kMaximum, 0, dimensions);
}
Array any(const Array& x, const std::vector<int64_t>& dimensions) {
  return reduce(x, Opcode::kOr, 0, dimensions);
}
Array all(const Array& x, const std::vector<int64_t>& dimensions) {
  return reduce(x, Opcode::kAnd, 1, dimensions);
}

Array stretched(const Array& x, const std::vector<int64_t>& sizes) {
  if (x.shape().dimensions() == sizes) return x;
  hlo::DimensionsAttrs attrs;
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    if (x.size(d) == 1 && sizes[static_cast<size_t>(d)] != 1) continue;
    attrs.dimensions.push_back(d);
    kept.push_back(x.size(d));
  }
  const Array narrow = reshape(x, kept);
  return make(x, Opcode::kBroadcast, Shape(x.dtype(), sizes), {narrow.id()}, std::move(attrs));
}

Array reshape(const Array& x, const std::vector<int64_t>& sizes) {
  if (x.shape().dimensions() == sizes) return x;
  return make(x, Opcode::kReshape, Shape(x.dtype(), sizes), {x.id()}, hlo::ReshapeAttrs());
}

Array slice(const Array& x, int64_t dimension, int64_t start, int64_t size) {
  return x.scope().wrap(emit(x).slice(x.id(), dimension, start, size));
}

Array concatenate(const Arrays& parts, int64_t dimension) {
  std::vector<InstructionId> ids;
  for (const Array& part : parts) {
    if (part.size(dimension) > 0) ids.push_back(part.id());
  }
  if (ids.empty()) return parts[0];
  return parts[0].scope().wrap(emit(parts[0]).concatenate(std::move(ids), dimension));
}

Array pad_end(const Array& x, int64_t dimension, int64_t count) {
  if (count == 0) return x;
  std::vector<int64_t> sizes = x.shape().dimensions();
  sizes[static_cast<size_t>(dimension)] = count;
  return concatenate({x, x.scope().zeros(Shape(x.dtype(), sizes))}, dimension);
}

Array pick(const Array& x, int64_t dimension, const Array& at) {
  return x.scope().wrap(emit(x).dynamic_slice(x.id(), dimension, at.id(), 1));
}
Array put(const Array& x, const Array& part, int64_t dimension, const Array& at) {
  return x.scope().wrap(emit(x).update(x.id(), part.id(), dimension, at.id()));
}

Array on_diagonal(Scope& scope, int64_t m, int64_t n) {
  return scope.iota({1, m, n}, 1) == scope.iota({1, m, n}, 2);
}

Array transpose(const Array& x) {
  return make(x, Opcode::kTranspose, Shape(x.dtype(), {x.size(0), x.size(2), x.size(1)}), {x.id()},
              hlo::DimensionsAttrs{.dimensions = {0, 2, 1}});
}
Array adjoint(const Array& x) { return conjugate(transpose(x)); }

Array matmul(const Array& a, const Array& b) {
  hlo::DotAttrs attrs{.lhs_batch_dims = {0},
                      .lhs_contracting_dims = {2},
                      .rhs_batch_dims = {0},
                      .rhs_contracting_dims = {1},
                      .operand_precision = {hlo::Precision::kHighest, hlo::Precision::kHighest}};
  return make(a, Opcode::kDot, Shape(a.dtype(), {a.size(0), a.size(1), b.size(2)}),
              {a.id(), b.id()}, std::move(attrs));
}

Arrays sort(const Arrays& xs, int64_t dimension, hlo::ComparisonDirection direction) {
  Scope& scope = xs[0].scope();
  std::vector<InstructionId> ids;
  std::vector<DType> types;
  for (const Array& x : xs) {
    ids.push_back(x.id());
    types.push_back(x.dtype());
  }
  const ComputationId comparator = scope.writer().comparator(direction, types);
  const hlo::SortAttrs attrs{.dimensions = {dimension}, .is_stable = true};
  const Shape shape = xs.size() == 1 ? xs[0].shape() : tuple_shape(xs);
  const InstructionId sorted =
      scope.emit().op(Opcode::kSort, shape, std::move(ids), attrs, {comparator});
  if (xs.size() == 1) return {scope.wrap(sorted)};
  return elements(scope, sorted);
}

Arrays loop(const Arrays& state, base::FunctionRef<Array(Scope&, const Arrays&)> condition,
            base::FunctionRef<Arrays(Scope&, const Arrays&)> step) {
  Scope& outside = state[0].scope();
  const Shape shape = tuple_shape(state);
  Scope test(outside.writer());
  const Array is_more = condition(test, elements(test, test.parameter(shape).id()));
  const ComputationId condition_id = std::move(test).finish_with(is_more);
  Scope body(outside.writer());
  const Arrays next = step(body, elements(body, body.parameter(shape).id()));
  const ComputationId body_id = std::move(body).finish(next);
  std::vector<InstructionId> ids;
  for (const Array& each : state) ids.push_back(each.id());
  const InstructionId start = outside.emit().tuple(std::move(ids));
  const InstructionId last =
      outside.emit().op(Opcode::kWhile, shape, {start}, {}, {body_id, condition_id});
  return elements(outside, last);
}

Arrays repeat(int64_t count, const Arrays& state,
              base::FunctionRef<Arrays(Scope&, const Array& i, const Arrays&)> step) {
  Arrays all = {state[0].scope().number(s32, 0)};
  all.insert(all.end(), state.begin(), state.end());
  Arrays last = loop(
      all, [&](Scope&, const Arrays& now) { return now[0] < static_cast<double>(count); },
      [&](Scope& scope, const Arrays& now) {
        Arrays next = step(scope, now[0], {now.begin() + 1, now.end()});
        next.insert(next.begin(), now[0] + 1.0);
        return next;
      });
  last.erase(last.begin());
  return last;
}

}  // namespace heddle::transform::lapack
