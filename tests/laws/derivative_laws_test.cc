// Laws of derivatives, for every op on its samples of f64 and c128.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "heddle/base/strings.h"
#include "heddle/hlo/derivative.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/tests/laws/samples.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// The sample with f64 in place of f32.
hlo::Module in_doubles(const hlo::Module& module) {
  std::string text = hlo::print(module);
  return *hlo::parse_text(replaced(replaced(text, "f32", "f64"), "c64", "c128"));
}

bool is_sampled(const Sample& sample) {
  const bool has_types = sample.row->line.find("$t") != std::string_view::npos;
  return !has_types || sample.type == f64 || sample.type == c128;
}

// Numbers where the ops have values and no kinks: 0.2 .. 0.8, of acosh above 1. Matrices to be
// factored have a diagonal that is larger.
Literal smooth(const Shape& shape, Opcode opcode, std::mt19937_64& engine) {
  Literal out(shape);
  std::uniform_real_distribution<double> uniform(0.2, 0.8);
  const size_t parts = shape.dtype() == c128 ? 2 : 1;
  const size_t count = static_cast<size_t>(shape.byte_size()) / sizeof(double);
  auto* to = count > 0 ? reinterpret_cast<double*>(out.mutable_bytes()) : nullptr;
  for (size_t i = 0; i < count; ++i) to[i] = uniform(engine) + (opcode == Opcode::kAcosh ? 1 : 0);
  const bool is_factored = opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve;
  if (!is_factored || shape.rank() < 2) return out;
  const auto n = static_cast<size_t>(shape.dimension(shape.rank() - 1));
  for (size_t i = 0; i < count / parts; ++i) {
    if (i % n != i / n % n) continue;
    to[i * parts] += 4;
    if (opcode == Opcode::kCholesky && parts == 2) to[i * parts + 1] = 0;
  }
  return out;
}

std::vector<Literal> arguments_of(const Sample& sample, Opcode opcode) {
  std::mt19937_64 engine(7);
  std::vector<Literal> out;
  for (const Literal& leaf : leaves_of(sample.arguments)) {
    const DType dtype = leaf.shape().dtype();
    const DType wide = dtype == f32 ? f64 : dtype == c64 ? c128 : dtype;
    const bool has_tangent = wide == f64 || wide == c128;
    out.push_back(has_tangent ? smooth(leaf.shape().with_dtype(wide), opcode, engine) : leaf);
  }
  return out;
}

// Initial values of reductions, which have no tangents but in sums.
std::vector<bool> constants_of(Opcode opcode, size_t operands) {
  std::vector<bool> out(operands);
  if (opcode == Opcode::kSelectAndScatter) out[2] = true;
  if (opcode == Opcode::kReduce || opcode == Opcode::kReduceWindow)
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(operands / 2), out.end(), true);
  return out;
}

// What rules refuse: functions of the program's own, and complex numbers that become real.
bool is_refused(const Sample& sample, Opcode opcode) {
  const auto has = [&](std::string_view text) {
    return sample.line.find(text) != std::string::npos;
  };
  if (opcode == Opcode::kScatter) return has("to_apply=swap_in");
  if (opcode == Opcode::kClamp) return has("clamp(c128");
  if (opcode == Opcode::kDot) return has("dot(c128") && has("-> f32");
  return false;
}

// By convention: what rounds passes tangents on, what reads bits has none.
bool has_its_own_convention(Opcode opcode) {
  return opcode == Opcode::kReducePrecision || opcode == Opcode::kBitcastConvert;
}

// Regions and what makes tuples have their rules where modules are rewritten.
bool has_rules(Opcode opcode) {
  switch (opcode) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCall:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kScan: return true;
    default: return bool(hlo::derivative_of(opcode).jvp);
  }
}

// What joins several devices does not run here: tests/behaviours/sharding_test.cc has its laws.
bool joins_devices(Opcode opcode) {
  return opcode == Opcode::kReduceScatter || opcode == Opcode::kAllGather ||
         opcode == Opcode::kAllToAll || opcode == Opcode::kCollectivePermute;
}

class DerivativeLaws : public ::testing::TestWithParam<Opcode> {};

TEST_P(DerivativeLaws, TangentIsTheCentralDifferenceAndTheTransposeItsAdjoint) {
  const Opcode opcode = GetParam();
  if (!has_rules(opcode) || has_its_own_convention(opcode) || joins_devices(opcode)) return;
  for (const Sample& sample : samples_of(opcode)) {
    if (!is_sampled(sample)) continue;
    SCOPED_TRACE(sample.line);
    const std::vector<Literal> arguments = arguments_of(sample, opcode);
    const DerivativeCheck check{.reverse = opcode != Opcode::kWhile,
                                .constants = constants_of(opcode, arguments.size())};
    const std::string wrong = check_derivatives(in_doubles(sample.module), arguments, check);
    if (is_refused(sample, opcode))
      EXPECT_NE(wrong.find("has no derivative"), std::string::npos) << wrong;
    else
      EXPECT_EQ(wrong, "");
    if (HasFailure()) return;
  }
}

std::string name_of(const ::testing::TestParamInfo<Opcode>& info) {
  std::string name(to_string(info.param));
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ops, DerivativeLaws, ::testing::ValuesIn(every_opcode()), name_of);

}  // namespace
}  // namespace heddle::laws
