// HLO written as formulas: an Array is a value of a computation that is being written, and each
// operator on it appends an instruction. For algorithms whose HLO would be hard to read as text.
//
//   Writer writer;
//   Scope main(writer);
//   const Array x = main.parameter(Shape(f32, {2, 3}));
//   const Array y = sqrt(x * x + 1.0) / sum(x, {1});   // [2,3] / [2,1]
//   hlo::Module module = std::move(writer).finish(std::move(main).finish({y}));
//
// Operands have equal ranks, and sizes of 1 stretch; or one of them is a scalar. A real operand
// becomes complex beside a complex one. Reductions keep the dimensions, with size 1.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/transform/emitter.h"

namespace heddle::transform::lapack {

class Array;
using Arrays = std::vector<Array>;

// A module that is being written, and the scalar computations that reductions call in it.
class Writer {
 public:
  [[nodiscard]] const hlo::Module& module() const { return module_; }
  hlo::ComputationId add(hlo::Computation computation) {
    return module_.add(std::move(computation));
  }
  // (x, y) -> opcode(x, y) on scalars.
  hlo::ComputationId combiner(hlo::Opcode opcode, DType dtype);
  // (x, y, ..) -> x < y, or x > y, on scalars: x and y of the first dtype, two more of each other.
  hlo::ComputationId comparator(hlo::ComparisonDirection direction, const std::vector<DType>& all);

  [[nodiscard]] hlo::Module finish(hlo::ComputationId entry) &&;

 private:
  hlo::Module module_;
  std::map<std::pair<hlo::Opcode, DType>, hlo::ComputationId> combiners_;
};

// One computation that is being written.
class Scope {
 public:
  explicit Scope(Writer& writer)
      : writer_(writer), builder_(writer.module()), emit_(builder_, like_) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Array parameter(const Shape& shape);
  Array number(DType dtype, double value);
  Array integers(const std::vector<int64_t>& values);            // s32[n]
  Array iota(const std::vector<int64_t>& sizes, int64_t along);  // s32
  Array zeros(const Shape& shape);

  // The computation with a tuple of these as its result.
  [[nodiscard]] hlo::ComputationId finish(const Arrays& results) &&;
  // The computation with this as its result, as conditions and combiners have it.
  [[nodiscard]] hlo::ComputationId finish_with(const Array& result) &&;

  Writer& writer() { return writer_; }
  Emitter& emit() { return emit_; }
  Array wrap(hlo::InstructionId id);

 private:
  Writer& writer_;
  hlo::Instruction like_;
  hlo::ComputationBuilder builder_;
  Emitter emit_;
};

class Array {
 public:
  Array(Scope& scope, hlo::InstructionId id) : scope_(&scope), id_(id) {}

  [[nodiscard]] Scope& scope() const { return *scope_; }
  [[nodiscard]] hlo::InstructionId id() const { return id_; }
  [[nodiscard]] const Shape& shape() const { return scope_->emit().shape(id_); }
  [[nodiscard]] DType dtype() const { return shape().dtype(); }
  [[nodiscard]] int64_t size(int64_t dimension) const { return shape().dimension(dimension); }
  // A number of this element type.
  [[nodiscard]] Array number(double value) const { return scope_->number(dtype(), value); }

 private:
  Scope* scope_;
  hlo::InstructionId id_;
};

Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);
Array operator-(const Array& a);
Array operator&(const Array& a, const Array& b);
Array operator|(const Array& a, const Array& b);
Array operator!(const Array& a);
Array operator<(const Array& a, const Array& b);
Array operator<=(const Array& a, const Array& b);
Array operator>(const Array& a, const Array& b);
Array operator>=(const Array& a, const Array& b);
Array operator==(const Array& a, const Array& b);
Array maximum(const Array& a, const Array& b);
Array minimum(const Array& a, const Array& b);
inline Array operator+(const Array& a, double b) { return a + a.number(b); }
inline Array operator-(const Array& a, double b) { return a - a.number(b); }
inline Array operator*(const Array& a, double b) { return a * a.number(b); }
inline Array operator/(const Array& a, double b) { return a / a.number(b); }
inline Array operator/(double a, const Array& b) { return b.number(a) / b; }
inline Array operator<(const Array& a, double b) { return a < a.number(b); }
inline Array operator>(const Array& a, double b) { return a > a.number(b); }
inline Array operator>=(const Array& a, double b) { return a >= a.number(b); }
inline Array operator==(const Array& a, double b) { return a == a.number(b); }

Array abs(const Array& x);  // of complex numbers: real
Array sqrt(const Array& x);
Array real(const Array& x);  // of real numbers: themselves; imag: zeros
Array imag(const Array& x);
Array conjugate(const Array& x);
Array is_finite(const Array& x);     // both parts
Array squared_size(const Array& x);  // |x|^2, real
Array convert(const Array& x, DType dtype);
// The power of two that x >= 0 has as its leading part; the least normal number below that.
Array power_of_two(const Array& x);

// Where p is true, x, elsewhere y.
Array select(const Array& p, const Array& x, const Array& y);
inline Array select(const Array& p, const Array& x, double y) { return select(p, x, x.number(y)); }

Array sum(const Array& x, const std::vector<int64_t>& dimensions);
Array greatest(const Array& x, const std::vector<int64_t>& dimensions);  // of numbers >= 0
Array any(const Array& x, const std::vector<int64_t>& dimensions);
Array all(const Array& x, const std::vector<int64_t>& dimensions);

Array stretched(const Array& x, const std::vector<int64_t>& sizes);
Array reshape(const Array& x, const std::vector<int64_t>& sizes);
Array slice(const Array& x, int64_t dimension, int64_t start, int64_t size);
Array concatenate(const Arrays& parts, int64_t dimension);
Array pad_end(const Array& x, int64_t dimension, int64_t count);  // with zeros
// x[.., at, ..] of size 1 along the dimension, and x with that replaced.
Array pick(const Array& x, int64_t dimension, const Array& at);
Array put(const Array& x, const Array& part, int64_t dimension, const Array& at);

// pred [1, m, n]: row and column have the same number.
Array on_diagonal(Scope& scope, int64_t m, int64_t n);
// Of batches of matrices, [b, m, n].
Array transpose(const Array& x);
Array adjoint(const Array& x);
Array matmul(const Array& a, const Array& b);

// All arrays of one shape in the order that sorts the first along the dimension; equal ones keep
// theirs.
Arrays sort(const Arrays& xs, int64_t dimension, hlo::ComparisonDirection direction);

// while (condition(state)) state = step(state); neither may use arrays from outside.
Arrays loop(const Arrays& state, base::FunctionRef<Array(Scope&, const Arrays&)> condition,
            base::FunctionRef<Arrays(Scope&, const Arrays&)> step);
// The same for i = 0, 1, .. count - 1, s32[]; step(i, state) -> state.
Arrays repeat(int64_t count, const Arrays& state,
              base::FunctionRef<Arrays(Scope&, const Array& i, const Arrays&)> step);

}  // namespace heddle::transform::lapack
