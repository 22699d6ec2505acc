// argmax and argmin of the catalogue are reductions that fill vectors.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/cpu/rewrites/folds/first_places.h"
#include "heddle/heddle.h"
#include "heddle/transform/pass.h"

namespace heddle::cpu {
namespace {

bool has_pairs(const hlo::Module& module) {
  return std::ranges::any_of(module.entry_computation().instructions, [](const auto& each) {
    return each.opcode == hlo::Opcode::kReduce && each.operands.size() == 4;
  });
}

TEST(Searches, OfTheCatalogueAreWritten) {
  for (const DType dtype : {f32, f64, s32}) {
    for (const auto search :
         {+[](Tensor x) { return argmax(x, 1); }, +[](Tensor x) { return argmin(x, 0); }}) {
      const auto program = trace(search, placeholder({40, 500}, dtype));
      const hlo::Module module =
          transform::run_pipeline(program.module(), transform::kFlattenPipeline).value();
      EXPECT_TRUE(has_pairs(module));
      EXPECT_FALSE(has_pairs(find_first_places(module).value()));
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
