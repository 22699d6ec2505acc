// Ops that run at once on prebuilt kernels give what a compiled program of the same op gives, and
// go the program's way where they have to.
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/trace/support_test.h"

namespace heddle::cpu {
namespace {

class CpuEager : public ::testing::Test {
 protected:
  CpuEager() : on_cpu_(cpu_device()) {}
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }

 private:
  runtime::DefaultDevice on_cpu_;
};

using One = Tensor (*)(Operand);
using Two = Tensor (*)(Operand, Operand);
constexpr One kOne[] = {negative, heddle::abs, heddle::sqrt};
constexpr Two kTwo[] = {add,   subtract,  multiply, divide,     maximum, minimum,
                        equal, not_equal, less,     less_equal, greater, greater_equal};

// Every pair of these meets.
std::vector<double> specials(DType dtype) {
  if (is_integer(dtype)) {
    const double most = dtype == s32 ? 0x7fffffff : 0x1p62,
                 least = dtype == s32 ? -0x1p31 : -0x1p63;
    return {0, 1, -1, 7, -13, most, least};
  }
  const double least = dtype == f32 ? std::numeric_limits<float>::denorm_min()
                                    : std::numeric_limits<double>::denorm_min();
  const double most =
      dtype == f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return {0.0, -0.0, 1, -1.5, 3, least, -least, most, -most, INFINITY, -INFINITY, NAN};
}

struct Pairs {
  Tensor x, y;
};

// `copies` of all pairs, so that vectors and what is left over are both met.
Pairs pairs(DType dtype, int copies) {
  std::vector<double> x, y;
  for (int copy = 0; copy < copies; ++copy) {
    for (double a : specials(dtype)) {
      for (double b : specials(dtype)) {
        x.push_back(a);
        y.push_back(b);
      }
    }
  }
  return {array(x).astype(dtype), array(y).astype(dtype)};
}

void expect_equal(const Tensor& eager, const Tensor& compiled) {
  EXPECT_EQ(difference(eager.to_literal(), compiled.to_literal()), "");
}

// Runs fn(), which has to compile nothing and to be one run.
Tensor directly(const std::function<Tensor()>& fn) {
  const Counters before = counters();
  Tensor made = fn();
  const Counters did = counters() - before;
  EXPECT_EQ(did.compiles, 0);
  EXPECT_EQ(did.lowerings, 0);
  EXPECT_EQ(did.executions, 1);
  EXPECT_EQ(did.uploads, 0);
  return made;
}

bool has_kernel(Two op, DType dtype) { return op != Two{divide} || !is_integer(dtype); }

TEST_F(CpuEager, GivesTheBitsOfACompiledProgram) {
  for (DType dtype : {f32, f64, s32, s64}) {
    for (int copies : {1, 30}) {
      const auto [x, y] = pairs(dtype, copies);
      for (size_t i = 0; i < std::size(kTwo); ++i) {
        SCOPED_TRACE(testing::Message() << "op " << i << " of " << to_string(x.shape()));
        const Two op = kTwo[i];
        if (!has_kernel(op, dtype)) continue;
        const auto program = compile([op](const Tensor& a, const Tensor& b) { return op(a, b); });
        expect_equal(directly([&] { return op(x, y); }), program(x, y));
        for (int64_t at : {1, 3, 6}) {
          const Tensor one = y[at];
          expect_equal(directly([&] { return op(x, one); }), program(x, one));
          expect_equal(directly([&] { return op(one, x); }), program(one, x));
        }
      }
      for (size_t i = 0; i < std::size(kOne); ++i) {
        SCOPED_TRACE(testing::Message() << "op " << i << " of " << to_string(x.shape()));
        const One op = kOne[i];
        if (is_integer(dtype) && op == One{heddle::sqrt}) continue;
        const auto program = compile([op](const Tensor& a) { return op(a); });
        expect_equal(directly([&] { return op(x); }), program(x));
      }
    }
  }
}

TEST_F(CpuEager, NumbersAreElementsAndArgumentsOfTheRun) {
  const Tensor x = array({1.5f, -2.0f}), n = array({3, -4});
  const int64_t before = counters().number_operands;
  EXPECT_THAT((directly([&] { return x * 0.1; }).to_vector<float>()),
              ElementsAre(1.5f * 0.1f, -2.0f * 0.1f));
  EXPECT_THAT((directly([&] { return 3 - x; }).to_vector<float>()), ElementsAre(1.5f, 5.0f));
  EXPECT_THAT((directly([&] { return n + 2; }).to_vector<int>()), ElementsAre(5, -2));
  EXPECT_EQ(counters().number_operands - before, 3);
  const Tensor big = x * INFINITY;
  EXPECT_THAT(big.to_vector<float>(), ElementsAre(INFINITY, -INFINITY));
}

TEST_F(CpuEager, MistakesAreToldAsBefore) {
  const Tensor x = ones({4}), n = ones({4}, s32);
  EXPECT_THAT(error_of([&] { (void)(x * 1e300); }), HasSubstr("eager_test.cc"));
  EXPECT_THAT(error_of([&] { (void)(x * 1e300); }), HasSubstr("multiply: "));
  EXPECT_THAT(error_of([&] { (void)(x + 16777217); }), HasSubstr("which no f32 holds"));
  EXPECT_THAT(error_of([&] { (void)(n + 1.5); }), HasSubstr("which no s32 holds"));
  EXPECT_THAT(error_of([&] { (void)(x + n); }), HasSubstr("their dtypes must be equal"));
  EXPECT_THAT(error_of([&] { (void)(x + ones({3})); }), HasSubstr("add: "));
  EXPECT_THAT(error_of([&] { (void)(x + Tensor()); }), HasSubstr("has no value"));
  EXPECT_THAT(error_of([&] { (void)(x + placeholder({4}, f32)); }), HasSubstr("placeholder"));
  EXPECT_THAT(error_of([&] { (void)x[4]; }), HasSubstr("position 4 is outside axis 0"));
  EXPECT_THAT(error_of([&] { (void)x[-5]; }), HasSubstr("position -5 is outside axis 0"));
  EXPECT_THAT(error_of([&] { (void)scalar(1.0f)[0]; }), HasSubstr("x is f32[]"));
}

TEST_F(CpuEager, RowsAreCopies) {
  const Tensor x = reshape(arange(12.0f), {3, 4});
  EXPECT_THAT((directly([&] { return x[1]; }).to_vector<float>()), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT((directly([&] { return x[-1]; }).to_vector<float>()), ElementsAre(8, 9, 10, 11));
  EXPECT_EQ((x[2][3].item<float>()), 11);
  EXPECT_EQ(x[0].shape(), Shape(f32, {4}));
  EXPECT_EQ(array({true, false})[1].item<bool>(), false);
  const Tensor wide = zeros({2, 100});
  EXPECT_EQ(wide[1].size(), 100);
}

// Of any sizes: a decoder's cache and a window that grows cost no compile.
TEST_F(CpuEager, SlicesAreCopies) {
  Tensor x = reshape(arange(2 * 3 * 4 * 5), {2, 3, 4, 5});
  const auto compiled = compile([](Tensor x) {
    return std::tuple(x[Slice{1, {}}], x[{Slice{}, Slice{1, -1}}], x[{0, Slice{0, 2}, Slice{}, -1}],
                      x[{Slice{}, 2, Slice{1, 3}}], x[{1, 2, 3, 4}], x[{Slice{-1, {}}, 0}]);
  });
  const auto want =
      std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; }, compiled(x));
  (void)x[Slice{1, {}}].wait();
  const auto got = [&] {
    return std::vector<Tensor>{x[Slice{1, {}}],
                               x[{Slice{}, Slice{1, -1}}],
                               x[{0, Slice{0, 2}, Slice{}, -1}],
                               x[{Slice{}, 2, Slice{1, 3}}],
                               x[{1, 2, 3, 4}],
                               x[{Slice{-1, {}}, 0}]};
  };
  std::vector<Tensor> eager;
  const Counters moved = effects_of([&] { eager = got(); });
  EXPECT_EQ(moved.compiles, 0);
  EXPECT_EQ(moved.executions, 6);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(eager[i].shape(), want[i].shape()) << i;
    EXPECT_EQ(eager[i].to_vector<int>(), want[i].to_vector<int>()) << i;
  }
  // What goes another way gives the same: nothing, everything, steps, and mistakes.
  EXPECT_EQ((x[Slice{2, 2}].shape()), Shape(s32, {0, 3, 4, 5}));
  EXPECT_EQ(x[Slice{}].to_vector<int>(), x.to_vector<int>());
  EXPECT_THAT((x[{0, 0, 0, Slice{{}, {}, -2}}].to_vector<int>()), ElementsAre(4, 2, 0));
  EXPECT_THAT(error_of([&] { (void)x[{0, 3}]; }), HasSubstr("position 3 is outside axis"));
}

