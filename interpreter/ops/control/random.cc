#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/ops/control/random_bits.h"
#include "heddle/interpreter/rules.h"
#include "heddle/interpreter/run_context.h"

namespace heddle::interpreter {
namespace {

// A generator's state, u64[2] or u64[3], and what comes out of it: random words for each element.
struct Draw {
  std::vector<uint64_t> words;  // one an element; the type's low bits count
  std::vector<uint64_t> next_state;
};

// Where Threefry's 32-bit words go: the first even dimension (or the first of the largest, made
// even) is cut into pairs, and each block's two words fill a pair.
struct Pairing {
  int64_t outer = 1, size = 1, inner = 1;
  [[nodiscard]] int64_t half() const { return (size + 1) / 2; }
};

Pairing pairing_of(const std::vector<int64_t>& dimensions) {
  Pairing out;
  if (dimensions.empty()) return out;
  auto at = std::ranges::find_if(dimensions, [](int64_t size) { return size % 2 == 0; });
  if (at == dimensions.end()) at = std::ranges::max_element(dimensions);
  for (auto d = dimensions.begin(); d != dimensions.end(); ++d) {
    (d < at ? out.outer : d > at ? out.inner : out.size) *= *d;
  }
  return out;
}

std::array<uint32_t, 2> halves(uint64_t x) {
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)};
}

Draw draw_threefry(std::span<const uint64_t> state, const Shape& bits) {
  Draw out;
  const std::array<uint32_t, 2> key = halves(state[0]);
  if (bit_width(bits.dtype()) == 64) {
    for (int64_t i = 0; i < bits.element_count(); ++i) {
      const auto [low, high] = threefry(key, halves(state[1] + static_cast<uint64_t>(i)));
      out.words.push_back(low | uint64_t{high} << 32);
    }
    out.next_state = {state[0], state[1] + static_cast<uint64_t>(bits.element_count())};
    return out;
  }
  const Pairing pairs = pairing_of(bits.dimensions());
  out.words.resize(static_cast<size_t>(bits.element_count()));
  uint64_t block = 0;
  for (int64_t outer = 0; outer < pairs.outer; ++outer) {
    for (int64_t i = 0; i < pairs.size; i += 2) {
      for (int64_t inner = 0; inner < pairs.inner; ++inner, ++block) {
        const std::array<uint32_t, 2> words = threefry(key, halves(state[1] + block));
        for (int64_t k = 0; k < 2 && i + k < pairs.size; ++k) {
          out.words[static_cast<size_t>((outer * pairs.size + i + k) * pairs.inner + inner)] =
              words[static_cast<size_t>(k)];
        }
      }
    }
  }
  out.next_state = {state[0], state[1] + block};
  return out;
}

// Words of 32 bits, or pairs of them, the low one first.
std::vector<uint64_t> philox_elements(uint64_t key, WideCounter counter, int64_t count, bool wide) {
  const std::vector<uint32_t> words = philox_words(key, counter, wide ? 2 * count : count);
  if (!wide) return {words.begin(), words.end()};
  std::vector<uint64_t> out;
  for (size_t i = 0; i < words.size(); i += 2)
    out.push_back(words[i] | uint64_t{words[i + 1]} << 32);
  return out;
}

// State: (key, counter low, counter high), or (key, counter low) where the key is the counter's
// high word too.
Draw draw_philox(std::span<const uint64_t> state, const Shape& bits) {
  const bool wide = bit_width(bits.dtype()) == 64;
  const int64_t count = bits.element_count();
  const WideCounter counter{state[1], state.size() == 3 ? state[2] : state[0]};
  const WideCounter next = advanced(counter, philox_blocks(wide ? 2 * count : count));
  Draw out{philox_elements(state[0], counter, count, wide), {state[0], next.low}};
  if (state.size() == 3) out.next_state.push_back(next.high);
  return out;
}

Literal literal_of(const Shape& shape, const std::vector<uint64_t>& words) {
  Literal out = Literal::uninitialised(shape);
  std::byte* to = out.mutable_bytes();
  if (is_integer(shape.dtype())) {
    const std::vector<int64_t> numbers(words.begin(), words.end());
    store(shape.dtype(), numbers.data(), out.element_count(), to);
    return out;
  }
  const int64_t width = storage_bytes(shape.dtype());  // of floats: the bits as they are
  const uint64_t mask =
      bit_width(shape.dtype()) == 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(shape.dtype())) - 1;
  for (uint64_t word : words) {
    const uint64_t kept = word & mask;
    std::memcpy(to, &kept, static_cast<size_t>(width));
    to += width;
  }
  return out;
}

StatusOr<Literal> evaluate_bits(EvalArgs& in) {
  const Shape& state = in[0].shape();
  const Shape& bits = in.result().is_tuple() ? in.result().element(1) : in.result();
  const bool threefry = in.attrs<RngBitGeneratorAttrs>().algorithm == RandomAlgorithm::kThreeFry;
  const bool right_size =
      state.rank() == 1 && (state.dimension(0) == 2 || (state.dimension(0) == 3 && !threefry));
  if (state.dtype() != u64 || !right_size) {
    return base::invalid_argument("rng-bit-generator: state is ", state, "; must be u64[2]",
                                  threefry ? " for rng_three_fry" : " or u64[3]");
  }
  if (bits.dtype() == pred || is_complex(bits.dtype())) {
    return base::invalid_argument("rng-bit-generator: result is declared as ", in.result(),
                                  "; its bits must be of integers or floats");
  }
  const std::span<const uint64_t> words = in[0].values<uint64_t>();
  const Draw draw = threefry ? draw_threefry(words, bits) : draw_philox(words, bits);
  Literal values = literal_of(bits, draw.words);
  if (!in.result().is_tuple()) return values;
  return Literal::tuple({Literal::from<uint64_t>(state, draw.next_state), std::move(values)});
}

