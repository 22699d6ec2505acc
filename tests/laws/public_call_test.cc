// The function that the user called, and his line, are what errors name and what instructions have:
// whatever the function is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "heddle/hlo/module.h"
#include "heddle/tests/laws/function_samples.h"
#include "heddle/trace/recorder.h"

namespace heddle::laws {
namespace {

constexpr Tensor Inputs::*kTensors[] = {
    &Inputs::x,     &Inputs::y,      &Inputs::v,     &Inputs::m,      &Inputs::s,
    &Inputs::image, &Inputs::kernel, &Inputs::heads, &Inputs::rows,   &Inputs::position,
    &Inputs::key,   &Inputs::choice, &Inputs::yes,   &Inputs::square, &Inputs::pair};

// Samples whose argument another function is given first.
const std::map<std::string_view, std::string_view> kRefusedBy = {
    {"all_gather", "shard_map"},
    {"all_reduce", "shard_map"},
    {"all_to_all", "shard_map"},
    {"axis_index", "shard_map"},
    {"linalg::lu_solve", "linalg::lu"},
    {"permute", "shard_map"},
    {"pmax", "shard_map"},
    {"pmean", "shard_map"},
    {"pmin", "shard_map"},
    {"ppermute", "shard_map"},
    {"psum", "shard_map"},
    {"psum_scatter", "shard_map"},
    {"reduce_scatter", "shard_map"},
};

bool is_named(const FunctionSample& sample, std::string_view message) {
  const auto says = [&](std::string_view function) {
    return message.starts_with(base::cat(function, ": "));
  };
  const auto other = kRefusedBy.find(sample.name);
  return says(sample.name) || message.starts_with(base::cat(sample.name, ".")) ||  // "at.set: "
         (other != kRefusedBy.end() && says(other->second));
}

// Whether a line is one of the sample's, which end where the next one of the file begins.
bool is_of(const FunctionSample& sample, SourceLocation at) {
  static const std::set<std::pair<std::string_view, uint32_t>> kFirst = [] {
    std::set<std::pair<std::string_view, uint32_t>> first;
    for (const FunctionSample& each : every_sample())
      first.emplace(each.name.at.file, each.name.at.line);
    return first;
  }();
  const SourceLocation& own = sample.name.at;
  auto next = kFirst.upper_bound({own.file, own.line});
  const bool is_last = next == kFirst.end() || next->first != own.file;
  return std::string_view(at.file) == own.file && at.line >= own.line &&
         (is_last || at.line < next->second);
}

// The sample's error on these inputs, where it has one.
std::optional<Error> error_of(const FunctionSample& sample, const Inputs& inputs) {
  try {
    sample.call(inputs);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// A dtype that the sample takes.
std::optional<DType> dtype_for(const FunctionSample& sample) {
  for (DType t : {f32, s32, pred, u8, u32, c64}) {
    bool taken = false;
    (void)trace([&] {
      std::vector<Tensor> parameters;
      for (const Shape& shape : Inputs::shapes(t))
        parameters.push_back(zeros(shape.dimensions(), shape.dtype()));
      taken = !error_of(sample, Inputs::of(t, parameters));
      return None{};
    });
    if (taken) return t;
  }
  return std::nullopt;
}

// What is wrong with the errors of a sample, one argument after the other without a value.
void check(const FunctionSample& sample, const Tensor& valueless, std::vector<std::string>& wrong) {
  const std::optional<DType> t = dtype_for(sample);
  if (!t) return wrong.push_back(base::cat(sample.name, " takes no dtype"));
  (void)trace([&] {
    std::vector<Tensor> parameters;
    for (const Shape& shape : Inputs::shapes(*t))
      parameters.push_back(zeros(shape.dimensions(), shape.dtype()));
    for (Tensor Inputs::*tensor : kTensors) {
      Inputs inputs = Inputs::of(*t, parameters);
      inputs.*tensor = valueless;
      const std::optional<Error> error = error_of(sample, inputs);
      if (!error) continue;  // is not this function's argument
      const std::string_view message = error->what();
      if (!is_named(sample, message) || !is_of(sample, error->where()) ||
          message.find("no value") == message.npos)
        wrong.push_back(base::cat(sample.name, " says ", message));
    }
    return None{};
  });
}

TEST(NoValue, DefaultConstructedTensorsAreRefusedByTheFunctionThatWasCalled) {
  std::vector<std::string> wrong;
  for (const FunctionSample& sample : every_sample()) check(sample, Tensor(), wrong);
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

TEST(NoValue, MovedFromTensorsAreRefusedByTheFunctionThatWasCalled) {
  Tensor moved_from = placeholder({}, f32);
  const Tensor to = std::move(moved_from);
  std::vector<std::string> wrong;
  for (const FunctionSample& sample : every_sample()) check(sample, moved_from, wrong);
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

TEST(Lines, OfAllThatAFunctionRecordsAreTheOneWhereItIsCalled) {
  std::set<std::string> wrong;
  for (const FunctionSample& sample : every_sample()) {
    const std::optional<DType> t = dtype_for(sample);
    if (!t) continue;  // told by the laws above
    const trace_internal::Traced traced = trace_internal::trace_flat(
        "sample", Inputs::shapes(*t),
        [&](std::span<const Tensor> parameters) { return sample.call(Inputs::of(*t, parameters)); },
        sample.name.at);
    for (const hlo::Computation& computation : traced.module.computations) {
      for (const hlo::Instruction& i : computation.instructions) {
        const bool is_entry = &computation == &traced.module.entry_computation();
        const bool is_glue = !i.at.known() && (!is_entry || i.opcode == hlo::Opcode::kTuple);
        if (is_glue || i.opcode == hlo::Opcode::kParameter)
          continue;  // is where its value was made
        // Equal bodies of loops are one, which has the lines of whoever came first.
        if (is_entry ? is_of(sample, i.at) : std::string_view(i.at.file).ends_with("_samples.cc"))
          continue;
        wrong.insert(
            base::cat(sample.name, " records ", to_string(i.opcode), " of ", to_string(i.at)));
      }
    }
  }
  EXPECT_EQ(base::join(wrong, "\n"), "");
}

}  // namespace
}  // namespace heddle::laws
