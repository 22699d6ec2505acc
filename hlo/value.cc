#include "heddle/hlo/value.h"

#include <algorithm>
#include <array>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

using Direction = ComparisonDirection;

// Two values as they are combined element by element.
std::pair<Value, Value> stretched(const Value& a, const Value& b) {
  if (a.rank() == 0) return {spread(a, b.shape()), b};
  if (b.rank() == 0) return {a, spread(b, a.shape())};
  const Dims of_b = b.sizes();
  Dims sizes = a.sizes();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) sizes[d] = of_b[d];
  }
  return {stretched(a, sizes), stretched(b, sizes)};
}

DType common_type(const Value& a, const Value& b) {
  return is_complex(b.dtype()) ? b.dtype() : a.dtype();
}

std::pair<Value, Value> alike(const Value& a, const Value& b) {
  if (same_type(a.shape(), b.shape())) return {a, b};
  const DType dtype = common_type(a, b);
  return stretched(convert(a, dtype), convert(b, dtype));
}

// Multiplies or divides each part of z by a real value: nothing is squared on the way.
Value by_parts(Opcode opcode, const Value& z, const Value& x) {
  return complex(binary(opcode, real(z), x), binary(opcode, imag(z), x));
}

Values starts_along(const Value& x, int64_t dimension, const Value& at) {
  if (x.rank() == 1) return {at};
  Values starts(static_cast<size_t>(x.rank()), at.number(0));
  starts[static_cast<size_t>(dimension)] = at;
  return starts;
}

Dims resized(Dims sizes, int64_t dimension, int64_t size) {
  sizes[static_cast<size_t>(dimension)] = size;
  return sizes;
}

Shape plain(Shape shape) {
  shape.clear_layout();
  return shape;
}

}  // namespace

ComputationId Writer::combiner(Opcode opcode, DType dtype) {
  const auto known = combiners_.find({opcode, dtype});
  if (known != combiners_.end()) return known->second;
  Graph graph(*this);
  const Value a = graph.parameter(Shape::scalar(dtype)), b = graph.parameter(Shape::scalar(dtype));
  const ComputationId id =
      std::move(graph).finish_with(opcode == Opcode::kParameter ? b : binary(opcode, a, b));
  combiners_.emplace(std::pair(opcode, dtype), id);
  return id;
}

ComputationId Writer::comparator(Direction direction, const std::vector<DType>& all) {
  Graph graph(*this);
  Values operands;
  for (DType dtype : all) {
    operands.push_back(graph.parameter(Shape::scalar(dtype)));
    operands.push_back(graph.parameter(Shape::scalar(dtype)));
  }
  return std::move(graph).finish_with(compare(direction, operands[0], operands[1]));
}

Module Writer::finish(ComputationId entry) && {
  module_.entry = entry;
  return std::move(module_);
}

Shape Value::shape() const { return graph_->at(id_).shape; }
DType Value::dtype() const { return graph_->at(id_).shape.dtype(); }
int64_t Value::rank() const { return graph_->at(id_).shape.rank(); }
Dims Value::sizes() const { return graph_->at(id_).shape.dimensions(); }
int64_t Value::size(int64_t dimension) const { return graph_->at(id_).shape.dimension(dimension); }
Value Value::number(double value) const { return graph_->number(dtype(), value); }

Graph::Graph(Writer& writer, std::string name)
    : writer_(writer),
      builder_(std::make_unique<ComputationBuilder>(writer.module(), std::move(name))) {}
Graph::Graph(const Graph& outside, std::string name) : Graph(outside.writer_, std::move(name)) {
  at_ = outside.at_;
  extras_ = outside.extras_;
}
Graph::~Graph() = default;

Value Graph::parameter(const Shape& shape) { return wrap(builder_->parameter(shape)); }
Value Graph::constant(Literal literal) { return of_origin(builder_->constant(std::move(literal))); }
Value Graph::append(Instruction instruction) {
  return wrap(builder_->append(std::move(instruction)));
}
void Graph::set_location(SourceLocation at) { builder_->set_location(at); }
const Instruction& Graph::at(InstructionId id) const { return builder_->at(id); }
Instruction& Graph::mutable_at(const Value& x) { return builder_->mutable_at(x.id()); }

void Graph::set_origin(const Instruction& like) {
  at_ = like.at;
  extras_.reset();
  const Metadata& metadata = like.extras->metadata;
  if (like.extras.has_value() && metadata != Metadata()) extras_.mutate().metadata = metadata;
}

