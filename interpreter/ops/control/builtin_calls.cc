// The custom-call targets that need no registration, but for LAPACK's (interpreter/linalg/).
#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>
#include <vector>

#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/calls/lapack.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/internal/custom_calls.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/ops/control/debug_calls.h"
#include "heddle/interpreter/ops/elementwise/complex_math.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/movement/permute.h"
#include "heddle/interpreter/rules.h"
#include "heddle/interpreter/topk.h"

namespace heddle::interpreter {
namespace {

// Placement, sharding and markers: on one device the operand as it is.
StatusOr<Literal> identity(CustomCall& call) {
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  return call.take(0);
}

// Into and out of the part of a program that is written for one device of several: where there is
// one, both are all of it. With several devices custom-call itself answers (joint_collectives.h).
StatusOr<Literal> same_view(CustomCall& call) {
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  if (same_type(call[0].shape(), call.result())) return call.take(0);
  return base::unimplemented("custom-call: ", call.target(), ": makes ", call.result(), " of ",
                             call[0].shape(),
                             ", which is a part on one of several devices; put the arguments on "
                             "those: device_put(x, Sharding(mesh, ..))");
}

// A group of values to be sharded alike: nothing, on one device.
StatusOr<Literal> nothing(CustomCall& call) { return Literal(call.result()); }

// shape_assertion(ok, ..), error_message: fails where ok is false. Operands after the first stand
// in the message as {0}, {1}, ..
StatusOr<Literal> shape_assertion(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const std::span<const bool> ok, call.values<bool>(0));
  if (ok.size() == 1 && ok[0]) return Literal(call.result());
  const StatusOr<std::string> given = call.text("error_message");
  std::string message = given.ok() ? *given : "the assertion does not hold";
  for (size_t i = 1; i < call.size(); ++i) {
    const std::string place = base::cat("{", i - 1, "}");
    const size_t at = message.find(place);
    if (at == std::string::npos || !call[i].shape().is_scalar()) continue;
    message.replace(at, place.size(), base::cat(call[i].to_int64(0)));
  }
  return call.error(message);
}

// TopK(x): topk, with k as in the result. Its comparator is always "greater".
StatusOr<Literal> top_k_call(CustomCall& call) {
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  const Shape& x = call[0].shape();
  const Shape& result = call.result();
  const bool right = x.is_array() && x.rank() > 0 && !is_complex(x.dtype()) && result.is_tuple() &&
                     result.element_shapes() == 2 && result.element(0).is_array() &&
                     result.element(0).rank() == x.rank();
  if (!right)
    return call.error("operand is ", x, " and the result ", result,
                      "; must be an array, and a pair of its rank");
  const int64_t k = result.element(0).dimension(x.rank() - 1);
  if (k > x.dimension(x.rank() - 1))
    return call.error("operand is ", x, "; has fewer than the ", k, " elements of the result");
  return top_k(call[0], k, true);
}

// ApproxTopK(x.., init..), reduction_dim: the first elements along a dimension in the order of the
// comparator, as many as the result has. Exact, which is as good as any recall_target. Where the
// result is longer than x, initial values fill it.
class ApproximateTopK {
 public:
  explicit ApproximateTopK(CustomCall& call) : call_(call), count_(call.size() / 2) {}

  StatusOr<Literal> run() {
    HEDDLE_RETURN_IF_ERROR(prepare());
    std::vector<Literal> results;
    for (size_t i = 0; i < count_; ++i)
      results.emplace_back(wanted(i).with_dimensions(row_dimensions(wanted(i))));
    const int64_t rows = length_ == 0 ? 0 : rows_[0].element_count() / length_;
    for (int64_t row = 0; row < rows; ++row) {
      HEDDLE_ASSIGN_OR_RETURN(const std::vector<int64_t> order, order_of(row));
      for (size_t i = 0; i < count_; ++i) fill(i, row, order, results[i]);
    }
    for (size_t i = 0; i < count_; ++i) {
      results[i] = permuted(results[i], inverse_of(permutation_)).reshaped(wanted(i));
    }
    if (!call_.result().is_tuple()) return std::move(results[0]);
    return Literal::tuple(std::move(results));
  }

