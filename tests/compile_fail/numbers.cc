// Bools and floating-point numbers where an axis, an index, a count or a size is meant.
#include "heddle/heddle.h"

using namespace heddle;

// case axis_of_bool: an axis, an index, a count or a size is an integer
// case axis_of_float: an axis, an index, a count or a size is an integer
// case running_over_bool: an axis, an index, a count or a size is an integer
// case optional_axis_of_bool: a reduction is over an axis, sum(x, 0)
Tensor along_axis(Tensor x) {
#ifdef axis_of_bool
  return sort(x, true);
#elif defined(axis_of_float)
  return argmax(x, 0.7);
#elif defined(running_over_bool)
  return cumsum(x, true);
#elif defined(optional_axis_of_bool)
  return median(x, true);
#else
  return sort(x, 0, true) + argmax(x, 0) + cumsum(x, 0, true) + cumsum(x) + median(x, 0) +
         median(x);
#endif
}

// case axis_of_char: an axis, an index, a count or a size is an integer
// case axis_of_int128: an axis, an index, a count or a size is an integer
// case axis_of_class: an axis, an index, a count or a size is an integer
// case axis_of_true_type: an axis, an index, a count or a size is an integer
// case axis_of_flag: an axis, an index, a count or a size is an integer
// case pair_of_bool: an axis, an index, a count or a size is an integer
struct Metres {
  operator double() const { return 1; }
};
struct Row {
  operator int() const { return 1; }
};
Tensor of_odd_types(Tensor x) {
#ifdef axis_of_char
  return sum(x, 'a');
#elif defined(axis_of_int128)
  return flip(x, __int128{1});
#elif defined(axis_of_class)
  return flip(x, Metres());
#elif defined(axis_of_true_type)
  return flip(x, std::true_type());
#elif defined(axis_of_flag)
  return flip(x, base::Flag(true));
#elif defined(pair_of_bool)
  return permute(x, "i", {{0, true}});
#else
  return flip(x, Row()) + flip(x, std::integral_constant<int, 1>()) + flip(x, int8_t{1}) +
         flip(x, uint8_t{1}) + flip(x, std::tuple_size<std::pair<int, int>>()) +
         permute(x, "i", {{0, 1}, {1, 0}}) + permute(x, "i", {});
#endif
}

// case size_of_bool: an axis, an index, a count or a size is an integer
// case size_of_float: an axis, an index, a count or a size is an integer
// case range_of_bool: an axis, an index, a count or a size is an integer
// case columns_of_bool: an axis, an index, a count or a size is an integer
// case sizes_of_float: an axis, an index, a count or a size is an integer
Tensor of_size() {
#ifdef size_of_bool
  return zeros(true);
#elif defined(size_of_float)
  return ones(2.5);
#elif defined(range_of_bool)
  return arange(true);
#elif defined(columns_of_bool)
  return eye(2, true);
#elif defined(sizes_of_float)
  return zeros({2.5});
#else
  return zeros(1) + ones(2) + arange(3) + eye(2, 3) + eye(2, {}, 1) + eye(2, f64) + zeros({2});
#endif
}

// case shape_of_float: an axis, an index, a count or a size is an integer
// case reshape_to_float: an axis, an index, a count or a size is an integer
Tensor reshaped(Tensor x) {
#ifdef shape_of_float
  return reshape(x, {2.0, 3});
#elif defined(reshape_to_float)
  return reshape(x, 6.0);
#else
  return reshape(x, {2, 3}) + reshape(x, 6);
#endif
}

// case dim_of_float: an axis, an index, a count or a size is an integer
int64_t dim(Tensor x) {
#ifdef dim_of_float
  return x.dim(0.5);
#else
  return x.dim(-1);
#endif
}

// case counted_by_float: an axis, an index, a count or a size is an integer
auto parts(Tensor x) {
#ifdef counted_by_float
  return split(x, 2.0);
#else
  return split(x, 2);
#endif
}

