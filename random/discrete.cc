#include "heddle/random/discrete.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "heddle/numpy/sorting.h"
#include "heddle/random/internal/sampling.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

struct Range {
  int64_t least;
  uint64_t greatest;
};
Range range_of(DType dtype) {
  int64_t bits = bit_width(dtype);
  if (is_unsigned(dtype)) return {0, bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1};
  uint64_t top = (uint64_t{1} << (bits - 1)) - 1;
  return {-static_cast<int64_t>(top) - 1, top};
}

// A bound of randint, clamped to the dtype, and whether it is past the dtype's greatest value.
struct Bound {
  Expr value, past;
};

Bound number_bound(const Operand& x, DType dtype) {
  Range range = range_of(dtype);
  bool past = false;
  Operand clamped = x;
  if (const uint64_t* u = std::get_if<uint64_t>(&x.number())) {
    past = *u > range.greatest;
    clamped = Operand(std::min(*u, range.greatest));
  } else if (const int64_t* i = std::get_if<int64_t>(&x.number())) {
    past = *i > 0 && static_cast<uint64_t>(*i) > range.greatest;
    clamped = past ? Operand(range.greatest) : Operand(std::max(*i, range.least));
  } else {
    trace_internal::refuse("a bound is the C++ number ", number_text(x), "; it must be an integer");
  }
  return {constant_like(clamped, dtype), scalar(past)};
}

Bound tensor_bound(const Tensor& x, DType dtype) {
  if (!is_integer(x.dtype()))
    trace_internal::refuse("a bound is ", x.shape(),
                           "; it must be of integers, cast it with astype(s32)");
  Range from = range_of(x.dtype());
  Range to = range_of(dtype);
  Expr value(x);
  Expr past(scalar(false));
  if (from.greatest > to.greatest) {
    past = value > to.greatest;
    value = minimum(value, to.greatest);
  }
  if (from.least < to.least) value = maximum(value, to.least);
  return {value.astype(dtype), past};
}

Bound bound_of(const Operand& x, DType dtype) {
  return x.is_tensor() ? tensor_bound(x.tensor(), dtype) : number_bound(x, dtype);
}

// Twice as many bits as the range has, modulo the range: high 2^nbits + low, term by term.
Expr randint_of(const Request& r, const Bound& low, const Bound& high) {
  int64_t width = bit_width(r.dtype);
  DType unsigned_type = width == 64 ? u64 : width == 32 ? u32 : width == 16 ? u16 : u8;
  std::vector<Words> keys = r.split(2);
  Expr high_bits = random_bits(keys[0], width, r.shape, r.options);
  Expr low_bits = random_bits(keys[1], width, r.shape, r.options);
  Expr empty = high.value <= low.value;
  Expr span = (high.value - low.value).astype(unsigned_type);
  span = where(empty, 1, span);
  // One more if high is past the greatest value. 0 stands for all values, where there is no
  // remainder.
  span = where(high.past & ~empty, span + 1, span);
  Expr half = span.like(uint64_t{1} << (width / 2)) % span;
  Expr multiplier = (half * half) % span;
  Expr offset = ((high_bits % span) * multiplier + low_bits % span) % span;
  return low.value + offset.astype(r.dtype);
}

bool is_float_or_signed(DType dtype) {
  return has_float_limits(dtype) || (is_signed(dtype) && bit_width(dtype) >= 8);
}

Expr shuffled(const Words& words, const Expr& x, int64_t axis, const Options& options) {
  // Keys of 32 bits collide. This number of sorts leaves fewer than one collision in n^2 on
  // average.
  double size = static_cast<double>(std::max<int64_t>(1, x.tensor().size()));
  int rounds = static_cast<int>(std::ceil(3 * std::log(size) / std::log(double{UINT32_MAX})));
  auto before = [](std::span<const Tensor> t) { return less(t[0], t[1]); };
  Words key = words;
  Expr out = x;
  for (int i = 0; i < rounds; ++i) {
    std::vector<Words> keys = split_each(key, 2, options);
    key = keys[0];
    Expr order = random_bits(keys[1], 32, x.dimensions(), options);
    out = Expr(sort_by({order.tensor(), out.tensor()}, before, axis, true)[1]);
  }
  return out;
}

// The count that a C++ integer is; 0 for a tensor.
int64_t count_of(const Operand& x) {
  if (x.is_tensor()) return 0;
  const int64_t* n = std::get_if<int64_t>(&x.number());
  if (n && *n >= 0) return *n;
  trace_internal::refuse("x is the C++ number ", number_text(x),
                         "; it must be a count of 0 or more, or a tensor");
}

Tensor permuted(const Words& words, const Tensor& x, int64_t axis, bool independent,
                const Options& options) {
  if (independent || x.rank() == 1) return shuffled(words, x, axis, options).tensor();
  Expr order = shuffled(words, arange(x.dim(axis)), 0, options);
  return take(x, order.operand(), axis);
}

}  // namespace

Tensor randint(Operand key, const base::Ints& shape, Operand low, Operand high, DType dtype,
               const Options& options) {
  const PublicCall call("random::randint", key.at());
  constexpr std::string_view kOp = "random::randint";
  if (!is_integer(dtype) || bit_width(dtype) < 8)
    trace_internal::refuse("dtype is ", to_string(dtype),
                           "; it must be an integer of 8 bits or more");
  random_internal::require_order("low", low, "high", high);
  // Narrow integers are drawn in s32, which makes the bias of the remainder small.
  const DType drawn = bit_width(dtype) < 32 ? s32 : dtype;
  const auto formula = [&](Operands in) {
    Range range = range_of(dtype);
    auto bound = [&](const Operand& x, uint64_t greatest) {
      Bound b = bound_of(x, drawn);
      if (drawn != dtype) b.value = minimum(maximum(b.value, range.least), greatest);
      return b;
    };
    Bound from = bound(in[1], range.greatest);
    Bound to = bound(in[2], range.greatest + 1);
    const Tensor bounds[] = {from.value.tensor(), to.value.tensor()};
    Dimensions sizes = sample_shape(shape, bounds);
    return randint_of({words_of(in[0]), sizes, drawn, options}, from, to).astype(dtype).tensor();
  };
  // A remainder by a constant takes less time than one by an operand.
  if (Shape(dtype, shape).element_count() > trace_internal::kMostBesideNumbers)
    return one_program(kOp, [&] { return formula(std::array{key, low, high}); });
  return one_program(kOp, known(options, shape, dtype), {key, {low, drawn}, {high, drawn}},
                     formula);
}

