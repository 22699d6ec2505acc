// What users of other libraries guess.
#include "heddle/heddle.h"

using namespace heddle;

// case double_braces: write x[array({1, 0})] for rows 1 and 0
// case double_braces_of_at: write x[array({1, 0})] for rows 1 and 0
Tensor rows(Tensor x) {
#ifdef double_braces
  return x[{{1, 0}}];
#elif defined(double_braces_of_at)
  return x.at({{0, 3}}).set(1);
#else
  x = x.at(array({0, 3})).set(1);
  x = x.at({0, 1}).set(1);
  x = x[{Slice{0, 2}, None{}, 1}];
  return x[{0, 1}] + x[array({1, 0})] + x[Slice{0, 1}] + x[{Slice{0, 1}}] + x[{0}] + x[1];
#endif
}

// case flattened: an op is a function and no method
// case to_numpy: x.to_vector<float>() for numpy()
// case dim_of_torch: the number of dimensions is x.rank(), that of elements x.size()
// case numel_of_torch: the number of dimensions is x.rank(), that of elements x.size()
int64_t methods(Tensor x) {
#ifdef flattened
  x = x.flatten();
#elif defined(to_numpy)
  auto values = x.numpy();
#elif defined(dim_of_torch)
  return x.dim();
#elif defined(numel_of_torch)
  return x.numel();
#else
  return x.rank() + x.size() + x.dim(0) + x.dim(-1);
#endif
  return 0;
}

// case pointer_and_shape: a pointer does not know its size: write array(std::span(p, n), {3})
// case two_iterators: array() takes a range
// case doubles_and_a_macro: INFINITY and NAN are floats: write double(NAN)
Tensor arrays(const float* p, const std::vector<float>& v) {
  const float three[] = {1, 2, 3};
#ifdef pointer_and_shape
  return array(p, {3});
#elif defined(two_iterators)
  return array(v.begin(), v.end());
#elif defined(doubles_and_a_macro)
  return array({1.0, INFINITY});
#else
  return array(std::span(p, 3), {3}) + array(std::span(v.begin(), v.end())) + array(three, {3}) +
         array({1.0, double(INFINITY)}) + array(v);
#endif
}

// case guard_of_nobody: error: | TransferGuard
// case device_of_nobody: error: | DefaultDevice
void scopes([[maybe_unused]] Device& device) {
#pragma GCC diagnostic error "-Wunused-result"
#ifdef guard_of_nobody
  TransferGuard(TransferGuard::Policy::kForbid);
#elif defined(device_of_nobody)
  (DefaultDevice(device));
#else
  const TransferGuard guard(TransferGuard::Policy::kForbid);
  const DefaultDevice here(device);
#endif
}

// case axes_as_an_order (30 lines): no matching function for call to
// case axes_as_axis_and_epsilon (30 lines): no matching function for call to
// case causal_as_a_scale: error: | Attention
Tensor options(Tensor x, Tensor q) {
#ifdef axes_as_an_order
  return linalg::norm(x, {0, 1});
#elif defined(axes_as_axis_and_epsilon)
  return nn::standardize(x, {0, 1});
#elif defined(causal_as_a_scale)
  return nn::dot_product_attention(q, q, q, {true});
#else
  return linalg::norm(x, {.axes = {0, 1}}) + nn::standardize(x, {.axes = {0, 1}}) +
         nn::dot_product_attention(q, q, q, {.causal = true}) + linalg::norm(x, {}) +
         stack(unstack<3>(x)) + concat(unstack<3>(x), 1);
#endif
}

// case width_alone: a padding has a width at each end of each dimension
// case one_bound: with one bound write maximum(x, low) or minimum(x, high)
// case three_numbers: write where(is_posinf(x), 1, nan_to_num(x))
// case decimals_of_round: for decimals write around(x, 2)
// case places_of_trapezoid: for points at the places x write trapezoid_at(y, x)
// case one_bound_of_randint: both bounds are given: write randint(key, {3}, 0, high)
// case list_of_pool: error: | Windows
// case list_of_conv: error: | Convolution
// case mean_of_exponential: the mean is 1: write 2.0 * exponential(key, {3})
Tensor calls(Tensor x, Tensor key) {
#ifdef width_alone
  x = pad(x, 1);
#elif defined(one_bound)
  x = clip(x, 0);
#elif defined(three_numbers)
  x = nan_to_num(x, 0, 1);
#elif defined(decimals_of_round)
  x = round(x, 2);
#elif defined(places_of_trapezoid)
  x = trapezoid(x, x);
#elif defined(one_bound_of_randint)
  x = random::randint(key, {2}, 10);
#elif defined(list_of_pool)
  x = max_pool(x, {2, 3});
#elif defined(list_of_conv)
  x = conv(x, x, {2, 2});
#elif defined(mean_of_exponential)
  x = random::exponential(key, 2.0, {3});
#else
  x = pad(x, {{1, 1}}) + pad(x, 0, {{1, 1}}) + clip(x, 0, 1) + clip(1.0, 0, x);
  x = nan_to_num(x, 1.0) + nan_to_num(2) + round(x) + around(x, 2) + round(2.5);
  x = average(x, x) + average(x, x, 0) + max_pool(x, {.sizes = {2, 3}}) + max_pool(x, {.sizes = 2});
  x = conv(x, x, {.strides = {2, 2}}) + conv(x, x) + conv_transpose(x, x, {.strides = 2});
  x = trapezoid(x, 0.5) + trapezoid_at(x, x) + trapezoid(x, 2, 0);
  x = random::randint(key, {2}, 0, 10) + random::exponential(key, {3}) + random::exponential(key);
#endif
  return x;
}

