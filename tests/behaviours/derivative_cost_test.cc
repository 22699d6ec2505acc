// What derivatives cost, counted: operations of gradients of scans beside those of the scans, and
// what a second call does.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/tests/support/few_elements.h"
#include "heddle/tests/support/llama.h"
#include "heddle/transform/pass.h"
#include "heddle/transform/trip_count.h"

namespace heddle {
namespace {

Tensor like(Dimensions shape) { return placeholder(std::move(shape), f32); }

// Operations of floats as HLO has them, each of an element 1: what is elementwise, sums and dots.
// Loops count as often as they turn, of branches the dearest.
class Operations {
 public:
  explicit Operations(const hlo::Module& module) : module_(module) {}

  double of(hlo::ComputationId id) const {
    double sum = 0;
    const hlo::Computation& computation = module_.at(id);
    for (const hlo::Instruction& instruction : computation.instructions)
      sum += of(computation, instruction);
    return sum;
  }

 private:
  double of(const hlo::Computation& in, const hlo::Instruction& i) const {
    const auto operand = [&](size_t n) -> const Shape& { return in.at(i.operands[n]).shape; };
    switch (i.opcode) {
      case hlo::Opcode::kWhile: return turns(i) * (of(i.called[0]) + of(i.called[1]));
      case hlo::Opcode::kConditional: {
        double most = 0;
        for (hlo::ComputationId branch : i.called) most = std::max(most, of(branch));
        return most;
      }
      case hlo::Opcode::kCall: return of(i.called[0]);
      case hlo::Opcode::kReduce: return elements(operand(0)) * of(i.called[0]);
      case hlo::Opcode::kDot: {
        double products = elements(i.shape);
        for (int64_t d : i.attrs.get<hlo::DotAttrs>().lhs_contracting_dims)
          products *= static_cast<double>(operand(0).dimension(d));
        return 2 * products;
      }
      case hlo::Opcode::kCopy:
      case hlo::Opcode::kConvert:
      case hlo::Opcode::kSelect: return 0;
      default:
        return hlo::has_trait(i.opcode, hlo::kElementwise) && is_floating(i.shape.dtype())
                   ? elements(i.shape)
                   : 0;
    }
  }

  static double elements(const Shape& shape) { return static_cast<double>(shape.element_count()); }
  static double turns(const hlo::Instruction& loop) {
    const std::optional<int64_t> known = transform::known_trip_count(loop);
    EXPECT_TRUE(known.has_value());
    return static_cast<double>(known.value_or(0));
  }

