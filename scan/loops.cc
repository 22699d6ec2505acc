#include "heddle/scan/loops.h"

#include <map>
#include <span>

#include "heddle/scan/internal/checkpoint.h"
#include "heddle/scan/internal/trace_body.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/varying_numbers.h"
#include "heddle/transform/trip_count.h"

namespace heddle::scan_internal {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::PublicCall;

constexpr char kCondition = 0;
constexpr char kBody = 0;

// The state of an HLO while: the carry, then what condition and body capture, each value once.
class State {
 public:
  explicit State(std::span<const Tensor> carry)
      : values_(carry.begin(), carry.end()), carries_(carry.size()) {}

  // Positions in the state of a body's arguments: the carry, and the captures, which this adds.
  std::vector<size_t> arguments(const std::vector<Tensor>& captures) {
    std::vector<size_t> pick;
    for (size_t i = 0; i < carries_; ++i) pick.push_back(i);
    for (const Tensor& capture : captures) {
      auto [found, is_new] = position_.try_emplace(capture.node().get(), values_.size());
      if (is_new) values_.push_back(capture);
      pick.push_back(found->second);
    }
    return pick;
  }

  [[nodiscard]] const std::vector<Tensor>& values() const { return values_; }
  // Positions of the captures, which pass through.
  [[nodiscard]] std::vector<size_t> invariants() const {
    std::vector<size_t> out;
    for (size_t i = carries_; i < values_.size(); ++i) out.push_back(i);
    return out;
  }

 private:
  std::vector<Tensor> values_;
  size_t carries_;
  std::map<const trace_internal::Node*, size_t> position_;
};

void check_condition(const Shape& shape) {
  if (shape.is_scalar(pred)) return;
  trace_internal::refuse(
      "condition returns ", shape,
      "; it must return pred[], compare the value with something or reduce it with all()");
}

std::vector<Tensor> emit_while(const Body& condition, const Body& body, const Argument& init,
                               hlo::FrontendAttributes attributes) {
  State state(init.leaves);
  std::vector<size_t> condition_arguments = state.arguments(condition.captures);
  std::vector<size_t> body_arguments = state.arguments(body.captures);
  std::vector<Shape> shapes = shapes_of(state.values(), "while_loop");
  Tensor tuple = emit({.opcode = Opcode::kTuple, .operands = state.values()});
  std::vector<Tensor> results = trace_internal::emit_many(
      {.opcode = Opcode::kWhile,
       .operands = {tuple},
       .called = {on_tuple(body.fragment, shapes, body_arguments, state.invariants(), false),
                  on_tuple(condition.fragment, shapes, condition_arguments, {}, true)},
       .frontend_attributes = std::move(attributes)});
  results.resize(init.leaves.size());
  return results;
}

}  // namespace