Value Graph::of_origin(InstructionId id) {
  Instruction& made = builder_->mutable_at(id);
  if (at_.known()) made.at = at_;
  if (extras_.has_value()) made.extras = extras_;
  return wrap(id);
}

Values Graph::wrap(std::span<const InstructionId> ids) {
  Values out;
  out.reserve(ids.size());
  for (InstructionId id : ids) out.push_back(wrap(id));
  return out;
}

Value Graph::number(DType dtype, double value) { return constant(Literal::scalar(dtype, value)); }

Value Graph::integers(const std::vector<int64_t>& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  const Shape shape(s32, {static_cast<int64_t>(values.size())});
  return constant(Literal::from<int32_t>(shape, std::span<const int32_t>(narrow)));
}

Value Graph::iota(const Dims& sizes, int64_t along, DType dtype) {
  const Shape shape(dtype, sizes);
  return op(Opcode::kIota, {}, IotaAttrs{.iota_dimension = along}, {}, &shape);
}

Value Graph::full(const Shape& shape, double value) {
  if (shape.is_token()) return op(Opcode::kAfterAll, {});  // no constant is a token
  return spread(number(shape.dtype(), value), shape);
}

Value Graph::op(Opcode opcode, const Values& operands, Attrs attrs,
                std::vector<ComputationId> called, const Shape* declared) {
  std::vector<InstructionId> ids;
  ids.reserve(operands.size());
  for (const Value& each : operands) ids.push_back(each.id());
  auto id = builder_->add(opcode, ids, std::move(attrs), std::move(called), declared);
  if (!id.ok()) {
    writer_.fail(base::internal_error(base::message_of(id.status())));
    return declared ? zeros(*declared) : number(f32, 0);
  }
  if (declared == nullptr) builder_->mutable_at(*id).shape.clear_layout();
  return of_origin(*id);
}

Values Graph::op_of_many(Opcode opcode, const Values& operands, Attrs attrs,
                         std::vector<ComputationId> called) {
  const Value result = op(opcode, operands, std::move(attrs), std::move(called));
  if (!result.shape().is_tuple()) return {result};
  return elements(result);
}

Value Graph::with_frontend_attributes(const Value& x, const FrontendAttributes& attributes) {
  mutable_at(x).extras.mutate().frontend_attributes = attributes;
  return x;
}

Value Graph::element(const Value& tuple, int64_t index) {
  const Instruction& made = at(tuple.id());
  if (made.opcode == Opcode::kTuple) return wrap(made.operands[static_cast<size_t>(index)]);
  return op(Opcode::kGetTupleElement, {tuple}, TupleIndexAttrs{.index = index});
}

Values Graph::elements(const Value& tuple) {
  Values out;
  const int64_t count = tuple.shape().element_shapes();
  for (int64_t i = 0; i < count; ++i) out.push_back(element(tuple, i));
  return out;
}

ComputationId Graph::finish(const Values& results) && {
  return std::move(*this).finish_with(tuple(results));
}
ComputationId Graph::finish_with(const Value& result) && {
  return writer_.add(std::move(*builder_).finish(result.id()));
}

Value unary(Opcode opcode, const Value& x) { return x.graph().op(opcode, {x}); }

Value binary(Opcode opcode, const Value& a, const Value& b) {
  const auto [x, y] = alike(a, b);
  return x.graph().op(opcode, {x, y});
}

Value compare(Direction direction, const Value& a, const Value& b) {
  const auto [x, y] = alike(a, b);
  return x.graph().op(Opcode::kCompare, {x, y}, CompareAttrs{.direction = direction});
}

