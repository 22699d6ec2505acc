#include "heddle/placeholder/binding.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

// Bindings never look into a buffer, so any address will do here.
Bindings::BufferPtr some_buffer() {
  auto owner = std::make_shared<char>('b');
  return {owner, reinterpret_cast<runtime::Buffer*>(owner.get())};
}

Placeholder placeholder_of(ValueId id) {
  return {.id = id, .shape = Shape(DType::kF32, {3}), .where = {"filter.cc", 9}};
}

TEST(Bindings, ResolveGivesBuffersInParameterOrder) {
  Bindings bindings;
  const auto x = some_buffer(), y = some_buffer();
  bindings.bind(1, x);
  bindings.bind(2, y);
  const std::vector<Placeholder> parameters = {placeholder_of(2), placeholder_of(1),
                                               placeholder_of(2)};
  EXPECT_EQ(bindings.resolve(parameters, "f").value(), (std::vector{y, x, y}));
}

TEST(Bindings, AnUnboundPlaceholderIsNamed) {
  Bindings bindings;
  bindings.bind(1, some_buffer());
  const std::vector<Placeholder> parameters = {placeholder_of(1), placeholder_of(5)};
  const auto resolved = bindings.resolve(parameters, "filter");
  EXPECT_EQ(resolved.status(), unbound_error(placeholder_of(5), "filter"));
}

TEST(Bindings, TheLastBindingHolds) {
  Bindings bindings;
  bindings.bind(1, some_buffer());
  const auto second = some_buffer();
  bindings.bind(1, second);
  EXPECT_EQ(bindings.find(1), second);
  EXPECT_EQ(bindings.size(), 1u);
}

TEST(Bindings, ANullBufferUnbinds) {
  Bindings bindings;
  bindings.bind(1, some_buffer());
  bindings.bind(1, nullptr);
  EXPECT_EQ(bindings.find(1), nullptr);
  EXPECT_EQ(bindings.size(), 0u);
}

}  // namespace
}  // namespace heddle