namespace {

// What errors call a loop and its parts.
struct LoopWords {
  std::string_view loop, condition, body, carry;
};
constexpr LoopWords kWhileWords{"while_loop", "while_loop condition", "while_loop body", "carry"};
constexpr LoopWords kForiWords{"fori_loop", "fori_loop condition", "fori_loop body", "value"};

// Traces the carry's condition and body, and records the loop.
std::vector<Tensor> record_while(const Callable& condition, const Callable& body,
                                 const Argument& init, hlo::FrontendAttributes attributes = {},
                                 const LoopWords& words = kWhileWords) {
  std::vector<Shape> carry = shapes_of(init.leaves, words.loop);
  const auto of = [&](std::string_view what, const char* kind, const Callable& callable,
                      std::string_view result) {
    return BodyRequest{.what = what,
                       .kind = kind,
                       .callable = callable,
                       .structure = init.structure,
                       .parameters = carry,
                       .init = init.leaves,
                       .result = result};
  };
  BodyPtr test = body_for(of(words.condition, &kCondition, condition, "condition's result"),
                          [&](const Body& b) { check_condition(b.result_shapes()[0]); });
  BodyPtr step = body_for(of(words.body, &kBody, body, words.carry), [&](const Body& b) {
    check_carry(words.loop, words.carry, init, b.results[0], b.result_shapes());
  });
  return emit_while(*test, *step, init, std::move(attributes));
}

// The loop's own numbers in front of the user's tree.
TreeSpec behind(size_t numbers, const Argument& init) {
  TreeSpec spec{.kind = TreeSpec::Kind::kTuple, .keys = {}, .children = {}};
  spec.children.resize(numbers);
  spec.children.push_back(init.spec());
  return spec;
}

// What a derivative of a loop with max_steps reads.
hlo::FrontendAttributes bounds_of(const WhileOptions& options) {
  hlo::FrontendAttributes out;
  if (options.checkpoint) out.push_back(attribute_of(*options.checkpoint, *options.max_steps));
  out.emplace_back(transform::kMaxSteps, base::cat(*options.max_steps));
  return out;
}

// The carry behind a count of the trips, which the condition bounds. In a trace the loop has the
// bound as an attribute, for a derivative. A loop that runs at once has no derivative, and its
// bound is a number that may be an operand.
std::vector<Tensor> bounded_while(const Callable& condition, const Callable& body,
                                  const Argument& init, const WhileOptions& options,
                                  bool is_traced) {
  const int64_t max_steps = *options.max_steps;
  const auto refuse = [&](std::string_view must) {
    trace_internal::refuse("max_steps is ", max_steps, "; it must be ", must);
  };
  if (max_steps < 0) refuse("0 or more");
  if (max_steps > int64_t{1} << 40) refuse("at most 2^40");
  const DType dtype = max_steps > INT32_MAX ? s64 : s32;
  std::vector<Tensor> carry{constant_like(0, dtype)};
  carry.insert(carry.end(), init.leaves.begin(), init.leaves.end());
  auto spec = [&] { return behind(1, init); };
  auto test = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    std::vector<Tensor> wants = condition.run(leaves.subspan(1), specs);
    const PublicCall own("while_loop", {});
    trace_internal::require_values("while_loop", "condition's result", wants,
                                   [&] { return specs[0]; });
    check_condition(wants[0].shape());
    const Tensor may = less(leaves[0], max_steps);
    return std::vector<Tensor>{bitwise_and(may, wants[0])};
  };
  auto step = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    std::vector<Tensor> next = body.run(leaves.subspan(1), specs);
    const PublicCall own("while_loop", {});
    check_step("while_loop", "carry", init, specs[0], next);
    specs = {spec()};
    next.insert(next.begin(), add(leaves[0], 1));
    return next;
  };
  std::vector<Tensor> results =
      record_while({condition.identity, condition.types, test, condition.name},
                   {body.identity, body.types, step, body.name},
                   {carry, base::cat("at most ", max_steps, ";", init.structure), spec},
                   is_traced ? bounds_of(options) : hlo::FrontendAttributes{});
  return {results.begin() + 1, results.end()};
}

}  // namespace

std::vector<Tensor> run_while(const Callable& condition, const Callable& body, const Argument& init,
                              const WhileOptions& options) {
  trace_internal::require_values("while_loop", "carry", init.leaves, init.spec);
  if (options.checkpoint) require_valid(*options.checkpoint);
  if (options.checkpoint && !options.max_steps)
    trace_internal::refuse("checkpoint is ", to_string(*options.checkpoint),
                           " and there is no max_steps; only a loop with max_steps has the reverse "
                           "derivative that it is for, give it or leave checkpoint out");
  const bool is_traced = trace_internal::Recorder::current() != nullptr;
  return trace_internal::in_program("while_loop", [&] {
    return options.max_steps ? bounded_while(condition, body, init, options, is_traced)
                             : record_while(condition, body, init);
  });
}