Value operator+(const Value& a, const Value& b) { return binary(Opcode::kAdd, a, b); }
Value operator-(const Value& a, const Value& b) { return binary(Opcode::kSubtract, a, b); }
Value operator*(const Value& a, const Value& b) {
  if (is_complex(a.dtype()) && !is_complex(b.dtype())) return by_parts(Opcode::kMultiply, a, b);
  if (is_complex(b.dtype()) && !is_complex(a.dtype())) return by_parts(Opcode::kMultiply, b, a);
  return binary(Opcode::kMultiply, a, b);
}
Value operator/(const Value& a, const Value& b) {
  if (is_complex(a.dtype()) && !is_complex(b.dtype())) return by_parts(Opcode::kDivide, a, b);
  return binary(Opcode::kDivide, a, b);
}
Value operator-(const Value& a) { return unary(Opcode::kNegate, a); }
Value operator&(const Value& a, const Value& b) { return binary(Opcode::kAnd, a, b); }
Value operator|(const Value& a, const Value& b) { return binary(Opcode::kOr, a, b); }
Value operator^(const Value& a, const Value& b) { return binary(Opcode::kXor, a, b); }
Value operator<<(const Value& a, const Value& b) { return binary(Opcode::kShiftLeft, a, b); }
Value operator>>(const Value& a, const Value& b) {
  return binary(is_signed(a.dtype()) ? Opcode::kShiftRightArithmetic : Opcode::kShiftRightLogical,
                a, b);
}
Value operator!(const Value& a) { return unary(Opcode::kNot, a); }
Value operator<(const Value& a, const Value& b) { return compare(Direction::kLt, a, b); }
Value operator<=(const Value& a, const Value& b) { return compare(Direction::kLe, a, b); }
Value operator>(const Value& a, const Value& b) { return compare(Direction::kGt, a, b); }
Value operator>=(const Value& a, const Value& b) { return compare(Direction::kGe, a, b); }
Value operator==(const Value& a, const Value& b) { return compare(Direction::kEq, a, b); }
Value operator!=(const Value& a, const Value& b) { return compare(Direction::kNe, a, b); }
Value maximum(const Value& a, const Value& b) { return binary(Opcode::kMaximum, a, b); }
Value minimum(const Value& a, const Value& b) { return binary(Opcode::kMinimum, a, b); }
Value power(const Value& a, const Value& b) { return binary(Opcode::kPower, a, b); }

Value abs(const Value& x) { return unary(Opcode::kAbs, x); }
Value sqrt(const Value& x) { return unary(Opcode::kSqrt, x); }
Value rsqrt(const Value& x) { return unary(Opcode::kRsqrt, x); }
Value exp(const Value& x) { return unary(Opcode::kExp, x); }
Value expm1(const Value& x) { return unary(Opcode::kExpm1, x); }
Value log(const Value& x) { return unary(Opcode::kLog, x); }
Value log1p(const Value& x) { return unary(Opcode::kLog1p, x); }
Value sin(const Value& x) { return unary(Opcode::kSin, x); }
Value cos(const Value& x) { return unary(Opcode::kCos, x); }
Value sinh(const Value& x) { return unary(Opcode::kSinh, x); }
Value cosh(const Value& x) { return unary(Opcode::kCosh, x); }
Value atan2(const Value& y, const Value& x) { return binary(Opcode::kAtan2, y, x); }
Value sign(const Value& x) { return unary(Opcode::kSign, x); }
Value floor(const Value& x) { return unary(Opcode::kFloor, x); }
Value square(const Value& x) { return x * x; }

Value real(const Value& x) { return is_complex(x.dtype()) ? unary(Opcode::kReal, x) : x; }
Value imag(const Value& x) {
  return is_complex(x.dtype()) ? unary(Opcode::kImag, x) : x.graph().zeros(x.shape());
}
Value complex(const Value& re, const Value& im) { return binary(Opcode::kComplex, re, im); }
Value conjugate(const Value& x) { return is_complex(x.dtype()) ? complex(real(x), -imag(x)) : x; }
Value is_finite(const Value& x) {
  if (is_complex(x.dtype())) return is_finite(real(x)) & is_finite(imag(x));
  return unary(Opcode::kIsFinite, x);
}
Value squared_size(const Value& x) {
  if (!is_complex(x.dtype())) return x * x;
  return squared_size(real(x)) + squared_size(imag(x));
}

Value convert(const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Shape shape = plain(x.shape()).with_dtype(dtype);
  return x.graph().op(Opcode::kConvert, {x}, {}, {}, &shape);
}

Value bitcast_convert(const Value& x, DType dtype) {
  return x.dtype() == dtype ? x : bitcast_convert(x, plain(x.shape()).with_dtype(dtype));
}
Value bitcast_convert(const Value& x, const Shape& shape) {
  return x.graph().op(Opcode::kBitcastConvert, {x}, {}, {}, &shape);
}

Value select(const Value& p, const Value& x, const Value& y) {
  const auto [a, b] = alike(x, y);
  const auto [mask, whole] = stretched(p, a);
  return p.graph().op(Opcode::kSelect, {mask, whole, stretched(mask, b).second});
}

Value broadcast(const Value& x, const Dims& sizes, const Dims& dimensions) {
  if (x.shape().dimensions() == sizes && std::ranges::is_sorted(dimensions)) return x;
  const Shape shape(x.dtype(), sizes);
  return x.graph().op(Opcode::kBroadcast, {x}, DimensionsAttrs{.dimensions = dimensions}, {},
                      &shape);
}