  const hlo::Module& module_;
};

double operations(const Program& program) {
  const auto flat = transform::run_pipeline(program.module(), transform::kFlattenPipeline);
  EXPECT_TRUE(flat.ok()) << flat.status();
  return Operations(*flat).of(flat->entry);
}

struct Costs {
  double forward, gradient;                               // operations in HLO
  std::optional<double> native_forward, native_gradient;  // of machine code, which has polynomials
};

// Of a loss of some tensors, and of its gradient by all of them.
template <class Loss, class... Args>
Costs costs_of(const Loss& loss, const Args&... args) {
  const auto both = [&]<size_t... I>(std::index_sequence<I...>) {
    return value_and_grad(loss, argnums<I...>);
  }
  (std::index_sequence_for<Args...>());
  const Program forward = trace(loss, args...), gradient = trace(both, args...);
  return {operations(forward), operations(gradient), forward.compile("cpu").cost().flops,
          gradient.compile("cpu").cost().flops};
}

Costs rnn() {
  return costs_of(
      [](Tensor w, Tensor b, Tensor h, Tensor xs) {
        const auto step = [&](Tensor s, Tensor x) {
          return std::pair(tanh(matmul(concat({x, s}, -1), w) + b), None{});
        };
        return sum(scan(step, h, xs).first);
      },
      like({48, 32}), like({32}), like({8, 32}), like({20, 8, 16}));
}

Costs gru() {
  return costs_of(
      [](Tensor w, Tensor h, Tensor xs) {
        const auto step = [&](Tensor s, Tensor x) {  // x: the products with the weights of inputs
          const Tensor all = matmul(s, w);
          const auto part = [](Tensor t, int64_t i) {
            return slice_in_dim(t, 32 * i, 32 * (i + 1), 1, -1);
          };
          const Tensor reset = logistic(part(x, 0) + part(all, 0)),
                       keep = logistic(part(x, 1) + part(all, 1)),
                       next = tanh(part(x, 2) + reset * part(all, 2));
          const Tensor out = keep * s + (1 - keep) * next;
          return std::pair(out, out);
        };
        return sum(square(scan(step, h, xs).second));
      },
      like({32, 96}), like({8, 32}), like({20, 8, 96}));
}

Costs ssm() {  // a diagonal state-space model with a step size of each input
  return costs_of(
      [](Tensor a, Tensor b, Tensor c, Tensor us, Tensor steps) {
        const auto step = [&](Tensor h, std::pair<Tensor, Tensor> in) {
          const auto [u, dt] = in;
          const Tensor next =
              exp(expand_dims(dt, 1) * a) * h + expand_dims(dt * u, 1) * expand_dims(b, 0);
          return std::pair(next, matmul(next, c));
        };
        return sum(square(scan(step, zeros_like(a), std::pair(us, steps)).second));
      },
      like({64, 16}), like({16}), like({16}), like({50, 64}), like({50, 64}));
}

Costs kalman() {
  return costs_of(
      [](Tensor f, Tensor h, Tensor q, Tensor r, Tensor ys) {
        const auto step = [&](std::tuple<Tensor, Tensor, Tensor> s, Tensor y) {
          const auto [mean, spread, total] = s;
          const Tensor x = matmul(f, mean), p = matmul(matmul(f, spread), transpose(f)) + q;
          const Tensor surprise = y - matmul(h, x);
          const Tensor ph = matmul(p, transpose(h)), all = matmul(h, ph) + r;
          const Tensor det = all[{0, 0}] * all[{1, 1}] - all[{0, 1}] * all[{1, 0}];
          const Tensor inverse =
              stack({stack({all[{1, 1}], -all[{0, 1}]}), stack({-all[{1, 0}], all[{0, 0}]})}) / det;
          const Tensor gain = matmul(ph, inverse);
          const Tensor loss = log(det) + dot(surprise, matmul(inverse, surprise));
          return std::pair(
              std::tuple(x + matmul(gain, surprise), p - matmul(gain, transpose(ph)), total + loss),
              None{});
        };
        return std::get<2>(scan(step, std::tuple(zeros({4}), eye(4), zeros({})), ys).first);
      },
      like({4, 4}), like({2, 4}), like({4, 4}), like({2, 2}), like({50, 2}));
}

Costs attention() {  // blocks of keys, one after the other, with a running softmax
  return costs_of(
      [](Tensor q, Tensor ks, Tensor vs) {
        const auto step = [&](std::tuple<Tensor, Tensor, Tensor> s,
                              std::pair<Tensor, Tensor> block) {
          const auto [most, total, out] = s;
          const Tensor scores = matmul(q, transpose(block.first)) * 0.25f;
          const Tensor now = maximum(most, max(scores, {.axes = {1}, .keep_dims = true}));
          const Tensor weights = exp(scores - now), old = exp(most - now);
          return std::pair(
              std::tuple(now, total * old + sum(weights, {.axes = {1}, .keep_dims = true}),
                         out * old + matmul(weights, block.second)),
              None{});
        };
        const auto [most, total, out] =
            scan(step, std::tuple(full({32, 1}, -1e30f), zeros({32, 1}), zeros({32, 16})),
                 std::pair(ks, vs))
                .first;
        return sum(square(out / total));
      },
      like({32, 16}), like({8, 64, 16}), like({8, 64, 16}));
}

Costs elementwise() {
  return costs_of(
      [](Tensor h, Tensor xs, Tensor a) {
        const auto step = [&](Tensor s, Tensor x) {
          const Tensor next = s * a + sin(x * s) * exp(-x * x) - s * s * x;
          return std::pair(next, next * x);
        };
        const auto [last, ys] = scan(step, h, xs);
        return sum(last) + sum(ys);
      },
      like({64}), like({100, 64}), like({64}));
}

TEST(CostOfDerivatives, AGradientOfAScanTakesAtMostFourTimesItsOperations) {
  for (const auto& [name, costs] : {std::pair("RNN", rnn()),
                                    {"GRU", gru()},
                                    {"state-space model", ssm()},
                                    {"Kalman filter", kalman()},
                                    {"attention", attention()},
                                    {"elementwise", elementwise()}}) {
    std::printf("%-18s %9.0f operations, %9.0f with the gradient: %.2f times", name, costs.forward,
                costs.gradient, costs.gradient / costs.forward);
    EXPECT_GT(costs.forward, 0) << name;
    EXPECT_LE(costs.gradient, 4 * costs.forward) << name;
    if (costs.native_forward && costs.native_gradient) {
      std::printf("; as machine code %.2f", *costs.native_gradient / *costs.native_forward);
      EXPECT_LE(*costs.native_gradient, 4 * *costs.native_forward) << name;
    }
    std::printf("\n");
  }
}

// Sixteen scalars whose sines a step takes: their cosines are stacked in the same order, so that
// the native backend packs both alike and they share what they have in common. What is shared is
// not paid twice, so the gradient costs less than twice the scan.
TEST(CostOfDerivatives, ScalarsOfACarryKeepTheirOrderInWhatIsStacked) {
  const auto loss = [](const std::vector<Tensor>& start) {
    const auto step = [](const std::vector<Tensor>& x, None) {
      std::vector<Tensor> next;
      for (size_t i = 0; i < x.size(); ++i)
        next.push_back(x[i] + 0.01 * (sin(x[(i + 15) % 16]) - x[i] * x[(i + 1) % 16]));
      return std::pair(next, None{});
    };
    const auto last = scan(step, start, None{}, {.length = 100}).first;
    Tensor total = last[0];
    for (size_t i = 1; i < last.size(); ++i) total = total + last[i];
    return total;
  };
  const std::vector<Tensor> start(16, like({}));
  const auto forward = trace(loss, start).compile("cpu").cost().flops,
             gradient = trace(grad(loss), start).compile("cpu").cost().flops;
  if (!forward || !gradient) GTEST_SKIP() << "no LLVM";
  std::printf("%.0f operations, %.0f with the gradient\n", *forward, *gradient);
  EXPECT_LT(*gradient, 2 * *forward);
}

struct Needs {
  double operations, bytes, accessed;  // in HLO; scratch and traffic on `cpu`, 0 without LLVM
};
template <class Fn>
Needs needs_of(const Fn& fn, Dimensions shape) {
  const Program program = trace(fn, placeholder(std::move(shape), f64));
  const auto cost = program.compile("cpu").cost();
  const auto scratch = static_cast<double>(cost.flops ? cost.scratch_bytes.value_or(0) : 0);
  return {operations(program), scratch, cost.flops ? cost.bytes_accessed.value_or(0) : 0};
}

// Twice the steps on twice the array need twice as much: four times would be a whole array a step.
template <class Fn>
void expect_linear(const Fn& fn, Dimensions shape) {
  const Needs once = needs_of(fn, shape);
  shape.back() *= 2;
  const Needs twice = needs_of(fn, shape);
  EXPECT_LE(twice.operations, 2.1 * once.operations);
  EXPECT_LE(twice.bytes, 2.1 * once.bytes + 4096);
  EXPECT_LE(twice.accessed, 2.2 * once.accessed);
}

TEST(CostOfDerivatives, AStepThatReadsAnElementTouchesAnElementOfItsCotangent) {
  for (const auto& [name, loss] : few_elements::kLosses) {
    SCOPED_TRACE(name);
    expect_linear(grad(loss), {1000});
    expect_linear(grad([=](Tensor x) { return sum(grad(loss)(x) * x); }), {1000});
    expect_linear(vmap(grad(loss)), {3, 1000});
    expect_linear(grad([=](Tensor x) { return sum(vmap(loss)(x)); }), {3, 1000});
    const Tensor x = 0.1 * sin(arange(20, f64));
    check_grads(loss, std::tuple(x), {.order = 2});
    const auto of_lanes = [=](Tensor x) { return sum(vmap(loss)(x)); };
    check_grads(of_lanes, std::tuple(stack({x, 2 * x})), {.order = 1});
  }
}

// A step that reads few elements of x in another type; `narrow` says how.
template <class Narrow>
Tensor reads_converted(const Tensor& x, const Narrow& narrow) {
  const auto step = [&, m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    const Tensor two = take(narrow(m), stack({i / 4, i / 8}), 0);
    return std::pair(sin(c) * narrow(x)[i].astype(f64) + sum(two.astype(f64)), None{});
  };
  return scan(step, scalar(0.5), arange(x.dim(0), s32)).first;
}

TEST(CostOfDerivatives, AStepThatReadsConvertedElementsTouchesTheseAlone) {
  const auto narrow = [](const Tensor& x) {
    return reads_converted(x, [](Tensor x) { return x.astype(f32); });
  };
  const auto plain = [](const Tensor& x) { return reads_converted(x, [](Tensor x) { return x; }); };
  expect_linear(grad(narrow), {1000});
  expect_linear(vmap(grad(narrow)), {3, 1000});
  const Tensor x = 0.1 * sin(arange(20, f64));
  EXPECT_LT(max(abs(grad(narrow)(x) - grad(plain)(x))).item<double>(), 1e-5);
}

// What is made of a tensor that all steps use is differentiated once, not in each step.
TEST(CostOfDerivatives, TangentsThatAreTheSameInAllStepsLeaveTheLoop) {
  const auto loss = [](const Tensor& w, const Tensor& b, const Tensor& xs) {
    const auto step = [&](Tensor h, Tensor x) {
      const Tensor inside = matmul(softmax(sin(w), 1), tanh(w));
      return std::pair(tanh(matmul(inside, h) + exp(b) * x), None{});
    };
    return sum(scan(step, zeros_like(b), xs).first);
  };
  const auto both = grad(loss, argnums<0, 1>);
  const auto needs = [&](int64_t steps) {
    return operations(trace(both, like({16, 16}), like({16}), like({steps, 16})));
  };
  // A step: two products of a matrix and a vector, one on the way back, and of vectors one product.
  EXPECT_LT((needs(200) - needs(100)) / 100, 4 * 2 * 16 * 16);
  const auto f64s = [](Tensor x) { return x.astype(f64); };
  const Tensor w = f64s(reshape(sin(arange(9.0)), {3, 3})), b = f64s(cos(arange(3.0)));
  check_grads(loss, std::tuple(w, b, f64s(reshape(cos(arange(12.0)), {4, 3}))), {.order = 2});
}

// The way back of a branch that reads few elements of sin(x) multiplies these by cosines, and adds
// to these.
TEST(CostOfDerivatives, CotangentsOfElementwiseValuesStayParts) {
  for (const auto& [name, loss] : few_elements::kLossesOfValues) {
    SCOPED_TRACE(name);
    const std::string text = trace(grad(loss), placeholder({1000}, f64)).hlo_text();
    EXPECT_EQ(text.find("= f64[1000]{0} multiply("), text.npos) << text;
    EXPECT_EQ(text.find("= f64[1000]{0} add("), text.npos) << text;
    const Tensor x = 0.1 * cos(arange(20, f64));
    check_grads(loss, std::tuple(x), {.order = 2});
    const auto of_lanes = [run = loss](Tensor x) { return sum(vmap(run)(x)); };
    check_grads(of_lanes, std::tuple(stack({x, 2 * x})), {.order = 2});
  }
}

TEST(CostOfDerivatives, CotangentsOfElementwiseValuesOfATakeStayPartsToo) {
  const auto loss = [](const Tensor& x) {
    const auto body = [&, m = reshape(x, {-1, 4})](const std::pair<Tensor, Tensor>& s) {
      const Tensor rows = take(exp(-m) / (1.0 + m * m), stack({s.second, s.second / 2}), 0);
      return std::pair(sin(s.first) * sum(rows) + x[s.second], s.second + 1);
    };
    return while_loop([](const auto& s) { return s.second < 4; }, body,
                      std::pair(scalar(0.5), scalar(0)), {.max_steps = 5})
        .first;
  };
  check_grads(loss, std::tuple(0.1 * cos(arange(40, f64))), {.order = 2});
  const std::string text = trace(grad(loss), placeholder({1000}, f64)).hlo_text();
  EXPECT_EQ(text.find("= f64[250,4]{1,0} add(%get-tuple"), text.npos) << text;
  EXPECT_NE(text.find("= f64[2,4]{1,0} multiply("), text.npos) << text;
}

// What a branch or a while makes of a tensor that all steps use is not kept for each step.
TEST(CostOfDerivatives, BranchesKeepNothingThatIsTheSameInAllSteps) {
  const auto values = [](const Tensor& x) { return softmax(sin(x)) * exp(x); };
  const auto bounded = [&](const Tensor& x) {
    return while_loop([](Tensor h) { return sum(h) < 9.0; },
                      [&](Tensor h) { return h * values(x) + 1.0; }, x, {.max_steps = 7});
  };
  const auto branches = [&](const Tensor& x) {
    const auto step = [&](Tensor h, Tensor i) {
      const auto inner = [&](Tensor h) {
        return cond(
            i > 2, [&](Tensor h) { return h + values(x); }, [](Tensor h) { return h; }, h);
      };
      return std::pair(cond(
                           i > 1, inner, [](Tensor h) { return -h; }, h),
                       None{});
    };
    return scan(step, x, arange(7)).first;
  };
  const auto stacked = [](const auto& fn) {
    const std::string text =
        trace(grad([=](Tensor x) { return sum(fn(x)); }), placeholder({500}, f64)).hlo_text();
    size_t count = 0;
    for (size_t at = 0; (at = text.find("= f64[7,500]", at)) != text.npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(stacked(bounded), 1u);  // the carry
  EXPECT_EQ(stacked(branches), 0u);
  const Tensor x = 0.1 * cos(arange(200, f64));
  check_grads(bounded, std::tuple(x), {.order = 2});
  check_grads(branches, std::tuple(x), {.order = 2});
}

// They are made again in the branch alone, so that their NaN spoil no derivative of any order.
TEST(CostOfDerivatives, BranchesThatAreNotTakenSpoilNothingOfWhatAllStepsUse) {
  const auto loss = [](const Tensor& x) {
    const auto step = [&](Tensor h, Tensor i) {
      const auto taken = [&](Tensor h) { return h + x * x; };
      const auto never = [&](Tensor h) { return h + sum(log(x) / x); };
      return std::pair(cond(i < 9, taken, never, h), None{});
    };
    const Tensor last = scan(step, zeros_like(x), arange(4)).first;
    return sum(while_loop([](Tensor h) { return sum(h) < -1.0; },
                          [&](Tensor h) { return h + log(x); }, last, {.max_steps = 3}));
  };
  const Tensor x = zeros({200}, f64);
  EXPECT_EQ(max(abs(grad(loss)(x))).item<double>(), 0);
  EXPECT_EQ(max(abs(hessian(loss)(x) - 8.0 * eye(200, f64))).item<double>(), 0);
}

TEST(CostOfDerivatives, ALoopOfNoStepsHasZerosWhereItsTangentsWouldBeNaN) {
  const auto loss = [](const Tensor& w, int64_t steps) {
    const auto step = [&](Tensor h, None) { return std::pair(h + log(w), None{}); };
    return sum(scan(step, ones_like(w), None{}, {.length = steps}).first);
  };
  const Tensor w = array({0.0, 2.0});
  EXPECT_EQ(grad([&](Tensor w) { return loss(w, 0); })(w).to_vector<double>(),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(grad([&](Tensor w) { return loss(w, 3); })(w)[1].item<double>(), 1.5);
}

// 1,000 steps that add 1 / 1,000 to the cotangent of bf16: in bf16 the sum stops at 0.25.
TEST(CostOfDerivatives, CotangentsOfANarrowerCopyAreSummedInTheWideType) {
  const auto loss = [](const Tensor& w) {
    const auto step = [&](Tensor h, None) {
      return std::pair(h + sum(w.astype(bf16)).astype(f32) * 0.001f, None{});
    };
    return scan(step, scalar(0.0f), None{}, {.length = 1000}).first;
  };
  EXPECT_NEAR(grad(loss)(ones({8}))[0].item<float>(), 1, 0.01);
}

// Which of several updates of an element stays: the last one.
TEST(CostOfDerivatives, SeveralIndicesOfASetKeepABoolForEach) {
  const std::string text =
      trace(grad(few_elements::writes_places), placeholder({1000}, f64)).hlo_text();
  EXPECT_NE(text.find("pred[1000,3]"), text.npos) << text;
  EXPECT_EQ(text.find("pred[1000,1000]"), text.npos) << text;
  EXPECT_EQ(text.find("s32[1000]{0} scatter"), text.npos) << text;
}

// The time is in bench/modules.cc.
TEST(CostOfDerivatives, ATrainingStepOfLlama405BTakesNoByteAndOneTraceOfTheLayer) {
  clear_combine_cache();
  const int64_t device_bytes = default_device().live_bytes();
  const Effects done = effects_of([&] {
    const Program program = llama::training_step(llama::kLayers, 128);
    EXPECT_LT(program.lowered().hlo_proto().size(), 300000u);
  });
  EXPECT_EQ(default_device().live_bytes(), device_bytes);
  EXPECT_EQ(done.upload_bytes + done.download_bytes + done.aliased_bytes, 0);
  EXPECT_EQ(done.compiles + done.executions, 0);
  EXPECT_EQ(done.traces, 3);  // the program, the loss, the layer
}

// A Function is traced and transformed once. The time is in bench/scan.cc.
TEST(CostOfDerivatives, ASecondCallOfAFunctionRunsAndDoesNothingElse) {
  const Tensor init = zeros({4}), xs = ones({10, 4}), rate = full({4}, 0.5f);
  const Tensor three = ones({3, 10, 4}), one = scalar(1.0f);
  const Function loss("loss", [rate](Tensor h, Tensor x) {
    const auto step = [&](Tensor s, Tensor in) { return std::pair(tanh(s * rate) + in, None{}); };
    return sum(scan(step, h, x).first);
  });
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"value_and_grad", [&] { (void)value_and_grad(loss, argnums<0, 1>)(init, xs); }},
      {"jvp", [&] { (void)jvp(loss, std::tuple(init, xs), std::tuple(init, xs)); }},
      {"vjp", [&] { (void)vjp(loss, init, xs).second(one); }},
      {"linearize", [&] { (void)linearize(loss, init, xs).second(init, xs); }},
      {"vmap",
       [&] {
         (void)vmap(loss, {.in_axes = {kNoAxis, 0}})(init, three);
       }},
      {"checkpoint", [&] { (void)checkpoint(loss)(init, xs); }}};
  for (const auto& [name, call] : calls) {
    call();
    SCOPED_TRACE(name);
    const TransferGuard guard(TransferGuard::Policy::kForbid);
    EXPECT_TRUE(expect_nothing_behind_my_back(call));
    EXPECT_EQ(effects_of(call).traces, 0);
  }
}

}  // namespace
}  // namespace heddle
