// Loop functions beyond the behaviours of other systems: one callable in several loops, structures
// that change, leaves without a value, bounds on trips, layers without parameters.
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

using List = std::vector<Tensor>;
using Map = std::map<std::string, Tensor>;

// One callable, several loops: what identifies a body is how it is called, too.

struct EitherWay {
  std::pair<None, Tensor> operator()(None, const Tensor& x) const { return {None{}, x + 1}; }
  Tensor operator()(const Tensor& x) const { return x * 10; }
};

TEST(OneCallable, WithTwoOverloadsHasABodyForEach) {
  const Tensor xs = array<float>({1, 2, 3});
  const EitherWay f;
  EXPECT_THAT(scan(f, None{}, xs).second.to_vector<float>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(map(f, xs).to_vector<float>(), ElementsAre(10, 20, 30));
  EXPECT_THAT(scan(f, None{}, xs).second.to_vector<float>(), ElementsAre(2, 3, 4));
}

// (carry, x) of a scan, (layer, x) of layers, (i, value) of fori: the same types, other places.
struct Backwards {
  std::pair<Tensor, None> operator()(const Tensor& c, const Tensor& x) {
    return {c * 2 - x, None{}};
  }
  Tensor operator()(const Tensor& a, const Tensor& b) const { return a * 3 - b; }
};

TEST(OneCallable, ThatIsConstOrNotHasABodyForEach) {
  const Tensor xs = array<int>({1, 2});
  Backwards step;
  const Backwards layer;
  EXPECT_EQ(scan(step, 5, xs).first.item<int>(), (5 * 2 - 1) * 2 - 2);
  EXPECT_EQ(scan_layers(layer, xs, scalar<int>(5)).item<int>(), 2 * 3 - (1 * 3 - 5));
  EXPECT_EQ(fori_loop(0, 2, layer, 5).item<int>(), 1 * 3 - (0 * 3 - 5));
  EXPECT_EQ(fori_loop(0, scalar<int>(2), layer, 5).item<int>(), 1 * 3 - (0 * 3 - 5));
}

// Structures that associative_scan's function changes.

TEST(AssociativeScan, FnMayNotReturnMoreLeaves) {
  const auto fn = [](List a, List b) { return List{a[0] + b[0], b[0]}; };
  EXPECT_THAT(
      error_of([&] { associative_scan(fn, List{ones({4})}); }),
      HasSubstr("associative_scan: elements is a vector of 1 as fn gets them and a vector of "
                "2 as it returns them; it must return the structure"));
}

TEST(AssociativeScan, FnMayNotReturnOtherKeys) {
  const auto fn = [](Map a, Map b) {
    return Map{{"total", a.begin()->second + b.begin()->second}};
  };
  EXPECT_THAT(error_of([&] {
                associative_scan(fn, Map{{"sum", ones({4})}});
              }),
              HasSubstr("elements['sum'] is a tensor as fn gets them and nothing as it "
                        "returns them"));
}

TEST(AssociativeScan, FnMayNotChangeATypeOrCaptureShapesThatDoNotFit) {
  const auto fn = [](Map a, Map) { return Map{{"sum", a.at("sum").astype(f64)}}; };
  EXPECT_THAT(
      error_of([&] {
        associative_scan(fn, Map{{"sum", ones({4})}});
      }),
      HasSubstr("associative_scan: elements['sum'] enter fn as f32[2] and leave as f64[2]"));
}

TEST(AssociativeScan, FnMayCaptureTensors) {
  const Tensor weight = scalar<float>(2);
  const auto fn = [&](Tensor a, Tensor b) { return a + weight * b; };
  const auto once = [&](Tensor x) { return associative_scan(fn, x); };
  const Tensor x = array<float>({1, 2, 3});
  EXPECT_EQ(once(x).to_vector<float>(), trace(once, x).call<Tensor>(x).to_vector<float>());
  EXPECT_THAT(once(x).to_vector<float>(), ElementsAre(1, 5, 11));
}

// Leaves without a value, which the path in the tree names.

struct State {
  Tensor mean, spread;
  static constexpr auto kFields =
      fields(field("mean", &State::mean), field("spread", &State::spread));
};
State unset() { return {zeros({}), {}}; }

constexpr char kHere[] = "[loop_functions_test.cc:";

TEST(UnsetLeaf, OfWhatAStepReturnsIsNamed) {
  const State start{zeros({}), zeros({})};
  const auto lose = [](State s) {
    s.spread = Tensor();
    return s;
  };
  const Tensor xs = ones({3});
  const auto expect_named = [](const char* text, const std::function<void()>& run) {
    const std::string error = error_of(run);
    EXPECT_THAT(error, HasSubstr(base::cat(text, " has no value (a default-constructed Tensor)")));
    EXPECT_THAT(error, HasSubstr(kHere));
  };
  expect_named("scan: carry.spread", [&] {
    scan([&](State s, Tensor) { return std::pair(lose(s), None{}); }, start, xs);
  });
  expect_named("scan: y[1].spread", [&] {
    scan([&](State s, Tensor x) { return std::pair(s, std::pair(x, lose(s))); }, start, xs);
  });
  expect_named("map: result.spread", [&] { map([&](Tensor) { return lose(start); }, xs); });
  expect_named("scan_layers: x.spread",
               [&] { scan_layers([&](Tensor, State s) { return lose(s); }, xs, start); });
  expect_named("while_loop: carry.spread",
               [&] { while_loop([](State s) { return s.mean < 3; }, lose, start); });
  expect_named("while_loop: carry.spread", [&] {
    while_loop([](State s) { return s.mean < 3; }, lose, start, {.max_steps = 3});
  });
  expect_named("while_loop: condition's result", [&] {
    while_loop([](State) { return Tensor(); }, [](State s) { return s; }, start);
  });
  expect_named("while_loop: condition's result", [&] {
    while_loop([](State) { return Tensor(); }, [](State s) { return s; }, start, {.max_steps = 3});
  });
  expect_named("fori_loop: value.spread", [&] {
    fori_loop(
        0, 3, [&](Tensor, State s) { return lose(s); }, start);
  });
  expect_named("fori_loop: value.spread", [&] {
    fori_loop(
        0, scalar<int>(3), [&](Tensor, State s) { return lose(s); }, start);
  });
  expect_named("cond: result of on_false.spread", [&] {
    cond(
        true, [](State s) { return s; }, lose, start);
  });
  expect_named("switch_case: result of branch 1.spread",
               [&] { switch_case(0, std::tuple([](State s) { return s; }, lose), start); });
  expect_named("associative_scan: result.spread", [&] {
    associative_scan([&](State a, State) { return lose(a); }, State{xs, xs});
  });
}

TEST(UnsetLeaf, OfWhatALoopIsGivenIsNamed) {
  const auto same = [](State s) { return s; };
  const auto expect_named = [](const char* text, const std::function<void()>& run) {
    const std::string error = error_of(run);
    EXPECT_THAT(error, HasSubstr(base::cat(text, " has no value (a default-constructed Tensor)")));
    EXPECT_THAT(error, HasSubstr(kHere));
  };
  expect_named("while_loop: carry.spread",
               [&] { while_loop([](State s) { return s.mean < 3; }, same, unset()); });
  expect_named("fori_loop: value.spread", [&] {
    fori_loop(
        0, scalar<int>(3), [](Tensor, State s) { return s; }, unset());
  });
  expect_named("fori_loop: value.spread", [&] {
    fori_loop(
        0, 3, [](Tensor, State s) { return s; }, unset());
  });
  expect_named("cond: operands[0].spread", [&] { cond(true, same, same, unset()); });
  expect_named("cond: predicate", [&] { cond(Tensor(), same, same, State{zeros({}), zeros({})}); });
  expect_named("switch_case: index", [&] {
    switch_case(Tensor(), std::tuple(same, same), State{zeros({}), zeros({})});
  });
  expect_named("associative_scan: elements.spread",
               [&] { associative_scan([&](State a, State) { return a; }, unset()); });
  expect_named("scan_layers: layers[1].spread", [&] {
    scan_layers([](State, Tensor x) { return x; },
                std::vector<State>{{zeros({}), zeros({})}, unset()}, zeros({}));
  });
}

// Layers without parameters.

TEST(ScanLayers, WithoutParametersRunOncePerLayer) {
  const auto doubled = [](None, Tensor x) { return x * 2; };
  EXPECT_EQ(scan_layers(doubled, std::vector<None>(3), scalar<float>(1)).item<float>(), 8);
  EXPECT_EQ(scan_layers(doubled, std::vector<None>(), scalar<float>(1)).item<float>(), 1);
  const auto by_list = [](List, Tensor x) { return x + 1; };
  EXPECT_EQ(scan_layers(by_list, std::vector<List>(4), scalar<float>(1)).item<float>(), 5);
}

TEST(ScanLayers, OfAVectorHaveItsLengthAndNoAxis) {
  const auto apply = [](Tensor w, Tensor x) { return x * w; };
  const List layers{scalar<float>(2), scalar<float>(3)};
  const Tensor x = scalar<float>(1);
  EXPECT_EQ(scan_layers(apply, layers, x, {.length = 2}).item<float>(), 6);
  EXPECT_THAT(error_of([&] { scan_layers(apply, layers, x, {.length = 3}); }),
              HasSubstr("scan_layers: length is 3; there are 2 layers"));
  EXPECT_THAT(error_of([&] { scan_layers(apply, List(), x, {.length = 3}); }),
              HasSubstr("scan_layers: length is 3; there are 0 layers"));
  EXPECT_THAT(error_of([&] { scan_layers(apply, layers, x, {.axis = 1}); }),
              HasSubstr("scan_layers: has an axis for a vector of layers"));
}

// Trips that are bounded.

constexpr auto kBelowTen = [](Tensor c) { return c < 10; };
constexpr auto kAddThree = [](Tensor c) { return c + 3; };

TEST(MaxSteps, BoundsTheTrips) {
  for (const auto& [steps, end] :
       std::map<int64_t, int>{{0, 0}, {1, 3}, {3, 9}, {4, 12}, {9, 12}}) {
    EXPECT_EQ(while_loop(kBelowTen, kAddThree, 0, {.max_steps = steps}).item<int>(), end) << steps;
    const auto run = [bound = steps](Tensor c) {  // clang 14 captures no binding by reference
      return while_loop(kBelowTen, kAddThree, c, {.max_steps = bound});
    };
    EXPECT_EQ(trace(run, scalar<int>(0)).lowered().call<Tensor>(scalar<int>(0)).item<int>(), end);
  }
  EXPECT_EQ(while_loop(kBelowTen, kAddThree, 0, {.max_steps = int64_t{1} << 40}).item<int>(), 12);
  EXPECT_EQ(while_loop(kBelowTen, kAddThree, 0, WhileOptions()).item<int>(), 12);
}

TEST(MaxSteps, StopsALoopThatWouldNotEnd) {
  const auto always = [](Tensor c) { return c == c; };
  EXPECT_EQ(while_loop(always, kAddThree, 0, {.max_steps = 100}).item<int>(), 300);
}

TEST(MaxSteps, BoundsEachOfNestedLoops) {
  const Tensor step = scalar<int>(1);
  const auto outer = [&](State s) {
    const Tensor inner =
        while_loop([&](Tensor c) { return c < s.mean; }, [&](Tensor c) { return c + step; },
                   zeros({}, s32), {.max_steps = 2});
    return State{s.mean + 1, s.spread + inner};
  };
  const State end = while_loop([](State s) { return s.mean < 100; }, outer,
                               State{zeros({}, s32), zeros({}, s32)}, {.max_steps = 5});
  EXPECT_EQ(end.mean.item<int>(), 5);
  EXPECT_EQ(end.spread.item<int>(), 0 + 1 + 2 + 2 + 2);
}

TEST(MaxSteps, AnotherBoundIsAnotherLoopAndTheSameIsCached) {
  const Tensor zero = scalar<int>(0);
  const auto run = [&](int64_t steps) {
    return while_loop(kBelowTen, kAddThree, zero, {.max_steps = steps});
  };
  run(1);
  run(2);
  expect_nothing_but_traces([&] { run(1); });
  EXPECT_EQ(run(1).item<int>(), 3);
  EXPECT_EQ(run(2).item<int>(), 6);
}

TEST(MaxSteps, ErrorsAreThoseOfTheLoopWithoutIt) {
  EXPECT_THAT(error_of([] { while_loop(kBelowTen, kAddThree, 0, {.max_steps = -1}); }),
              HasSubstr("while_loop: max_steps is -1; it must be 0 or more"));
  EXPECT_THAT(error_of([] { while_loop(kBelowTen, kAddThree, 0, {.max_steps = INT64_MAX}); }),
              HasSubstr("it must be at most 2^40"));
  const auto widen = [](List c) { return List{c[0], c[0].astype(f64)}; };
  EXPECT_THAT(error_of([&] {
                while_loop([](List c) { return c[0] < 1; }, widen, List{zeros({}), zeros({})},
                           {.max_steps = 3});
              }),
              HasSubstr("while_loop: carry[1] enters as f32[] and leaves as f64[]"));
  EXPECT_THAT(error_of([] { while_loop(kAddThree, kAddThree, 0, {.max_steps = 3}); }),
              HasSubstr("while_loop: condition returns s32[]; it must return pred[]"));
}

}  // namespace
}  // namespace heddle
