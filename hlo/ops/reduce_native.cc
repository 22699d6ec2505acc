#include "heddle/hlo/ops/reduce_native.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/blocks.h"

namespace heddle::hlo {
namespace {

using C128 = std::complex<double>;

// Accumulators: each takes elements one by one, beginning with the initial value.
struct Sum {
  using Element = double;
  double value;
  explicit Sum(double init) : value(init) {}
  void take(double x) { value += x; }
};

// The sum and, apart, what its roundings lost.
struct ExactSum {
  using Element = double;
  double value;
  double lost = 0;
  explicit ExactSum(double init) : value(init) {}
  void take(double x) {
    const double sum = value + x;
    const double of_x = sum - value;
    lost += (value - (sum - of_x)) + (x - of_x);
    value = sum;
  }
  [[nodiscard]] double result() const { return lost == 0 || !std::isfinite(value) ? value : value + lost; }
};

struct ComplexSum {
  using Element = C128;
  ExactSum re, im;
  explicit ComplexSum(C128 init) : re(init.real()), im(init.imag()) {}
  void take(C128 x) {
    re.take(x.real());
    im.take(x.imag());
  }
  [[nodiscard]] C128 result() const { return {re.result(), im.result()}; }
};

template <class T>
struct Product {
  using Element = T;
  T value;
  explicit Product(T init) : value(init) {}
  void take(T x) { value *= x; }
};

// A NaN among the elements stays.
struct Minimum {
  using Element = double;
  double value;
  explicit Minimum(double init) : value(init) {}
  void take(double x) { value = x < value || x != x ? x : value; }
};
struct Maximum {
  using Element = double;
  double value;
  explicit Maximum(double init) : value(init) {}
  void take(double x) { value = x > value || x != x ? x : value; }
};

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
int64_t add(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) + bits(b)); }
int64_t multiply(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) * bits(b)); }
int64_t signed_min(int64_t a, int64_t b) { return std::min(a, b); }
int64_t signed_max(int64_t a, int64_t b) { return std::max(a, b); }
int64_t unsigned_min(int64_t a, int64_t b) { return bits(b) < bits(a) ? b : a; }
int64_t unsigned_max(int64_t a, int64_t b) { return bits(b) > bits(a) ? b : a; }
int64_t bit_and(int64_t a, int64_t b) { return a & b; }
int64_t bit_or(int64_t a, int64_t b) { return a | b; }
int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }

template <int64_t (*kOp)(int64_t, int64_t)>
struct Integer {
  using Element = int64_t;
  int64_t value;
  explicit Integer(int64_t init) : value(init) {}
  void take(int64_t x) { value = kOp(value, x); }
};

template <class Accumulator>
typename Accumulator::Element result_of(const Accumulator& a) {
  if constexpr (requires { a.result(); }) {
    return a.result();
  } else {
    return a.value;
  }
}

// Neighbouring dimensions of a kind, as one. The position in the result of a row is the sum of index times stride.
struct Group {
  int64_t size;
  int64_t stride;  // in the result; 0: reduced
};

std::vector<Group> groups_of(const Shape& shape, const std::vector<int64_t>& reduced) {
  std::vector<Group> groups;  // from the innermost
  int64_t stride = 1;
  for (int64_t d = shape.rank(); d-- > 0;) {
    const int64_t size = shape.dimension(d);
    const bool kept = std::ranges::find(reduced, d) == reduced.end();
    if (size == 1) continue;
    if (!groups.empty() && (groups.back().stride != 0) == kept) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, kept ? stride : 0});
    }
    if (kept) stride *= size;
  }
  if (groups.empty()) groups.push_back({1, 0});
  return groups;
}

// Walks over the rows of an array (runs of its innermost group) in the order of memory.
class Rows {
 public:
  explicit Rows(std::vector<Group> groups) : groups_(std::move(groups)), at_(groups_.size(), 0) {}

  [[nodiscard]] int64_t length() const { return groups_[0].size; }
  [[nodiscard]] bool is_kept() const { return groups_[0].stride != 0; }
  [[nodiscard]] int64_t count() const {
    int64_t count = 1;
    for (size_t g = 1; g < groups_.size(); ++g) count *= groups_[g].size;
    return count;
  }
  // Where the row's first element goes in the result; then moves on.
  int64_t next() {
    const int64_t position = position_;
    for (size_t g = 1; g < groups_.size(); ++g) {
      position_ += groups_[g].stride;
      if (++at_[g] < groups_[g].size) break;
      position_ -= groups_[g].stride * groups_[g].size;
      at_[g] = 0;
    }
    return position;
  }

 private:
  std::vector<Group> groups_;
  std::vector<int64_t> at_;
  int64_t position_ = 0;
};

constexpr int64_t kBlock = 2048;

