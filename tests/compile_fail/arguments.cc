// Arguments as another library takes them: some are meant here too, the others have a repair.
#include <cmath>
#include <iostream>

#include "heddle/heddle.h"

using namespace heddle;

// case parts_apart: the parts are one list: write concat({x, y}, axis)
// case parts_and_axis_apart: the parts are one list: write concat({x, y}, axis)
// case stacked_apart: the parts are one list: write stack({x, y}, axis)
// case concatenated_apart: the parts are one list: write concatenate({x, y}, axis)
// case repeats_apart: the repeats are one list: write tile(x, {2, 3})
Tensor joined(Tensor x) {
#ifdef parts_apart
  return concat(x, x);
#elif defined(parts_and_axis_apart)
  return concat(x, x, 1);
#elif defined(stacked_apart)
  return stack(x, x);
#elif defined(concatenated_apart)
  return concatenate(x, x);
#elif defined(repeats_apart)
  return tile(x, 2, 3);
#else
  return concat({x, x}) + concat({x, x}, 1) + concat({x}) + stack({x, x}) + concatenate({x, x}) +
         tile(x, {2, 3}) + tile(x, 2);
#endif
}

// case zeros_of_tensor: this is a tensor: write zeros_like(x)
// case zeros_of_tensor_and_dtype: this is a tensor: write zeros_like(x)
// case ones_of_tensor: this is a tensor: write ones_like(x)
// case placeholder_of_sizes: a placeholder has a dtype: write placeholder({4}, f32)
// case placeholder_of_size: a placeholder has a dtype: write placeholder({4}, f32)
// case placeholder_of_vector: a placeholder has a dtype: write placeholder({4}, f32)
Tensor made(Tensor x, std::vector<int> sizes, Shape shape) {
#ifdef zeros_of_tensor
  return zeros(x);
#elif defined(zeros_of_tensor_and_dtype)
  return zeros(x, f64);
#elif defined(ones_of_tensor)
  return ones(x);
#elif defined(placeholder_of_sizes)
  return placeholder({4, 2});
#elif defined(placeholder_of_size)
  return placeholder(4);
#elif defined(placeholder_of_vector)
  return placeholder(sizes);
#else
  return zeros_like(x) + zeros_like(x, f64) + ones_like(x) + placeholder({4, 2}, f32) +
         placeholder(4, f32) + placeholder(sizes, f32) + placeholder(shape) +
         placeholder(x.shape()) + placeholder(Shape(f32, {2}));
#endif
}

// case argmax_over_two: argmax is along one axis
// case argmin_over_two: argmin is along one axis
// case sum_over_array: an array of C++ does not say its length here: write {0, 1}
Tensor over(Tensor x) {
  const int axes[] = {0, 1};
#ifdef argmax_over_two
  return argmax(x, {0, 1});
#elif defined(argmin_over_two)
  return argmin(x, {0, 1}, true);
#elif defined(sum_over_array)
  return sum(x, axes);
#else
  return argmax(x, {0}) + argmin(x, 0, true) + argmax(x) + argmax(x, -1) +
         sum(x, std::vector(std::begin(axes), std::end(axes)));
#endif
}

// case reduce_by_span: of one tensor reduce takes a function (a, b)
Tensor reduced(Tensor x) {
  auto of_two = [](Tensor a, Tensor b) { return a + b; };
  auto of_span = [](std::span<const Tensor> t) { return std::vector<Tensor>{t[0] + t[1]}; };
#ifdef reduce_by_span
  return reduce(x, 0.0f, of_span, {0});
#else
  return reduce({x}, {zeros({})}, of_span, {0})[0] + reduce({x}, {zeros({})}, of_two, {0})[0] +
         reduce({x}, {zeros({})}, maximum, {0})[0] + reduce({x}, {zeros({})}, pow, {0})[0] +
         reduce(x, 0.0f, of_two, {0}) + reduce(x, 0, maximum, 0) + reduce(x, zeros({}), pow, {0});
#endif
}

// case mean_and_deviation: write mean + deviation * normal(key, {3})
// case mean_of_tensor: write mean + deviation * normal(key, {3})
// case sizes_of_sample_apart: sizes are one list, normal(key, {3, 4})
// case bounds_before_dtype: write uniform(key, {3}, f32, low, high)
Tensor sampled(Tensor key, Tensor mean) {
#ifdef mean_and_deviation
  return random::normal(key, {3}, 0.0, 1.0);
#elif defined(mean_of_tensor)
  return random::normal(key, {3}, mean, 1.0);
#elif defined(sizes_of_sample_apart)
  return random::normal(key, 3, 4);
#elif defined(bounds_before_dtype)
  return random::uniform(key, {3}, -1, 1);
#else
  return mean + 2.0 * random::normal(key, {3}) + random::normal(key, {3, 4}, f64) +
         random::uniform(key, {3}, f32, -1, mean) + random::normal(key) + random::uniform(key);
#endif
}

