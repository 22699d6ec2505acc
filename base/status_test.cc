#include "heddle/base/status.h"

#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "heddle/base/located_status.h"
#include "heddle/base/support_test.h"

namespace heddle {
namespace {

TEST(Status, OfNothingIsSuccess) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), StatusCode::kOk);
  EXPECT_EQ(Status().message(), "");
  EXPECT_EQ(to_string(Status()), "OK");
  EXPECT_TRUE(Status(StatusCode::kOk, "not kept").ok());
}

TEST(Status, HasTheNumbersOfAbseil) {
  EXPECT_EQ(static_cast<int>(StatusCode::kInvalidArgument), 3);
  EXPECT_EQ(static_cast<int>(StatusCode::kUnauthenticated), 16);
  EXPECT_EQ(to_string(static_cast<StatusCode>(99)), "99");
}

TEST(Status, CopiesAreEqualAndTheirOwn) {
  const Status error = with_location(base::invalid_argument("x is ", 3), "a.cc:7");
  Status copy = error;
  EXPECT_EQ(copy, error);
  copy.set_location("b.cc:8");
  EXPECT_EQ(copy.message(), "x is 3 [b.cc:8]");
  EXPECT_EQ(error.location(), "a.cc:7");
  copy = Status();
  EXPECT_TRUE(copy.ok());
  EXPECT_FALSE(error.ok());
}

TEST(Status, PrintsItsCodeAndMessage) {
  std::ostringstream out;
  out << base::not_found("no device");
  EXPECT_EQ(out.str(), "NOT_FOUND: no device");
}

TEST(Status, UpdateTakesTheFirstError) {
  Status first;
  first.update({});
  EXPECT_TRUE(first.ok());
  first.update(base::not_found("a"));
  first.update(base::not_found("b"));
  EXPECT_EQ(first.message(), "a");
}

TEST(Status, KeepsItsFirstLocation) {
  const Status once = with_location(base::invalid_argument("bad"), "a.cc:7");
  EXPECT_EQ(once.message(), "bad [a.cc:7]");
  EXPECT_EQ(with_location(once, "b.cc:8"), once);
  EXPECT_EQ(once.text(), "bad");
}

TEST(Status, WithAContextKeepsItsPlaceAtTheEnd) {
  const Status bad = with_location(base::invalid_argument("bad"), "a.cc:7");
  const Status status = base::annotate(bad, "f: ");
  EXPECT_EQ(status.message(), "f: bad [a.cc:7]");
  EXPECT_EQ(with_location(status, "b.cc:8"), status);
}

TEST(StatusOr, HasAValueOrAnError) {
  const StatusOr<int> three = 3;
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(*three, 3);
  EXPECT_TRUE(three.status().ok());
  const StatusOr<int> none = base::invalid_argument("no number");
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(), "no number");
  EXPECT_EQ(none.value_or(5), 5);
  EXPECT_EQ(StatusOr<int>().status().code(), StatusCode::kUnknown);
}

TEST(StatusOr, MadeOfSuccessIsABugOfOurs) {
  EXPECT_EQ(StatusOr<int>(Status()).status().code(), StatusCode::kInternal);
}

TEST(StatusOr, TheValueOfAnErrorThrowsItsMessage) {
  const StatusOr<int> none = base::invalid_argument("no number");
  try {
    (void)none.value();
    FAIL() << "a value where there is none";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("INVALID_ARGUMENT: no number"));
  }
  EXPECT_THROW((void)*none, std::logic_error);
}

TEST(StatusOr, MovesWhatCannotBeCopiedAndConverts) {
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base {};
  StatusOr<std::unique_ptr<Derived>> made = std::make_unique<Derived>();
  const Derived* const place = made->get();
  const StatusOr<std::unique_ptr<Base>> as_base = std::move(made);
  EXPECT_EQ(as_base->get(), place);
  const StatusOr<std::unique_ptr<Base>> error =
      StatusOr<std::unique_ptr<Derived>>(base::not_found("a"));
  EXPECT_EQ(error.status().message(), "a");
}

TEST(StatusOr, MacrosReturnTheError) {
  const auto doubled = [](StatusOr<int> x) -> StatusOr<int> {
    HEDDLE_ASSIGN_OR_RETURN(const int value, std::move(x));
    return 2 * value;
  };
  EXPECT_EQ(*doubled(2), 4);
  EXPECT_EQ(doubled(base::not_found("a")).status().message(), "a");
}

}  // namespace
}  // namespace heddle
