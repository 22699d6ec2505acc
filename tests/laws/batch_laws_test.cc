// vmap is a loop over lanes: for every op, on its samples, for each mix of operands that differ
// between lanes and that they share.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/batching.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/transform/passes.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

// Sums that are grouped otherwise where there are more of them.
double share_of(Opcode opcode, DType type) {
  switch (opcode) {
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kFft:
    case Opcode::kReduce:
    case Opcode::kReduceWindow: return real_part(type) == f64 ? 1e-14 : 1e-5;
    default: return 0;
  }
}

// Regions, and what carries values on, have their rules where modules are rewritten.
bool has_rule(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCall:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kScan: return true;
    default: return bool(hlo::batching_of(opcode));
  }
}

class BatchLaws : public ::testing::TestWithParam<Opcode> {};

TEST_P(BatchLaws, EachLaneIsWhatOneGives) {
  const Opcode opcode = GetParam();
  if (is_random(opcode)) GTEST_SKIP() << "each run draws other numbers";
  for (const Sample& sample : samples_of(opcode)) {
    for (const InLanes& mix : mixes_of(sample.arguments)) {
      SCOPED_TRACE(base::cat(sample.line, "\nlanes of ", testing::PrintToString(mix.batched)));
      const auto batch = transform::batch(sample.module, mix.batched, kLanes);
      if (!has_rule(opcode)) {
        ASSERT_FALSE(batch.ok());
        EXPECT_NE(batch.status().message().find("has no batched form: "), std::string::npos)
            << batch.status();
        break;
      }
      ASSERT_TRUE(batch.ok()) << batch.status();
      ASSERT_TRUE(hlo::verify(batch->module).ok())
          << hlo::verify(batch->module) << hlo::print(batch->module);
      const auto same = [&](const Literal& have, const Literal& want) {
        return far_apart(have, want, share_of(opcode, want.shape().dtype()));
      };
      EXPECT_EQ(difference_by_lane(sample.module, *batch, mix, same), "")
          << hlo::print(batch->module);
      if (HasFailure()) return;
    }
  }
}

// As vmap of vmap.
TEST_P(BatchLaws, LanesOfLanesAreLanes) {
  const Opcode opcode = GetParam();
  if (is_random(opcode) || !has_rule(opcode)) return;
  for (const Sample& sample : samples_of(opcode)) {
    const bool has_types = sample.row->line.find("$t") != std::string_view::npos;
    if (has_types && sample.type != f32 && sample.type != s32) continue;
    for (const InLanes& mix : mixes_of(sample.arguments)) {
      SCOPED_TRACE(base::cat(sample.line, "\nlanes of ", testing::PrintToString(mix.batched)));
      const auto once = transform::batch(sample.module, mix.batched, kLanes);
      ASSERT_TRUE(once.ok()) << once.status();
      for (const InLanes& outer : mixes_of(mix.all)) {
        const auto twice = transform::batch(once->module, outer.batched, kLanes);
        ASSERT_TRUE(twice.ok()) << twice.status();
        const auto same = [&](const Literal& have, const Literal& want) {
          return far_apart(have, want, share_of(opcode, want.shape().dtype()));
        };
        EXPECT_EQ(difference_by_lane(once->module, *twice, outer, same), "")
            << hlo::print(twice->module);
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, BatchLaws, ::testing::ValuesIn(every_opcode()), OpName());

}  // namespace
}  // namespace heddle::laws
