#include "heddle/interpreter/internal/sizes.h"

#include <algorithm>
#include <functional>

#include "heddle/hlo/literal/strides.h"
#include "heddle/hlo/op.h"
#include "heddle/interpreter/ops/movement/indices.h"

namespace heddle::interpreter {

using namespace hlo;

bool has_dynamic_dimension(const Shape& shape) {
  return shape.is_dynamic() || std::ranges::any_of(shape.elements(), has_dynamic_dimension);
}

namespace {

// The static type of other sizes, of the same layout.
Shape at_sizes_of(const Shape& shape, Dims sizes) {
  Shape out = shape.with_dimensions(std::move(sizes));
  if (shape.has_layout()) out.set_layout(shape.layout());
  return out;
}

// The type with its bounds as sizes.
Shape at_bounds(const Shape& shape) {
  if (shape.is_tuple()) {
    std::vector<Shape> elements;
    for (const Shape& each : shape.elements()) elements.push_back(at_bounds(each));
    return Shape::tuple(std::move(elements));
  }
  return shape.is_array() ? at_sizes_of(shape, shape.dimensions()) : shape;
}

// The type with a `?` for each dynamic dimension, and for each that is as long as a dynamic one of
// `like`: there the type has dropped the flag.
Shape of_unknown_sizes(const Shape& shape, const Shape& like) {
  if (shape.is_tuple()) {
    std::vector<Shape> elements;
    for (const Shape& each : shape.elements()) elements.push_back(of_unknown_sizes(each, like));
    return Shape::tuple(std::move(elements));
  }
  if (!shape.is_array()) return shape;
  const auto is_open = [&](int64_t d) {
    return shape.is_dynamic_dimension(d) ||
           (like.rank() == shape.rank() && like.is_dynamic_dimension(d) &&
            like.dimension(d) == shape.dimension(d));
  };
  Dims sizes = shape.dimensions();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (is_open(d)) sizes[static_cast<size_t>(d)] = Shape::kUnbounded;
  }
  Shape out = at_sizes_of(shape, std::move(sizes));
  for (int64_t d = 0; d < shape.rank(); ++d) out.set_dynamic_dimension(d, is_open(d));
  return out;
}

Literal without_flags(Literal x) {
  if (!has_dynamic_dimension(x.shape())) return x;
  if (!x.is_tuple()) return std::move(x).reshaped(at_bounds(x.shape()));
  std::vector<Literal> elements;
  for (Literal& each : x.mutable_elements()) elements.push_back(without_flags(std::move(each)));
  return Literal::tuple(std::move(elements));
}

// Hand values on, whatever their sizes, or are run by the evaluator itself.
bool hands_on(Opcode opcode) {
  return does(opcode, kHandsOn) || does(opcode, kRuns) || opcode == Opcode::kParameter ||
         opcode == Opcode::kConstant;
}

class Sizer {
 public:
  Sizer(const Module& module, const Computation& computation, const Instruction& instruction,
        std::span<Literal> operands)
      : module_(module), computation_(computation), operands_(operands), out_(instruction) {}

  StatusOr<Sized> run() && {
    for (Literal& each : operands_) each = without_flags(std::move(each));
    HEDDLE_ASSIGN_OR_RETURN(out_.shape, result());
    return Sized{std::move(out_), std::move(cut_)};
  }

 private:
  const Shape& declared(size_t i) const { return computation_.at(out_.operands[i]).shape; }
  Dims sizes_of(size_t i) const { return operands_[i].shape().dimensions(); }
  void resize(size_t i, const Dims& sizes) { operands_[i] = at_dimensions(operands_[i], sizes); }
  void fill(size_t i) { resize(i, declared(i).dimensions()); }
  Shape of_sizes(Dims sizes) const { return Shape(out_.shape.dtype(), std::move(sizes)); }
  [[nodiscard]] bool is_full(size_t i) const {
    return same_sizes(operands_[i].shape(), declared(i));
  }

