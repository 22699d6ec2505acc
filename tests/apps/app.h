// Programs of the corpus `apps` that have a grad, a jvp or a vmap, written again with Heddle's own
// functions: the recorded arguments give the recorded results.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/tests/support/joined.h"

namespace heddle::apps {

using Tensors = std::vector<Tensor>;

struct App {
  std::string name;  // as in the corpus: category/program
  // The recorded arguments, and behind them the arrays that JAX folded into the program -> results.
  std::function<Tensors(const Tensors&)> run;
  friend void PrintTo(const App& one, std::ostream* out) { *out << one.name; }
};

// The sum of the squares of all elements of a tree.
template <class T>
Tensor squares(const T& tree) {
  Tensor total = scalar(0.0f);
  for_each_leaf(tree, [&](const Tensor& leaf) { total = total + sum(square(leaf)); });
  return total;
}

// squares(fn(args..)) and its gradients by the arguments that are told.
template <size_t... I, class Fn, class... Args>
Tensors value_and_grads(Fn fn, Argnums<I...> by, const Args&... args) {
  const auto loss = [&](const Args&... at) { return squares(fn(at...)); };
  return flatten(value_and_grad(loss, by)(args...));
}

// fn(args..) and its tangent along ones.
template <class Fn, class... Args>
Tensors value_and_tangents(Fn fn, const Args&... args) {
  return flatten(jvp(fn, std::tuple(args...), std::tuple(ones_like(args)...)));
}

std::vector<App> array_apps();
std::vector<App> loop_apps();
std::vector<App> model_apps();
std::vector<App> solver_apps();

}  // namespace heddle::apps
