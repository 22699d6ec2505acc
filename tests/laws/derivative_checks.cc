#include "heddle/tests/laws/derivative_checks.h"

#include <cmath>
#include <complex>
#include <random>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/transform/derivatives.h"

namespace heddle::laws {
namespace {

using Leaves = std::vector<Literal>;

bool has_tangent(const Literal& x) { return x.shape().dtype() == f64 || x.shape().dtype() == c128; }

// The numbers of a leaf: both parts of complex ones.
std::span<const double> numbers(const Literal& x) {
  const size_t count = static_cast<size_t>(x.byte_size()) / sizeof(double);
  return {reinterpret_cast<const double*>(x.bytes()), count};
}

Literal made(const Shape& shape, base::FunctionRef<double(size_t)> number) {
  Literal out(shape);
  auto* to = reinterpret_cast<double*>(out.mutable_bytes());
  for (size_t i = 0; i < numbers(out).size(); ++i) to[i] = number(i);
  return out;
}

class Checker {
 public:
  Checker(const DerivativeCheck& check) : check_(check), engine_(check.seed) {}

  std::string run(const hlo::Module& module, const Leaves& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const bool is_constant = i < check_.constants.size() && check_.constants[i];
      moves_.push_back(!is_constant && has_tangent(arguments[i]));
    }
    return compare(module, arguments, check_.order);
  }

 private:
  Literal direction(const Literal& like) {
    std::normal_distribution<double> normal;
    return made(like.shape(), [&](size_t) { return normal(engine_); });
  }
  // Of those arguments that move, and of results.
  Leaves directions_of_arguments(const Leaves& x) {
    Leaves out;
    for (size_t i = 0; i < x.size(); ++i) {
      if (moves(x, i)) out.push_back(direction(x[i]));
    }
    return out;
  }
  Leaves directions_of_results(const Leaves& y) {
    Leaves out;
    for (const Literal& each : y) {
      if (has_tangent(each)) out.push_back(direction(each));
    }
    return out;
  }
  // Arguments behind those that were given are tangents of theirs.
  [[nodiscard]] bool moves(const Leaves& x, size_t i) const {
    return i < moves_.size() ? moves_[i] : has_tangent(x[i]);
  }

  // x + t v.
  [[nodiscard]] Leaves moved(const Leaves& x, const Leaves& v, double t) const {
    Leaves out;
    size_t next = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const Literal& each = x[k];
      if (!moves(x, k)) {
        out.push_back(each);
        continue;
      }
      const std::span<const double> a = numbers(each), b = numbers(v[next++]);
      out.push_back(made(each.shape(), [&](size_t i) { return a[i] + t * b[i]; }));
    }
    return out;
  }

