// Random calls, seeded: every value is the one that a model says, every misuse is an error, and at
// the end nothing is alive. HEDDLE_RANDOM_SECONDS=600 makes each test that long, with ever new
// seeds; without it they take a moment.
#include <chrono>
#include <optional>
#include <random>
#include <thread>

#include "heddle/base/settings.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/dlpack.h"

namespace heddle::pjrt {
namespace {

constexpr int kCalls = 3000;

// How long the tests go on. 0: three seeds.
std::chrono::seconds length() {
  return std::chrono::seconds(setting<Setting::kRandomSeconds>());
}

// Calls run(seed) with seeds of this thread's until the time is over, and once at least.
template <class Run>
void for_seeds(uint32_t first, uint32_t step, const Run& run) {
  const auto end = std::chrono::steady_clock::now() + length();
  uint32_t seed = first;
  do {
    SCOPED_TRACE(seed);
    run(seed);
    seed += step;
  } while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure());
}

// Buffers with what they must hold; nothing: given away or released.
struct Model {
  BufferPtr buffer;
  std::optional<std::vector<float>> values;
};

class RandomCalls : public MockTest {
 protected:
  // One thread's calls on its own buffers.
  void call(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Model> models;
    for (int i = 0; i < kCalls; ++i) {
      if (models.size() > 20) models.erase(models.begin() + random() % models.size());
      if (models.empty() || random() % 4 == 0) {
        models.push_back(uploaded(random));
        continue;
      }
      Model& x = models[random() % models.size()];
      switch (random() % 12) {
        case 0: check_download(x); break;
        case 1: EXPECT_EQ(runtime::wait(*x.buffer).ok(), x.values.has_value()); break;
        case 2: release(x); break;
        case 3: check_late_download(x, random); break;
        case 4: check_view(x, random); break;
        case 5:
          if (random() % 10 == 0) synchronize(device());
          break;
        case 6: EXPECT_EQ(x.buffer->is_deleted(), !x.values.has_value()); break;
        default: run(x, models[random() % models.size()], random, models);
      }
    }
    for (const Model& model : models) check_download(model);
  }

 private:
  Model uploaded(std::mt19937& random) {
    const std::vector<float> values = {static_cast<float>(random() % 10),
                                       static_cast<float>(random() % 10)};
    const Literal literal = vector_of(values);
    const auto buffer = upload(literal, random);
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return {*buffer, values};
  }

  StatusOr<BufferPtr> upload(const Literal& literal, std::mt19937& random) {
    switch (random() % 4) {
      case 0: return runtime::to_device(device(), literal);
      case 1: {
        const float* values = literal.values<float>().data();
        const float backwards[] = {values[1], values[0]};
        return runtime::to_device(
            device(), runtime::StridedArray{
                          .data = backwards + 1, .shape = literal.shape(), .byte_strides = {-4}});
      }
      case 2: {
        const BufferPtr other = runtime::to_device(device(), literal).value();
        return runtime::from_dlpack(device(), runtime::to_dlpack(*other).value());
      }
      default:
        return runtime::lend_to_device(device(), literal.bytes(), literal.shape(), literal.owner());
    }
  }

  // A run, a view or a download that was started may go on.
  static void release(Model& model) {
    model.buffer->release();
    model.values.reset();
  }

  static void check_late_download(Model& model, std::mt19937& random) {
    auto download = runtime::start_to_host(*model.buffer);
    ASSERT_EQ(download.ok(), model.values.has_value()) << download.status();
    if (!download.ok()) return;
    const std::vector<float> values = *model.values;
    if (random() % 2 == 0) release(model);
    if (random() % 4 == 0) return;  // dropped
    const auto got = download->await();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, vector_of(values));
  }

  static void check_view(Model& model, std::mt19937& random) {
    const auto view = runtime::view_on_host(*model.buffer);
    ASSERT_EQ(view.ok(), model.values.has_value()) << view.status();
    if (!view.ok()) return;
    const std::vector<float> values = *model.values;
    if (random() % 2 == 0) release(model);
    EXPECT_EQ(*view, vector_of(values));
  }

  static void check_download(const Model& model) {
    const auto got = floats_of(*model.buffer);
    ASSERT_EQ(got.ok(), model.values.has_value()) << got.status();
    EXPECT_TRUE(!got.ok() || *got == *model.values);
  }

  void run(Model& x, Model& y, std::mt19937& random, std::vector<Model>& models) {
    runtime::ExecuteOptions options;
    if (random() % 3 == 0) options.donate = {0};
    const bool is_legal = x.values.has_value() && y.values.has_value() &&
                          (options.donate.empty() || x.buffer != y.buffer);
    options.only_if_room = random() % 4 == 0;
    std::vector<BufferPtr> results(1);
    const Status status = program_->execute_into(std::vector{x.buffer, y.buffer}, results, options);
    if (options.only_if_room && status.code() == StatusCode::kUnavailable) return;
    ASSERT_EQ(status.ok(), is_legal) << status;
    if (!is_legal) return;
    std::vector<float> sum = {(*x.values)[0] + (*y.values)[0], (*x.values)[1] + (*y.values)[1]};
    if (!options.donate.empty()) x.values.reset();
    if (sum[0] < 1e6f) models.push_back({results[0], std::move(sum)});
  }

 protected:
  void TearDown() override {
    program_.reset();
    MockTest::TearDown();
  }
  std::shared_ptr<Executable> program_;
};

TEST_F(RandomCalls, GiveWhatTheModelSays) {
  start(with_evaluator());
  program_ = compiled(add_module());
  for_seeds(1, 3, [this](uint32_t seed) {
    for (uint32_t i = 0; i < 3; ++i) call(seed + i);
  });
}

TEST_F(RandomCalls, GiveWhatTheModelSaysWhereThePluginIsAsynchronous) {
  start({.compile = evaluated, .asynchronous = true});
  device().throttle().set_limits({.launches = 4, .bytes = 40});
  program_ = compiled(add_module());
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back(
        [this, seed] { for_seeds(seed, 3, [this](uint32_t next) { call(next); }); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heddle::pjrt
