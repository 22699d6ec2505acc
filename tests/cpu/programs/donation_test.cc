// Donated arguments keep their memory where a program updates them; others keep their value.
#include <gtest/gtest.h>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using runtime::BufferPtr;

// x[i] = 7.
constexpr char kUpdate[] =
    "HloModule m\nENTRY main {\n  x = f32[64] parameter(0)\n  i = s32[] parameter(1)\n"
    "  u = f32[1] constant({7})\n  ROOT y = f32[64] dynamic-update-slice(x, u, i) }\n";
// i = 0 .. 3: x = x + x.
constexpr char kLoop[] =
    "HloModule m\ncond { s = (s32[], f32[64]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(3)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT }\n"
    "body { s = (s32[], f32[64]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  x = f32[64] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
    "  j = s32[] add(i, one)\n  y = f32[64] add(x, x)\n"
    "  ROOT r = (s32[], f32[64]) tuple(j, y) }\n"
    "ENTRY main {\n  x = f32[64] parameter(0)\n  i = s32[] parameter(1)\n"
    "  t = (s32[], f32[64]) tuple(i, x)\n"
    "  w = (s32[], f32[64]) while(t), condition=cond, body=body\n"
    "  ROOT y = f32[64] get-tuple-element(w), index=1 }\n";
// Of an array that the argument is by another name.
constexpr char kReshaped[] =
    "HloModule m\nENTRY main {\n  x = f32[2,32] parameter(0)\n  i = s32[] parameter(1)\n"
    "  r = f32[64] reshape(x)\n  u = f32[1] constant({7})\n"
    "  ROOT y = f32[64] dynamic-update-slice(r, u, i) }\n";
// One row a turn.
constexpr char kRows[] =
    "HloModule m\ncond { s = (s32[], f32[16,4]) parameter(0)\n"
    "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(9)\n"
    "  ROOT l = pred[] compare(i, n), direction=LT }\n"
    "body { s = (s32[], f32[16,4]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  x = f32[16,4] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
    "  j = s32[] add(i, one)\n  z = s32[] constant(0)\n"
    "  row = f32[1,4] dynamic-slice(x, i, z), dynamic_slice_sizes={1,4}\n"
    "  sum = f32[1,4] add(row, row)\n  y = f32[16,4] dynamic-update-slice(x, sum, j, z)\n"
    "  ROOT r = (s32[], f32[16,4]) tuple(j, y) }\n"
    "ENTRY main {\n  x = f32[16,4] parameter(0)\n  i = s32[] parameter(1)\n"
    "  t = (s32[], f32[16,4]) tuple(i, x)\n"
    "  w = (s32[], f32[16,4]) while(t), condition=cond, body=body\n"
    "  ROOT y = f32[16,4] get-tuple-element(w), index=1 }\n";

class CpuDonation : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    HEDDLE_NEEDS_CODE_GENERATOR();
    module_ = hlo::parse_text(GetParam()).value();
    for (const Literal& argument : arguments_of(module_)) values_.push_back(argument);
    program_ = cpu_device().backend().compile(module_, {}, cpu_device()).value();
    for (const Literal& value : values_)
      buffers_.push_back(runtime::to_device(cpu_device(), value).value());
  }
  const void* memory(size_t argument) {
    return runtime::view_on_host(*buffers_[argument]).value().bytes();
  }
  void expect_value(const BufferPtr& result) {
    const Literal want = interpreter::evaluate(module_, values_).value();
    EXPECT_EQ(difference(runtime::to_host(*result).value(), want), "");
  }

  hlo::Module module_;
  std::vector<Literal> values_;
  std::shared_ptr<runtime::Executable> program_;
  std::vector<BufferPtr> buffers_;
};

TEST_P(CpuDonation, KeepsTheMemory) {
  const void* before = memory(0);
  const BufferPtr result = program_->execute(buffers_, {.donate = {0}}).value()[0];
  const Literal view = runtime::view_on_host(*result).value();
  EXPECT_EQ(view.bytes(), before);
  EXPECT_TRUE(same_type(view.shape(), result->shape())) << view.shape();
  expect_value(result);
}

TEST_P(CpuDonation, LeavesWhatIsNotDonated) {
  const BufferPtr result = program_->execute(buffers_).value()[0];
  EXPECT_NE(runtime::view_on_host(*result).value().bytes(), memory(0));
  EXPECT_EQ(difference(runtime::to_host(*buffers_[0]).value(), values_[0]), "");
  expect_value(result);
}

// Somebody else reads the memory: it stays as it is.
TEST_P(CpuDonation, LeavesWhatIsViewed) {
  const Literal view = runtime::view_on_host(*buffers_[0]).value();
  const BufferPtr result = program_->execute(buffers_, {.donate = {0}}).value()[0];
  EXPECT_EQ(difference(view, values_[0]), "");
  expect_value(result);
}

INSTANTIATE_TEST_SUITE_P(Of, CpuDonation, ::testing::Values(kUpdate, kLoop, kReshaped, kRows));

}  // namespace
}  // namespace heddle::cpu
