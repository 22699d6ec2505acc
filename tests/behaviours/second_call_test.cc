// What a repeated call does, of each loop function, of the library's functions that loop inside and
// of each transform: it transforms, lowers, compiles and moves nothing, and traces no Function. And
// what counts as a trace: each run of a function of the user's on placeholders, and none of
// Heddle's own.
#include <gtest/gtest.h>

#include <complex>
#include <functional>

#include "heddle/heddle.h"
#include "heddle/testing.h"

namespace heddle {
namespace {

using Guard = TransferGuard;

struct Call {
  const char* name;
  std::function<void()> run;
};
void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }
std::string name_of(const testing::TestParamInfo<Call>& info) { return info.param.name; }

// Made once, so that no call makes a tensor from host data.
const Tensor& ones_of_four() {
  static const Tensor made = ones({4});
  return made;
}
const Tensor& integers() {
  static const Tensor made = array<int>({6, 10, 15, 4});
  return made;
}
const Tensor& limit() {
  static const Tensor made = scalar<int>(3);
  return made;
}
const Tensor& key() {
  static const Tensor made = random::key(1);
  return made;
}
const Tensor& matrix() {
  static const Tensor made = array<float>({{2, 1}, {1, 3}});
  return made;
}
const Tensor& cube() {
  static const Tensor made = ones({2, 2, 3});
  return made;
}
Tensor half() { return ones_of_four() * 0.5; }

constexpr auto kAdd = [](Tensor a, Tensor b) { return a + b; };
constexpr auto kStep = [](Tensor c, Tensor x) { return std::pair(c + x, c * x); };
constexpr auto kTwice = [](Tensor x) { return x * 2; };
constexpr auto kThrice = [](Tensor x) { return x * 3; };

// Numbers as init and as operands.
const Call kLoops[] = {
    {"scan", [] { scan(kStep, 0.5f, ones_of_four()); }},
    {"scan_without_xs",
     [] { scan([](Tensor c, None) { return std::pair(c * 2, c); }, 1, None{}, {.length = 3}); }},
    {"map", [] { map(kTwice, ones_of_four()); }},
    {"scan_layers", [] { scan_layers(kAdd, ones_of_four(), zeros({})); }},
    {"while_loop",
     [] { while_loop([](Tensor c) { return c < 9; }, [](Tensor c) { return c + 2; }, 1); }},
    {"while_loop_of_some_steps",
     [] {
       while_loop([](Tensor c) { return c < 9; }, [](Tensor c) { return c + 2; }, 1,
                  {.max_steps = 2});
     }},
    {"fori_loop",
     [] {
       fori_loop(
           0, 3, [](Tensor i, Tensor v) { return v + i; }, 1);
     }},
    {"fori_loop_between_tensors",
     [] {
       fori_loop(
           0, limit(), [](Tensor i, Tensor v) { return v + i; }, 1);
     }},
    {"cond", [] { cond(true, kTwice, kThrice, 2.5); }},
    {"switch_case", [] { switch_case(1, std::tuple(kTwice, kThrice), 2.5); }},
    {"associative_scan", [] { associative_scan(kAdd, ones_of_four()); }},
};

const Function kNamedStep("step", kStep);
const Function kNamedAdd("add", kAdd);
const Function kNamedTwice("twice", kTwice);
const Function kNamedThrice("thrice", kThrice);
const Function kIsSmall("is_small", [](Tensor c) { return c < 9; });
const Function kAddIndex("add_index", [](Tensor i, Tensor v) { return v + i; });

const Call kNamedLoops[] = {
    {"named_scan", [] { scan(kNamedStep, 0.5f, ones_of_four()); }},
    {"named_map", [] { map(kNamedTwice, ones_of_four()); }},
    {"named_scan_layers", [] { scan_layers(kNamedAdd, ones_of_four(), zeros({})); }},
    {"named_while_loop", [] { while_loop(kIsSmall, kNamedTwice, 1); }},
    {"named_while_loop_of_some_steps",
     [] { while_loop(kIsSmall, kNamedTwice, 1, {.max_steps = 2}); }},
    {"named_fori_loop", [] { fori_loop(0, 3, kAddIndex, 1); }},
    {"named_fori_loop_between_tensors", [] { fori_loop(0, limit(), kAddIndex, 1); }},
    {"named_cond", [] { cond(true, kNamedTwice, kNamedThrice, 2.5); }},
    {"named_associative_scan", [] { associative_scan(kNamedAdd, ones_of_four()); }},
};

// Transforms of a lambda, and of a Function, which is not traced again.
template <class Loss, class Shift>
std::vector<Call> transforms_of(Loss loss, Shift shift) {
  const auto x = [] { return ones_of_four(); };
  return {
      {"grad", [=] { grad(loss)(x()); }},
      {"value_and_grad", [=] { value_and_grad(loss)(x()); }},
      {"jvp", [=] { jvp(shift, std::tuple(x()), std::tuple(x())); }},
      {"vjp", [=] { vjp(shift, x()).second(x()); }},
      {"linearize", [=] { linearize(shift, x()).second(x()); }},
      {"vmap", [=] { vmap(loss)(matrix()); }},
      {"checkpoint", [=] { checkpoint(loss)(x()); }},
      {"linear_transpose", [=] { linear_transpose(shift, x())(x()); }},
      {"jacfwd", [=] { jacfwd(shift)(x()); }},
      {"jacrev", [=] { jacrev(shift)(x()); }},
      {"hessian", [=] { hessian(loss)(x()); }},
      {"vmap_of_grad", [=] { vmap(grad(loss))(matrix()); }},
      {"vmap_of_hessian", [=] { vmap(hessian(loss))(matrix()); }},
      {"map_of_grad", [=] { map(grad(loss), matrix()); }},
      {"grad_of_checkpoint", [=] { grad(checkpoint(loss))(x()); }},
      {"grad_of_checkpoint_with_a_policy",
       [=] { grad(checkpoint(loss, {.policy = checkpoint_policies::dots_saveable()}))(x()); }},
      {"jvp_of_grad", [=] { jvp(grad(loss), std::tuple(x()), std::tuple(x())); }},
      {"jvp_of_value_and_grad",
       [=] { jvp(value_and_grad(loss), std::tuple(x()), std::tuple(x())); }},
      {"vjp_of_grad", [=] { vjp(grad(loss), x()).second(x()); }},
      {"jacfwd_of_jacrev", [=] { jacfwd(jacrev(shift))(x()); }},
      {"jacrev_of_vmap", [=] { jacrev(vmap(loss, {.in_axes = 1}))(matrix()); }},
      {"linearize_of_vmap", [=] { linearize(vmap(shift), matrix()).second(matrix()); }},
      {"linear_transpose_of_vmap",
       [=] { linear_transpose(vmap(shift, {.out_axes = 1}), matrix())(matrix()); }},
      {"vmap_of_vmap", [=] { vmap(vmap(shift, {.axis_name = "i"}), {.axis_size = 2})(cube()); }},
  };
}

constexpr auto kLoss = [](Tensor x) { return sum(sin(x) * x); };
constexpr auto kShift = [](Tensor x) { return flip(x) + x * 2; };
std::vector<Call> transforms_of_functions() {
  std::vector<Call> out = transforms_of(Function("loss", kLoss), Function("shift", kShift));
  const Function total("total", [](Tensor x) { return psum(sum(x * x), "i"); });
  out.push_back({"grad_of_vmap",
                 [=] { grad(vmap(total, {.out_axes = kNoAxis, .axis_name = "i"}))(matrix()); }});
  return out;
}
std::vector<Call> transforms_of_lambdas() {
  std::vector<Call> out = transforms_of(kLoss, kShift);
  const auto solve = [](const auto& product, const Tensor& b) { return b / product(b); };
  out.push_back(
      {"grad_of_grad", [] { grad([](Tensor v) { return sum(grad(kLoss)(v)); })(half()); }});
  out.push_back(
      {"custom_linear_solve", [=] { custom_linear_solve(kShift, ones_of_four(), solve, solve); }});
  return out;
}

const Call kLibrary[] = {
    {"cumsum", [] { cumsum(ones_of_four()); }},
    {"cumlogsumexp_in_reverse", [] { cumlogsumexp(ones_of_four(), 0, true); }},
    {"nan_cumprod", [] { nan_cumprod(ones_of_four()); }},
    {"unwrap", [] { unwrap(ones_of_four()); }},
    {"gcd", [] { gcd(integers(), 6); }},
    {"lcm", [] { lcm(integers(), 6); }},
    {"repeat_each", [] { repeat_each(ones_of_four(), integers(), 7); }},
    {"searchsorted", [] { searchsorted(ones_of_four(), ones_of_four()); }},
    {"unique", [] { unique(integers(), 3); }},
    {"digitize", [] { digitize(ones_of_four(), ones_of_four()); }},
    {"interp", [] { interp(ones_of_four(), ones_of_four(), ones_of_four()); }},
    {"sort", [] { sort(integers()); }},
    {"argsort", [] { argsort(integers()); }},
    {"top_k", [] { top_k(integers(), 2); }},
    {"argmax", [] { argmax(integers(), 0); }},
    {"update_at_a_tensor", [] { static_cast<void>(integers().at({limit()}).set(7)); }},
    {"segment_sum", [] { segment_sum(ones_of_four(), integers(), 3); }},
    {"matrix_power", [] { linalg::matrix_power(matrix(), 5); }},
    {"expm", [] { linalg::expm(matrix()); }},
    {"sqrtm", [] { linalg::sqrtm(matrix()); }},
    {"rsf2csf", [] { linalg::rsf2csf(matrix(), matrix()); }},
    {"lu_solve", [] { linalg::lu_solve(linalg::lu(matrix()), matrix()); }},
    {"igamma", [] { special::igamma(half(), ones_of_four()); }},
    {"igammac", [] { special::igammac(half(), ones_of_four()); }},
    {"betainc", [] { special::betainc(half(), half(), half()); }},
    {"expi", [] { special::expi(half()); }},
    {"exp1", [] { special::exp1(half()); }},
    {"dawsn", [] { special::dawsn(half()); }},
    {"owens_t", [] { special::owens_t(half(), half()); }},
    {"bessel_jn", [] { special::bessel_jn(half(), 3); }},
    {"hyp1f1", [] { special::hyp1f1(half(), half(), half()); }},
    {"hyp2f1", [] { special::hyp2f1(half(), half(), half(), half()); }},
    {"random_gamma", [] { random::gamma(key(), half()); }},
    {"random_beta", [] { random::beta(key(), half(), half()); }},
    {"random_poisson", [] { random::poisson(key(), half()); }},
    {"random_binomial", [] { random::binomial(key(), ones_of_four(), half()); }},
    {"random_permutation", [] { random::permutation(key(), integers()); }},
    {"random_multinomial", [] { random::multinomial(key(), 3, half()); }},
};

class SecondCall : public testing::TestWithParam<Call> {};

TEST_P(SecondCall, DoesNothingBehindYourBackAndMayNotUpload) {
  GetParam().run();
  const Guard guard(Guard::Policy::kForbid);
  expect_nothing_behind_my_back(GetParam().run);
}
INSTANTIATE_TEST_SUITE_P(NamedLoops, SecondCall, testing::ValuesIn(kNamedLoops), name_of);
INSTANTIATE_TEST_SUITE_P(Library, SecondCall, testing::ValuesIn(kLibrary), name_of);
INSTANTIATE_TEST_SUITE_P(Transforms, SecondCall, testing::ValuesIn(transforms_of_functions()),
                         name_of);

class SecondCallOfALambda : public testing::TestWithParam<Call> {};

TEST_P(SecondCallOfALambda, TracesAndDoesNothingElse) {
  GetParam().run();
  const Guard guard(Guard::Policy::kForbid);
  expect_nothing_but_traces(GetParam().run);
}
INSTANTIATE_TEST_SUITE_P(Loops, SecondCallOfALambda, testing::ValuesIn(kLoops), name_of);
INSTANTIATE_TEST_SUITE_P(Transforms, SecondCallOfALambda,
                         testing::ValuesIn(transforms_of_lambdas()), name_of);

class FirstCall : public testing::TestWithParam<Call> {};

TEST_P(FirstCall, OfALoopFromANumberMayNotUpload) {
  ones_of_four().wait();
  limit().wait();
  clear_combine_cache();
  const Guard guard(Guard::Policy::kForbid);
  EXPECT_NO_THROW(GetParam().run());
}
INSTANTIATE_TEST_SUITE_P(Loops, FirstCall, testing::ValuesIn(kLoops), name_of);

// Heddle's own bodies are none of the user's, the first time either.
class OwnBodies : public testing::TestWithParam<Call> {};

TEST_P(OwnBodies, AreNoTraces) {
  clear_combine_cache();
  EXPECT_EQ(effects_of(GetParam().run).traces, 0);
}
INSTANTIATE_TEST_SUITE_P(Library, OwnBodies, testing::ValuesIn(kLibrary), name_of);

// A function that counts its runs: what the counter has to say.
struct Counted {
  int runs = 0;
  Tensor operator()(const Tensor& a, const Tensor& b) {
    ++runs;
    return a + b;
  }
};

TEST(Transforms, AreTheDerivativesAndBatchesThatAreMade) {
  const auto f = [](Tensor x) { return sum(cos(x) * x * 1.75); };  // nowhere else
  const Tensor x = half();
  const auto of = [](const auto& run) { return effects_of(run).transforms; };
  EXPECT_EQ(of([&] { f(x); }), 0);
  EXPECT_EQ(of([&] { grad(f)(x); }), 1);
  EXPECT_EQ(of([&] { value_and_grad(f)(x); }), 0);  // it is the module of grad
  EXPECT_EQ(of([&] { jvp(f, std::tuple(x), std::tuple(x)); }), 1);
  const auto there = [&] { return vjp(f, x).second; };
  EXPECT_EQ(of(there), 1);                        // linearize
  EXPECT_EQ(of([&] { there()(zeros({})); }), 1);  // and its transpose
  EXPECT_EQ(of([&] { vmap(f)(matrix()); }), 1);
  EXPECT_EQ(of([&] { vmap(grad(f))(matrix()); }), 2);  // the gradient of another type
}

// One Function, of which two transforms are made that differ in an option alone.
TEST(Transforms, OfAFunctionWithOtherOptionsAreOthers) {
  const auto plain = [](Tensor x) { return x[0] * 3.0f + x[1] * x[1]; };
  const Function named("uneven", plain);
  const Tensor x = matrix(), dx = array<float>({{1, 2}, {3, 4}});
  const auto expect_same = [&](const auto& transform) {
    const auto tangent = [&](const auto& fn) {
      return jvp(transform(fn), std::tuple(x), std::tuple(dx)).second.template to_vector<float>();
    };
    EXPECT_EQ(tangent(named), tangent(plain));
  };
  for (int axis : {0, 1}) {
    expect_same([&](auto fn) { return vmap(fn, {.in_axes = axis}); });
    expect_same([&](auto fn) {
      return vmap(vmap(fn, {.in_axes = kNoAxis, .axis_size = 2}), {.in_axes = axis});
    });
    expect_same([&](auto fn) { return vmap(grad(fn), {.in_axes = axis}); });
    expect_same([&](auto fn) { return vmap(grad(fn), {.in_axes = {axis}, .out_axes = 1}); });
  }
  const auto text = [&](const CheckpointPolicy& policy) {
    return trace(grad(checkpoint(named, {.policy = policy})), x[0]).hlo_text();
  };
  EXPECT_NE(text({}), text(checkpoint_policies::everything_saveable()));
  EXPECT_NE(text({}), text(checkpoint_policies::dots_saveable()));
}

TEST(Traces, AreTheRunsOfTheUsersFunction) {
  Counted fn;
  const auto sum_of = [&](std::span<const Tensor> t) {
    return std::vector<Tensor>{fn(t[0], t[1])};
  };
  const auto before = [&](std::span<const Tensor> t) {
    ++fn.runs;
    return t[0] < t[1];
  };
  const auto expect_counted = [&](const char* name, const std::function<void()>& run) {
    for (int call = 0; call < 2; ++call) {
      fn.runs = 0;
      const int64_t traces = effects_of(run).traces;
      EXPECT_GT(fn.runs, 0) << name;
      EXPECT_EQ(traces, fn.runs) << name << " in call " << call;
    }
  };
  const Tensor x = ones({5}), zero = zeros({}), places = reshape(array<int>({0, 3}), {2, 1}),
               two = ones({2});
  expect_counted("associative_scan",
                 [&] { associative_scan([&](Tensor a, Tensor b) { return fn(a, b); }, x); });
  expect_counted("reduce", [&] { reduce({x}, {zero}, sum_of, {0}); });
  expect_counted("reduce_window", [&] { reduce_window(x, zero, std::ref(fn), {.sizes = {2}}); });
  expect_counted("reduce_window of several",
                 [&] { reduce_window({x}, {zero}, sum_of, {.sizes = {2}}); });
  expect_counted("sort_by", [&] { sort_by({x}, before); });
  expect_counted("scatter", [&] {
    scatter(x, places, two,
            {.update_window_dims = {},
             .inserted_window_dims = {0},
             .scatter_dims_to_operand_dims = {0},
             .index_vector_dim = 1},
            std::ref(fn));
  });
  expect_counted("funm",
                 [&] { linalg::funm(matrix(), [&](const Tensor& t) { return fn(t, t); }); });
  expect_counted("fori_loop between tensors", [&] {
    fori_loop(
        0, limit(), [&](Tensor, Tensor v) { return fn(v, v); }, zero);
  });
}

TEST(Traces, OfAFunctionInsideALibraryFunctionsNeighbourAreCounted) {
  // cumsum's own body is not counted, the user's around it is.
  auto step = [](Tensor c, Tensor x) { return std::pair(c + sum(cumsum(x)) + 0.125, None{}); };
  const Tensor xs = ones({2, 3}), zero = zeros({});
  clear_combine_cache();
  EXPECT_EQ(effects_of([&] { scan(step, zero, xs); }).traces, 1);
}

TEST(Traces, OfAssociativeScanAreOneForEachSizeAndNoneTheSecondTime) {
  static int runs = 0;
  const Function combine("combine", [](Tensor a, Tensor b) {
    ++runs;
    return a * b + 0.25;
  });
  const Tensor x = ones({1000});
  associative_scan(combine, x);
  EXPECT_EQ(runs, 13);  // 500 499 250 249 125 124 62 31 30 15 7 3 1
  runs = 0;
  associative_scan(combine, x);
  trace([&](Tensor t) { return associative_scan(combine, t); }, placeholder({1000}, f32));
  EXPECT_EQ(runs, 0);
}

TEST(Numbers, AsInitKeepTheirTypesAndValues) {
  const Tensor xs = ones_of_four();
  EXPECT_EQ(scan(kStep, 0.5f, xs).first.item<float>(), 4.5f);
  EXPECT_EQ(while_loop([](Tensor c) { return c < 9; }, [](Tensor c) { return c + 2; }, int64_t{1})
                .to_literal(),
            scalar<int64_t>(9).to_literal());
  EXPECT_EQ(fori_loop(
                0, 3, [](Tensor, Tensor v) { return ~v; }, true)
                .to_literal(),
            scalar(false).to_literal());
  EXPECT_EQ(cond(false, kTwice, kThrice, std::complex<float>(1, 2)).to_literal(),
            scalar(std::complex<float>(3, 6)).to_literal());
  EXPECT_EQ(switch_case(0, std::tuple(kTwice, kThrice), 2.5).to_literal(),
            scalar(5.0).to_literal());
}

}  // namespace
}  // namespace heddle