  StatusOr<Shape> result() {
    if (has_trait(out_.opcode, kElementwise)) return elementwise();
    if (hands_on(out_.opcode)) return out_.shape;
    switch (out_.opcode) {
      case Opcode::kGetDimensionSize: return out_.shape;
      case Opcode::kSetDimensionSize: return with_size_set();
      case Opcode::kDynamicReshape: return reshaped_to_operands();
      case Opcode::kReshape: return reshaped();
      case Opcode::kBitcast: return bitcast();
      case Opcode::kBroadcast: return broadcast();
      case Opcode::kSlice: return sliced();
      case Opcode::kDynamicSlice: return dynamically_sliced();
      case Opcode::kGather: return gathered();
      case Opcode::kDynamicUpdateSlice: return updated();
      case Opcode::kDot: cut_pairs(); return inferred();
      case Opcode::kSort:
      case Opcode::kMap:
      case Opcode::kReduce:
      case Opcode::kReduceWindow: cut_to_least(); return inferred();
      case Opcode::kAllGather:
      case Opcode::kCopyStart:
      case Opcode::kReduceScatter:  // whose rules compare the declared sizes
        return everything_is_full() ? at_bounds(out_.shape) : found(unknown());
      default: return inferred();
    }
  }

  // Of arrays that go element by element, each gets the least sizes there are. Scalars stay.
  void cut_to_least() {
    Dims least;
    for (const Literal& each : operands_) {
      const Dims& sizes = each.shape().dimensions();
      if (sizes.empty()) continue;
      if (least.empty()) least = sizes;
      for (size_t d = 0; d < sizes.size(); ++d) least[d] = std::min(least[d], sizes[d]);
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!sizes_of(i).empty()) resize(i, least);
    }
  }

  Shape elementwise() {
    cut_to_least();
    const auto array = std::ranges::find_if(
        operands_, [](const Literal& each) { return each.shape().rank() > 0; });
    return of_sizes(array == operands_.end() ? Dims() : array->shape().dimensions());
  }

  StatusOr<Shape> with_size_set() {
    const auto d = static_cast<size_t>(out_.attrs.get<DimensionsAttrs>().dimensions[0]);
    const int64_t size = index_at(operands_[1], 0), bound = declared(0).dimensions()[d];
    if (size < 0 || size > bound) {
      return base::invalid_argument("set-dimension-size: dimension ", d, " of x, ", declared(0),
                                    ", is given the size ", size, "; must be in [0, ", bound, "]");
    }
    Dims sizes = sizes_of(0);
    sizes[d] = size;
    resize(0, sizes);
    return of_sizes(std::move(sizes));
  }

  StatusOr<Shape> reshaped_to_operands() {
    const Dims& bounds = out_.shape.dimensions();
    Dims sizes;
    bool fits = true;
    for (size_t i = 0; i < bounds.size(); ++i) {
      sizes.push_back(index_at(operands_[i + 1], 0));
      fits = fits && sizes[i] >= 0 && sizes[i] <= bounds[i];
    }
    if (!fits) {
      return base::invalid_argument("dynamic-reshape: the sizes are {", base::join(sizes, ","),
                                    "}; must be in the bounds of the result ", out_.shape);
    }
    Shape shape = of_sizes(std::move(sizes));
    if (shape.element_count() == operands_[0].element_count()) return shape;
    return base::invalid_argument("dynamic-reshape: x is ", operands_[0].shape(),
                                  "; the sizes give ", shape, "; must have as many elements");
  }

  // Through memory: where that is not row-major, only whole arrays lie there as their type says.
  StatusOr<Shape> bitcast() {
    const bool was_full = is_full(0);
    HEDDLE_ASSIGN_OR_RETURN(const Shape shape, reshaped());
    if (was_full || (is_row_major(declared(0)) && is_row_major(out_.shape)))
      return at_sizes_of(out_.shape, shape.dimensions());
    return base::unimplemented("bitcast: x is ", declared(0), " at the sizes {",
                               base::join(sizes_of(0), ","),
                               "}; must fill its bounds where a layout is not row-major");
  }

  // Dimensions are taken together as their bounds make equal products; in each such group one
  // dynamic dimension takes what the others leave. A result without dynamic dimensions has the
  // elements beyond the size too.
  StatusOr<Shape> reshaped() {
    const Dims& bounds = declared(0).dimensions();
    Dims sizes = out_.shape.dimensions();
    if (!out_.shape.is_dynamic() || std::ranges::find(bounds, 0) != bounds.end()) {
      fill(0);
      return of_sizes(std::move(sizes));
    }
    size_t from = 0, to = 0;
    while (from < bounds.size() || to < sizes.size()) {
      const size_t first_from = from, first_to = to;
      int64_t left = 1, right = 1;
      do {  // products end up equal: both types have as many elements
        if (to == sizes.size() || (from < bounds.size() && left <= right)) {
          left *= bounds[from++];
        } else {
          right *= sizes[to++];
        }
      } while (left != right && (from < bounds.size() || to < sizes.size()));
      HEDDLE_RETURN_IF_ERROR(solve(first_from, from, first_to, to, sizes));
    }
    return of_sizes(std::move(sizes));
  }

