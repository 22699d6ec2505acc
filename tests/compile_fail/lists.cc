// Lists of axes and sizes of what is no integer, lists that are none, and options of 1 for true.
#include <array>
#include <span>

#include "heddle/heddle.h"

using namespace heddle;

// case axes_of_bool: an axis, an index, a count or a size is an integer
// case axes_of_float: an axis, an index, a count or a size is an integer
// case option_of_bool: an axis, an index, a count or a size is an integer
// case one_axis_of_bool: an axis, an index, a count or a size is an integer
// case flip_of_bool: an axis, an index, a count or a size is an integer
// case axes_and_flag: an axis, an index, a count or a size is an integer
// case scan_axes_of_bool: an axis, an index, a count or a size is an integer
Tensor over_axes(Tensor x) {
#ifdef axes_of_bool
  return sum(x, {true});
#elif defined(axes_of_float)
  return transpose(x, {1.0, 0});
#elif defined(option_of_bool)
  return sum(x, {.axes = {true}});
#elif defined(one_axis_of_bool)
  return sum(x, {.axes = true});
#elif defined(flip_of_bool)
  return flip(x, true);
#elif defined(axes_and_flag)
  return sum(x, {0, true});
#elif defined(scan_axes_of_bool)
  return map([](Tensor a) { return a; }, x, {.axis = {true}});
#else
  return sum(x, {0}) + transpose(x, {1, 0}) + sum(x, {.axes = {1}}) + sum(x, {.axes = 1}) +
         flip(x, 0) + flip(x, {0}) + flip(x) + sum(x, {0, 1}, true) +
         map([](Tensor a) { return a; }, x, {.axis = {1}});
#endif
}

// case shape_of_bool: an axis, an index, a count or a size is an integer
// case reshape_to_bool: an axis, an index, a count or a size is an integer
// case vector_of_bools: an axis, an index, a count or a size is an integer
// case vector_of_floats: an axis, an index, a count or a size is an integer
// case window_of_bool: an axis, an index, a count or a size is an integer
// case sample_of_float: an axis, an index, a count or a size is an integer
// case placeholder_of_bool: an axis, an index, a count or a size is an integer
// case array_of_bool_shape: an axis, an index, a count or a size is an integer
Tensor of_sizes(Tensor x, std::vector<bool> flags, std::vector<double> numbers) {
#ifdef shape_of_bool
  return zeros({2, true});
#elif defined(reshape_to_bool)
  return reshape(x, {true, 6});
#elif defined(vector_of_bools)
  return zeros(flags);
#elif defined(vector_of_floats)
  return zeros(numbers);
#elif defined(window_of_bool)
  return max_pool(x, {.sizes = {true}});
#elif defined(sample_of_float)
  return random::normal(x, {2.5});
#elif defined(placeholder_of_bool)
  return placeholder({2, true}, f32);
#elif defined(array_of_bool_shape)
  return array({1, 2}, {2, true});
#else
  return zeros({2, 1}) + reshape(x, {1, 6}) + max_pool(x, {.sizes = {1}}) + random::normal(x, {2}) +
         placeholder({2, 1}, f32) + array({1, 2}, {2, 1}) + array(flags, {2, 1}) +
         array(numbers, {2, 1});
#endif
}

// case sizes_apart: write zeros({2, 3})
// case ones_apart: write ones({2, 3})
// case three_apart: write zeros({2, 3})
// case reshape_apart: write reshape(x, {2, 3})
// case axes_apart: write transpose(x, {1, 0})
// case zeros_of_shape: write x.shape().dimensions(), or zeros_like(x)
// case reshape_to_shape: write x.shape().dimensions()
Tensor of_no_list(Tensor x) {
#ifdef sizes_apart
  return zeros(2, 3);
#elif defined(ones_apart)
  return ones(2, 3, f64);
#elif defined(three_apart)
  return zeros(2, 3, 4);
#elif defined(reshape_apart)
  return reshape(x, 2, 3);
#elif defined(axes_apart)
  return transpose(x, 1, 0);
#elif defined(zeros_of_shape)
  return zeros(x.shape());
#elif defined(reshape_to_shape)
  return reshape(x, x.shape());
#else
  return zeros({2, 3}) + ones({2, 3}, f64) + zeros({2, 3, 4}) + reshape(x, {2, 3}) +
         zeros(x.shape().dimensions()) + zeros_like(x) + full(2, 3);
#endif
}

