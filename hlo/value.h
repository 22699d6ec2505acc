// Value: HLO written as formulas. A Value is a value of a computation that is being written (a
// Graph), and each operator and function on it appends an instruction. Derivative rules, passes
// that write loops and tests are written in it, so that they read like the formulas of their
// sources.
//
//   Writer writer;
//   Graph main(writer);
//   const Value x = main.parameter(Shape(f32, {2, 3}));
//   const Value y = sqrt(x * x + 1.0) / reshape(reduce_sum(x, {1}), {2, 1});   // [2,3] / [2,1]
//   Module module = std::move(writer).finish(std::move(main).finish({y}));
//
// What replaces an instruction of a module that is copied is written in it too: a ModuleRebuilder
// is a Writer, and a Rebuilder has a Graph (transform/rebuilder.h).
//
// Operands of elementwise functions have equal ranks, and sizes of 1 stretch; or one of them is a
// scalar. A number takes the element type of the value beside it. Types are inferred and checked by
// the ops' shape rules, and have no layouts; what the rules refuse is a mistake of the code that
// writes, and is kept as the writer's status.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

class ComputationBuilder;
class Graph;
class Value;
using Values = std::vector<Value>;

// A module that is being written, and the scalar computations that reductions call in it.
class Writer {
 public:
  Writer() = default;
  explicit Writer(Module begun) : module_(std::move(begun)) {}
  virtual ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] const Module& module() const { return module_; }
  virtual ComputationId add(Computation computation) { return module_.add(std::move(computation)); }
  // (x, y) -> opcode(x, y) on scalars; of `parameter`: y.
  ComputationId combiner(Opcode opcode, DType dtype);
  // (x, y, ..) -> x < y, or x > y, on scalars: x and y of the first dtype, two more of each other.
  ComputationId comparator(ComparisonDirection direction, const std::vector<DType>& all);

  // The first thing that could not be written. errors: those of shape rules, as Internal; fail()'s
  [[nodiscard]] const Status& status() const { return status_; }
  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  [[nodiscard]] Module finish(ComputationId entry) &&;

 private:
  Module module_;
  Status status_;
  std::map<std::pair<Opcode, DType>, ComputationId> combiners_;
};

// A value of a graph. One that was made without an argument is absent: it stands for zeros that
// were never written.
class Value {
 public:
  Value() = default;
  Value(Graph& graph, InstructionId id) : graph_(&graph), id_(id) {}

  [[nodiscard]] bool is_absent() const { return graph_ == nullptr; }
  explicit operator bool() const { return graph_ != nullptr; }

  [[nodiscard]] Graph& graph() const { return *graph_; }
  [[nodiscard]] InstructionId id() const { return id_; }
  // By value: what the graph holds moves when it grows.
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] int64_t rank() const;
  [[nodiscard]] Dims sizes() const;
  [[nodiscard]] int64_t size(int64_t dimension) const;
  // A scalar of this element type.
  [[nodiscard]] Value number(double value) const;

 private:
  Graph* graph_ = nullptr;
  InstructionId id_;
};

// One computation that is being written.
class Graph {
 public:
  explicit Graph(Writer& writer, std::string name = "");
  // A region of an op of `outside`, with the same origin.
  Graph(const Graph& outside, std::string name);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Value parameter(const Shape& shape);
  Value constant(Literal literal);
  Value number(DType dtype, double value);
  Value integers(const std::vector<int64_t>& values);  // s32[n]
  Value iota(const Dims& sizes, int64_t along, DType dtype = s32);
  Value full(const Shape& shape, double value);  // a scalar broadcast: no bytes stand in the module
  Value zeros(const Shape& shape) { return full(shape, 0); }

  // Appends an instruction; `declared` is the type of ops whose type the operands do not tell.
  Value op(Opcode opcode, const Values& operands, Attrs attrs = {},
           std::vector<ComputationId> called = {}, const Shape* declared = nullptr);
  // The elements of its result, a tuple; the result itself where it is none.
  Values op_of_many(Opcode opcode, const Values& operands, Attrs attrs = {},
                    std::vector<ComputationId> called = {});
  Value append(Instruction instruction);
  Value with_frontend_attributes(const Value& x, const FrontendAttributes& attributes);

