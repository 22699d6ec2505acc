// The function that the user called, and his line, are what errors name and what instructions have:
// whatever the function is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "heddle/hlo/module.h"
#include "heddle/tests/laws/function_samples.h"
#include "heddle/tests/laws/public_functions.h"
#include "heddle/trace/recorder.h"

namespace heddle::laws {
namespace {

constexpr Tensor Inputs::*kTensors[] = {
    &Inputs::x,     &Inputs::y,      &Inputs::v,     &Inputs::m,    &Inputs::s,
    &Inputs::image, &Inputs::kernel, &Inputs::heads, &Inputs::rows, &Inputs::position,
    &Inputs::key,   &Inputs::choice, &Inputs::yes};

// Samples whose argument another function is given first, and names that are another function's.
const std::map<std::string_view, std::string_view> kRefusedBy = {
    {"all_gather", "shard_map"},
    {"all_reduce", "shard_map"},
    {"all_to_all", "shard_map"},
    {"axis_index", "shard_map"},
    {"custom_call", "shape"},
    {"dynamic_update_index_in_dim", "reshape"},
    {"ldexp", "x[..]"},
    {"linalg::eigh_tridiagonal", "slice_in_dim"},
    {"linalg::householder_product", "x[..]"},
    {"linalg::leslie", "x[..]"},
    {"linalg::lu_solve", "linalg::lu"},
    {"linalg::multi_dot", "transpose"},
    {"linalg::tensorinv", "x[..]"},
    {"linalg::tensorsolve", "x[..]"},
    {"nancumprod", "nan_cumprod"},
    {"nancumsum", "nan_cumsum"},
    {"nn::hard_swish", "nn::hard_silu"},
    {"nn::swish", "nn::silu"},
    {"permute", "shard_map"},
    {"pmax", "shard_map"},
    {"pmean", "shard_map"},
    {"pmin", "shard_map"},
    {"ppermute", "shard_map"},
    {"psum", "shard_map"},
    {"psum_scatter", "shard_map"},
    {"put_along_axis", "x[..]"},
    {"reduce_scatter", "shard_map"},
    {"scatter", "slice_in_dim"},
    {"segment_max", "transpose"},
    {"segment_min", "transpose"},
    {"segment_prod", "transpose"},
    {"segment_sum", "transpose"},
    {"special::gammainc", "special::igamma"},
    {"special::gammaincc", "special::igammac"},
    {"special::gammaln", "special::lgamma"},
    {"special::i0e", "special::bessel_i0e"},
    {"special::i1e", "special::bessel_i1e"},
    {"take_along_axis", "reshape"},
    {"take_at", "x[..]"},
    {"nn::softmax_cross_entropy_with_integer_labels", "concat"},
};

// JAX's names, and the functions that they stand for.
std::map<std::string, std::string> aliases() {
  std::map<std::string, std::string> names;
  for (const PublicHeader& header : public_headers({"trace"})) {
    if (header.path != "trace/aliases.h") continue;
    for (const PublicFunction& f : header.functions) {
      if (!f.summary.empty()) names[f.name] = f.summary;
    }
  }
  return names;
}

bool is_named(const FunctionSample& sample, std::string_view message) {
  static const std::map<std::string, std::string> kAliases = aliases();
  const std::string name(sample.name);
  const auto says = [&](std::string_view function) {
    return message.starts_with(base::cat(function, ": "));
  };
  if (says(name) || message.starts_with(name + ".")) return true;  // "at.set: "
  const auto alias = kAliases.find(name);
  const auto other = kRefusedBy.find(name);
  return (alias != kAliases.end() && says(alias->second)) ||
         (other != kRefusedBy.end() && says(other->second));
}

std::vector<FunctionSample> samples() {
  std::vector<FunctionSample> all = core_samples();
  for (auto more : {everyday_samples, catalogue_samples}) {
    std::vector<FunctionSample> list = more();
    std::ranges::move(list, std::back_inserter(all));
  }
  return all;
}

// The sample's error on these inputs; empty where it has none.
std::string error_of(const FunctionSample& sample, const Inputs& inputs) {
  try {
    sample.call(inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A dtype that the sample takes.
std::optional<DType> dtype_for(const FunctionSample& sample) {
  for (DType t : {f32, s32, pred, u8, u32, c64}) {
    bool taken = false;
    (void)trace([&] {
      std::vector<Tensor> parameters;
      for (const Shape& shape : Inputs::shapes(t))
        parameters.push_back(zeros(shape.dimensions(), shape.dtype()));
      taken = error_of(sample, Inputs::of(t, parameters)).empty();
      return None{};
    });
    if (taken) return t;
  }
  return std::nullopt;
}

// What is wrong with the errors of a sample, one argument after the other without a value.
void check(const FunctionSample& sample, const Tensor& valueless, std::vector<std::string>& wrong) {
  const std::optional<DType> t = dtype_for(sample);
  if (!t) return wrong.push_back(std::string(sample.name) + " takes no dtype");
  (void)trace([&] {
    std::vector<Tensor> parameters;
    for (const Shape& shape : Inputs::shapes(*t))
      parameters.push_back(zeros(shape.dimensions(), shape.dtype()));
    for (Tensor Inputs::*tensor : kTensors) {
      Inputs inputs = Inputs::of(*t, parameters);
      inputs.*tensor = valueless;
      const std::string message = error_of(sample, inputs);
      if (message.empty()) continue;  // is not this function's argument
      const bool is_here = message.find("_samples.cc:") != message.npos;
      if (!is_named(sample, message) || !is_here || message.find("no value") == message.npos)
        wrong.push_back(std::string(sample.name) + " says " + message);
    }
    return None{};
  });
}

TEST(NoValue, DefaultConstructedTensorsAreRefusedByTheFunctionThatWasCalled) {
  std::vector<std::string> wrong;
  for (const FunctionSample& sample : samples()) check(sample, Tensor(), wrong);
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

TEST(NoValue, MovedFromTensorsAreRefusedByTheFunctionThatWasCalled) {
  Tensor moved_from = placeholder({}, f32);
  const Tensor to = std::move(moved_from);
  std::vector<std::string> wrong;
  for (const FunctionSample& sample : samples()) check(sample, moved_from, wrong);
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

TEST(Lines, OfAllThatAFunctionRecordsAreTheOneWhereItIsCalled) {
  std::set<std::string> wrong;
  for (const FunctionSample& sample : samples()) {
    const std::optional<DType> t = dtype_for(sample);
    if (!t) continue;  // told by the laws above
    const trace_internal::Traced traced = trace_internal::trace_flat(
        "sample", Inputs::shapes(*t),
        [&](std::span<const Tensor> parameters) { return sample.call(Inputs::of(*t, parameters)); },
        SourceLocation{"_samples.cc", 1});
    for (const hlo::Computation& computation : traced.module.computations) {
      for (const hlo::Instruction& i : computation.instructions) {
        const bool is_entry = &computation == &traced.module.entry_computation();
        const bool is_glue = !i.at.known() && (!is_entry || i.opcode == hlo::Opcode::kTuple);
        if (is_glue || i.opcode == hlo::Opcode::kParameter)
          continue;  // is where its value was made
        if (std::string_view(i.at.file).ends_with("_samples.cc")) continue;
        wrong.insert(
            base::cat(sample.name, " records ", to_string(i.opcode), " of ", to_string(i.at)));
      }
    }
  }
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

}  // namespace
}  // namespace heddle::laws