Value stretched(const Value& x, const Dims& sizes) {
  if (x.shape().dimensions() == sizes) return x;
  Dims dimensions, kept;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (x.size(d) == 1 && sizes[static_cast<size_t>(d)] != 1) continue;
    dimensions.push_back(d);
    kept.push_back(x.size(d));
  }
  return broadcast(reshape(x, kept), sizes, dimensions);
}

Value spread(const Value& scalar, const Shape& like) {
  if (like.rank() == 0) return scalar;
  const Shape shape = plain(like).with_dtype(scalar.dtype());
  return scalar.graph().op(Opcode::kBroadcast, {scalar}, DimensionsAttrs(), {}, &shape);
}

Value reshape(const Value& x, const Dims& sizes) {
  if (x.shape().dimensions() == sizes) return x;
  const Shape shape(x.dtype(), sizes);
  return x.graph().op(Opcode::kReshape, {x}, ReshapeAttrs(), {}, &shape);
}

Value add_dimension(const Value& x, int64_t dimension) {
  return reshape(x, with_dimension_inserted(x.shape(), dimension, 1).dimensions());
}
Value drop_dimension(const Value& x, int64_t dimension) {
  return reshape(x, without_dimensions(x.shape(), std::array{dimension}).dimensions());
}
Value repeated(const Value& x, int64_t dimension, int64_t size) {
  return broadcast(x, with_dimension_inserted(x.shape(), dimension, size).dimensions(),
                   other_dimensions(x.rank() + 1, std::array{dimension}));
}

Value transpose(const Value& x, const Dims& permutation) {
  if (std::ranges::is_sorted(permutation)) return x;
  return x.graph().op(Opcode::kTranspose, {x}, DimensionsAttrs{.dimensions = permutation});
}

Value reverse(const Value& x, const Dims& dimensions) {
  if (dimensions.empty()) return x;
  return x.graph().op(Opcode::kReverse, {x}, DimensionsAttrs{.dimensions = dimensions});
}

Value slice(const Value& x, const std::vector<SliceDimension>& dimensions) {
  return x.graph().op(Opcode::kSlice, {x}, SliceAttrs{.slice = dimensions});
}

Value slice(const Value& x, int64_t dimension, int64_t start, int64_t size) {
  if (size == x.size(dimension)) return x;
  std::vector<SliceDimension> all;
  for (int64_t limit : x.sizes()) all.push_back({.limit = limit});
  all[static_cast<size_t>(dimension)] = {.start = start, .limit = start + size};
  return slice(x, all);
}

Value pad(const Value& x, const Value& padding, const std::vector<PadDimension>& dimensions) {
  return x.graph().op(Opcode::kPad, {x, padding}, PadAttrs{.padding = dimensions});
}
Value pad(const Value& x, const std::vector<PadDimension>& dimensions) {
  return pad(x, x.number(0), dimensions);
}

Value pad_end(const Value& x, int64_t dimension, int64_t count) {
  if (count == 0) return x;
  const Shape end(x.dtype(), resized(x.sizes(), dimension, count));
  return concatenate({x, x.graph().zeros(end)}, dimension);
}

Value concatenate(const Values& parts, int64_t dimension) {
  Values some;
  for (const Value& part : parts) {
    if (part.size(dimension) > 0) some.push_back(part);
  }
  if (some.empty()) return parts[0];
  if (some.size() == 1) return some[0];
  return some[0].graph().op(Opcode::kConcatenate, some, DimensionsAttrs{.dimensions = {dimension}});
}

Value dynamic_slice(const Value& x, const Values& starts, const Dims& sizes) {
  Values operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return x.graph().op(Opcode::kDynamicSlice, operands,
                      DynamicSliceAttrs{.dynamic_slice_sizes = sizes});
}

Value dynamic_update_slice(const Value& x, const Value& part, const Values& starts) {
  Values operands = {x, part};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return x.graph().op(Opcode::kDynamicUpdateSlice, operands);
}

Value dynamic_slice(const Value& x, int64_t dimension, const Value& start, int64_t size) {
  return dynamic_slice(x, starts_along(x, dimension, start), resized(x.sizes(), dimension, size));
}
Value pick(const Value& x, int64_t dimension, const Value& at) {
  return dynamic_slice(x, dimension, at, 1);
}
Value put(const Value& x, const Value& part, int64_t dimension, const Value& at) {
  return dynamic_update_slice(x, part, starts_along(x, dimension, at));
}

