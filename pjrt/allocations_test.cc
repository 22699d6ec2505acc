// A run that is repeated asks the system for no memory: counted by this program's operator new,
// without the mock's own.
#include <cstdlib>
#include <new>

#include "heddle/pjrt/support_test.h"

namespace {

// Of this thread; negative: not counted.
thread_local int64_t allocations = -1;
thread_local bool is_inside_plugin = false;

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  if (allocations >= 0 && !is_inside_plugin) ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace heddle::pjrt {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kBlocksAreKept = false;  // so that the sanitizers see each block's end
#else
constexpr bool kBlocksAreKept = true;
#endif

template <class Fn>
int64_t allocations_of(const Fn& fn) {
  allocations = 0;
  fn();
  return std::exchange(allocations, -1);
}

class Allocations : public MockTest {
 protected:
  void SetUp() override {
    if (!kBlocksAreKept) GTEST_SKIP() << "memory is not used again under a sanitizer";
    start({.compile = evaluated, .crossing = [](bool inside) { is_inside_plugin = inside; }});
  }
};

TEST_F(Allocations, AreCounted) {
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(40)); }), 1);
  EXPECT_EQ(allocations_of([] {}), 0);
}

TEST_F(Allocations, ARepeatedRunMakesNone) {
  const auto program = compiled(add_module());
  std::vector<BufferPtr> arguments = {on_device({1, 2}), on_device({10, 20})};
  std::vector<BufferPtr> results(1);
  const auto step = [&] {
    ASSERT_TRUE(program->execute_into(arguments, results).ok());
    ASSERT_TRUE(results[0]->await().ok());
    ASSERT_TRUE(results[0]->is_ready());
  };
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 100; ++i) step();
            }),
            0);
}

TEST_F(Allocations, ARunIntoItsOwnArgumentMakesNone) {
  const auto program = compiled(add_module());
  std::vector<BufferPtr> state = {on_device({0, 0}), on_device({1, 1})};
  const auto step = [&] {
    ASSERT_TRUE(program->execute_into(state, std::span(state).first(1)).ok());
  };
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 100; ++i) step();
            }),
            0);
  EXPECT_THAT(*floats_of(*state[0]), ::testing::ElementsAre(103, 103));
}

TEST_F(Allocations, ALoanOrAnUploadOfTheSameTypeMakesNone) {
  const Literal one = vector_of({1, 2, 3});
  const std::shared_ptr<const void> owner = one.owner();
  const auto lend = [&] {
    ASSERT_TRUE(runtime::lend_to_device(device(), one.bytes(), one.shape(), owner).ok());
  };
  const auto upload = [&] { ASSERT_TRUE(runtime::to_device(device(), one).ok()); };
  for (int i = 0; i < 3; ++i) lend(), upload();
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 100; ++i) lend(), upload();
            }),
            0);
}

}  // namespace
}  // namespace heddle::pjrt