Tensor bernoulli(Operand key, Parameter p, const base::Ints& shape, const Options& options) {
  const PublicCall call("random::bernoulli", key.at());
  random_internal::require_floats("p", p);
  DType dtype = p.is_tensor() ? p.tensor().dtype() : f32;
  return sample("random::bernoulli", key, {{"p", p, Domain::kProbability}}, shape, dtype, options,
                [](const Request& r, std::span<const Expr> v) { return bernoulli_of(r, v[0]); });
}

Tensor rademacher(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  const PublicCall call("random::rademacher", key.at());
  if (!is_float_or_signed(dtype))
    trace_internal::refuse("dtype is ", to_string(dtype),
                           "; it must be a signed integer or f16, bf16, f32 or f64");
  random_internal::check_sample_shape(shape);
  return one_program("random::rademacher", known(options, shape, dtype), {key}, [&](Operands in) {
    return rademacher_of({words_of(in[0]), shape, dtype, options}).tensor();
  });
}

Tensor categorical(Operand key, Operand logits, base::Int axis, const base::Ints& shape,
                   const Options& options, base::Flag replace) {
  const PublicCall call("random::categorical", key.at());
  constexpr std::string_view kOp = "random::categorical";
  Tensor x = as_tensor(logits);
  random_internal::require_floats("logits", {x});
  int64_t along = trace_internal::axis_of(x.shape(), axis);
  Dimensions batch = x.shape().dimensions();
  batch.erase(batch.begin() + along);
  Dimensions sizes = shape.empty() ? batch : shape.list();
  random_internal::check_sample_shape(sizes);
  if (sizes.size() < batch.size() ||
      broadcast_shapes(Shape(f32, sizes), Shape(f32, batch)) != sizes)
    trace_internal::refuse("shape is [", base::join(sizes, ","), "]; it must end in [",
                           base::join(batch, ","), "], logits without axis ", axis);
  int64_t extra = static_cast<int64_t>(sizes.size() - batch.size());
  if (!replace) {
    int64_t draws = Shape(f32, {sizes.begin(), sizes.begin() + extra}).element_count();
    if (draws > x.dim(along))
      trace_internal::refuse(draws, " draws without replacement from ", x.dim(along),
                             " positions; there must be at least as many positions");
    return one_program(kOp, known(options, sizes, along, replace), {key, {x}}, [&](Operands in) {
      Expr noise = gumbel_of({words_of(in[0]), x.shape().dimensions(), x.dtype(), options});
      Expr perturbed = noise + Expr(in[1].tensor());
      Tensor greatest = top_k(perturbed.operand(), draws, along).indices;
      return reshape(moveaxis(greatest, along, 0), sizes);
    });
  }
  return one_program(kOp, known(options, sizes, along, replace), {key, {x}}, [&](Operands in) {
    Dimensions drawn = sizes;
    drawn.insert(drawn.begin() + extra + along, x.dim(along));
    Expr noise = gumbel_of({words_of(in[0]), drawn, x.dtype(), options});
    Expr perturbed = noise + Expr(in[1].tensor());
    return argmax(perturbed.operand(), extra + along);
  });
}

Tensor geometric(Operand key, Parameter p, const base::Ints& shape, DType dtype,
                 const Options& options) {
  const PublicCall call("random::geometric", key.at());
  constexpr std::string_view kOp = "random::geometric";
  if (!is_integer(dtype))
    trace_internal::refuse("dtype is ", to_string(dtype), "; it must be of integers");
  random_internal::require_floats("p", p);
  DType drawn = p.is_tensor() ? p.tensor().dtype() : f32;
  return sample(
      kOp, key, {{"p", p, Domain::kPositiveProbability}}, shape, drawn, options,
      [](const Request& r, std::span<const Expr> v) {
        Expr u = uniform_of(r);
        Expr log_u = log(where(u == 0.0, 1.0, u));
        return (floor(log_u / log1p(-v[0])) + 1.0).astype(r.result);
      },
      dtype);
}

Tensor permutation(Operand key, Operand x, base::Int axis, base::Flag independent,
                   const Options& options) {
  const PublicCall call("random::permutation", key.at());
  constexpr std::string_view kOp = "random::permutation";
  const int64_t count = count_of(x);
  const auto formula = [&](const Operand& with, const Tensor& elements) {
    if (elements.rank() == 0)
      trace_internal::refuse("x is ", elements.shape(),
                             "; it must have an axis to permute; a count is a C++ integer, as in "
                             "permutation(key, 5)");
    int64_t along = trace_internal::axis_of(elements.shape(), axis);
    return permuted(words_of(with), elements, along, independent, options);
  };
  const KnownOptions how = known(options, axis, independent, count);
  if (x.is_tensor())
    return one_program(kOp, how, {key, x},
                       [&](Operands in) { return formula(in[0], in[1].tensor()); });
  return one_program(kOp, how, {key}, [&](Operands in) { return formula(in[0], arange(count)); });
}

}  // namespace heddle::random