// case argmax_of_two: this argument is a bool, true or false
// case sort_of_int: this argument is a bool, true or false
// case sort_of_text: this argument is a bool, true or false
// case sort_of_comparator: this argument is a bool, true or false
// case norm_of_int: this argument is a bool, true or false
// case keep_dims_of_int: this argument is a bool, true or false
// case running_of_int: this argument is a bool, true or false
// case reverse_of_int: this argument is a bool, true or false
// case upper_of_int: this argument is a bool, true or false
Tensor flagged(Tensor x, bool flag, std::vector<bool> flags) {
#ifdef argmax_of_two
  return argmax(x, 0, 1);
#elif defined(sort_of_int)
  return sort(x, 0, 1);
#elif defined(sort_of_comparator)
  return sort(x, 0, [](Tensor a, Tensor b) { return a < b; });
#elif defined(sort_of_text)
  return sort(x, 0, "descending");
#elif defined(norm_of_int)
  return linalg::vector_norm(x, 2, {0}, 1);
#elif defined(keep_dims_of_int)
  return sum(x, {.axes = {0}, .keep_dims = 1});
#elif defined(running_of_int)
  return cumsum(x, 0, 1);
#elif defined(reverse_of_int)
  return scan([](Tensor a, Tensor b) { return std::pair(a, b); }, x, x, {.reverse = 1}).first;
#elif defined(upper_of_int)
  return linalg::cholesky(x, {.upper = 1});
#else
  return argmax(x, 0, true) + sort(x, 0, flag) + sort(x, 0, flags[0]) + argmax(x, 0, {}) +
         linalg::vector_norm(x, 2, {0}, true) + sum(x, {.axes = {0}, .keep_dims = flag}) +
         cumsum(x, 0, true) + linalg::cholesky(x, {.upper = flags[0]}) +
         scan([](Tensor a, Tensor b) { return std::pair(a, b); }, x, x, {.reverse = flag}).first;
#endif
}

// Names that no option has, where braces could be a list.
// case variance_of_name (25 lines): no matching function for call to
// case sum_of_name (25 lines): no matching function for call to
// case axes_of_name: error: | AxisList
// case option_of_name (25 lines): error: | Reduction
// case shape_of_name: error: | Ints
// case sample_of_name: error: | Ints
Tensor by_name(Tensor x, Tensor key) {
#ifdef variance_of_name
  return var(x, {.ddof = 1});
#elif defined(sum_of_name)
  return sum(x, {.axis = 1});
#elif defined(axes_of_name)
  return flip(x, {.axis = 1});
#elif defined(option_of_name)
  return sum(x, {.axes = {.axis = 1}});
#elif defined(shape_of_name)
  return zeros({.n = 2});
#elif defined(sample_of_name)
  return random::normal(key, {.n = 2});
#else
  return var(x, {}, 1) + sum(x, {.axes = 1}) + flip(x, {1}) + zeros({2}) + random::normal(key, {2});
#endif
}

// case sigma_of_shape: braces are a shape, and stand behind the parameters
// case probability_of_shape: braces are a shape, and stand behind the parameters
// case freedom_of_shape: braces are a shape, and stand behind the parameters
// case rate_of_shape: braces are a shape, and stand behind the parameters
// case second_of_shape: braces are a shape, and stand behind the parameters
// case power_of_shape: write generalized_normal(key, 2.0, {3})
// case norm_of_shape: write ball(key, d, 2.0, {3})
Tensor samples(Tensor key) {
#ifdef sigma_of_shape
  return random::lognormal(key, {3});
#elif defined(probability_of_shape)
  return random::bernoulli(key, {1});
#elif defined(freedom_of_shape)
  return random::t(key, {3});
#elif defined(rate_of_shape)
  return random::poisson(key, {3});
#elif defined(second_of_shape)
  return random::beta(key, 1.0, {3});
#elif defined(power_of_shape)
  return random::generalized_normal(key, {3});
#elif defined(norm_of_shape)
  return random::ball(key, 2, {3});
#else
  return random::lognormal(key, 1.0, {3}) + random::bernoulli(key, 0.5, {1}) +
         random::t(key, key, {3}) + random::poisson(key, 3, {3}) + random::beta(key, 1.0, 2, {3}) +
         random::generalized_normal(key, 2, {3}) + random::ball(key, 2, 2.0, {3}) +
         random::lognormal(key) + random::bernoulli(key);
#endif
}

