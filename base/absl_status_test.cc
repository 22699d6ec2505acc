#include "heddle/base/absl_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(AbslStatus, HasTheCodeAndTheMessageBothWays) {
  for (int code = 1; code <= 16; ++code) {
    const Status status(static_cast<StatusCode>(code), "add: operand is f32[2]");
    const absl::Status other = to_absl(status);
    EXPECT_EQ(static_cast<int>(other.code()), code);
    EXPECT_EQ(other.message(), "add: operand is f32[2]");
    EXPECT_EQ(from_absl(other), status);
  }
  EXPECT_EQ(to_absl(base::not_found("x")).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(to_absl(Status()).ok());
  EXPECT_TRUE(from_absl(absl::OkStatus()).ok());
}

TEST(AbslStatus, OfAPlaceHasItInTheMessage) {
  Status status = base::invalid_argument("add: no");
  status.set_location("a.cc:3");
  EXPECT_EQ(to_absl(status).message(), "add: no [a.cc:3]");
}

TEST(AbslStatus, OfAResultKeepsTheValue) {
  EXPECT_EQ(to_absl(StatusOr<int>(3)).value(), 3);
  EXPECT_EQ(from_absl(absl::StatusOr<int>(4)).value(), 4);
  EXPECT_EQ(to_absl(StatusOr<int>(base::not_found("x"))).status().message(), "x");
  EXPECT_EQ(from_absl(absl::StatusOr<int>(absl::NotFoundError("y"))).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace heddle