  // The size of the one dynamic dimension among [first_to, to), which have as many elements as
  // [first_from, from) of x.
  Status solve(size_t first_from, size_t from, size_t first_to, size_t to, Dims& sizes) const {
    int64_t count = 1, others = 1;
    bool is_full = true;
    for (size_t d = first_from; d < from; ++d) {
      count *= sizes_of(0)[d];
      is_full = is_full && sizes_of(0)[d] == declared(0).dimensions()[d];
    }
    if (is_full) return {};
    std::vector<size_t> open;
    for (size_t d = first_to; d < to; ++d) {
      if (out_.shape.is_dynamic_dimension(static_cast<int64_t>(d))) {
        open.push_back(d);
      } else {
        others *= sizes[d];
      }
    }
    if (open.size() != 1 || count % others != 0) {
      return base::unimplemented(
          "reshape: x is ", declared(0), " at the sizes {", base::join(sizes_of(0), ","),
          "}, the result ", out_.shape,
          "; its dynamic dimensions must each follow from dimensions of their own");
    }
    sizes[open[0]] = count / others;
    return {};
  }

  Shape broadcast() const {
    Dims sizes = out_.shape.dimensions();
    const Dims& dimensions = out_.attrs.get<DimensionsAttrs>().dimensions;
    for (size_t d = 0; d < dimensions.size(); ++d)
      sizes[static_cast<size_t>(dimensions[d])] = sizes_of(0)[d];
    return of_sizes(std::move(sizes));
  }

  // A slice of the whole dimension goes as far as that does; of a part, the bound counts.
  Shape sliced() {
    auto attrs = out_.attrs.get<SliceAttrs>();
    Dims sizes = sizes_of(0), result = out_.shape.dimensions();
    for (size_t d = 0; d < sizes.size(); ++d) {
      SliceDimension& range = attrs.slice[d];
      const int64_t bound = declared(0).dimensions()[d];
      if (range.start == 0 && range.limit == bound && range.stride == 1) {
        range.limit = result[d] = sizes[d];
      } else {
        sizes[d] = bound;
      }
    }
    resize(0, sizes);
    out_.attrs = attrs;
    return of_sizes(std::move(result));
  }

