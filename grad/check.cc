// check_grads compares derivatives with central differences, and the two modes with each other.
#include <algorithm>
#include <cmath>
#include <functional>

#include "heddle/grad/flat.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/public_call.h"

namespace heddle::grad_internal {
namespace {

using Leaves = std::vector<Tensor>;
using FlatFn = std::function<Leaves(std::span<const Tensor>)>;

// The accuracy of the narrowest type that takes part: a difference loses half its digits.
struct Accuracy {
  double step, tolerance;
};
Accuracy accuracy_of(const Leaves& leaves) {
  int64_t bits = 64;
  for (const Tensor& leaf : leaves) {
    if (has_tangent(leaf)) bits = std::min(bits, bit_width(real_part(leaf.dtype())));
  }
  if (bits >= 64) return {1e-5, 1e-6};
  return bits >= 32 ? Accuracy{1e-2, 2e-2} : Accuracy{5e-2, 2e-1};
}

// Numbers in -1 .. 1 without any order, computed on the device: nothing is uploaded.
Tensor direction(const Tensor& like, double seed) {
  const trace_internal::PublicCall call("check_grads", {});
  const DType real = real_part(like.dtype());
  const int64_t count = like.shape().element_count();
  const auto numbers = [&](double shift) {
    const Tensor i = arange(0, count, 1, f64);
    const Tensor wave = cos(multiply(i, 1.7 + 0.1 * seed));
    return sin(add(multiply(wave, 9.3), shift + seed)).astype(real);
  };
  const Tensor flat = is_complex(like.dtype()) ? complex(numbers(0.4), numbers(1.9)) : numbers(0.4);
  return reshape(flat, like.shape().dimensions());
}

class Checker {
 public:
  Checker(const CheckOptions& options, const Accuracy& accuracy)
      : options_(options), accuracy_(accuracy) {}

  void run(const FlatFn& fn, const Leaves& x, int64_t order, const std::string& what) {
    const Point point = point_of(x);
    const Leaves v = directions(x);
    const Leaves differences = central_differences(fn, x, v);
    if (std::ranges::none_of(differences, has_tangent))
      trace_internal::refuse(what,
                             " gives no floats, so that there is nothing to check; cast them");
    if (options_.forward) {
      const Leaves dy = tangents(fn, point, v);
      compare(differences, dy, what);
      if (options_.reverse)
        compare_reverse(fn, point, v, dy, base::cat("forward and reverse mode of ", what));
    } else {
      compare_reverse(fn, point, v, differences,
                      base::cat("reverse mode of ", what, " and the central difference"));
    }
    if (order <= 1) return;
    if (options_.forward) {
      run([&](std::span<const Tensor> at) { return tangent_of(fn, at, v); }, x, order - 1,
          base::cat("the derivative of ", what));
    }
    if (!options_.reverse) return;
    run([&](std::span<const Tensor> at) { return cotangent_of(fn, at); }, x, order - 1,
        base::cat("the reverse derivative of ", what));
  }

 private:
  [[nodiscard]] static Point point_of(std::span<const Tensor> x) {
    Point point{{x.begin(), x.end()}, {}, {}};
    for (const Tensor& leaf : x) point.of.push_back(has_tangent(leaf));
    return point;
  }

  Leaves directions(std::span<const Tensor> like) {
    Leaves out;
    for (const Tensor& leaf : like) {
      if (has_tangent(leaf)) out.push_back(direction(leaf, seed_ += 1));
    }
    return out;
  }

  template <class Run>
  auto with_function(const FlatFn& fn, Run&& run) const {
    const auto flat = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
      Leaves out = fn(leaves);
      TreeSpec spec{.kind = TreeSpec::Kind::kTuple};
      spec.children.resize(out.size());
      specs = {std::move(spec)};
      return out;
    };
    const trace_internal::HigherOrderCall call("check_grads", {});
    return run(FlatFunction{"check_grads", "", flat});
  }

  Leaves tangents(const FlatFn& fn, const Point& point, const Leaves& v) const {
    try {
      return with_function(fn, [&](const FlatFunction& f) { return jvp(f, point, v); }).derivatives;
    } catch (const Error& error) {
      if (error.status().code() != StatusCode::kUnimplemented) throw;
      throw Error({error.status().code(),
                   base::cat(error.status().text(),
                             "; reverse mode alone is checked with {.forward = false}")});
    }
  }
  // The tangents of floats.
  Leaves tangent_of(const FlatFn& fn, std::span<const Tensor> x, const Leaves& v) const {
    Leaves out;
    for (Tensor& each : tangents(fn, point_of(x), v)) {
      if (has_tangent(each)) out.push_back(std::move(each));
    }
    return out;
  }
  Leaves pulled(const FlatFn& fn, const Point& point,
                base::FunctionRef<Tensor(const Tensor&)> u) const {
    auto [value, linear] =
        with_function(fn, [&](const FlatFunction& f) { return linearize(f, point); });
    Leaves cotangents;
    for (const Tensor& y : value.results) cotangents.push_back(u(y));
    return linear.pull(cotangents, value.spec);
  }
  Leaves cotangent_of(const FlatFn& fn, std::span<const Tensor> x) const {
    double seed = 0.5;
    return pulled(fn, point_of(x), [&](const Tensor& y) {
      return has_tangent(y) ? direction(y, seed += 1) : zeros_like({y, {}});
    });
  }