  Value tuple(const Values& elements) { return op(Opcode::kTuple, elements); }
  Value element(const Value& tuple, int64_t index);
  Values elements(const Value& tuple);

  // Of the instructions that are appended from now on.
  void set_location(SourceLocation at);
  // Constants and what op() appends from now on stand for `like`: they have its location and its
  // metadata.
  void set_origin(const Instruction& like);

  // The computation with a tuple of these as its result.
  [[nodiscard]] ComputationId finish(const Values& results) &&;
  // The computation with this as its result, as conditions and combiners have it.
  [[nodiscard]] ComputationId finish_with(const Value& result) &&;

  Writer& writer() { return writer_; }
  ComputationBuilder& builder() { return *builder_; }
  [[nodiscard]] const Instruction& at(InstructionId id) const;
  [[nodiscard]] Instruction& mutable_at(const Value& x);
  Value wrap(InstructionId id) { return {*this, id}; }
  Values wrap(std::span<const InstructionId> ids);

 private:
  Value of_origin(InstructionId id);

  Writer& writer_;
  std::unique_ptr<ComputationBuilder> builder_;
  SourceLocation at_;                    // of the origin
  base::Box<InstructionExtras> extras_;  // the metadata of the origin alone
};

// Elementwise
// --------------------------------------------------------------------------------