  Shape dynamically_sliced() {
    auto attrs = out_.attrs.get<DynamicSliceAttrs>();
    Dims sizes = sizes_of(0);
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t bound = declared(0).dimensions()[d];
      int64_t& taken = attrs.dynamic_slice_sizes[d];
      (taken == bound ? taken : sizes[d]) = taken == bound ? sizes[d] : bound;
    }
    resize(0, sizes);
    out_.attrs = attrs;
    return of_sizes(attrs.dynamic_slice_sizes);
  }

  // Written within the bounds, as starts are moved into these.
  StatusOr<Shape> updated() {
    cut_ = sizes_of(0);
    fill(0);
    return inferred();
  }

  // Read within the bounds; of a whole dimension, as much as there is of it.
  StatusOr<Shape> gathered() {
    const Dims sizes = sizes_of(0);
    fill(0);
    HEDDLE_ASSIGN_OR_RETURN(Shape result, inferred());
    const auto& attrs = out_.attrs.get<GatherAttrs>();
    const auto stands_in = [](const Dims& dims, int64_t d) {
      return std::ranges::find(dims, d) != dims.end();
    };
    cut_ = result.dimensions();
    size_t offset = 0;
    for (int64_t d = 0; d < declared(0).rank(); ++d) {
      if (stands_in(attrs.collapsed_slice_dims, d) || stands_in(attrs.operand_batching_dims, d))
        continue;
      const auto to = static_cast<size_t>(attrs.offset_dims[offset++]),
                 from = static_cast<size_t>(d);
      if (attrs.slice_sizes[from] == declared(0).dimension(d)) (*cut_)[to] = sizes[from];
    }
    return result;
  }

  // Dimensions that are summed over, or batches, have the lesser of both sizes.
  void cut_pairs() {
    const auto& attrs = out_.attrs.get<DotAttrs>();
    Dims x = sizes_of(0), y = sizes_of(1);
    const auto cut = [&](const Dims& of_x, const Dims& of_y) {
      for (size_t i = 0; i < of_x.size(); ++i) {
        int64_t& a = x[static_cast<size_t>(of_x[i])];
        int64_t& b = y[static_cast<size_t>(of_y[i])];
        a = b = std::min(a, b);
      }
    };
    cut(attrs.lhs_batch_dims, attrs.rhs_batch_dims);
    cut(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims);
    resize(0, x);
    resize(1, y);
  }

  [[nodiscard]] bool everything_is_full() const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!is_full(i)) return false;
    }
    return true;
  }

  // What the op's own shape rule makes of the sizes; of whole operands, the declared type.
  StatusOr<Shape> inferred() {
    if (everything_is_full()) return at_bounds(out_.shape);
    std::vector<const Shape*> shapes;
    for (const Literal& each : operands_) shapes.push_back(&each.shape());
    std::vector<const Computation*> called;
    for (ComputationId id : out_.called) called.push_back(&module_.at(id));
    const Shape declared = unknown();
    HEDDLE_ASSIGN_OR_RETURN(
        const Shape shape,
        definition(out_.opcode)
            .infer.rule()(InferArgs(out_.opcode, shapes, out_.attrs, called, &declared)));
    return found(shape);
  }

  // Of the elements of a tuple that stand for operands, which one it is.
  [[nodiscard]] size_t operand_of(size_t element) const {
    return out_.shape.elements().size() == operands_.size() ? element : 0;
  }

  // The declared type without the sizes that are to be found.
  [[nodiscard]] Shape unknown() const {
    if (!out_.shape.is_tuple()) return of_unknown_sizes(out_.shape, declared(0));
    std::vector<Shape> elements;
    for (size_t i = 0; i < out_.shape.elements().size(); ++i)
      elements.push_back(of_unknown_sizes(out_.shape.elements()[i], declared(operand_of(i))));
    return Shape::tuple(std::move(elements));
  }

  // The type with sizes for each `?` that the rule has taken over from the declared type.
  StatusOr<Shape> found(const Shape& shape) const {
    if (!shape.is_tuple()) return found(shape, out_.shape, 0);
    std::vector<Shape> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      HEDDLE_ASSIGN_OR_RETURN(elements.emplace_back(),
                              found(shape.elements()[i], out_.shape.elements()[i], operand_of(i)));
    }
    return Shape::tuple(std::move(elements));
  }

  StatusOr<Shape> found(const Shape& shape, const Shape& bounds, size_t operand) const {
    if (shape.is_tuple()) {
      std::vector<Shape> elements;
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        HEDDLE_ASSIGN_OR_RETURN(elements.emplace_back(),
                                found(shape.elements()[i], bounds.elements()[i], operand));
      }
      return Shape::tuple(std::move(elements));
    }
    Dims sizes = shape.dimensions();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != Shape::kUnbounded) continue;
      HEDDLE_ASSIGN_OR_RETURN(sizes[d], found_size(bounds, operand, d));
    }
    return shape.is_array() ? at_sizes_of(shape, std::move(sizes)) : shape;
  }

  // Dimension d as the operand has it, or a part or a multiple of it.
  StatusOr<int64_t> found_size(const Shape& bounds, size_t operand, size_t d) const {
    const Shape& type = declared(operand);
    if (type.rank() == bounds.rank()) {
      const int64_t bound = bounds.dimensions()[d], of = type.dimensions()[d];
      const int64_t size = sizes_of(operand)[d];
      if (bound == of) return size;
      if (out_.opcode == Opcode::kAllGather && of > 0) return bound / of * size;
      const bool is_part = out_.opcode == Opcode::kReduceScatter && bound > 0;
      if (is_part && size % (of / bound) == 0) return size / (of / bound);
    }
    return base::unimplemented(to_string(out_.opcode), ": operand ", operand, " is ", type,
                               " at the sizes {", base::join(sizes_of(operand), ","),
                               "}; what dimension ", d, " of the result ", out_.shape,
                               " is then is not known; fill the bounds");
  }

  const Module& module_;
  const Computation& computation_;
  std::span<Literal> operands_;
  Instruction out_;
  std::optional<Dims> cut_;
};