 private:
  const Shape& wanted(size_t i) const {
    return call_.result().is_tuple() ? call_.result().element(static_cast<int64_t>(i))
                                     : call_.result();
  }
  // With the reduced dimension last.
  std::vector<int64_t> row_dimensions(const Shape& shape) const {
    std::vector<int64_t> out;
    for (int64_t d : permutation_) out.push_back(shape.dimension(d));
    return out;
  }

  Status prepare() {
    if (count_ == 0 || call_.size() % 2 != 0 || call_.computation_count() != 1) {
      return call_.error("has ", call_.size(), " operands and ", call_.computation_count(),
                         " computations; takes arrays, as many initial values, and one comparator");
    }
    HEDDLE_ASSIGN_OR_RETURN(const int64_t dimension, call_.integer("reduction_dim"));
    const int64_t rank = call_[0].shape().rank();
    if (dimension < 0 || dimension >= rank) {
      return call_.error("reduction_dim is ", dimension, "; must be in [0, ", rank, ")");
    }
    permutation_ = other_dimensions(rank, {&dimension, 1});
    permutation_.push_back(dimension);
    length_ = call_[0].shape().dimension(dimension);
    for (size_t i = 0; i < count_; ++i) HEDDLE_RETURN_IF_ERROR(add_operand(i, dimension));
    return {};
  }

  Status add_operand(size_t i, int64_t dimension) {
    const Shape& x = call_[i].shape();
    const bool is_array = x.is_array() && call_[count_ + i].shape().is_scalar(x.dtype());
    if (!is_array || !same_dimensions(x, call_[0].shape())) {
      return call_.error("operand ", i, " is ", x, " and its initial value ",
                         call_[count_ + i].shape(),
                         "; must be arrays of one size, and scalars of their types");
    }
    const auto results = call_.result().is_tuple() ? call_.result().element_shapes() : 1;
    bool fits = results == static_cast<int64_t>(count_) && wanted(i).dtype() == x.dtype() &&
                wanted(i).rank() == x.rank();
    for (int64_t d = 0; fits && d < x.rank(); ++d)
      fits = d == dimension || wanted(i).dimension(d) == x.dimension(d);
    if (!fits)
      return call_.error("result is declared as ", call_.result(),
                         "; must be like the operands but for reduction_dim");
    rows_.push_back(permuted(call_[i], permutation_));
    return {};
  }

  static Literal element(const Literal& array, int64_t at) {
    Literal out = Literal::uninitialised(Shape::scalar(array.shape().dtype()));
    const auto width = static_cast<size_t>(out.byte_size());
    std::memcpy(out.mutable_bytes(), array.bytes() + static_cast<size_t>(at) * width, width);
    return out;
  }

  StatusOr<bool> goes_first(int64_t a, int64_t b) {
    std::vector<Literal> sides;
    for (const Literal& each : rows_) {
      sides.push_back(element(each, a));
      sides.push_back(element(each, b));
    }
    HEDDLE_ASSIGN_OR_RETURN(const Literal answer, call_.call(0, sides));
    if (!answer.shape().is_scalar(pred))
      return call_.error("its comparator returns ", answer.shape(), "; must return pred[]");
    return answer.values<bool>()[0];
  }