TEST_F(CpuEager, InsideOfATraceItIsRecorded) {
  const Tensor x = ones({4});
  const auto program = trace([&](const Tensor& a) { return a * x + a[0]; }, x);
  EXPECT_THAT(program.hlo_text(), HasSubstr("multiply("));
  EXPECT_THAT(grad([](const Tensor& a) { return sum(a * a); })(x).to_vector<float>(),
              ElementsAre(2, 2, 2, 2));
}

TEST_F(CpuEager, ADonatedResultIsGoneAndItsMemoryIsCounted) {
  Device& device = cpu_device();
  const int64_t before = device.live_bytes();
  const Tensor x = zeros({4}) + 1.0f;
  EXPECT_EQ(device.live_bytes() - before, 16);
  const auto twice =
      trace([](const Tensor& a) { return a + a; }, x).compile().with({.donate = {0}});
  EXPECT_THAT(twice(x).to_vector<float>(), ElementsAre(2, 2, 2, 2));
  EXPECT_TRUE(x.is_donated());
  EXPECT_EQ(device.live_bytes() - before, 0);
  EXPECT_THAT(error_of([&] { (void)(x + 1.0f); }), HasSubstr("was donated"));
  EXPECT_THAT(error_of([&] { (void)x[0]; }), HasSubstr("was donated"));
}