Value unary(Opcode opcode, const Value& x);
Value binary(Opcode opcode, const Value& a, const Value& b);
Value compare(ComparisonDirection direction, const Value& a, const Value& b);

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);  // a complex value times a real one goes by parts
Value operator/(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator&(const Value& a, const Value& b);
Value operator|(const Value& a, const Value& b);
Value operator^(const Value& a, const Value& b);
Value operator<<(const Value& a, const Value& b);
Value operator>>(const Value& a, const Value& b);  // of signed numbers it keeps the sign
Value operator!(const Value& a);
Value operator<(const Value& a, const Value& b);
Value operator<=(const Value& a, const Value& b);
Value operator>(const Value& a, const Value& b);
Value operator>=(const Value& a, const Value& b);
Value operator==(const Value& a, const Value& b);
Value operator!=(const Value& a, const Value& b);
Value maximum(const Value& a, const Value& b);
Value minimum(const Value& a, const Value& b);
Value power(const Value& a, const Value& b);

#define HEDDLE_WITH_NUMBER(op)                                                                \
  inline auto operator op(const Value& a, double b) { return a op a.number(b); } /* NOLINT */ \
  inline auto operator op(double a, const Value& b) { return b.number(a) op b; } /* NOLINT */
HEDDLE_WITH_NUMBER(+)
HEDDLE_WITH_NUMBER(-)
HEDDLE_WITH_NUMBER(*)
HEDDLE_WITH_NUMBER(/)
HEDDLE_WITH_NUMBER(&)
HEDDLE_WITH_NUMBER(<<)
HEDDLE_WITH_NUMBER(>>)
HEDDLE_WITH_NUMBER(<)
HEDDLE_WITH_NUMBER(<=)
HEDDLE_WITH_NUMBER(>)
HEDDLE_WITH_NUMBER(>=)
HEDDLE_WITH_NUMBER(==)
HEDDLE_WITH_NUMBER(!=)
#undef HEDDLE_WITH_NUMBER  // a macro: thirteen operators that take a number on either side

Value abs(const Value& x);  // of complex numbers: real
Value sqrt(const Value& x);
Value rsqrt(const Value& x);
Value exp(const Value& x);
Value expm1(const Value& x);
Value log(const Value& x);
Value log1p(const Value& x);
Value sin(const Value& x);
Value cos(const Value& x);
Value sinh(const Value& x);
Value cosh(const Value& x);
Value atan2(const Value& y, const Value& x);
Value sign(const Value& x);
Value floor(const Value& x);
Value square(const Value& x);
Value real(const Value& x);  // of real numbers: themselves; imag: zeros
Value imag(const Value& x);
Value complex(const Value& re, const Value& im);
Value conjugate(const Value& x);
Value is_finite(const Value& x);     // both parts
Value squared_size(const Value& x);  // |x|^2, real
Value convert(const Value& x, DType dtype);
Value bitcast_convert(const Value& x, DType dtype);  // to a type of the same width
Value bitcast_convert(const Value& x, const Shape& shape);
// Where p is true, x, elsewhere y.
Value select(const Value& p, const Value& x, const Value& y);
inline Value select(const Value& p, const Value& x, double y) { return select(p, x, x.number(y)); }
inline Value select(const Value& p, double x, const Value& y) { return select(p, y.number(x), y); }

// Movement of elements
// --------------------------------------------------------------------------------

// x's dimension i is dimension dimensions[i] of the result.
Value broadcast(const Value& x, const Dims& sizes, const Dims& dimensions);
// Sizes of 1, and scalars, become `sizes`.
Value stretched(const Value& x, const Dims& sizes);
// A scalar as each element of an array like `like`, whose dynamic dimensions it has.
Value spread(const Value& scalar, const Shape& like);
Value reshape(const Value& x, const Dims& sizes);
// x with a new dimension of size 1, without such a one, and repeated along a new one.
Value add_dimension(const Value& x, int64_t dimension);
Value drop_dimension(const Value& x, int64_t dimension);
Value repeated(const Value& x, int64_t dimension, int64_t size);
Value transpose(const Value& x, const Dims& permutation);
Value reverse(const Value& x, const Dims& dimensions);
Value slice(const Value& x, const std::vector<SliceDimension>& slice);
Value slice(const Value& x, int64_t dimension, int64_t start, int64_t size);
Value pad(const Value& x, const Value& padding, const std::vector<PadDimension>& dimensions);
Value pad(const Value& x, const std::vector<PadDimension>& dimensions);  // with zeros
Value pad_end(const Value& x, int64_t dimension, int64_t count);         // with zeros
Value concatenate(const Values& parts, int64_t dimension);
// starts: an integer scalar a dimension.
Value dynamic_slice(const Value& x, const Values& starts, const Dims& sizes);
Value dynamic_update_slice(const Value& x, const Value& part, const Values& starts);
// x[.., start : start + size, ..] along the dimension.
Value dynamic_slice(const Value& x, int64_t dimension, const Value& start, int64_t size);
// x[.., at, ..] of size 1 along the dimension, and x with `part` from there on.
Value pick(const Value& x, int64_t dimension, const Value& at);
Value put(const Value& x, const Value& part, int64_t dimension, const Value& at);
Value gather(const Value& x, const Value& indices, const GatherAttrs& attrs);
Value scatter(Opcode combine, const Value& x, const Value& indices, const Value& updates,
              const ScatterAttrs& attrs);

// Reductions and contractions
// --------------------------------------------------------------------------------

// Without the dimensions; reduce() of opcode from `start` on.
Value reduce(const Value& x, Opcode opcode, double start, const Dims& dimensions);
Value reduce_sum(const Value& x, const Dims& dimensions);
Value sum_all(const Value& x);
Value dot(const Value& a, const Value& b, const DotAttrs& attrs, DType dtype);
// Of the result of a dot: batch, what is left of lhs, what is left of rhs.
std::vector<int64_t> dot_dimensions(const Shape& lhs, const Shape& rhs, const DotAttrs& attrs);
// Of batches of matrices: the last two dimensions.
Value matmul(const Value& a, const Value& b);
Value swap_last(const Value& x);

// All values of one shape in the order that sorts the first along the dimension; equal ones keep
// theirs.
Values sort(const Values& xs, int64_t dimension, ComparisonDirection direction);

// Regions
// --------------------------------------------------------------------------------

// while (condition(state)) state = step(state); neither may use values from outside.
Values loop(const Values& state, base::FunctionRef<Value(Graph&, const Values&)> condition,
            base::FunctionRef<Values(Graph&, const Values&)> step);
// The same for i = 0, 1, .. count - 1, s32[]; step(i, state) -> state.
Values repeat(int64_t count, const Values& state,
              base::FunctionRef<Values(Graph&, const Value& i, const Values&)> step);

}  // namespace heddle::hlo