  StatusOr<std::vector<int64_t>> order_of(int64_t row) {
    std::vector<int64_t> order(static_cast<size_t>(length_));
    std::iota(order.begin(), order.end(), row * length_);
    Status error;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      if (!error.ok()) return false;
      const StatusOr<bool> first = goes_first(a, b);
      if (!first.ok()) error = first.status();
      return first.ok() && *first;
    });
    if (!error.ok()) return error;
    return order;
  }

  void fill(size_t i, int64_t row, const std::vector<int64_t>& order, Literal& to) const {
    const int64_t size = to.shape().dimensions().back();
    const auto width = static_cast<size_t>(storage_bytes(to.shape().dtype()));
    std::byte* out = to.mutable_bytes() + static_cast<size_t>(row * size) * width;
    for (int64_t k = 0; k < size; ++k, out += width) {
      const std::byte* from =
          k < length_
              ? rows_[i].bytes() + static_cast<size_t>(order[static_cast<size_t>(k)]) * width
              : call_[count_ + i].bytes();
      std::memcpy(out, from, width);
    }
  }

  CustomCall& call_;
  const size_t count_;
  std::vector<int64_t> permutation_;
  int64_t length_ = 0;
  std::vector<Literal> rows_;
};

StatusOr<Literal> approximate_top_k(CustomCall& call) { return ApproximateTopK(call).run(); }

// cpu_csr_sparse_dense_ffi(data, outer, inner, dense): a sparse matrix times a vector or matrix.
// Its row i has data[k] in column inner[k], for k from outer[i] to outer[i + 1].
class SparseTimesDense {
 public:
  explicit SparseTimesDense(CustomCall& call) : call_(call) {}

  StatusOr<Literal> run() {
    HEDDLE_RETURN_IF_ERROR(check());
    columns_ = call_[3].shape().rank() == 2 ? call_[3].shape().dimension(1) : 1;
    outer_ = numbers_of<int64_t>(call_[1]);
    inner_ = numbers_of<int64_t>(call_[2]);
    HEDDLE_RETURN_IF_ERROR(check_indices());
    const DType dtype = call_.result().dtype();
    if (is_complex(dtype)) return multiply<std::complex<double>>();
    return is_floating(dtype) ? multiply<double>() : multiply<int64_t>();
  }

 private:
  Status check() {
    HEDDLE_RETURN_IF_ERROR(call_.check_size(4));
    const Shape &data = call_[0].shape(), &outer = call_[1].shape(), &inner = call_[2].shape(),
                &dense = call_[3].shape();
    const bool arrays = data.is_array() && outer.is_array() && inner.is_array() &&
                        dense.is_array() && call_.result().is_array();
    const bool ranks = arrays && data.rank() == 1 && outer.rank() == 1 && inner.rank() == 1 &&
                       (dense.rank() == 1 || dense.rank() == 2);
    if (!ranks || !is_integer(outer.dtype()) || !is_integer(inner.dtype()) ||
        inner.dimension(0) != data.dimension(0) || outer.dimension(0) == 0 ||
        dense.dtype() != data.dtype()) {
      return call_.error("operands are ", data, ", ", outer, ", ", inner, " and ", dense,
                         "; must be n elements, a row's first element each and n at the end, n "
                         "columns, and a vector or matrix");
    }
    std::vector<int64_t> sizes = dense.dimensions();
    sizes[0] = outer.dimension(0) - 1;
    if (same_type(call_.result(), Shape(data.dtype(), sizes))) return {};
    return call_.error("the result is ", call_.result(), "; must be ", Shape(data.dtype(), sizes));
  }

  Status check_indices() {
    const auto elements = static_cast<int64_t>(inner_.size());
    const int64_t rows = call_[3].shape().dimension(0);
    const bool in_order =
        std::ranges::is_sorted(outer_) && outer_.front() >= 0 && outer_.back() <= elements;
    if (in_order && std::ranges::all_of(inner_, [&](int64_t k) { return k >= 0 && k < rows; }))
      return {};
    return call_.error("an index is out of bounds of the ", elements, " elements and ", rows,
                       " columns");
  }