template <class Accumulator>
void take_row(Accumulator* to, bool is_kept, const typename Accumulator::Element* from, int64_t count) {
  if (is_kept) {
    for (int64_t i = 0; i < count; ++i) to[i].take(from[i]);
  } else {
    Accumulator one = *to;
    for (int64_t i = 0; i < count; ++i) one.take(from[i]);
    *to = one;
  }
}

template <class Accumulator>
void take_all(Accumulator* to, Rows rows, const Literal& x) {
  using Element = typename Accumulator::Element;
  const DType dtype = x.shape().dtype();
  const int64_t width = storage_bytes(dtype);
  const std::byte* from = x.bytes();
  std::vector<Element> block(static_cast<size_t>(std::min(kBlock, x.element_count())));
  const int64_t at_once = std::max<int64_t>(1, kBlock / rows.length());
  for (int64_t left = rows.count(); left > 0;) {
    const int64_t batch = std::min(left, at_once);
    left -= batch;
    if (rows.length() <= kBlock) {
      load(dtype, from, batch * rows.length(), block.data());
      for (int64_t r = 0; r < batch; ++r) {
        take_row(to + rows.next(), rows.is_kept(), block.data() + r * rows.length(), rows.length());
      }
    } else {
      Accumulator* row = to + rows.next();
      for (int64_t i = 0; i < rows.length(); i += kBlock) {
        const int64_t count = std::min(kBlock, rows.length() - i);
        load(dtype, from + i * width, count, block.data());
        take_row(rows.is_kept() ? row + i : row, rows.is_kept(), block.data(), count);
      }
    }
    from += batch * rows.length() * width;
  }
}

template <class Accumulator>
Literal reduce(const Literal& x, const Literal& init, const std::vector<int64_t>& dimensions, const Shape& shape) {
  typename Accumulator::Element start;
  load(init.shape().dtype(), init.bytes(), 1, &start);
  std::vector<Accumulator> accumulators(static_cast<size_t>(shape.element_count()), Accumulator(start));
  if (x.element_count() > 0) {
    take_all(accumulators.data(), Rows(groups_of(x.shape(), dimensions)), x);
  }
  Literal out = Literal::uninitialised(shape);
  std::vector<typename Accumulator::Element> values;
  values.reserve(accumulators.size());
  for (const Accumulator& each : accumulators) values.push_back(result_of(each));
  store(shape.dtype(), values.data(), shape.element_count(), out.mutable_bytes());
  return out;
}

using Loop = Literal (*)(const Literal&, const Literal&, const std::vector<int64_t>&, const Shape&);

Loop float_loop(Opcode op, DType dtype) {
  switch (op) {
    case Opcode::kAdd: return dtype == f64 ? reduce<ExactSum> : reduce<Sum>;
    case Opcode::kMultiply: return reduce<Product<double>>;
    case Opcode::kMinimum: return reduce<Minimum>;
    case Opcode::kMaximum: return reduce<Maximum>;
    default: return nullptr;
  }
}

// pred is 0 and 1: a sum is "not zero" when stored.
Loop integer_loop(Opcode op, bool is_signed) {
  switch (op) {
    case Opcode::kAdd: return reduce<Integer<add>>;
    case Opcode::kMultiply: return reduce<Integer<multiply>>;
    case Opcode::kMinimum: return is_signed ? reduce<Integer<signed_min>> : reduce<Integer<unsigned_min>>;
    case Opcode::kMaximum: return is_signed ? reduce<Integer<signed_max>> : reduce<Integer<unsigned_max>>;
    case Opcode::kAnd: return reduce<Integer<bit_and>>;
    case Opcode::kOr: return reduce<Integer<bit_or>>;
    case Opcode::kXor: return reduce<Integer<bit_xor>>;
    default: return nullptr;
  }
}

Loop loop_for(Opcode op, DType dtype) {
  if (is_floating(dtype)) return float_loop(op, dtype);
  if (!is_complex(dtype)) return integer_loop(op, is_signed(dtype));
  if (op == Opcode::kAdd) return reduce<ComplexSum>;
  if (op == Opcode::kMultiply) return reduce<Product<C128>>;
  return nullptr;
}

}  // namespace

std::optional<Opcode> native_reducer(const Computation& computation) {
  const Instruction& root = computation.root_instruction();
  if (computation.parameter_count() != 2 || root.operands.size() != 2) return std::nullopt;
  const std::vector<InstructionId>& parameters = computation.parameters;
  const bool of_parameters =
      root.operands == parameters || (root.operands[0] == parameters[1] && root.operands[1] == parameters[0]);
  if (!of_parameters || loop_for(root.opcode, root.shape.dtype()) == nullptr) return std::nullopt;
  return root.opcode;
}

Literal reduce_native(Opcode op, const Literal& x, const Literal& init, const std::vector<int64_t>& dimensions,
                      const Shape& result) {
  return loop_for(op, result.dtype())(x, init, dimensions, result);
}

}  // namespace heddle::hlo
