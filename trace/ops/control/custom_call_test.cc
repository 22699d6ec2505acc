#include "heddle/trace/ops/control/custom_call.h"

#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/run/program.h"

namespace heddle {
namespace {

// x times the factor of the configuration, and x plus it.
StatusOr<Literal> scaled(interpreter::CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(std::span<const float> x, call.values<float>(0));
  HEDDLE_ASSIGN_OR_RETURN(const int64_t factor, call.integer("factor"));
  Literal times = Literal::uninitialised(call[0].shape());
  Literal plus = Literal::uninitialised(call[0].shape());
  for (size_t i = 0; i < x.size(); ++i) {
    times.mutable_values<float>()[i] = x[i] * static_cast<float>(factor);
    plus.mutable_values<float>()[i] = x[i] + static_cast<float>(factor);
  }
  if (!call.result().is_tuple()) return times;
  return Literal::tuple({times, plus});
}

class CustomCall : public testing::Test {
 protected:
  void SetUp() override {
    throw_if_error(interpreter::register_custom_call("trace_test_scaled", scaled), {});
  }
  void TearDown() override { interpreter::unregister_custom_call("trace_test_scaled"); }
};

TEST_F(CustomCall, GivesATensorForEachShape) {
  const Tensor x = array<float>({1, 2});
  const CustomCallOptions options{.backend_config = "{factor = 3 : i64}", .typed = true};
  const auto both = custom_call("trace_test_scaled", {x}, {x.shape(), x.shape()}, options);
  ASSERT_EQ(both.size(), 2);
  EXPECT_THAT(both[0].to_vector<float>(), ElementsAre(3, 6));
  EXPECT_THAT(both[1].to_vector<float>(), ElementsAre(4, 5));
  const auto one = custom_call("trace_test_scaled", {x + 1}, {x.shape()}, options);
  ASSERT_EQ(one.size(), 1);
  EXPECT_THAT(one[0].to_vector<float>(), ElementsAre(6, 9));
}

TEST_F(CustomCall, OfAnotherConfigurationIsAnotherProgram) {
  const Tensor x = array<float>({1, 2});
  for (int factor : {2, 3, 2}) {
    const CustomCallOptions options{.backend_config = base::cat("{factor = ", factor, " : i64}")};
    const auto out = custom_call("trace_test_scaled", {x}, {x.shape()}, options);
    EXPECT_EQ(out[0].to_vector<float>()[0], static_cast<float>(factor));
  }
}

TEST_F(CustomCall, ErrorsNameTheTarget) {
  const Tensor x = array<float>({1, 2});
  const auto message = [&](const std::string& target) -> std::string {
    try {
      custom_call(target, {x}, {x.shape()})[0].wait();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(""), HasSubstr("has no custom_call_target"));
  try {
    (void)custom_call("trace_test_scaled", {x}, {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no results; write their types"));
  }
  EXPECT_THAT(message("trace_test_nobody"), HasSubstr("target trace_test_nobody has no function"));
}

}  // namespace
}  // namespace heddle
