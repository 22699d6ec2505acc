#include "heddle/tools/conformance/fresh.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
#include <random>

#include "heddle/hlo/literal/blocks.h"

namespace heddle::conformance {
namespace {

using Numbers = std::vector<double>;
using Complex = std::complex<double>;

// Gives the same numbers everywhere; the standard's distributions differ between libraries.
class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  uint64_t bits() { return bits_(); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  double between(double low, double high) { return low + unit() * (high - low); }
  size_t below(size_t count) { return bits() % count; }
  bool chance(double p) { return unit() < p; }
  // A number from low to high, both included, whatever their distance.
  int64_t within(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(low) + (span == 0 ? bits() : bits() % span));
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 bits_;
};

// What the program needs of its arguments.
struct Program {
  bool loops = false;
  bool unique_indices = false;
  bool sorted_indices = false;
};

Program look_at(const hlo::Module& module) {
  Program out;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& each : computation.instructions) {
      out.loops |= each.opcode == hlo::Opcode::kWhile || each.opcode == hlo::Opcode::kScan;
      if (each.opcode == hlo::Opcode::kScatter) {
        const auto& scatter = each.attrs.get<hlo::ScatterAttrs>();
        out.unique_indices |= scatter.unique_indices;
        out.sorted_indices |= scatter.indices_are_sorted;
      } else if (each.opcode == hlo::Opcode::kGather) {
        out.sorted_indices |= each.attrs.get<hlo::GatherAttrs>().indices_are_sorted;
      }
    }
  }
  return out;
}

int64_t last_dimension(const Shape& shape) {
  return shape.dimensions().empty() ? 1 : shape.dimensions().back();
}

// Whether there are three or more along the last dimension, which ascend and are not all equal.
template <class T>
bool ascends(const std::vector<T>& values, int64_t row) {
  if (row < 3) return false;
  for (size_t i = 0; i < values.size(); i += static_cast<size_t>(row)) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i);
    if (!std::is_sorted(first, first + row) || *first == *(first + row - 1)) return false;
  }
  return true;
}

template <class T>
void sort_rows(std::vector<T>& values, int64_t row) {
  for (auto at = values.begin(); at != values.end(); at += row) std::sort(at, at + row);
}

// ---- floats

Numbers finite_and_sorted(const Numbers& values) {
  Numbers out;
  std::ranges::copy_if(values, std::back_inserter(out), [](double x) { return std::isfinite(x); });
  std::ranges::sort(out);
  return out;
}

// If all recorded values are the same, they tell a size; 0 often is a start.
double near_only_value(double value, Random& random) {
  if (value != 0) return value * random.between(0.5, 1.5);
  return random.chance(0.5) ? 0 : random.between(-1, 1);
}

double like(const Numbers& recorded, const Numbers& sorted, Random& random) {
  const double value = recorded[random.below(recorded.size())];
  if (!std::isfinite(value)) return value;
  if (sorted.front() == sorted.back()) return near_only_value(value, random);
  if (random.chance(0.5)) return value;
  const size_t at = random.below(sorted.size() - 1);
  return std::lerp(sorted[at], sorted[at + 1], random.unit());
}

Numbers floats_like(const Numbers& recorded, int64_t row, bool loops, Random& random) {
  if (recorded.empty()) return {};
  const Numbers sorted = finite_and_sorted(recorded);
  const bool in_order = ascends(recorded, row);
  const bool signs = random.chance(0.5) && !in_order && !loops;
  const double scale =
      random.chance(0.75) ? 1 : std::ldexp(1, static_cast<int>(random.within(-3, 3)));
  Numbers out;
  for (size_t i = 0; i < recorded.size(); ++i) {
    const double x = scale * like(recorded, sorted, random);
    out.push_back(signs && random.chance(1.0 / 3) ? -x : x);
  }
  if (in_order) sort_rows(out, row);
  return out;
}

// ---- square matrices, in the last two dimensions

class Matrices {
 public:
  Matrices(std::vector<Complex> values, int64_t size)
      : values_(std::move(values)), n_(static_cast<size_t>(size)) {}
  std::vector<Complex> take() { return std::move(values_); }

  [[nodiscard]] bool are_hermitian() const {
    return all([this](size_t at, size_t i, size_t j) {
      const Complex a = values_[at + i * n_ + j], b = std::conj(values_[at + j * n_ + i]);
      return std::abs(a - b) <= 1e-6 * std::abs(a);
    });
  }
  [[nodiscard]] bool are_upper() const {
    return all([this](size_t at, size_t i, size_t j) {
      return i <= j || values_[at + i * n_ + j] == 0.0;
    });
  }
  [[nodiscard]] bool are_lower() const {
    return all([this](size_t at, size_t i, size_t j) {
      return i >= j || values_[at + i * n_ + j] == 0.0;
    });
  }