  template <class T>
  Literal multiply() {
    const std::vector<T> data = numbers_of<T>(call_[0]), dense = numbers_of<T>(call_[3]);
    Literal out = Literal::uninitialised(call_.result());
    std::vector<T> sums(static_cast<size_t>(out.element_count()));
    const bool in_f32 = out.shape().dtype() == f32;
    for (size_t row = 0; row + 1 < outer_.size(); ++row) {
      T* to = sums.data() + static_cast<int64_t>(row) * columns_;
      for (int64_t k = outer_[row]; k < outer_[row + 1]; ++k) {
        const T* from = dense.data() + inner_[static_cast<size_t>(k)] * columns_;
        for (int64_t j = 0; j < columns_; ++j)
          add_product(to[j], data[static_cast<size_t>(k)], from[j], in_f32);
      }
    }
    store(out.shape().dtype(), sums.data(), out.element_count(), out.mutable_bytes());
    return out;
  }

  // In f32 every step is rounded, as there: doubles hold a product of two floats, and a sum.
  template <class T>
  static void add_product(T& to, T a, T b, [[maybe_unused]] bool in_f32) {
    if constexpr (std::is_same_v<T, int64_t>) {
      to = static_cast<int64_t>(static_cast<uint64_t>(to) +
                                static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else if constexpr (std::is_same_v<T, double>) {
      to = in_f32 ? static_cast<double>(
                        static_cast<float>(to + static_cast<double>(static_cast<float>(a * b))))
                  : to + a * b;
    } else {
      to += complex_math::multiply(a, b);
    }
  }

  CustomCall& call_;
  int64_t columns_ = 1;
  std::vector<int64_t> outer_, inner_;
};

StatusOr<Literal> sparse_times_dense(CustomCall& call) { return SparseTimesDense(call).run(); }

// A function with a derivative of its own (hlo/calls/custom_derivative.h): the first computation on
// the arguments and what it captures.
StatusOr<Literal> function_itself(CustomCall& call) {
  const auto counts =
      operand_counts(call.backend_config(), call.size(), 1 + call.computation_count());
  if (!counts || call.computation_count() == 0)
    return call.error("has ", call.size(), " operands, ", call.computation_count(),
                      " computations and the backend_config \"", call.backend_config(),
                      "\"; it must count the arguments and what each computation captures");
  return call.call(0, call.operands().first((*counts)[0] + (*counts)[1]));
}

struct Builtin {
  std::string_view target;
  StatusOr<Literal> (*function)(CustomCall&);
};
constexpr Builtin kBuiltins[] = {
    {"ApproxTopK", approximate_top_k},
    {"LayoutConstraint", identity},
    {"MoveToDevice", identity},
    {"MoveToHost", identity},
    {"SPMDFullToShardShape", same_view},
    {"SPMDShardToFullShape", same_view},
    {"Sharding", identity},
    {"TopK", top_k_call},
    {"annotate_device_placement", identity},
    {"cpu_csr_sparse_dense_ffi", sparse_times_dense},
    {"dce_sink", nothing},
    {kCheckCall, check_call},
    {kCustomJvp, function_itself},
    {kElementwiseCall, function_itself},
    {kCustomVjp, function_itself},
    {kLinearSolve, function_itself},
    {kPrintCall, print_call},
    {kProgressCall, progress_call},
    {kReportCall, report_call},
    {kRoot, function_itself},
    {kWithTangent, function_itself},
    {"shape_assertion", shape_assertion},
    {"xla.sdy.FuncResultSharding", identity},
    {"xla.sdy.GlobalToLocalShape", identity},
    {"xla.sdy.LocalToGlobalShape", identity},
    {"xla.sdy.PropagationBarrier", identity},
    {"xla.sdy.ShardingGroup", nothing},
    {"xla_mark_tensor", identity},
};

}  // namespace

CustomCallFunction find_builtin_call(std::string_view target) {
  const auto* const found = std::ranges::find(kBuiltins, target, &Builtin::target);
  if (found != std::end(kBuiltins)) return found->function;
  return linalg::find_lapack(target);
}

std::vector<std::string> builtin_call_targets() {
  std::vector<std::string> out = lapack_targets();
  for (const Builtin& each : kBuiltins) out.emplace_back(each.target);
  return out;
}

}  // namespace heddle::interpreter