// Functions of a user's own, by names that are refused with such arguments.
namespace robot {
Tensor jacobian(const Tensor& q, double step) { return q * step; }
Tensor clip(const Tensor& x, double most) { return minimum(x, most); }
Tensor pad(const Tensor& x, int64_t width) { return heddle::pad(x, {{width, width}}); }
Tensor round(const Tensor& x, double step) { return heddle::round(x / step) * step; }
Tensor all(const Tensor& x) { return jacobian(x, 1) + clip(x, 5) + pad(x, 1) + round(x, 2); }
}  // namespace robot

// case torch_jacobian: write jacrev(fn), or jacfwd(fn)
// case length_of_scan: write scan(fn, init, xs, {.length = 3})
Tensor transforms(Tensor x) {
  const auto f = [](Tensor a, Tensor b) { return a + b; };
  const auto g = [](Tensor a) { return a * a; };
  const auto step = [](Tensor h, Tensor y) { return std::pair(h + y, h); };
#ifdef torch_jacobian
  return jacobian(g)(x);
#elif defined(length_of_scan)
  return scan(step, x, x, 3).first;
#else
  return vmap(f)(x, x) + vmap(f, {.in_axes = {0, 1}})(x, x) + jacrev(g)(x) + jacfwd(g)(x) +
         scan(step, x, x).first + scan(step, x, x, {.length = 3}).first;
#endif
}

// case select_of_lax: write where(condition, x, y)
// case numbers_as_starts: the starts are one list
// case size_from_value: a size is no value of the program: write arange(x.dim(0))
// case counts_of_repeat: a count for each position is repeat_each(x, array({1, 2, 3}), 6, axis)
// case unique_of_one: write unique(x, size).values
// case nonzero_of_one: write nonzero(x, size)
// case bincount_of_one: write bincount(x, length)
// case places_of_gradient: for values at the places x write gradient_at(y, x)
// case text_of_padding: a rule is no text: write WindowPadding::kSame or WindowPadding::kValid
Tensor functions_of_others(Tensor x, Tensor i) {
#ifdef select_of_lax
  return select(x > 0, x, 0);
#elif defined(numbers_as_starts)
  return dynamic_slice(x, 1, 2);
#elif defined(size_from_value)
  return arange(i);
#elif defined(counts_of_repeat)
  return repeat(x, {1, 2, 3}, 0);
#elif defined(unique_of_one)
  return unique(x).values;
#elif defined(nonzero_of_one)
  return nonzero(x);
#elif defined(bincount_of_one)
  return bincount(i);
#elif defined(places_of_gradient)
  return gradient(x, x);
#elif defined(text_of_padding)
  return conv(x, x, {.padding = "SAME"});
#else
  return where(x > 0, x, 0) + dynamic_slice(x, {1}, {2}) + dynamic_slice(x, {i}, 2) +
         arange(x.dim(0)) + repeat(x, 2, 0) + repeat(x, {2}, 0) + unique(x, 3).values +
         nonzero(x, 3) + bincount(i, 3) + gradient(x, 0.5) + gradient_at(x, x) +
         stack({x[0], 1, true}) + concat({x, 2.0f * x}) +
         conv(x, x, {.padding = WindowPadding::kSame});
#endif
}

// Functions of a user's own by these names.
namespace vision {
template <class C, class A, class B>
Tensor select(const C& c, const A& a, const B& b) {
  return where(c, a, b);
}
Tensor nonzero(Operand x) { return as_tensor(x) != 0; }
Tensor all(const Tensor& x) { return select(x > 0, x, 0) + nonzero(x).astype(f32); }
}  // namespace vision
namespace audio {
Tensor select(const Tensor& c, Tensor a, float b) { return where(c, a, b); }
Tensor gradient(Operand y, Operand x) { return as_tensor(y) - as_tensor(x); }
Tensor all(const Tensor& x) { return select(x > 0, x, 0) + gradient(x, x); }
}  // namespace audio

// case one_bound_of_loop: both bounds are given: write fori_loop(0, n, body, init)
// case two_cotangents: cotangents are one tree: write pullback(std::pair(a, b))
// case update_of_two: update gives the new parameters and state: write opt.update
// case state_first: update gives the new parameters and state: write opt.update
// case number_of_schedule: a schedule takes the step, a Tensor s32[], and returns a Tensor
// case integer_of_schedule: a schedule takes the step, a Tensor s32[], and returns a Tensor
Tensor training(Tensor x) {
  const auto body = [](Tensor, Tensor c) { return c + 1; };
  auto [value, pullback] = vjp([](Tensor a) { return std::pair(a, a * a); }, x);
  auto opt = optim::adam({.learning_rate = optim::linear(1e-2, 1e-3, 100)});
  auto state = opt.init(x);
#ifdef one_bound_of_loop
  return fori_loop(3, body, x);
#elif defined(two_cotangents)
  return pullback(x, x);
#elif defined(update_of_two)
  return opt.update(x, state).first;
#elif defined(state_first)
  return opt.update(state, x, x).first;
#elif defined(number_of_schedule)
  optim::sgd({.learning_rate = [](Tensor) { return 0.1; }});
#elif defined(integer_of_schedule)
  optim::sgd({.learning_rate = [](int step) { return 0.1 / step; }});
#else
  optim::sgd({.learning_rate = [](Tensor step) { return 0.1 / step.astype(f32); }});
  x = vmap([](Tensor a, Tensor b) { return a + b; }, {.in_axes = {0, None{}}})(x, x);
  x = checkpoint(body, {.policy = checkpoint_policies::dots_saveable})(x, x);
  x = compile(body, {.donate = 1})(x, x);
  return fori_loop(0, 3, body, x) + pullback(std::pair(x, x)) + opt.update(x, state, x).first +
         random::split(x, {2, 2}) + split<2>(x)[0];
#endif
}
