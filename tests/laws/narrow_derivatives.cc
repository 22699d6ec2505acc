#include "heddle/tests/laws/narrow_derivatives.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/derivative.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/transform/derivatives.h"

namespace heddle::laws {
namespace {

using Leaves = std::vector<Literal>;

constexpr DType kEveryType[] = {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) DType::enumerator,
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
};

// `name[` becomes `to[` where it is a word.
std::string with_type(std::string text, std::string_view name, std::string_view to) {
  const std::string from = base::cat(name, "[");
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]))) continue;
    text.replace(at, name.size(), to);
  }
  return text;
}

bool has_tangent(const Literal& x) { return x.shape().is_array() && hlo::has_tangent(x.shape()); }

// The numbers of a leaf: both parts of complex ones.
std::vector<double> numbers(const Literal& x) {
  std::vector<double> out;
  const DType part = real_part(x.shape().dtype());
  const auto width = static_cast<size_t>(storage_bytes(part));
  Literal one = Literal::uninitialised(Shape::scalar(part));
  for (size_t at = 0; at < static_cast<size_t>(x.byte_size()); at += width) {
    std::memcpy(one.mutable_bytes(), x.bytes() + at, width);
    out.push_back(one.to_double(0));
  }
  return out;
}

Literal made(const Shape& shape, const std::vector<double>& numbers) {
  Literal out = Literal::uninitialised(shape);
  const DType part = real_part(shape.dtype());
  const auto width = static_cast<size_t>(storage_bytes(part));
  for (size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(out.mutable_bytes() + i * width, Literal::scalar(part, numbers[i]).bytes(), width);
  return out;
}

Literal widened(const Literal& x) {
  if (!has_tangent(x)) return x;
  return made(x.shape().with_dtype(widest(x.shape().dtype())), numbers(x));
}
Leaves widened(const Leaves& all) {
  Leaves out;
  for (const Literal& each : all) out.push_back(widened(each));
  return out;
}

StatusOr<Leaves> value_of(const hlo::Module& module, const Leaves& arguments) {
  HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
  HEDDLE_ASSIGN_OR_RETURN(Literal value,
                          interpreter::evaluate(module, as_arguments(module, arguments)));
  return leaves_of({value});
}

Leaves joined(Leaves a, const Leaves& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Distance from 1 to the next number of the type, of a complex number of its parts.
double epsilon_of(DType dtype) {
  const DType part = real_part(dtype);
  double next = 1;  // 1 + next is rounded to 1 where there is no such number
  while (Literal::scalar(part, 1 + next / 2).to_double(0) > 1) next /= 2;
  return next;
}

double coarsest(const Leaves& all) {
  double out = 0;
  for (const Literal& each : all) {
    if (has_tangent(each)) out = std::max(out, epsilon_of(each.shape().dtype()));
  }
  return out;
}

// The program with widest() of every element type.
hlo::Module in_widest_types(const hlo::Module& module) {
  std::string text = hlo::print(module);
  for (DType each : kEveryType) {
    if (widest(each) != each)
      text = with_type(std::move(text), to_string(each), to_string(widest(each)));
  }
  return hlo::parse_text(text).value();
}

class Checker {
 public:
  explicit Checker(const NarrowCheck& check) : check_(check) {}

  NarrowResult run(const hlo::Module& module, const Leaves& x) {
    const Status status = compared(module, x, check_.order);
    if (!status.ok()) out_.wrong = base::message_of(status);
    return out_;
  }

 private:
  // Between 1/4 and 1, of both signs.
  Leaves directions(const Leaves& all, const std::vector<bool>& of) {
    std::uniform_real_distribution<double> uniform(0.25, 1);
    Leaves out;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!of[i]) continue;
      std::vector<double> parts = numbers(all[i]);
      for (double& each : parts) each = (engine_() % 2 == 0 ? 1 : -1) * uniform(engine_);
      out.push_back(made(all[i].shape(), parts));
    }
    return out;
  }

  Status compared(const hlo::Module& module, const Leaves& x, int order) {
    std::vector<bool> of, from;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool is_constant = i < check_.constants.size() && check_.constants[i];
      of.push_back(has_tangent(x[i]) && !is_constant);
    }
    HEDDLE_ASSIGN_OR_RETURN(const Leaves y, value_of(module, x));
    for (const Literal& each : y) from.push_back(has_tangent(each));
    epsilons_ = check_.epsilons * (check_.order - order + 1);
    const auto jvp = [&](const hlo::Module& m) { return transform::jvp(m, of); };
    const auto vjp = [&](const hlo::Module& m) { return transform::vjp(m, of, from); };
    const Leaves dual = joined(x, directions(x, of));
    HEDDLE_RETURN_IF_ERROR(agrees("the tangent of result", module, jvp, dual, y, y));
    if (check_.reverse)
      HEDDLE_RETURN_IF_ERROR(agrees("the cotangent of argument", module, vjp,
                                    joined(x, directions(y, from)), y, those(x, of)));
    if (order == 1) return {};
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module forward, jvp(module));
    return compared(forward, dual, order - 1);
  }

  static Leaves those(const Leaves& all, const std::vector<bool>& which) {
    Leaves out;
    for (size_t i = 0; i < all.size(); ++i) {
      if (which[i]) out.push_back(all[i]);
    }
    return out;
  }

  // What the derivative gives behind y is like `like`, and what that of the wide module gives.
  template <class Derive>
  Status agrees(std::string_view what, const hlo::Module& module, const Derive& derive,
                const Leaves& given, const Leaves& y, const Leaves& like) {
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module derived, derive(module));
    HEDDLE_ASSIGN_OR_RETURN(const Leaves have, value_of(derived, given));
    if (have.size() != y.size() + like.size())
      return base::internal_error("there are ", have.size() - y.size(), " of ", what);
    Leaves want = have;
    if (check_.has_wide_form) {
      HEDDLE_ASSIGN_OR_RETURN(const hlo::Module wide, derive(in_widest_types(module)));
      HEDDLE_ASSIGN_OR_RETURN(want, value_of(wide, widened(given)));
    }
    const double unit = std::max(coarsest(given), coarsest(have));
    for (size_t k = 0; k < like.size(); ++k) {
      const Literal &a = have[y.size() + k], &b = want[y.size() + k];
      const bool is_zero = !has_tangent(like[k]) || !check_.has_wide_form;
      const std::string wrong = !same_type(a.shape(), like[k].shape())
                                    ? base::cat("is ", to_string(a.shape()))
                                    : difference(a, is_zero ? Literal(b.shape()) : b, unit);
      if (!wrong.empty())
        return base::internal_error(what, " ", k, ", ", to_string(like[k].shape()), ", ", wrong,
                                    "\n", hlo::print(derived));
    }
    return {};
  }

  std::string difference(const Literal& have, const Literal& want, double unit) {
    if (!have.shape().is_array()) return "";
    const std::vector<double> a = numbers(have), b = numbers(want);
    const DType part = real_part(have.shape().dtype());
    double largest = check_.least_size;
    for (double each : b) largest = std::max(largest, std::abs(each));
    for (size_t i = 0; i < b.size(); ++i) {
      ++out_.compared;
      if (a[i] == b[i]) continue;
      if (!std::isfinite(b[i])) return base::cat("has no value in f64 at ", i);
      if (!has_tangent(have)) return base::cat("is ", a[i], " at ", i, "; it must be 0");
      const double one = unit * (check_.least_size > 0 ? largest : std::abs(b[i]));
      const bool is_in_range = std::abs(Literal::scalar(part, b[i]).to_double(0) - b[i]) <= one;
      if (!is_in_range) continue;
      const double error = std::abs(a[i] - b[i]) / one;
      if (!(error <= epsilons_))
        return base::cat("is ", a[i], " at ", i, "; f64 gives ", b[i], ", ", error,
                         " epsilons off");
      out_.worst = std::max(out_.worst, error);
    }
    return "";
  }

  NarrowCheck check_;
  double epsilons_ = 0;
  std::mt19937_64 engine_{1};
  NarrowResult out_;
};

}  // namespace

DType widest(DType dtype) { return is_floating(dtype) ? f64 : is_complex(dtype) ? c128 : dtype; }

Literal rounded(const Literal& x, DType dtype) {
  return made(x.shape().with_dtype(dtype), numbers(x));
}

NarrowResult check_narrow_derivatives(const hlo::Module& module,
                                      const std::vector<Literal>& arguments,
                                      const NarrowCheck& check) {
  return Checker(check).run(module, arguments);
}

}  // namespace heddle::laws