// case scale_without_name: write layer_norm(x, {.scale = scale, .bias = bias})
// case rms_scale_without_name: write rms_norm(x, {.scale = scale})
Tensor normed(Tensor x, Tensor scale) {
#ifdef scale_without_name
  return nn::layer_norm(x, scale, scale);
#elif defined(rms_scale_without_name)
  return nn::rms_norm(x, scale);
#else
  nn::Norm norm = {.scale = scale};
  return nn::layer_norm(x, {.scale = scale, .bias = scale}) + nn::rms_norm(x, {.scale = scale}) +
         nn::layer_norm(x, norm) + nn::layer_norm(x, -1) + nn::rms_norm(x, -1) +
         nn::standardize(x, 0) + nn::layer_norm(x, {}) + nn::layer_norm(x);
#endif
}

Tensor of_order(Tensor x, linalg::NormOptions options) {
  return linalg::norm(x, 2) + linalg::norm(x, INFINITY, 0, true) +
         linalg::norm(x, linalg::MatrixNorm::kNuclear) + linalg::norm(x, options) +
         linalg::norm(x, {}) + linalg::norm(x, 1, {0, 1});
}

// case length_of_bool: an axis, an index, a count or a size is an integer
Tensor transformed(Tensor x, size_t n) {
#ifdef length_of_bool
  return fft(x, true);
#else
  return fft(x, 4) + ifft(x, n) + rfft(x, 4, 0) + irfft(x, 4) + fft(x, {}) + fft(x, {8}) +
         fft(x, {.n = 4, .axis = 0});
#endif
}

enum { kRow, kColumn };
Tensor picked(Tensor x) {
  return x[kRow] + x[{kRow, kColumn}] + x.at(kColumn).get() + expand_dims(x, {0, 1}) +
         expand_dims(x, 0) + linalg::funm(x, exp) + linalg::funm(x, [](Tensor w) { return w; });
}

// Functions of functions give functions, which are called with the arguments.
//
// case grad_of_a_value: write grad(fn)(x)
// case value_and_grad_of_a_value: write value_and_grad(fn)(x)
// case hessian_of_a_value: write hessian(fn)(x)
// case vmap_of_a_value: write vmap(fn)(x)
// case compile_of_a_value: write compile(fn)(x)
// case checkpoint_of_a_value: write checkpoint(fn)(x)
// case start_before_the_function: lbfgs takes the function first, then where it starts
// case function_without_a_name: a Function has a name, by which it is cached and shown
// case predicate_after_the_branches: write cond(p, f, g, x)
void functions_of(Tensor x, Tensor p) {
  const auto f = [](Tensor x) { return sum(x * x); };
#ifdef grad_of_a_value
  grad(f, x);
#elif defined(value_and_grad_of_a_value)
  value_and_grad(f, x);
#elif defined(hessian_of_a_value)
  hessian(f, x);
#elif defined(vmap_of_a_value)
  vmap(f, x);
#elif defined(compile_of_a_value)
  compile(f, x);
#elif defined(checkpoint_of_a_value)
  checkpoint(f, x);
#elif defined(start_before_the_function)
  (void)optim::lbfgs(x, f);
#elif defined(function_without_a_name)
  Function step([](Tensor x) { return x; });
#elif defined(predicate_after_the_branches)
  cond(f, f, p, x);
#else
  (void)grad(f)(x);
  (void)value_and_grad(f)(x);
  (void)hessian(f)(x);
  (void)vmap(f, {.in_axes = {0}})(x);
  (void)compile(f)(x);
  (void)checkpoint(f)(x);
  (void)optim::lbfgs(f, x);
  (void)Function("step", f)(x);
  (void)cond(p, f, f, x);
#endif
}

// case zeros_of_a_type: write zeros({2, 3}, f64)
// case ones_of_a_type: write ones({2, 3}, f64)
// case vector_of_no_type: named: x.to_vector<float>()
// case item_of_no_type: named: x.item<float>()
// case method_sum: an op is a function and no method: write sum(x, 0)
// case method_sum_printed: an op is a function and no method: write sum(x, 0)
// case method_max: an op is a function and no method: write sum(x, 0)
// case method_reshape: an op is a function and no method: write sum(x, 0)
// case method_reshape_of_sizes: an op is a function and no method: write sum(x, 0)
// case size_along_an_axis: the size along an axis is x.dim(0)
// case places_apart: write x.at({0, 1})
Tensor types_and_places(Tensor x) {
#ifdef zeros_of_a_type
  return zeros<double>({2, 3});
#elif defined(ones_of_a_type)
  return ones<double>({2, 3});
#elif defined(vector_of_no_type)
  (void)x.to_vector();
#elif defined(item_of_no_type)
  (void)x.item();
#elif defined(method_sum)
  return x.sum();
#elif defined(method_sum_printed)
  std::cout << x.sum() << "\n";
  return x;
#elif defined(method_max)
  return x.max(0);
#elif defined(method_reshape)
  return x.reshape({3, 2});
#elif defined(method_reshape_of_sizes)
  return x.reshape(3, -1);
#elif defined(size_along_an_axis)
  return x * x.size(0);
#elif defined(places_apart)
  (void)x.at(0, 1);
#endif
  (void)x.to_vector<float>();
  (void)x.item<float>();
  return zeros({2, 3}, f64) + ones({2, 3}, f64) + x.at({0, 1}).set(2);
}

// The dtype of values is an argument of array().
Tensor values_of_a_type(int i) {
  return array({1, 2, 3}, f32) + array({1, 2.5}, bf16) + array({i, 2}, f32) +
         array({{1, 2}, {3, 4}}, f32) + array(std::vector<double>{1, 2}, f32);
}
