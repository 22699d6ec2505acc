#include "heddle/tools/conformance/against.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "heddle/base/system/subnormals.h"
#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/wire.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/compare.h"
#include "heddle/tools/conformance/fresh.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

using hlo::Opcode;

// Ops whose results are sums of many roundings.
constexpr Opcode kSums[] = {Opcode::kWhile,
                            Opcode::kScan,
                            Opcode::kReduce,
                            Opcode::kReduceWindow,
                            Opcode::kDot,
                            Opcode::kRaggedDot,
                            Opcode::kConvolution,
                            Opcode::kScatter,
                            Opcode::kSelectAndScatter,
                            Opcode::kFft,
                            Opcode::kTriangularSolve,
                            Opcode::kCholesky,
                            Opcode::kCustomCall,
                            Opcode::kBatchNormGrad,
                            Opcode::kBatchNormTraining};

bool has_sums(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const hlo::Instruction& each) {
      return std::ranges::find(kSums, each.opcode) != std::end(kSums);
    });
  });
}

// Whether its bits depend on the library that computes them, which differs between devices.
bool calls_libraries(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const hlo::Instruction& each) {
      return each.opcode == Opcode::kCustomCall;
    });
  });
}

bool is_float(const Literal& leaf) {
  return is_floating(leaf.shape().dtype()) || is_complex(leaf.shape().dtype());
}

void append_leaves(const Literal& value, std::vector<Literal>& out) {
  if (!value.is_tuple()) {
    out.push_back(value);
    return;
  }
  for (const Literal& element : value.elements()) append_leaves(element, out);
}

std::vector<Literal> leaves_of(const Literal& value) {
  std::vector<Literal> out;
  append_leaves(value, out);
  return out;
}

// The numbers of a float leaf, complex ones by their parts.
std::vector<double> numbers_of(const Literal& leaf) {
  const int64_t count = leaf.element_count() * (is_complex(leaf.shape().dtype()) ? 2 : 1);
  std::vector<double> out(static_cast<size_t>(count));
  load(real_part(leaf.shape().dtype()), leaf.bytes(), count, out.data());
  return out;
}

std::vector<double> finite_sizes(const Literal& leaf) {
  std::vector<double> out;
  for (const double x : numbers_of(leaf))
    if (std::isfinite(x)) out.push_back(std::abs(x));
  return out;
}

double largest(const Literal& leaf) {
  const std::vector<double> sizes = finite_sizes(leaf);
  return sizes.empty() ? 0 : *std::ranges::max_element(sizes);
}

double median(const Literal& leaf) {
  std::vector<double> sizes = finite_sizes(leaf);
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  return *middle;
}

// The corpus's numbers for a type: relative tolerance, and what nudging may add of the largest
// value.
struct Rule {
  double rtol;
  double cap;
  double times;  // of the change by nudging
};

Rule rule_of(DType dtype) {
  switch (real_part(dtype)) {
    case f64: return {1e-10, 1e-6, 8};
    case f32: return {2e-5, 1e-3, 8};
    case f16: return {4e-3, 0.1, 2};
    case bf16: return {3.2e-2, 0.1, 2};
    default: return {0.25, 0.1, 2};  // 2^-mantissa of most types of 8 bits and fewer
  }
}

// Subnormal terms of a sum become zero if they are rounded by themselves, and stay if the sum is
// wider.
constexpr double kFlushed = 16;

// How far nudged arguments move a leaf.
struct Change {
  double largest = 0;
  bool of_kind = false;  // integers change, or the set of finite numbers
};

Change change_of(const Literal& before, const Literal& after) {
  Change out;
  if (!is_float(before)) {
    out.of_kind = !(before == after);
    return out;
  }
  const std::vector<double> a = numbers_of(before), b = numbers_of(after);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(b[i]))
      out.largest = std::max(out.largest, std::abs(a[i] - b[i]));
    out.of_kind |= std::isfinite(a[i]) != std::isfinite(b[i]);
  }
  return out;
}

// Both devices with one program, and both results for one set of arguments.
class Trial {
 public:
  Trial(const Case& item, const hlo::Module& module, const Compiled& ours, const Compiled& judge)
      : item_(item),
        ours_(ours),
        judge_(judge),
        sums_(has_sums(module)),
        calls_(calls_libraries(module)),
        old_(leaves_of(item.expected)) {}

  Comparison run(const std::vector<Literal>& arguments) {
    const StatusOr<Literal> got = ours_.run(arguments);
    const StatusOr<Literal> want = judge_.run(arguments);
    if (!got.ok() || !want.ok()) return failure(got.status(), want.status());
    arguments_ = &arguments;
    got_ = leaves_of(*got);
    want_ = leaves_of(*want);
    if (got_.size() != want_.size())
      return {Agreement::kDiffers, "the results have not equally many leaves"};
    Comparison worst;
    for (size_t i = 0; i < got_.size(); ++i) {
      Comparison found = leaf(i);
      if (found.agreement == Agreement::kDiffers) return found;
      if (worst.agreement == Agreement::kAgrees) worst = std::move(found);
    }
    return worst;
  }

 private:
  static Comparison failure(const Status& ours, const Status& judge) {
    if (!ours.ok() && !judge.ok())
      return {Agreement::kSkipped, base::cat("neither runs it: ", base::message_of(judge))};
    return {Agreement::kDiffers, ours.ok() ? base::cat("the judge fails: ", base::message_of(judge))
                                           : base::message_of(ours)};
  }

