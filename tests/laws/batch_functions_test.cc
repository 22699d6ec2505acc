// vmap of every public function: each lane is what one gives, for each operand alone with lanes and
// for all of them.
#include <optional>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/tests/laws/function_samples.h"
#include "heddle/trace/recorder.h"

namespace heddle::laws {
namespace {

// The function's module on the samples' inputs; none where it needs more than one device, or takes
// no such dtype.
std::optional<hlo::Module> module_of(const FunctionSample& sample, DType t) {
  try {
    trace_internal::Traced traced = trace_internal::trace_flat(
        "sample", Inputs::shapes(t),
        [&](std::span<const Tensor> parameters) { return sample.call(Inputs::of(t, parameters)); },
        SourceLocation());
    if (!traced.captures.empty()) return std::nullopt;
    return std::move(traced.module);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Numbers in 0.2 .. 0.8; matrices are symmetric with a large diagonal; small indices.
Literal input(const Shape& shape, std::mt19937_64& engine) {
  Literal out(shape);
  std::uniform_real_distribution<double> uniform(0.2, 0.8);
  const auto count = static_cast<size_t>(shape.element_count());
  const int64_t n = shape.rank() > 0 ? shape.dimensions().back() : 1;
  for (size_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(i) / n % n, column = static_cast<int64_t>(i) % n;
    switch (shape.dtype()) {
      case f64: out.mutable_values<double>()[i] = uniform(engine); break;
      case f32: out.mutable_values<float>()[i] = static_cast<float>(uniform(engine)); break;
      case s32: out.mutable_values<int32_t>()[i] = static_cast<int32_t>(engine() % 2); break;
      case u32: out.mutable_values<uint32_t>()[i] = static_cast<uint32_t>(engine()); break;
      default: out.mutable_values<bool>()[i] = engine() % 2 == 0; break;
    }
    const bool is_matrix = shape.dtype() == f64 && shape.rank() >= 2 &&
                           shape.dimension(shape.rank() - 2) == n && shape.rank() <= 3;
    if (!is_matrix) continue;
    const std::span<double> values = out.mutable_values<double>();
    if (row == column) values[i] += 3;
    if (row > column) values[i] = values[i - static_cast<size_t>((row - column) * (n - 1))];
  }
  return out;
}

bool is_read(const hlo::Computation& computation, hlo::InstructionId id) {
  for (const hlo::Instruction& each : computation.instructions) {
    if (std::ranges::count(each.operands, id) > 0) return true;
  }
  return false;
}

// Masks of the inputs that the function reads: each alone, and all.
std::vector<std::vector<bool>> masks_of(const hlo::Module& module) {
  const hlo::Computation& entry = module.entry_computation();
  std::vector<std::vector<bool>> out;
  std::vector<bool> all(entry.parameter_count());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_read(entry, entry.parameters[i])) continue;
    all[i] = true;
    out.emplace_back(all.size());
    out.back()[i] = true;
  }
  if (out.size() > 1) out.push_back(all);
  return out;
}

InLanes lanes_of(const hlo::Module& module, const std::vector<bool>& mask) {
  std::mt19937_64 engine(3);
  InLanes mix{.batched = mask, .all = {}, .lanes = std::vector<std::vector<Literal>>(kLanes)};
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < mask.size(); ++i) {
    std::vector<Literal> own;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      own.push_back(input(entry.parameter_shape(i), engine));
    for (size_t lane = 0; lane < mix.lanes.size(); ++lane)
      mix.lanes[lane].push_back(own[mask[i] ? lane : 0]);
    mix.all.push_back(mask[i] ? stacked(own) : own[0]);
  }
  return mix;
}

std::string close(const Literal& have, const Literal& want) { return far_apart(have, want, 1e-10); }

TEST(BatchFunctions, EachLaneIsWhatOneGives) {
  std::vector<std::string> wrong;
  size_t done = 0;
  for (const FunctionSample& sample : every_sample()) {
    std::optional<hlo::Module> module = module_of(sample, f64);
    if (!module) module = module_of(sample, s32);
    if (!module) continue;
    for (const std::vector<bool>& mask : masks_of(*module)) {
      const InLanes mix = lanes_of(*module, mask);
      const auto batch = transform::batch(*module, mask, kLanes);
      if (!batch.ok()) {
        wrong.push_back(base::cat(sample.name, ": ", batch.status().message()));
        break;
      }
      if (const Status status = hlo::verify(batch->module); !status.ok())
        wrong.push_back(base::cat(sample.name, ": ", status.message()));
      const std::string difference = difference_by_lane(*module, *batch, mix, close);
      if (!difference.empty())
        wrong.push_back(
            base::cat(sample.name, " lanes of ", testing::PrintToString(mask), ": ", difference));
    }
    ++done;
  }
  EXPECT_THAT(wrong, IsEmpty());
  EXPECT_GT(done, 550u);
}

}  // namespace
}  // namespace heddle::laws