Value gather(const Value& x, const Value& indices, const GatherAttrs& attrs) {
  return x.graph().op(Opcode::kGather, {x, indices}, attrs);
}

Value scatter(Opcode combine, const Value& x, const Value& indices, const Value& updates,
              const ScatterAttrs& attrs) {
  const ComputationId combiner = x.graph().writer().combiner(combine, x.dtype());
  return x.graph().op(Opcode::kScatter, {x, indices, updates}, attrs, {combiner});
}

Value reduce(const Value& x, Opcode opcode, double start, const Dims& dimensions) {
  const ComputationId combiner = x.graph().writer().combiner(opcode, x.dtype());
  return x.graph().op(Opcode::kReduce, {x, x.number(start)},
                      DimensionsAttrs{.dimensions = dimensions}, {combiner});
}

Value reduce_sum(const Value& x, const Dims& dimensions) {
  return dimensions.empty() ? x : reduce(x, Opcode::kAdd, 0, dimensions);
}

Value sum_all(const Value& x) { return reduce_sum(x, consecutive_dimensions(x.rank())); }

std::vector<int64_t> dot_dimensions(const Shape& lhs, const Shape& rhs, const DotAttrs& attrs) {
  Dims sizes;
  for (int64_t d : attrs.lhs_batch_dims) sizes.push_back(lhs.dimension(d));
  const auto add_free = [&](const Shape& shape, Dims used, const Dims& contracting) {
    used.insert(used.end(), contracting.begin(), contracting.end());
    for (int64_t d : other_dimensions(shape.rank(), used)) sizes.push_back(shape.dimension(d));
  };
  add_free(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims);
  add_free(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims);
  return sizes;
}

Value dot(const Value& a, const Value& b, const DotAttrs& attrs, DType dtype) {
  const Shape shape(dtype, dot_dimensions(a.shape(), b.shape(), attrs));
  return a.graph().op(Opcode::kDot, {a, b}, attrs, {}, &shape);
}

Value matmul(const Value& a, const Value& b) {
  DotAttrs attrs{.operand_precision = {Precision::kHighest, Precision::kHighest}};
  const int64_t batch = a.rank() - 2;
  attrs.lhs_batch_dims = attrs.rhs_batch_dims = consecutive_dimensions(batch);
  attrs.lhs_contracting_dims = {batch + 1};
  attrs.rhs_contracting_dims = {batch};
  return dot(a, b, attrs, a.dtype());
}

Value swap_last(const Value& x) {
  Dims permutation = consecutive_dimensions(x.rank());
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transpose(x, permutation);
}

Values sort(const Values& xs, int64_t dimension, Direction direction) {
  Graph& graph = xs[0].graph();
  std::vector<DType> types;
  for (const Value& x : xs) types.push_back(x.dtype());
  const ComputationId comparator = graph.writer().comparator(direction, types);
  return graph.op_of_many(Opcode::kSort, xs,
                          SortAttrs{.dimensions = {dimension}, .is_stable = true}, {comparator});
}

Values loop(const Values& state, base::FunctionRef<Value(Graph&, const Values&)> condition,
            base::FunctionRef<Values(Graph&, const Values&)> step) {
  Graph& outside = state[0].graph();
  const Value start = outside.tuple(state);
  Graph test(outside, "");
  const Value is_more = condition(test, test.elements(test.parameter(start.shape())));
  const ComputationId condition_id = std::move(test).finish_with(is_more);
  Graph body(outside, "");
  const Values next = step(body, body.elements(body.parameter(start.shape())));
  const ComputationId body_id = std::move(body).finish(next);
  return outside.op_of_many(Opcode::kWhile, {start}, {}, {body_id, condition_id});
}

Values repeat(int64_t count, const Values& state,
              base::FunctionRef<Values(Graph&, const Value& i, const Values&)> step) {
  Values all = {state[0].graph().number(s32, 0)};
  all.insert(all.end(), state.begin(), state.end());
  Values last = loop(
      all, [&](Graph&, const Values& now) { return now[0] < static_cast<double>(count); },
      [&](Graph& graph, const Values& now) {
        Values next = step(graph, now[0], {now.begin() + 1, now.end()});
        next.insert(next.begin(), now[0] + 1.0);
        return next;
      });
  last.erase(last.begin());
  return last;
}

}  // namespace heddle::hlo