// case option_of_bool: an axis, an index, a count or a size is an integer
// case length_of_float: an axis, an index, a count or a size is an integer
// case unroll_of_bool: an axis, an index, a count or a size is an integer
// case max_steps_of_float: an axis, an index, a count or a size is an integer
// case fori_unroll_of_float: an axis, an index, a count or a size is an integer
auto looped(Tensor x, int64_t steps, size_t size) {
  auto step = [](Tensor carry, None) { return std::pair(carry, carry); };
  auto is_small = [](Tensor a) { return a < 3; };
  auto next = [](Tensor i, Tensor a) { return a + i; };
#ifdef option_of_bool
  return map([](Tensor a) { return a; }, x, {.axis = true});
#elif defined(length_of_float)
  return scan(step, x, None{}, {.length = 3.7}).first;
#elif defined(unroll_of_bool)
  return scan(step, x, None{}, {.length = 3, .unroll = true}).first;
#elif defined(max_steps_of_float)
  return while_loop(is_small, exp, x, {.max_steps = 2.9});
#elif defined(fori_unroll_of_float)
  return fori_loop(0, 3, next, x, {.unroll = 2.0});
#else
  return map([](Tensor a) { return a; }, x, {.axis = 1}) +
         scan(step, x, None{}, {.length = size, .unroll = ScanOptions::kUnrollAll}).first +
         scan(step, x, None{}, {.length = steps, .unroll = 2}).first +
         while_loop(is_small, exp, x, {.max_steps = steps}) +
         fori_loop(0, 3, next, x, {.unroll = 2});
#endif
}

// case slice_of_floats: an axis, an index, a count or a size is an integer
// case slice_of_bool: an axis, an index, a count or a size is an integer
Tensor sliced(Tensor x, int64_t n, size_t size) {
#ifdef slice_of_floats
  return x[Slice{0.9, 2.9}];
#elif defined(slice_of_bool)
  return x[Slice{true}];
#else
  return x[Slice{0, n}] + x[Slice{size, {}, -1}] + x[{Slice{.stop = -1}, 1}] + x[Slice{{}, 3}];
#endif
}

// case padding_of_float: an axis, an index, a count or a size is an integer
// case edges_of_float: an axis, an index, a count or a size is an integer
// case groups_of_bool: an axis, an index, a count or a size is an integer
// case points_of_float: an axis, an index, a count or a size is an integer
Tensor padded(Tensor x, int64_t n, size_t size) {
#ifdef padding_of_float
  return pad(x, 0, {{1.5, 2}});
#elif defined(edges_of_float)
  return conv(x, x, {.padding = {{1, 1.5}}});
#elif defined(groups_of_bool)
  return conv(x, x, {.feature_groups = true});
#elif defined(points_of_float)
  return fft(x, {.n = 8.0});
#else
  return pad(x, 0, {{1, n}, {0, 0, 1}}) + pad(x, 0, {{.low = size}}) +
         conv(x, x, {.padding = {{1, 1}}, .feature_groups = 2}) + fft(x, {.n = 8, .axis = 0});
#endif
}

// case printed_digits_of_float: an axis, an index, a count or a size is an integer
std::string printed(Tensor x) {
#ifdef printed_digits_of_float
  return array_to_string(x, {.precision = 2.5});
#else
  return array_to_string(x, {.precision = 2, .threshold = 5});
#endif
}

// case mesh_of_float: an axis, an index, a count or a size is an integer
Mesh mesh() {
#ifdef mesh_of_float
  return Mesh({{"data", 2.5}});
#else
  return Mesh({{"data", 2}, {"model", 4}});
#endif
}

// case donated_bool: an axis, an index, a count or a size is an integer
RunOptions donating() {
#ifdef donated_bool
  return {.donate = {true}};
#else
  return {.donate = {0, "carry"}};
#endif
}

// What stays as it was: enums, other integers, and lists of axes in braces.
enum { kRows, kColumns };
Tensor still_right(Tensor x, size_t n, uint8_t k) {
  const auto axis = static_cast<int16_t>(kRows);
  return softmax(x, kColumns) + roll(x, n, axis) + repeat(x, k) + sum(x, {0, 1}) +
         mean(x, {0, 1}, true) + max(x, {.axes = {0}}) + var(x, {0, 1}, 1) + sum(x, {}) +
         nan_sum(x, {0, 1});
}