  // Real part of sum(a b), of one leaf.
  static double inner(const Literal& a, const Literal& b) {
    const std::span<const double> x = numbers(a), y = numbers(b);
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool is_imaginary = a.shape().dtype() == c128 && i % 2 == 1;
      sum += is_imaginary ? -x[i] * y[i] : x[i] * y[i];
    }
    return sum;
  }

  [[nodiscard]] std::vector<bool> mask(const Leaves& x) const {
    std::vector<bool> out;
    for (size_t i = 0; i < x.size(); ++i) out.push_back(moves(x, i));
    return out;
  }
  static std::vector<bool> result_mask(const Leaves& y) {
    std::vector<bool> out;
    for (const Literal& each : y) out.push_back(has_tangent(each));
    return out;
  }

  StatusOr<Leaves> evaluate(const hlo::Module& module, const Leaves& arguments) {
    HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
    Leaves given;
    size_t next = 0;
    const hlo::Computation& entry = module.entry_computation();
    for (hlo::InstructionId id : entry.parameters)
      given.push_back(assembled(entry.at(id).shape, arguments, next));
    HEDDLE_ASSIGN_OR_RETURN(Literal value, interpreter::evaluate(module, std::move(given)));
    return leaves_of({value});
  }

  static Literal assembled(const Shape& shape, const Leaves& leaves, size_t& next) {
    if (!shape.is_tuple()) return leaves[next++];
    Leaves elements;
    for (const Shape& element : shape.elements())
      elements.push_back(assembled(element, leaves, next));
    return Literal::tuple(std::move(elements));
  }

  std::string compare(const hlo::Module& module, const Leaves& x, int order) {
    auto status = compared(module, x, order);
    if (status.ok()) return "";
    return base::cat("order ", check_.order - order + 1, ": ", base::message_of(status));
  }

  Status compared(const hlo::Module& module, const Leaves& x, int order) {
    const Leaves v = directions_of_arguments(x);
    if (v.empty()) return {};
    HEDDLE_ASSIGN_OR_RETURN(const Leaves y, evaluate(module, x));
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module forward, transform::jvp(module, mask(x)));
    Leaves both = x;
    both.insert(both.end(), v.begin(), v.end());
    HEDDLE_ASSIGN_OR_RETURN(const Leaves dual, evaluate(forward, both));
    const Leaves dy(dual.begin() + static_cast<std::ptrdiff_t>(y.size()), dual.end());
    HEDDLE_ASSIGN_OR_RETURN(const Leaves above, evaluate(module, moved(x, v, check_.step)));
    HEDDLE_ASSIGN_OR_RETURN(const Leaves below, evaluate(module, moved(x, v, -check_.step)));
    for (size_t k = 0; k < y.size(); ++k) {
      if (!has_tangent(y[k])) continue;
      HEDDLE_RETURN_IF_ERROR(same_value("a value beside its tangent", k, y[k], dual[k], 0));
      const std::span<const double> a = numbers(above[k]), b = numbers(below[k]);
      const Literal difference =
          made(y[k].shape(), [&](size_t i) { return (a[i] - b[i]) / (2 * check_.step); });
      HEDDLE_RETURN_IF_ERROR(
          same_value("the tangent and the central difference", k, difference, dy[k], 1));
    }
    if (check_.reverse) HEDDLE_RETURN_IF_ERROR(adjoint(module, x, y, v, dy));
    if (order == 1) return {};
    const std::string next = compare(forward, both, order - 1);
    return next.empty() ? Status() : base::internal_error(next);
  }

  // <u, J v> = <J' u, v>, by vjp and by linearize and transpose.
  Status adjoint(const hlo::Module& module, const Leaves& x, const Leaves& y, const Leaves& v,
                 const Leaves& dy) {
    const Leaves u = directions_of_results(y);
    if (u.empty()) return {};
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module reverse,
                            transform::vjp(module, mask(x), result_mask(y)));
    Leaves given = x;
    given.insert(given.end(), u.begin(), u.end());
    HEDDLE_ASSIGN_OR_RETURN(const Leaves back, evaluate(reverse, given));
    double forward = 0, backward = 0, size = 1;
    size_t next = 0;
    for (size_t k = 0; k < y.size(); ++k) {
      if (!has_tangent(y[k])) continue;
      forward += inner(u[next++], dy[k]);
      for (double each : numbers(dy[k])) size += std::abs(each);
    }
    for (size_t k = 0; k < v.size(); ++k) backward += inner(back[y.size() + k], v[k]);
    if (!(std::abs(forward - backward) <= 1e-9 * size))
      return base::internal_error("<u, J v> is ", forward, " and <J' u, v> ", backward);
    return linearized(module, x, y, v, dy, u,
                      {back.begin() + static_cast<std::ptrdiff_t>(y.size()), back.end()});
  }

  Status linearized(const hlo::Module& module, const Leaves& x, const Leaves& y, const Leaves& v,
                    const Leaves& dy, const Leaves& u, const Leaves& ct) {
    HEDDLE_ASSIGN_OR_RETURN(const transform::Linearized linear,
                            transform::linearize(module, mask(x)));
    HEDDLE_ASSIGN_OR_RETURN(const Leaves values, evaluate(linear.forward, x));
    auto computed = values.begin() + static_cast<std::ptrdiff_t>(y.size());
    Leaves residuals;
    for (const std::optional<size_t>& parameter : linear.residuals)
      residuals.push_back(parameter ? x[*parameter] : *computed++);
    Leaves given = residuals;
    given.insert(given.end(), v.begin(), v.end());
    HEDDLE_ASSIGN_OR_RETURN(const Leaves pushed, evaluate(linear.pushforward, given));
    for (size_t k = 0; k < y.size(); ++k) {
      if (has_tangent(y[k]))
        HEDDLE_RETURN_IF_ERROR(same_value("jvp and the pushforward", k, dy[k], pushed[k], 1e-3));
    }
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module pullback,
                            transform::transpose(linear.pushforward, residuals.size()));
    Leaves cotangents = residuals;
    size_t next = 0;
    for (const Literal& each : y)
      cotangents.push_back(has_tangent(each) ? u[next++] : Literal(each.shape()));
    HEDDLE_ASSIGN_OR_RETURN(const Leaves pulled, evaluate(pullback, cotangents));
    for (size_t k = 0; k < v.size(); ++k)
      HEDDLE_RETURN_IF_ERROR(same_value("vjp and the pullback", k, ct[k], pulled[k], 1e-3));
    return {};
  }

  // Of equal numbers up to `share` of the tolerance.
  Status same_value(std::string_view what, size_t leaf, const Literal& want, const Literal& have,
                    double share) {
    const std::span<const double> a = numbers(want), b = numbers(have);
    double size = 1;
    for (double each : a) size = std::max(size, std::abs(each));
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) <= share * check_.tolerance * size + 1e-13 * size) continue;
      return base::internal_error(what, " of result ", leaf, " differ at ", i, ": ", a[i], " and ",
                                  b[i]);
    }
    return {};
  }

  DerivativeCheck check_;
  std::vector<bool> moves_;
  std::mt19937_64 engine_;
};

}  // namespace

std::vector<Literal> leaves_of(const std::vector<Literal>& arguments) {
  std::vector<Literal> out;
  for (const Literal& each : arguments) {
    if (!each.is_tuple()) {
      out.push_back(each);
      continue;
    }
    for (Literal& leaf : leaves_of(each.elements())) out.push_back(std::move(leaf));
  }
  return out;
}

std::string check_derivatives(const hlo::Module& module, const std::vector<Literal>& arguments,
                              const DerivativeCheck& check) {
  return Checker(check).run(module, arguments);
}

}  // namespace heddle::laws
