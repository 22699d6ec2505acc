#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {

Tensor weigh(const Tensor& y) {
  const Tensor at = reshape(arange(1.0, y.size() + 1.0, 1.0, f64), y.shape().dimensions());
  if (y.dtype() == c128) return sum(real(y) * cos(at)) + sum(imag(y) * sin(at));
  return sum(y * cos(at));
}

Tensor direction(const Tensor& x) {
  const Tensor at = reshape(arange(x.size(), f64), x.shape().dimensions());
  const Tensor one = sin(2.0 + 3.0 * at);
  return x.dtype() == c128 ? complex(one, cos(1.0 + at)) : one;
}

Run each(OfNumber f) {
  return [f](const Tensors& in) {
    return Tensors{vmap(grad(f))(in[0]), vmap(grad(grad(f)))(in[0])};
  };
}

Run slope(OfNumber f) {
  return [f](const Tensors& in) { return Tensors{vmap(grad(f))(in[0])}; };
}

Run pair(OfNumbers f) {
  return [f](const Tensors& in) {
    const OfNumber both = [&](const Tensor& xy) { return f(xy[0], xy[1]); };
    const Tensor at = stack({in[0], in[1]}, 1);
    return Tensors{vmap(grad(both))(at), vmap(hessian(both))(at)};
  };
}

Run forward(OfTensors f) {
  return [f](const Tensors& in) {
    Tensors tangents;
    for (const Tensor& x : in) tangents.push_back(direction(x));
    auto [y, dy] = jvp(f, std::tuple(in), std::tuple(tangents));
    return Tensors{y, dy};
  };
}

Run modes(OfTensors f) {
  return [f](const Tensors& in) {
    const OfTensors loss = [&](const Tensors& at) { return weigh(f(at)); };
    Tensors out = forward(f)(in), grads = grad(loss)(in);
    out.insert(out.begin() + 1, grads.begin(), grads.end());
    return out;
  };
}

Run second(OfNumber f) {
  return [f](const Tensors& in) {
    const OfNumber loss = [&](const Tensor& x) { return weigh(f(x)); };
    return Tensors{hessian(loss)(in[0])};
  };
}

OfTensors real_parts(OfTensors f) {
  return [f](const Tensors& in) {
    const Tensor y = f(in);
    return stack({real(y), imag(y)});
  };
}

}  // namespace heddle::derivatives