  // D P A P' D.
  void rearrange(Random& random) {
    for (size_t at = 0; at < values_.size(); at += n_ * n_) {
      std::vector<size_t> order(n_);
      std::iota(order.begin(), order.end(), 0);
      random.shuffle(order);
      Numbers scale(n_);
      for (double& x : scale) x = random.between(0.75, 1.25);
      const std::vector<Complex> old(values_.begin() + static_cast<std::ptrdiff_t>(at),
                                     values_.begin() + static_cast<std::ptrdiff_t>(at + n_ * n_));
      for (size_t i = 0; i < n_; ++i) {
        for (size_t j = 0; j < n_; ++j)
          values_[at + i * n_ + j] = scale[i] * scale[j] * old[order[i] * n_ + order[j]];
      }
    }
  }

  // The diagonal stays near itself, so that systems stay well conditioned.
  void vary_triangle(bool upper, Random& random) {
    for (size_t i = 0; i < values_.size(); ++i) {
      const size_t row = i / n_ % n_, column = i % n_;
      if (row == column) values_[i] *= random.between(0.75, 1.25);
      if (upper ? row < column : row > column) values_[i] *= random.between(-1.25, 1.25);
    }
  }

 private:
  template <class Test>
  [[nodiscard]] bool all(Test test) const {
    for (size_t at = 0; at < values_.size(); at += n_ * n_) {
      for (size_t k = 0; k < n_ * n_; ++k)
        if (!test(at, k / n_, k % n_)) return false;
    }
    return true;
  }
  std::vector<Complex> values_;
  size_t n_;
};

// Returns true if the argument was a matrix of a form that must stay.
bool draw_matrices(const Literal& old, Literal& out, Random& random) {
  const Shape& shape = old.shape();
  if (shape.rank() < 2 || shape.element_count() == 0) return false;
  const int64_t n = last_dimension(shape);
  if (n < 2 || shape.dimensions()[shape.dimensions().size() - 2] != n) return false;
  std::vector<Complex> values(static_cast<size_t>(shape.element_count()));
  load(shape.dtype(), old.bytes(), shape.element_count(), values.data());
  Matrices matrices(std::move(values), n);
  if (matrices.are_hermitian()) {
    matrices.rearrange(random);
  } else if (const bool upper = matrices.are_upper(); upper || matrices.are_lower()) {
    matrices.vary_triangle(upper, random);
  } else {
    return false;
  }
  values = matrices.take();
  store(shape.dtype(), values.data(), shape.element_count(), out.mutable_bytes());
  return true;
}

Literal draw_floats(const Literal& old, bool loops, Random& random) {
  const Shape& shape = old.shape();
  Literal out = Literal::uninitialised(shape);
  if (draw_matrices(old, out, random)) return out;
  const int64_t parts = is_complex(shape.dtype()) ? 2 : 1;
  Numbers recorded(static_cast<size_t>(shape.element_count() * parts));
  load(real_part(shape.dtype()), old.bytes(), shape.element_count() * parts, recorded.data());
  const Numbers drawn =
      floats_like(recorded, parts == 2 ? 1 : last_dimension(shape), loops, random);
  store(real_part(shape.dtype()), drawn.data(), shape.element_count() * parts, out.mutable_bytes());
  return out;
}

// ---- integers; u64 as its bits

int64_t scalar_like(int64_t value, bool loops, Random& random) {
  if (loops) return value > 1 ? random.within(1, value) : value;
  if (value == 0) return random.within(0, 1);
  return value > 0 ? random.within(0, value) : random.within(value, 0);
}

// Rows of one number, in another order.
std::vector<int64_t> rows_shuffled(const std::vector<int64_t>& values, size_t rows,
                                   Random& random) {
  if (rows == 0) return values;
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  const size_t width = values.size() / rows;
  std::vector<int64_t> out;
  for (const size_t row : order) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * width);
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
  return out;
}

