#include <numeric>

#include "heddle/numpy/searching.h"
#include "heddle/random/discrete.h"
#include "heddle/random/internal/sampling.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

constexpr std::string_view kOp = "random::choice";

struct Drawing {
  const Operand& key;
  const Choice& how;
  Dimensions shape;
  int64_t elements, draws;
};

void check(const Drawing& d) {
  if (d.draws > 0 && d.elements == 0)
    trace_internal::refuse("x has no elements; it must have some to draw from");
  if (!d.how.replace && d.draws > d.elements) {
    trace_internal::refuse(d.draws, " draws without replacement from ", d.elements,
                           " elements; there must be at least as many elements");
  }
  if (!d.how.p.is_valid()) return;
  const Shape& p = d.how.p.shape();
  trace_internal::require_ieee_float("p", p.dtype());
  if (p.dimensions() != Dimensions{d.elements}) {
    trace_internal::refuse("p is ", p, "; it must have one probability for each of the ",
                           d.elements, " elements");
  }
}

// The first `draws` of a random order.
Tensor positions_without_replacement(const Drawing& d) {
  Tensor order;
  if (!d.how.p.is_valid()) {
    order = permutation(d.key, d.elements, 0, false, d.how.options);
  } else {
    // The greatest of log(p) + Gumbel noise, in order, are draws without replacement.
    Expr p(d.how.p);
    Expr noise = gumbel_of({words_of(d.key), {d.elements}, p.dtype(), d.how.options});
    order = argsort((-(noise + log(p))).operand(), 0);  // a NaN, of a p below 0, comes last
  }
  return reshape(slice_in_dim(order, 0, d.draws), d.shape);
}

Tensor positions_with_replacement(const Drawing& d) {
  if (d.draws == 0) return zeros(d.shape, s32);
  if (!d.how.p.is_valid()) return randint(d.key, d.shape, 0, d.elements, s32, d.how.options);
  Expr total(cumsum(d.how.p));
  Expr last = slice_in_dim(total.operand(), d.elements - 1, d.elements);
  last = Expr(reshape(last.operand(), {}));
  Expr u = uniform_of({words_of(d.key), d.shape, total.dtype(), d.how.options});
  return searchsorted(total.operand(), (last * (1.0 - u)).operand());
}

}  // namespace

Tensor choice(Operand key, Operand x, const base::Ints& shape, const Choice& how) {
  const PublicCall call("random::choice", key.at());
  random_internal::check_sample_shape(shape);
  const int64_t* count = std::get_if<int64_t>(&x.number());
  if (!x.is_tensor() && (!count || *count < 0))
    trace_internal::refuse("x is the C++ number ", number_text(x),
                           "; it must be a count of 0 or more, or a tensor");
  int64_t axis = 0;
  int64_t elements = count ? *count : 0;
  if (x.is_tensor()) {
    const Shape& given = trace_internal::node_of(x.tensor()).shape;
    if (given.rank() == 0)
      trace_internal::refuse("x is ", given,
                             "; it must have an axis to choose from; a count is a C++ integer, as "
                             "in choice(key, 5, {2})");
    axis = trace_internal::axis_of(given, how.axis);
    elements = given.dimension(axis);
  }
  Drawing drawing{key, how, shape, elements, Shape(s32, shape).element_count()};
  check(drawing);
  std::vector<KnownOperand> operands{key};
  if (x.is_tensor()) operands.emplace_back(x);
  const Operand p(how.p);
  if (how.p.is_valid()) operands.emplace_back(p);
  const auto formula = [&](Operands in) {
    Choice from = how;
    if (how.p.is_valid()) from.p = in.back().tensor();
    const Drawing of{in[0], from, shape, elements, drawing.draws};
    Tensor positions =
        how.replace ? positions_with_replacement(of) : positions_without_replacement(of);
    return std::vector<Tensor>{x.is_tensor() ? take(in[1], positions, axis) : positions};
  };
  const KnownOptions options =
      known(how.options, shape, axis, elements, how.replace, x.is_tensor(), how.p.is_valid());
  return trace_internal::in_program(kOp, options, operands, formula)[0];
}

}  // namespace heddle::random