// What a list may be.
enum { kRows, kColumns };
Tensor still_right(Tensor x, Tensor key, size_t n, Dimensions dims) {
  const std::array<int, 2> pair = {2, 3};
  const int8_t raw[] = {2, 3};
  const std::vector<int> list = {2, 3};
  const std::vector<uint64_t> wide = {2, 3};
  const std::span<const int> part(list);
  const base::Ints ints = {2, 3};
  return zeros({}) + zeros({n, 3}) + zeros(pair) + zeros(raw) + zeros(list) + zeros(wide) +
         zeros(part) + zeros(ints) + zeros(dims) + zeros({dims}) + zeros(n) + zeros(0) +
         zeros(kColumns) + zeros({kRows, kColumns}) + sum(x, list) + sum(x, {.axes = pair}) +
         sum(x, {.axes = {}}) + sum(x, {}) + flip(x, list) + flip(x, {}) + squeeze(x, 0) +
         tile(x, 2) + transpose(x, pair) + roll(x, 1, 0) + roll(x, {1, 2}, {0, 1}) + roll(x, 1) +
         random::normal(key, 3) + random::uniform(key, list) + einsum("ij->i", {x}) +
         einsum("ij,jk", {x, x}) + tensordot(x, x, 1) + tensordot(x, x, 1, 0) + split_at(x, 2)[0] +
         slice(x, 0, 1) + array(list, pair) + placeholder(x.shape()) + iota(s32, 3, 0) +
         linalg::norm(x, {.axes = 0}) + nn::layer_norm(x, {.axes = {-1}}) +
         fftn(x, {.n = list, .axes = pair}) + fftshift(x, 0) + squeeze(x, {}) +
         squeeze(x, {0, -1}) + array(list, {0, 3}) + reshape(x, {x.shape()[0], -1});
}

// case rows_of_a_tensor: error: | begin
Tensor last_row(Tensor x) {
  Tensor last = x[0];
#ifdef rows_of_a_tensor
  for (Tensor row : x) last = row;
#else
  for (Tensor row : unstack(x)) last = row;
#endif
  return last;
}

// case values_without_braces: the values of an array stand in braces: write array({1, 2, 3})
// case size_along_an_axis: the size along an axis is x.dim(0)
// case logspace_endpoint: logspace has no endpoint
// case rate_without_a_name: the rate has a name, as in adam({.learning_rate = 1e-3})
Tensor other_habits(Tensor x) {
#ifdef values_without_braces
  return array(1, 2, 3);
#elif defined(size_along_an_axis)
  x.shape(0);
  return x;
#elif defined(logspace_endpoint)
  return logspace(0, 3, 4, false);
#elif defined(rate_without_a_name)
  optim::adam(1e-3);
  return x;
#else
  static_cast<void>(optim::adam({.learning_rate = 1e-3}));
  return array({1, 2, 3}) * x.dim(0) + logspace(0, 3, 4) + linspace(0, 3, 4, false) +
         linspace(0, 3, 4, f64);
#endif
}

// case integers_and_floats: the values of an array are of one C++ type: write array({1.0, 2.5})
// case start_without_braces: the starts are one list, an entry an axis: write {i} or {i, 0}
// case bounds_before_the_shape: the shape stands first: write uniform(key, {3}, f32, low, high)
// case integers_before_the_shape: the shape stands first: write randint(key, {3}, low, high)
// case deviation_before_the_shape: write mean + deviation * normal(key, {3})
// case vector_as_operand: an operand is a Tensor or one number, and this is a list or a text
// case braces_as_indices: an operand is a Tensor or one number, and this is a list or a text
// case vector_as_index_list: an operand is a Tensor or one number, and this is a list or a text
// case text_as_operand: an operand is a Tensor or one number, and this is a list or a text
// case braces_as_bound: an operand is a Tensor or one number, and this is a list or a text
Tensor of_operands(Tensor x, std::vector<float> list, std::vector<int> places) {
#ifdef vector_as_operand
  return x + list;
#elif defined(braces_as_indices)
  return take(x, {0, 1});
#elif defined(vector_as_index_list)
  return take(x, places);
#elif defined(text_as_operand)
  return x *= "2";
#elif defined(braces_as_bound)
  return maximum(x, {0, 1});
#else
  return x + array(list) + take(x, array({0, 1})) + take(x, array(places)) +
         maximum(x, array({0, 1}));
#endif
}

Tensor of_numbers(Tensor x, Tensor i, Tensor key) {
#ifdef integers_and_floats
  return array({1, 2.5});
#elif defined(start_without_braces)
  return dynamic_slice(x, i, {2});
#elif defined(bounds_before_the_shape)
  return random::uniform(key, -1.0, 1.0, {3});
#elif defined(integers_before_the_shape)
  return random::randint(key, 1, 3, {5});
#elif defined(deviation_before_the_shape)
  return random::normal(key, 0.0, 1.0, {3});
#else
  return array({1.0f, 2.5f}) + array({{1.0f, 2.0f}}) + dynamic_slice(x, {i}, {2}) +
         random::uniform(key, {2}, f32, -1.0, 1.0) + random::normal(key, {2}) +
         random::randint(key, {2}, 0, 9);
#endif
}