TEST_F(CpuEager, AViewOfAResultStays) {
  Tensor x = array({1.0f, 2.0f}) * 2.0;
  const Literal first = x.to_literal();
  x = x + x;
  EXPECT_THAT(first.values<float>(), ElementsAre(2, 4));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(4, 8));
}

// A thread that gives a value away waits for those that read it, and they never see half of one.
TEST_F(CpuEager, ManyThreadsReadWhatOneGivesAway) {
  const auto bump =
      trace([](const Tensor& a) { return a + 1.0f; }, zeros({256})).compile().with({.donate = {0}});
  for (int round = 0; round < 50; ++round) {
    const Tensor x = reshape(arange(256.0f), {256}) * 0.0;
    std::atomic<int> ready = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        const runtime::DefaultDevice on_cpu(cpu_device());
        ++ready;
        for (int i = 0; i < 40; ++i) {
          try {
            for (float value : (x + 2.0f).to_vector<float>()) wrong += value != 2.0f;
          } catch (const Error&) {
            return;  // it is gone
          }
        }
      });
    }
    while (ready < 2) std::this_thread::yield();
    const Tensor next = bump(x);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(next[255].item<float>(), 1.0f);
  }
}

// ----- functions whose program is found by name, options and types

// Every call twice, so that the second finds what the first made, and each is one run.
void expect_one_run(const std::function<Tensor()>& call, const std::vector<float>& want) {
  for (int round = 0; round < 2; ++round) {
    std::vector<float> got;
    EXPECT_EQ(effects_of([&] { got = call().to_vector<float>(); }).executions, 1);
    EXPECT_EQ(got, want);
  }
}