  [[nodiscard]] Tolerance tolerance(size_t i) const {
    const std::vector<Tolerance>& given = item_.tolerances;
    if (given.empty()) return {.exact = true};
    Tolerance out = given[std::min(i, given.size() - 1)];
    if (!is_float(want_[i])) return out;
    if (out.exact && calls_) out = {};
    if (out.exact) return out;
    const double size = largest(want_[i]);
    if (sums_) out.atol = std::max(out.atol, kFlushed * least_normal(want_[i].shape().dtype()));
    if (calls_ || item_.corpus == "stablehlo") {
      out.rtol = std::max(out.rtol, rule_of(want_[i].shape().dtype()).rtol);
      if (sums_) out.atol = std::max(out.atol, out.rtol / 20 * size);
    } else if (i < old_.size() && is_float(old_[i])) {
      out.atol *= std::max(1.0, size / std::max(largest(old_[i]), 1e-30));
    }
    return out;
  }

  // The most that nudging may add to atol.
  [[nodiscard]] double cap(size_t i, const Tolerance& tolerance) const {
    if (sums_) return rule_of(want_[i].shape().dtype()).cap * largest(want_[i]);
    return tolerance.rtol * median(want_[i]);
  }

  Comparison leaf(size_t i) {
    Tolerance allowed = tolerance(i);
    const std::string found = difference(got_[i], want_[i], {&allowed, 1});
    if (found.empty()) return {};
    const std::string message =
        base::cat(got_.size() == 1 ? "" : base::cat("output ", i, ": "), found);
    const Change change = nudge(i);
    if (is_float(want_[i]) && !allowed.exact) {
      const double by = rule_of(want_[i].shape().dtype()).times * change.largest;
      allowed.atol = std::max(allowed.atol, std::min(by, cap(i, allowed)));
      if (difference(got_[i], want_[i], {&allowed, 1}).empty()) return {};
      allowed.atol = std::max(allowed.atol, by);
      if (difference(got_[i], want_[i], {&allowed, 1}).empty())
        return {Agreement::kSensitive, message};
    }
    return {change.of_kind ? Agreement::kSensitive : Agreement::kDiffers, message};
  }

  // The greatest change of a leaf, on either device, under four nudges.
  Change nudge(size_t i) {
    Change out;
    for (const uint64_t seed : {1, 2, 3, 4}) {
      const std::vector<Literal> arguments = nudged(*arguments_, seed);
      for (const bool mine : {true, false}) {
        const StatusOr<Literal> moved = (mine ? ours_ : judge_).run(arguments);
        if (!moved.ok()) continue;
        const Change change = change_of((mine ? got_ : want_)[i], leaves_of(*moved)[i]);
        out.largest = std::max(out.largest, change.largest);
        out.of_kind |= change.of_kind;
      }
    }
    return out;
  }

  const Case& item_;
  const Compiled& ours_;
  const Compiled& judge_;
  bool sums_;
  bool calls_;
  std::vector<Literal> old_;
  std::vector<Literal> got_, want_;
  const std::vector<Literal>* arguments_ = nullptr;
};

Comparison not_compiled(std::string_view who, const Status& status) {
  const auto outcome =
      status.code() == StatusCode::kUnimplemented ? Agreement::kSkipped : Agreement::kDiffers;
  return {outcome, base::cat(who, ": ", base::message_of(status))};
}

// The worse of two: differing is worst, then sensitive, then skipped.
bool is_worse(Agreement a, Agreement b) {
  constexpr std::array kRank = {0, 3, 2, 1};
  return kRank[static_cast<size_t>(a)] > kRank[static_cast<size_t>(b)];
}

}  // namespace

std::string_view to_string(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgrees: return "agrees";
    case Agreement::kDiffers: return "differs";
    case Agreement::kSensitive: return "sensitive";
    case Agreement::kSkipped: return "skipped";
  }
  return "";
}

Tolerance tolerance_of(const hlo::Module& module, const Literal& want) {
  if (!is_float(want)) return {.exact = true};
  const DType dtype = want.shape().dtype();
  Tolerance out{.rtol = rule_of(dtype).rtol, .atol = least_normal(dtype)};
  if (has_sums(module)) out.atol = std::max(kFlushed * out.atol, out.rtol / 20 * largest(want));
  return out;
}

Comparison compare_on_fresh(const Case& item, const hlo::Module& module, const Compiled& ours,
                            const Compiled& judge, const AgainstOptions& options) {
  if (item.arguments.empty()) return {Agreement::kSkipped, "takes no arguments"};
  const FlushSubnormals as_xla_does;
  Trial trial(item, module, ours, judge);
  Comparison worst;
  for (int draw = 0; draw < options.draws; ++draw) {
    Comparison found = trial.run(fresh_arguments(item, module, options.seed, draw));
    if (!is_worse(found.agreement, worst.agreement)) continue;
    worst = {found.agreement, base::cat("draw ", draw, ": ", found.message)};
  }
  return worst;
}

Comparison compare_on_fresh(const Case& item, runtime::Device& ours, runtime::Device& judge,
                            const AgainstOptions& options) {
  if (!item.replicas.empty()) return {Agreement::kSkipped, "needs several devices"};
  if (item.arguments.empty()) return {Agreement::kSkipped, "takes no arguments"};
  const StatusOr<hlo::Module> module = hlo::from_proto(item.module);
  if (!module.ok()) return {Agreement::kDiffers, base::message_of(module.status())};
  const StatusOr<Compiled> first = Compiled::make(ours, *module);
  if (!first.ok()) return not_compiled(ours.name(), first.status());
  const StatusOr<Compiled> second = Compiled::make(judge, *module);
  if (!second.ok()) return not_compiled(judge.name(), second.status());
  return compare_on_fresh(item, *module, *first, *second, options);
}

}  // namespace heddle::conformance
