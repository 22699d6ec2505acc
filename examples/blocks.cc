// Samples come in blocks and go through a program that is compiled once for a device of your
// choice. The device uses the blocks' memory where it is, and each state takes the memory of the
// one before it. The program is a leaky integrator of 16 channels; a loop of C++ checks its result.
//
//   blocks [DEVICE [NAME=VALUE..]]     blocks pjrt:xla-cpu:1 xla_cpu_enable_fast_math=true
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/heddle.h"

using namespace heddle;

namespace {

constexpr int64_t kTime = 256, kChannels = 16, kBlocks = 8;

struct State {
  Tensor level;   // f32[channels]
  Tensor blocks;  // s32[], so far
  static constexpr auto kFields =
      fields(field("level", &State::level), field("blocks", &State::blocks));
};

// The state behind a block. samples: f32[time, channels].
State integrate(const State& state, Tensor samples) {
  auto step = [](Tensor level, Tensor x) { return std::pair(0.9f * level + x, None{}); };
  return {scan(step, state.level, samples).first, state.blocks + 1};
}

// As a driver would fill it, at a multiple of 64 bytes.
std::shared_ptr<float> make_block(int64_t number) {
  constexpr int64_t kSize = kTime * kChannels;
  std::shared_ptr<float> block(static_cast<float*>(std::aligned_alloc(64, kSize * sizeof(float))),
                               std::free);
  for (int64_t i = 0; i < kSize; ++i)
    block.get()[i] = std::sin(0.01f * static_cast<float>(number * kSize + i));
  return block;
}

float level_by_hand(int64_t channel) {
  float level = 0;
  for (int64_t number = 0; number < kBlocks; ++number) {
    const std::shared_ptr<float> block = make_block(number);
    for (int64_t t = 0; t < kTime; ++t) level = 0.9f * level + block.get()[t * kChannels + channel];
  }
  return level;
}

CompileOptions options_of(std::span<char*> arguments) {
  CompileOptions options;
  for (const std::string argument : arguments) {
    const size_t middle = argument.find('=');
    if (middle == std::string::npos) throw std::invalid_argument(argument + ": want NAME=VALUE");
    options.backend_options.push_back({argument.substr(0, middle), argument.substr(middle + 1)});
  }
  return options;
}

Literal last_level(const std::string& device, const CompileOptions& options) {
  // [compile]
  const State begin{placeholder({kChannels}, f32), placeholder({}, s32)};
  const auto step = trace(integrate, begin, placeholder({kTime, kChannels}, f32))
                        .compile(device, options)
                        .with({.donate = {0}});  // the state: level and blocks
  // [/compile]
  std::printf("compiled %s\n", to_string(step).c_str());
  // [lend]
  const DefaultDevice scope(step.device());
  State state{zeros({kChannels}), zeros({}, s32)};
  for (int64_t number = 0; number < kBlocks; ++number) {
    const std::shared_ptr<float> block = make_block(number);
    const Tensor samples =
        lend(std::span(block.get(), kTime * kChannels), {kTime, kChannels}, block);
    state = step(state, samples);  // the old state's memory is the new one's
  }
  HostCopy level = start_download(state.level);  // returns at once
  // [/lend]
  std::printf("%d blocks\n", state.blocks.item<int>());
  return level.await();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string device = argc > 1 ? argv[1] : "interpreter";
  const Literal level = last_level(device, options_of(arguments.subspan(argc > 2 ? 2 : argc)));
  double worst = 0;
  for (int64_t i = 0; i < kChannels; ++i)
    worst = std::max(worst, std::abs(level.to_double(i) - level_by_hand(i)));
  const Counters counted = counters();
  std::printf("%lld bytes lent, %lld uploaded; off by %.2g at most\n",
              static_cast<long long>(counted.aliased_bytes),
              static_cast<long long>(counted.upload_bytes), worst);
  return worst < 1e-5 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "blocks: %s\n", e.what());
  return 1;
}