TEST_F(CpuEager, AFunctionIsToldApartByItsOptions) {
  const Tensor x = array({{1.0f, 2.0f}, {3.0f, 5.0f}}), row = x[0], none = zeros_like(x);
  expect_one_run([&] { return mean(x); }, {2.75});
  expect_one_run([&] { return mean(x, {.axes = {0}}); }, {2, 3.5});
  expect_one_run([&] { return mean(x, {.axes = {1}}); }, {1.5, 4});
  expect_one_run([&] { return sum(x, {.axes = {-1}}); }, {3, 8});
  expect_one_run([&] { return prod(x, {.axes = {-1}}); }, {2, 15});
  expect_one_run([&] { return transpose(x); }, {1, 3, 2, 5});
  expect_one_run([&] { return matmul(x, x); }, {7, 12, 18, 31});
  expect_one_run([&] { return einsum("ij,jk->ik", x, x); }, {7, 12, 18, 31});
  expect_one_run([&] { return einsum("ij,ij->j", x, x); }, {10, 29});
  expect_one_run([&] { return take(x, scalar(1), 0); }, {3, 5});
  expect_one_run([&] { return take(x, scalar(1), 1); }, {2, 5});
  expect_one_run([&] { return broadcast_to(row, {2, 2}); }, {1, 2, 1, 2});
  expect_one_run([&] { return nn::silu(none); }, {0, 0, 0, 0});
}

TEST_F(CpuEager, AFunctionIsToldApartByTheTypesOfItsOperands) {
  for (int round = 0; round < 2; ++round) {
    for (const DType dtype : {f32, f64, s32}) {
      for (const int64_t size : {3, 4}) {
        const Tensor x = reshape(full({size}, 2, dtype), {1, size});
        EXPECT_EQ(x.shape(), Shape(dtype, {1, size}));
        const Tensor product = matmul(x, reshape(x, {size, 1}));
        EXPECT_EQ(product.shape(), Shape(dtype, {1, 1}));
        EXPECT_EQ(product.astype(f64).to_vector<double>()[0], 4.0 * static_cast<double>(size));
      }
    }
  }
}

TEST_F(CpuEager, ANumberOfAFunctionIsAnOperand) {
  const Tensor x = array({1.0f, 2.0f}), is_first = array({true, false});
  (void)where(is_first, x, 0.5f);
  (void)dynamic_update_slice(x, ones({1}), {0});
  expect_zero_compiles([&] {
    EXPECT_THAT(where(is_first, x, 7).to_vector<float>(), ElementsAre(1, 7));
    EXPECT_THAT(where(is_first, x, -1e30).to_vector<float>(), ElementsAre(1, -1e30f));
    EXPECT_THAT(dynamic_update_slice(x, ones({1}), {1}).to_vector<float>(), ElementsAre(1, 1));
  });
  EXPECT_EQ(effects_of([&] { (void)where(is_first, x, 7); }).number_operands, 1);
  EXPECT_THAT(error_of([&] { (void)where(is_first, x, 1e300); }), HasSubstr("1e+300"));
}

TEST_F(CpuEager, AMistakeInAFunctionIsToldAtItsOwnLine) {
  const Tensor x = ones({2, 3}), n = scalar(2.0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(error_of([&] { (void)matmul(x, x); }), HasSubstr("matmul: operands are f32[2,3]"));
    EXPECT_THAT(error_of([&] { (void)where(x > 0, x, n); }), HasSubstr("eager_test.cc:"));
    EXPECT_THAT(error_of([&] { (void)einsum("ij,jk", x, x); }), HasSubstr("axis 'j' has size"));
  }
}

TEST_F(CpuEager, AFunctionOfDonatedOrPlaceholderOperandsSaysSo) {
  const Tensor x = ones({4}) + 0.0f;
  (void)sum(x);
  (void)trace([](const Tensor& a) { return a + a; }, x).compile().with({.donate = {0}})(x);
  EXPECT_THAT(error_of([&] { (void)sum(x); }), HasSubstr("was donated"));
  EXPECT_THAT(error_of([&] { (void)sum(placeholder({4}, f32)); }), HasSubstr("placeholder"));
}

}  // namespace
}  // namespace heddle::cpu