namespace {

int64_t static_bound(std::string_view name, const Operand& bound) {
  const auto* u = std::get_if<uint64_t>(&bound.number());
  if (u && *u <= static_cast<uint64_t>(INT64_MAX)) return static_cast<int64_t>(*u);
  if (const auto* i = std::get_if<int64_t>(&bound.number())) return *i;
  trace_internal::refuse(name, " is the C++ number ", number_text(bound), "; it must be an integer",
                         u ? " that s64 holds" : "");
}

// Of the counter.
DType dtype_of_bounds(int64_t low, int64_t high) {
  return std::in_range<int32_t>(low) && std::in_range<int32_t>(high) ? s32 : s64;
}

// A known trip count: a scan over low .. high - 1.
std::vector<Tensor> static_fori(const Callable& body, int64_t low, int64_t high,
                                const Argument& init, const ForiOptions& options) {
  int64_t length = high > low ? high - low : 0;
  const DType dtype = dtype_of_bounds(low, high);
  Tensor indices = emit(
      {.opcode = Opcode::kIota, .attrs = hlo::IotaAttrs{}, .declared = Shape(dtype, {length})});
  if (low != 0) indices = add(indices, low);
  auto spec = [] { return TreeSpec{}; };
  return run_scan("fori_loop", body, init, {{&indices, 1}, "", spec},
                  {.unroll = options.unroll, .checkpoint = options.checkpoint})
      .carry;
}

// Whether a loop that runs at once had other bounds before, at this place. From then on they are
// operands of its program, like other numbers.
bool have_changed(const Callable& body, int64_t low, int64_t high) {
  static constexpr char kBounds = 0;
  const int64_t bounds[] = {low, high};
  const uint64_t place = trace_internal::place_of(&kBounds, body.types, PublicCall::line_or({}));
  return trace_internal::varies({place}, std::as_bytes(std::span(bounds)));
}

// i, high and the value as the state of a while. Its condition is Heddle's own, and always the
// same.
std::vector<Tensor> dynamic_fori(const Callable& body, const Tensor& low, const Tensor& high,
                                 const Argument& init) {
  static constexpr char kBelow = 0;
  std::vector<Tensor> carry{low, high};
  carry.insert(carry.end(), init.leaves.begin(), init.leaves.end());
  auto spec = [&] { return behind(2, init); };
  auto test = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    const PublicCall shared = PublicCall::shared_code();
    specs = {TreeSpec{}};
    return std::vector<Tensor>{less(leaves[0], leaves[1])};
  };
  auto step = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    std::vector<Tensor> arguments{leaves[0]};
    arguments.insert(arguments.end(), leaves.begin() + 2, leaves.end());
    std::vector<Tensor> next = body.run(arguments, specs);
    const PublicCall own("fori_loop", {});
    check_step("fori_loop", "value", init, specs[0], next);
    specs = {spec()};
    next.insert(next.begin(), {add(leaves[0], 1), leaves[1]});
    return next;
  };
  std::vector<Tensor> results =
      record_while({{}, &kBelow, test, "", true}, {body.identity, body.types, step, body.name},
                   {carry, "fori" + init.structure, spec}, {}, kForiWords);
  return {results.begin() + 2, results.end()};
}

void require_bound(std::string_view name, const Shape& shape) {
  if (shape.is_scalar() && is_integer(shape.dtype())) return;
  trace_internal::refuse(name, " is ", shape, "; it must be a scalar of an integer dtype, ",
                         shape.is_scalar() ? "cast it with astype(s32)" : "take one element of it");
}

}  // namespace

std::vector<Tensor> run_fori(const Callable& body, Operand low, Operand high, const Argument& init,
                             const ForiOptions& options) {
  trace_internal::require_values("fori_loop", "value", init.leaves, init.spec);
  // In a trace the count of C++ bounds is known, which derivatives need.
  const bool has_count =
      options.unroll != 1 || options.checkpoint || trace_internal::Recorder::current() != nullptr;
  return trace_internal::in_program("fori_loop", [&]() -> std::vector<Tensor> {
    if (!low.is_tensor() && !high.is_tensor()) {
      const int64_t from = static_bound("low", low), to = static_bound("high", high);
      if (has_count || !have_changed(body, from, to))
        return static_fori(body, from, to, init, options);
      const DType dtype = dtype_of_bounds(from, to);
      const auto number = [&](int64_t bound) {
        return trace_internal::captured_number(Literal::scalar(dtype, bound), low.at());
      };
      return dynamic_fori(body, number(from), number(to), init);
    }
    if (options.unroll != 1)
      trace_internal::refuse("unroll is ", options.unroll,
                             " and a bound is a tensor; only a loop between C++ integers is "
                             "unrolled, give those or leave it out");
    if (options.checkpoint)
      trace_internal::refuse("checkpoint is ", to_string(*options.checkpoint),
                             " and a bound is a tensor; only a loop between C++ integers has the "
                             "reverse derivative that it is for, give those or leave it out");
    for (const auto& [name, bound] : {std::pair("low", &low), std::pair("high", &high)}) {
      if (bound->is_tensor())
        require_bound(name, trace_internal::node_of(bound->tensor(), "fori_loop").shape);
      else
        (void)static_bound(name, *bound);
    }
    Tensor from = low.is_tensor() ? low.tensor() : constant_like(low, high.tensor().dtype());
    Tensor to = high.is_tensor() ? high.tensor() : constant_like(high, from.dtype());
    const Shape& a = trace_internal::node_of(from, "fori_loop").shape;
    const Shape& b = trace_internal::node_of(to, "fori_loop").shape;
    if (a.dtype() != b.dtype()) {
      trace_internal::refuse("low is ", a, " and high ", b,
                             "; their dtypes must be equal, cast one with astype");
    }
    return dynamic_fori(body, from, to, init);
  });
}

}  // namespace heddle::scan_internal