StatusOr<RunContext*> run_of(const EvalArgs& in) {
  if (in.run != nullptr) return in.run;
  return base::failed_precondition(to_string(in.instruction.opcode),
                                   ": is evaluated in a run of a module only");
}

// Numbers in [0, 1), of as many bits as the type's mantissa has at most.
std::vector<double> unit_numbers(RunContext& run, int64_t count, bool wide) {
  const WideCounter counter = run.advance(philox_blocks(wide ? 2 * count : count));
  std::vector<double> out;
  for (uint64_t word : philox_elements(run.seed, counter, count, wide)) {
    out.push_back(wide ? std::ldexp(static_cast<double>(word >> 12), -52)
                       : std::ldexp(static_cast<double>(word >> 9), -23));
  }
  return out;
}

// The number of the type below the one given, which is not the least.
void step_down(DType dtype, std::byte* element) {
  const auto width = static_cast<size_t>(storage_bytes(dtype));
  const uint64_t sign = dtype == f8e8m0fnu ? 0 : uint64_t{1} << (bit_width(dtype) - 1);
  uint64_t bits = 0;
  std::memcpy(&bits, element, width);
  if ((bits & ~sign) == 0) {
    bits = sign | 1;
  } else {
    bits = (bits & sign) != 0 ? bits + 1 : bits - 1;
  }
  std::memcpy(element, &bits, width);
}

// a + u (b - a), below b also after it is rounded.
Literal uniform_floats(RunContext& run, const EvalArgs& in) {
  Literal out = Literal::uninitialised(in.result());
  const DType dtype = in.result().dtype();
  const double a = in[0].to_double(0), b = in[1].to_double(0);
  std::vector<double> numbers = unit_numbers(run, out.element_count(), dtype == f64);
  for (double& x : numbers) x = a + x * (b - a);
  std::byte* const bytes = out.mutable_bytes();
  store(dtype, numbers.data(), out.element_count(), bytes);
  load(dtype, bytes, out.element_count(), numbers.data());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (a < b && numbers[i] >= b)
      step_down(dtype, bytes + static_cast<int64_t>(i) * storage_bytes(dtype));
  }
  return out;
}

Literal uniform_integers(RunContext& run, const EvalArgs& in) {
  const int64_t count = in.result().element_count();
  const bool wide = bit_width(in.result().dtype()) == 64;
  const auto a = static_cast<uint64_t>(in[0].to_int64(0)),
             b = static_cast<uint64_t>(in[1].to_int64(0));
  const WideCounter counter = run.advance(philox_blocks(wide ? 2 * count : count));
  std::vector<uint64_t> words = philox_elements(run.seed, counter, count, wide);
  for (uint64_t& word : words) word = a == b ? a : a + word % (b - a);
  return literal_of(in.result(), words);
}

// Pairs by Box and Muller's transform.
Literal normal_floats(RunContext& run, const EvalArgs& in) {
  Literal out = Literal::uninitialised(in.result());
  const double mean = in[0].to_double(0), deviation = in[1].to_double(0);
  const int64_t count = out.element_count();
  std::vector<double> numbers = unit_numbers(run, count + count % 2, true);
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log1p(-numbers[i]));  // of 1 - u, which is not 0
    const double angle = 2 * std::numbers::pi * numbers[i + 1];
    numbers[i] = mean + deviation * radius * std::sin(angle);
    numbers[i + 1] = mean + deviation * radius * std::cos(angle);
  }
  store(in.result().dtype(), numbers.data(), count, out.mutable_bytes());
  return out;
}

StatusOr<Literal> evaluate_rng(EvalArgs& in) {
  const DType dtype = in.result().dtype();
  const bool normal = in.attrs<RngAttrs>().distribution == RandomDistribution::kNormal;
  if (in[0].shape().dtype() != dtype) {
    return base::invalid_argument("rng: a is ", in[0].shape(), " and the result ", in.result(),
                                  "; their types must be equal");
  }
  HEDDLE_ASSIGN_OR_RETURN(RunContext * run, run_of(in));
  if (is_floating(dtype)) return normal ? normal_floats(*run, in) : uniform_floats(*run, in);
  if (is_integer(dtype) && !normal) return uniform_integers(*run, in);
  return base::invalid_argument("rng: result is ", in.result(), "; must be of floats",
                                normal ? "" : " or integers", " for ",
                                enum_text(in.attrs<RngAttrs>().distribution));
}

StatusOr<Literal> evaluate_state(EvalArgs& in) {
  if (!same_type(in.result(), Shape(u64, {2}))) {
    return base::invalid_argument("rng-get-and-update-state: result is ", in.result(),
                                  "; must be u64[2]");
  }
  HEDDLE_ASSIGN_OR_RETURN(RunContext * run, run_of(in));
  const WideCounter counter = run->advance(static_cast<uint64_t>(in.attrs<RngDeltaAttrs>().delta));
  return Literal::from<uint64_t>(in.result(), {counter.low, counter.high});
}

}  // namespace

const Evaluation kRngEvaluation = {.evaluate = evaluate_rng};
const Evaluation kRngBitGeneratorEvaluation = {.evaluate = evaluate_bits};
const Evaluation kRngGetAndUpdateStateEvaluation = {.evaluate = evaluate_state};

}  // namespace heddle::interpreter