  // x + t v.
  [[nodiscard]] static Leaves moved(const Leaves& x, const Leaves& v, double t) {
    Leaves out;
    size_t next = 0;
    for (const Tensor& leaf : x) {
      if (!has_tangent(leaf))
        out.push_back(leaf);
      else
        out.push_back(leaf + v[next++] * full_like(leaf, t));
    }
    return out;
  }

  // The greatest size of an element.
  [[nodiscard]] static double size_of(const Tensor& x) {
    return x.shape().element_count() == 0 ? 0 : max(abs(x)).astype(f64).item<double>();
  }

  // Of each result of floats along v; of any other what fn gives.
  [[nodiscard]] Leaves central_differences(const FlatFn& fn, const Leaves& x,
                                           const Leaves& v) const {
    const double h = accuracy_.step;
    Leaves out = fn(moved(x, v, h));
    const Leaves below = fn(moved(x, v, -h));
    for (size_t i = 0; i < out.size(); ++i) {
      if (has_tangent(out[i])) out[i] = (out[i] - below[i]) / full_like(out[i], 2 * h);
    }
    return out;
  }

  void compare(const Leaves& differences, const Leaves& dy, const std::string& what) const {
    for (size_t i = 0; i < dy.size(); ++i) {
      if (!has_tangent(differences[i])) continue;
      require_near(
          size_of(differences[i] - dy[i]), size_of(differences[i]),
          base::cat("the tangent of result ", i, " of ", what, " and the central difference"));
    }
  }

  // <u, dy> and <pulled u, v>, which `label` names.
  void compare_reverse(const FlatFn& fn, const Point& point, const Leaves& v, const Leaves& dy,
                       const std::string& label) {
    Leaves u;
    const Leaves back = pulled(fn, point, [&](const Tensor& y) {
      u.push_back(has_tangent(y) ? direction(y, seed_ += 1) : zeros_like({y, {}}));
      return u.back();
    });
    double forward = 0, backward = 0, size = 0;
    for (size_t i = 0; i < dy.size(); ++i) {
      if (!has_tangent(dy[i])) continue;
      forward += inner(u[i], dy[i]);
      size = std::max(size, size_of(dy[i]));
    }
    for (size_t i = 0; i < v.size(); ++i) backward += inner(back[i], v[i]);
    require_near(std::abs(forward - backward), std::max({size, std::abs(forward), 1.0}), label);
  }

  [[nodiscard]] static double inner(const Tensor& a, const Tensor& b) {
    return real(sum(a * b)).astype(f64).item<double>();
  }

  void require_near(double difference, double size, const std::string& what) const {
    const double allowed = accuracy_.tolerance * (1 + size);
    if (difference <= allowed) return;
    throw Error(base::failed_precondition(
        "check_grads: ", what, " differ by ", difference, "; they may by ", allowed,
        ": a derivative of your own is wrong, or the function is not smooth there"));
  }

  CheckOptions options_;
  Accuracy accuracy_;
  double seed_ = 0;
};

void read_option(std::string_view name, const std::optional<double>& option, double& out) {
  if (option && !(*option > 0 && std::isfinite(*option)))
    trace_internal::refuse(name, " is ", *option,
                           "; it must be a number above 0, leave it out for one by dtype");
  out = option.value_or(out);
}

}  // namespace

void check(const FlatFunction& fn, const Point& point, const CheckOptions& options) {
  Accuracy accuracy = accuracy_of(point.leaves);
  read_option("step", options.step, accuracy.step);
  read_option("tolerance", options.tolerance, accuracy.tolerance);
  if (options.order < 1)
    trace_internal::refuse("order is ", options.order, "; it must be 1 or more");
  if (!options.forward && !options.reverse)
    trace_internal::refuse("forward and reverse are both off; set one of them");
  if (std::ranges::none_of(point.leaves, has_tangent))
    trace_internal::refuse("no argument has floats, so that there is nothing to check; cast one");
  const FlatFn run = [&](std::span<const Tensor> leaves) {
    std::vector<TreeSpec> specs;
    return trace_internal::as_users_code([&] { return fn.run(leaves, specs); });
  };
  Checker(options, accuracy).run(run, point.leaves, options.order, "the function");
}

}  // namespace heddle::grad_internal
