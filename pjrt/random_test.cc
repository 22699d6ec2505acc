// Random calls, seeded: every value is the one that a model says, every misuse is an error, and at
// the end nothing is alive.
#include <optional>
#include <random>
#include <thread>

#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

constexpr int kCalls = 3000;

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
      switch (random() % 5) {
        case 0: check_download(x); break;
        case 1: EXPECT_EQ(x.buffer->await().ok(), x.values.has_value()); break;
        case 2:
          x.buffer->release();
          x.values.reset();
          break;
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
    runtime::Device& to = device();
    auto buffer = random() % 2 == 0 ? runtime::to_device(to, literal)
                                    : runtime::lend_to_device(to, literal.bytes(), literal.shape(),
                                                              literal.owner());
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return {*buffer, values};
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
    const auto results = program_->execute(std::vector{x.buffer, y.buffer}, options);
    ASSERT_EQ(results.ok(), is_legal) << results.status();
    if (!is_legal) return;
    std::vector<float> sum = {(*x.values)[0] + (*y.values)[0], (*x.values)[1] + (*y.values)[1]};
    if (!options.donate.empty()) x.values.reset();
    if (sum[0] < 1e6f) models.push_back({(*results)[0], std::move(sum)});
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
  for (uint32_t seed = 1; seed <= 3; ++seed) call(seed);
}

TEST_F(RandomCalls, GiveWhatTheModelSaysWhereThePluginIsAsynchronous) {
  start({.compile = evaluated, .asynchronous = true});
  throttle_of(device())->set_limits({.launches = 4});
  program_ = compiled(add_module());
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 3; ++seed) threads.emplace_back([this, seed] { call(seed); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heddle::pjrt
