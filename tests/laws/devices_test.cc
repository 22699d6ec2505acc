// Every public function runs where its operands are, and its C++ numbers go there, whatever the
// default device is.
#include "heddle/trace/devices/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/tests/laws/function_samples.h"
#include "heddle/tests/laws/public_functions.h"

namespace heddle::laws {
namespace {

using runtime::DefaultDevice;
using Tensors = std::vector<Tensor>;
using In = const Inputs&;

Device& other_device() { return *runtime::four_devices()[1]; }

// Of small numbers that every function takes.
Inputs inputs_there(DType t) {
  const DefaultDevice there(other_device());
  Tensors values;
  for (const Shape& shape : Inputs::shapes(t))
    values.push_back(ones(shape.dimensions(), shape.dtype()));
  return Inputs::of(t, values);
}

struct Run {
  std::string error;  // "" where there is none
  Tensors results;
};
Run run(const std::function<Tensors(In)>& call, In inputs) {
  try {
    Tensors results = call(inputs);
    for (const Tensor& result : results) result.wait();
    return {"", std::move(results)};
  } catch (const Error& error) {
    return {error.what(), {}};
  }
}

// "" where all results are there.
std::string misplaced(const Run& run) {
  if (!run.error.empty()) return run.error;
  for (const Tensor& result : run.results) {
    if (!result.is_valid() || result.is_placeholder()) continue;
    const std::string device(device_of(result).name());
    if (device != other_device().name()) return base::cat("a result is on ", device);
  }
  return "";
}

// Whether a call needs no operand of the inputs: then it goes to the default device.
bool takes_no_tensor(const std::function<Tensors(In)>& call, DType t) {
  const Inputs nothing = Inputs::of(t, Tensors(Inputs::shapes(t).size()));
  return run(call, nothing).error.empty();
}

// What is wrong with a call, in the first dtype that it takes.
std::string check(const std::function<Tensors(In)>& call) {
  std::string wrong = "takes no dtype";
  for (DType t : {f32, s32, pred, u8, u32, c64}) {
    const Inputs there = inputs_there(t);
    if (takes_no_tensor(call, t)) return "";
    Run same;
    {
      const DefaultDevice device(other_device());
      same = run(call, there);
    }
    if (!same.error.empty()) {
      wrong = same.error;
      continue;
    }
    const DefaultDevice device(*runtime::four_devices()[0]);
    return misplaced(run(call, there));
  }
  return wrong;
}

// What one device cannot run, or only what the caller registers.
bool is_not_for_one_device(const std::string& wrong) {
  return wrong.find("shard_map") != wrong.npos || wrong.find(": joins 2 devices") != wrong.npos ||
         wrong.find("custom-call: target") != wrong.npos;
}

TEST(Devices, FunctionsRunWhereTheirOperandsAre) {
  std::vector<std::string> wrong;
  for (const FunctionSample& sample : every_sample()) {
    const std::string found = check(sample.call);
    if (!found.empty() && !is_not_for_one_device(found))
      wrong.push_back(base::cat(sample.name, ": ", found));
  }
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

struct NumberSample {
  std::string name;
  std::function<Tensors(In)> call;
};

// C++ numbers in the places where operands may stand, beside a tensor.
std::vector<NumberSample> number_samples() {
  return {
#define HEDDLE_CALL(name, ...)                          \
  {                                                     \
    name, [](In i) -> Tensors { return {__VA_ARGS__}; } \
  }
      HEDDLE_CALL("where", where(i.choice, 1, 0.5)),
      HEDDLE_CALL("where", where(i.choice, i.x, 1)),
      HEDDLE_CALL("where", where(true, i.x, 1)),
      HEDDLE_CALL("clip", clip(i.x, 0, 1)),
      HEDDLE_CALL("clamp", clamp(0, i.x, 1)),
      HEDDLE_CALL("pad", pad(i.v, 0, {{1, 1}})),
      HEDDLE_CALL("full_like", full_like(i.x, 1)),
      HEDDLE_CALL("scan",
                  scan([](Tensor c, Tensor e) { return std::pair(c + e, c); }, 0.0f, i.v).first),
      HEDDLE_CALL("while_loop", while_loop([&](Tensor c) { return c < sum(i.v); },
                                           [](Tensor c) { return c + 1; }, 0.0f)),
      HEDDLE_CALL("fori_loop", fori_loop(
                                   0, 3, [&](Tensor, Tensor c) { return c + sum(i.v); }, 0.0f)),
      HEDDLE_CALL("cond",
                  cond(
                      i.yes, [](Tensor c) { return c + 1; }, [](Tensor c) { return c; }, 0.0f)),
      HEDDLE_CALL("searchsorted", searchsorted(i.v, 1)),
      HEDDLE_CALL("digitize", digitize(1.0, i.v)),
      HEDDLE_CALL("interp", interp(0.5, i.v, i.v)),
      HEDDLE_CALL("polyval", polyval(i.v, 2)),
      HEDDLE_CALL("fill_diagonal", fill_diagonal(i.square, 2)),
      HEDDLE_CALL("insert", insert(i.v, 1, 2)),
      HEDDLE_CALL("append", append(i.v, 2)),
      HEDDLE_CALL("isin", isin(i.v, 2)),
      HEDDLE_CALL("isin", isin(2, i.v)),
      HEDDLE_CALL("unique", unique(i.v, 5, 0).values),
      HEDDLE_CALL("union1d", union1d(i.v, i.v, 5, 0).values),
      HEDDLE_CALL("intersect1d", intersect1d(i.v, i.v, 5, 0).values),
      HEDDLE_CALL("setdiff1d", setdiff1d(i.v, i.v, 5, 0).values),
      HEDDLE_CALL("setxor1d", setxor1d(i.v, i.v, 5, 0).values),
      HEDDLE_CALL("select", select({i.choice}, {i.x}, 0)),
      HEDDLE_CALL("extract", extract(i.v > 0, i.v, 5, 0)),
      HEDDLE_CALL("compress", compress(i.v > 0, i.v, 5, 0, 0)),
      HEDDLE_CALL("put_along_axis", put_along_axis(i.x, zeros_like(i.x, s32), 1, 0)),
      HEDDLE_CALL("take", take(i.v, 1)),
      HEDDLE_CALL("dynamic_slice_in_dim", dynamic_slice_in_dim(i.v, 1, 1)),
      HEDDLE_CALL("dynamic_update_slice_in_dim", dynamic_update_slice_in_dim(i.v, i.pair, 1)),
      HEDDLE_CALL("dynamic_index_in_dim", dynamic_index_in_dim(i.v, 1)),
      HEDDLE_CALL("dynamic_update_index_in_dim", dynamic_update_index_in_dim(i.v, 2, 1)),
      HEDDLE_CALL("at", i.v.at({1}).set(2)),
      HEDDLE_CALL("at", i.v.at({0}).add(2)),
      HEDDLE_CALL("nn::huber_loss", nn::huber_loss(i.x, 0)),
      HEDDLE_CALL("nn::l2_loss", nn::l2_loss(i.x, 0)),
      HEDDLE_CALL("nn::sigmoid_binary_cross_entropy", nn::sigmoid_binary_cross_entropy(i.x, 1)),
      HEDDLE_CALL("is_close", is_close(i.x, 1)),
      HEDDLE_CALL("isclose", isclose(i.x, 1)),
      HEDDLE_CALL("allclose", allclose(i.x, 1)),
      HEDDLE_CALL("pow", pow(i.x, 2)),
      HEDDLE_CALL("pow", pow(2, i.x)),
      HEDDLE_CALL("ldexp", ldexp(i.x, 2)),
      HEDDLE_CALL("divmod", divmod(i.x, 2).quotient),
      HEDDLE_CALL("all_close", all_close(i.x, 1)),
      HEDDLE_CALL("array_equal", array_equal(i.x, 1)),
      HEDDLE_CALL("random::uniform", random::uniform(i.key, {2}, f32, 0, 2)),
      HEDDLE_CALL("random::randint", random::randint(i.key, {2}, 0, 5)),
      HEDDLE_CALL("random::fold_in", random::fold_in(i.key, 3)),
      HEDDLE_CALL("special::betainc", special::betainc(1.0, 2.0, i.x)),
      HEDDLE_CALL("special::betainc", special::betainc(i.x, 2.0, 0.5)),
      HEDDLE_CALL("special::hyp1f1", special::hyp1f1(1.0, 2.0, i.x)),
      HEDDLE_CALL("special::hyp2f1", special::hyp2f1(1.0, 2.0, 3.0, i.x * 0.1)),
      HEDDLE_CALL("special::sph_harm_y",
                  special::sph_harm_y(zeros_like(i.v, s32), zeros_like(i.v, s32), i.v, i.v, 1)),
      HEDDLE_CALL("stack", stack({i.x, zeros_like(i.x)})),
#undef HEDDLE_CALL
  };
}

TEST(Devices, NumbersGoToTheDeviceOfTheOperandBesideThem) {
  std::vector<std::string> wrong;
  const auto note = [&](std::string_view name, const std::function<Tensors(In)>& call) {
    const std::string found = check(call);
    if (!found.empty()) wrong.push_back(base::cat(name, ": ", found));
  };
  for (const NumberSample& sample : number_samples()) note(sample.name, sample.call);
  // Functions of two operands: a number on either side, where one may stand.
  for (const FunctionSample& sample : every_sample()) {
    if (sample.two == nullptr) continue;
    for (const int place : {0, 1}) {
      const auto call = [&](In i) -> Tensors {
        return {place == 0 ? sample.two(1, i.x) : sample.two(i.x, 1)};
      };
      const std::string found = check(call);
      if (found.find("operands are on ") != found.npos || found.find("is on ") != found.npos)
        wrong.push_back(base::cat(sample.name, " of a number: ", found));
    }
  }
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

// A public function that takes an operand beside another is one of two, or has a sample above.
TEST(Devices, EveryFunctionThatTakesNumbersBesideTensorsIsTried) {
  std::set<std::string> tried;
  for (const NumberSample& sample : number_samples()) tried.insert(sample.name);
  for (const FunctionSample& sample : every_sample()) {
    if (sample.two != nullptr) tried.insert(std::string(sample.name));
  }
  std::set<std::string> missing;
  for (const PublicHeader& header : public_headers("trace numpy special nn random")) {
    for (const PublicFunction& function : header.functions) {
      const std::string& text = function.signature;
      const size_t first = text.find("Operand ");
      if (first == text.npos || text.find("Operand ", first + 1) == text.npos) continue;
      if (!tried.contains(function.name)) missing.insert(function.name);
    }
  }
  // Operands that are arrays by their meaning: a number is refused, or is no use.
  for (const char* array : {"average",
                            "bincount",
                            "gather",
                            "polyadd",
                            "scatter",
                            "conv",
                            "conv_transpose",
                            "convolve",
                            "correlate",
                            "cross",
                            "dot",
                            "dot_general",
                            "einsum",
                            "gradient_at",
                            "histogram2d_at",
                            "histogram_at",
                            "inner",
                            "kron",
                            "matmul",
                            "matvec",
                            "nn::dot_product_attention",
                            "nn::softmax_cross_entropy",
                            "nn::softmax_cross_entropy_with_integer_labels",
                            "outer",
                            "polydiv",
                            "polymul",
                            "polysub",
                            "random::categorical",
                            "random::choice",
                            "random::multinomial",
                            "random::multivariate_normal",
                            "random::permutation",
                            "reduce_window",
                            "repeat_each",
                            "segment_max",
                            "segment_min",
                            "segment_prod",
                            "segment_sum",
                            "take_along_axis",
                            "tensordot",
                            "trapezoid_at",
                            "vdot",
                            "vecdot",
                            "vecmat",
                            "dynamic_update_slice"})
    missing.erase(array);
  EXPECT_EQ(base::join(missing, "\n"), "");
}

}  // namespace
}  // namespace heddle::laws