// A size is fixed where the type that the value comes of leaves it open.
bool drops_flags(const Shape& type, const Shape& from) {
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (from.is_dynamic_dimension(d) && !type.is_dynamic_dimension(d)) return true;
  }
  for (size_t i = 0; i < from.elements().size(); ++i) {
    if (drops_flags(type.elements()[i], from.elements()[i])) return true;
  }
  return false;
}

// Of an op that hands on.
bool drops_flags(const Computation& computation, const Instruction& instruction) {
  const auto operand = [&](size_t i) -> const Shape& {
    return computation.at(instruction.operands[i]).shape;
  };
  switch (instruction.opcode) {
    case Opcode::kAddDependency:
    case Opcode::kOptBarrier: return drops_flags(instruction.shape, operand(0));
    case Opcode::kGetTupleElement:
      return drops_flags(instruction.shape,
                         operand(0).element(instruction.attrs.get<TupleIndexAttrs>().index));
    case Opcode::kTuple:
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        if (drops_flags(instruction.shape.elements()[i], operand(i))) return true;
      }
      return false;
    default: return false;  // types of calls agree in flags too
  }
}

}  // namespace

bool has_unbounded_dimension(const Shape& shape) {
  return std::ranges::find(shape.dimensions(), Shape::kUnbounded) != shape.dimensions().end() ||
         std::ranges::any_of(shape.elements(), has_unbounded_dimension);
}

Literal at_dimensions(const Literal& x, const Dims& sizes) {
  if (x.shape().dimensions() == sizes) return x;
  Literal out(x.shape().with_dimensions(sizes));
  Dims common = sizes;
  for (size_t d = 0; d < common.size(); ++d)
    common[d] = std::min(common[d], x.shape().dimensions()[d]);
  copy_strided(out.mutable_bytes(), Strides(out.shape()), x.bytes(), Strides(x.shape()), common,
               storage_bytes(x.shape().dtype()));
  return out;
}

bool depends_on_sizes(const Computation& computation, const Instruction& instruction) {
  if (hands_on(instruction.opcode)) return drops_flags(computation, instruction);
  return instruction.opcode == Opcode::kSetDimensionSize ||
         has_dynamic_dimension(instruction.shape) ||
         std::ranges::any_of(instruction.operands, [&](InstructionId id) {
           return has_dynamic_dimension(computation.at(id).shape);
         });
}

StatusOr<Sized> at_sizes(const Module& module, const Computation& computation,
                         const Instruction& instruction, std::span<Literal> operands) {
  return Sizer(module, computation, instruction, operands).run();
}

StatusOr<Literal> fitted(Literal value, const Shape& type) {
  if (type.is_tuple() && value.shape().element_shapes() == type.element_shapes()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < type.elements().size(); ++i) {
      HEDDLE_ASSIGN_OR_RETURN(elements.emplace_back(),
                              fitted(std::move(value.mutable_elements()[i]), type.elements()[i]));
    }
    return Literal::tuple(std::move(elements));
  }
  if (!type.is_array() || value.shape().rank() != type.rank()) return value;
  Dims sizes = type.dimensions();
  for (int64_t d = 0; d < type.rank(); ++d) {
    if (value.shape().dimension(d) > type.dimension(d))
      return base::internal_error("a value of ", value.shape(), " is larger than its type, ", type);
    if (type.is_dynamic_dimension(d)) sizes[static_cast<size_t>(d)] = value.shape().dimension(d);
  }
  if (sizes != value.shape().dimensions()) value = at_dimensions(value, sizes);
  if (sizes == type.dimensions()) return std::move(value).reshaped(type);
  return value;
}

bool stands_for(const Shape& value, const Shape& type) {
  if (!type.is_dynamic() && !type.is_tuple()) return same_type(value, type);
  if (value.dtype() != type.dtype() || value.rank() != type.rank()) return false;
  for (int64_t d = 0; d < type.rank(); ++d) {
    const bool is_less = type.is_dynamic_dimension(d) && value.dimension(d) <= type.dimension(d);
    if (!is_less && value.dimension(d) != type.dimension(d)) return false;
  }
  return std::ranges::equal(value.elements(), type.elements(), stands_for);
}

bool is_row_major(const Shape& shape) {
  return std::ranges::is_sorted(shape.minor_to_major(), std::greater());
}

bool same_sizes(const Shape& a, const Shape& b) {
  return same_dimensions(a, b) && std::ranges::equal(a.elements(), b.elements(), same_sizes);
}

}  // namespace heddle::interpreter