bool are_distinct(std::vector<int64_t> values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

std::vector<int64_t> distinct_like(std::vector<int64_t> values, Random& random) {
  constexpr int64_t kWidest = 1 << 16;
  const auto [low, high] = std::ranges::minmax(values);
  if (high - low < kWidest && high - low >= 0) {
    std::vector<int64_t> all(static_cast<size_t>(high - low + 1));
    std::iota(all.begin(), all.end(), low);
    random.shuffle(all);
    all.resize(values.size());
    return all;
  }
  random.shuffle(values);
  return values;
}

std::vector<int64_t> integers_like(const std::vector<int64_t>& values, int64_t row, bool loops,
                                   Random& random) {
  if (values.size() == 1) return {scalar_like(values[0], loops, random)};
  std::vector<int64_t> out;
  if (are_distinct(values)) {
    out = distinct_like(values, random);
  } else {
    const auto [low, high] = std::ranges::minmax(values);
    for (size_t i = 0; i < values.size(); ++i)
      out.push_back(random.chance(0.5) ? values[random.below(values.size())]
                                       : random.within(low, high));
  }
  if (ascends(values, row)) sort_rows(out, row);
  return out;
}

Literal draw_integers(const Literal& old, const Program& program, Random& random) {
  const Shape& shape = old.shape();
  if (program.sorted_indices || shape.element_count() == 0) return old;
  std::vector<int64_t> values(static_cast<size_t>(shape.element_count()));
  load(shape.dtype(), old.bytes(), shape.element_count(), values.data());
  if (program.unique_indices) {
    const int64_t rows = shape.dimensions().empty() ? 1 : shape.dimensions().front();
    values = rows_shuffled(values, static_cast<size_t>(rows), random);
  } else {
    values = integers_like(values, last_dimension(shape), program.loops, random);
  }
  Literal out = Literal::uninitialised(shape);
  store(shape.dtype(), values.data(), shape.element_count(), out.mutable_bytes());
  return out;
}

Literal draw_truths(const Literal& old, Random& random) {
  const auto values = old.values<bool>();
  const auto count = static_cast<double>(std::ranges::count(values, true));
  const double share = values.empty() ? 0.5 : count / static_cast<double>(values.size());
  Literal out = Literal::uninitialised(old.shape());
  for (bool& each : out.mutable_values<bool>()) each = random.chance(std::clamp(share, 0.2, 0.8));
  return out;
}

Literal draw(const Literal& old, const Program& program, Random& random) {
  if (old.is_tuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : old.elements())
      elements.push_back(draw(element, program, random));
    return Literal::tuple(std::move(elements));
  }
  if (!old.shape().is_array()) return old;
  const DType dtype = old.shape().dtype();
  if (dtype == pred) return draw_truths(old, random);
  return is_integer(dtype) ? draw_integers(old, program, random)
                           : draw_floats(old, program.loops, random);
}

// MurmurHash3's mixing. It must not change: the tables of known differences are of these draws.
uint64_t seed_of(const std::string& name, uint64_t seed, int draw) {
  constexpr uint64_t kC1 = 0x87c37b91114253d5ull, kC2 = 0x4cf5ad432745937full;
  std::vector<uint64_t> words((name.size() + 7) / 8 + 3);
  words.front() = name.size();
  std::memcpy(words.data() + 1, name.data(), name.size());
  words.end()[-2] = seed;
  words.end()[-1] = static_cast<uint32_t>(draw);
  uint64_t a = 0x9368e53c2f6af274ull, b = 0x586dcd208f7cd3fdull;
  for (const uint64_t word : words) {
    a ^= std::rotl(word * kC1, 31) * kC2;
    a = (std::rotl(a, 27) + b) * 5 + 0x52dce729;
    b ^= std::rotl(word * kC2, 33) * kC1;
    b = (std::rotl(b, 31) + a) * 5 + 0x38495ab5;
  }
  const auto finalised = [](uint64_t k) {
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
  };
  return finalised(a ^ words.size()) + finalised(b ^ words.size());
}

// ---- neighbours

bool is_finite(DType dtype, const std::byte* element) {
  double value = 0;
  load(dtype, element, 1, &value);
  return std::isfinite(value);
}

// Of a float with a sign bit on top, and its magnitude below in the order of the numbers.
template <class Bits>
void nudge(DType dtype, std::byte* element, bool up) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  Bits bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  const Bits old = bits;
  if ((bits & kMagnitude) == 0 || !is_finite(dtype, element)) return;
  bits = static_cast<Bits>(up ? bits + 1 : bits - 1);
  std::memcpy(element, &bits, sizeof bits);
  if ((bits & kMagnitude) == 0 || !is_finite(dtype, element))
    std::memcpy(element, &old, sizeof old);
}

void nudge_array(Literal& literal, Random& random) {
  const DType dtype = real_part(literal.shape().dtype());
  if (!is_floating(dtype) || bit_width(dtype) < 8 || dtype == f8e8m0fnu) return;
  const int64_t width = storage_bytes(dtype);
  std::byte* bytes = literal.mutable_bytes();
  for (int64_t at = 0; at < literal.byte_size(); at += width) {
    const bool up = random.chance(0.5);
    switch (width) {
      case 1: nudge<uint8_t>(dtype, bytes + at, up); break;
      case 2: nudge<uint16_t>(dtype, bytes + at, up); break;
      case 4: nudge<uint32_t>(dtype, bytes + at, up); break;
      default: nudge<uint64_t>(dtype, bytes + at, up);
    }
  }
}

void nudge_leaves(Literal& literal, Random& random) {
  if (literal.is_tuple()) {
    for (Literal& element : literal.mutable_elements()) nudge_leaves(element, random);
  } else if (literal.shape().is_array()) {
    nudge_array(literal, random);
  }
}

}  // namespace

std::vector<Literal> fresh_arguments(const Case& item, const hlo::Module& module, uint64_t seed,
                                     int draw_number) {
  Random random(seed_of(item.name, seed, draw_number));
  const Program program = look_at(module);
  std::vector<Literal> out;
  for (const Literal& argument : item.arguments) out.push_back(draw(argument, program, random));
  return out;
}

std::vector<Literal> nudged(const std::vector<Literal>& arguments, uint64_t seed) {
  Random random(seed);
  std::vector<Literal> out = arguments;
  for (Literal& argument : out) nudge_leaves(argument, random);
  return out;
}

}  // namespace heddle::conformance
