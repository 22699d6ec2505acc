// Programs of Heddle's own functions, outside of a trace: what one of them computes follows from
// its name, its options and the types of its operands. So its program is found by these, and
// nothing is recorded but the first time. Private to Heddle's op functions.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// FunctionRef::identity() of a part of the formula.
enum class FormulaId : uint64_t { kHasState = 0 };

// A number that the program has in it, an epsilon or an order. The first one that a thread sees is
// part of a known program; calls with others go the usual way, where a number may be an operand.
struct FixedNumber {
  double value;
};

// Beside arrays of more elements a number is a constant, which folds: a recording takes less time
// than the run.
inline constexpr int64_t kMostBesideNumbers = 4096;

// What a program depends on beside the types of the operands. All that the formula reads has to be
// in it.
class KnownOptions {
 public:
  template <class... Parts>
  explicit KnownOptions(const Parts&... parts) {
    (add(parts), ...);
  }
  // Nothing where they are too many.
  [[nodiscard]] std::optional<std::span<const int64_t>> words() const {
    if (size_ > words_.size()) return std::nullopt;
    return std::span(words_.data(), size_);
  }
  // Bit i: word i is a FixedNumber.
  [[nodiscard]] uint32_t fixed() const { return fixed_; }

 private:
  void put(int64_t word) {
    if (size_ < words_.size()) words_[size_] = word;
    ++size_;
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T value) {
    static_assert(!std::is_floating_point_v<T>, "a number that is computed with is an operand");
    put(static_cast<int64_t>(value));
  }
  // Nobody knows what a formula with state reads: its program is not found.
  void add(FormulaId formula) {
    put(static_cast<int64_t>(formula));
    if (formula == FormulaId::kHasState) size_ = words_.size() + 1;
  }
  void add(FixedNumber number) {
    if (size_ < words_.size()) fixed_ |= uint32_t{1} << size_;
    put(std::bit_cast<int64_t>(number.value));
  }
  void add(const std::vector<double>& numbers) {  // fixed as well
    put(static_cast<int64_t>(numbers.size()));
    for (const double number : numbers) add(FixedNumber{number});
  }
  template <class T>
  void add(const std::optional<T>& value) {
    put(value.has_value() ? 1 : 0);
    if (value) add(*value);
  }
  void add(const base::Int& value) { put(value); }
  void add(const base::Flag& value) { put(value ? 1 : 0); }
  void add(const base::Ints& values) { add(values.list()); }
  void add(const std::vector<int64_t>& values) {
    put(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) put(value);
  }
  void add(std::string_view text);

  std::array<int64_t, 20> words_;  // the first size_ are set
  size_t size_ = 0;
  uint32_t fixed_ = 0;
};

// An operand, and the dtype that it takes where it is a C++ number.
struct KnownOperand {
  KnownOperand(const Operand& given, DType dtype = DType::kInvalid)
      : operand(&given), number_dtype(dtype) {}
  const Operand* operand;
  DType number_dtype;
};

// The dtype that a number beside the operand takes: none where the operand is no value.
DType dtype_beside(const Operand& operand);

// What the function computes, of tensors that stand for the operands.
using Formula = base::FunctionRef<Tensor(std::span<const Tensor>)>;

// Runs the program of a function; the first time, it is traced. `name`: of static storage, and of
// this function alone. `spare`: the operand whose memory the result may have, where it is dying and
// nothing else refers to it.
//
// returns  a tensor without a value where the call has to go the usual way: inside of a trace, for
//          operands that are no plain arrays on one device, and for every mistake, which the usual
//          way reports
// errors   throws Error of a compilation or a run, which is not tried again
Tensor known_program(std::string_view name, const KnownOptions& options,
                     std::initializer_list<KnownOperand> operands, Formula formula);
Tensor known_program(std::string_view name, const KnownOptions& options,
                     std::span<const KnownOperand> operands, Formula formula,
                     std::optional<size_t> spare = {});

// What a function computes of its operands, as the caller gave them or as tensors in their place.
using Formulas = base::FunctionRef<std::vector<Tensor>(std::span<const Operand>)>;

// in_program(), by a known program where the operands allow it, so that nothing is recorded. A
// number is a tensor of its KnownOperand's dtype there.
//
// errors   throws Error of the formula, and as in_program()
std::vector<Tensor> in_program(std::string_view name, const KnownOptions& options,
                               std::span<const KnownOperand> operands, Formulas formula);
// The same of a formula of Exprs (trace/expr.h), which are no numbers.
class Expr;
std::vector<Tensor> in_program(std::string_view name, const KnownOptions& options,
                               const std::vector<Expr>& operands,
                               base::FunctionRef<std::vector<Expr>(std::span<const Expr>)> formula);
// The same of one result.
template <class Fn>
Tensor one_program(std::string_view name, const KnownOptions& options,
                   std::initializer_list<KnownOperand> operands, Fn&& fn) {
  const auto formula = [&](std::span<const Operand> xs) { return std::vector<Tensor>{fn(xs)}; };
  return in_program(name, options, std::span(operands.begin(), operands.size()), formula)[0];
}

}  // namespace heddle::trace_internal
