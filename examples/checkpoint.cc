// Training stops and goes on: one safetensors file has the parameters and the optimizer's state.
// The numbers are the same bits as without the stop.
#include <cstdio>
#include <filesystem>
#include <string>

#include "heddle/heddle.h"

using namespace heddle;

struct Params {
  Tensor w;  // f32[3]
  Tensor b;  // f32[]
  static constexpr auto kFields = fields(field("w", &Params::w), field("b", &Params::b));
};
struct State {
  Params params;
  optim::AdamState<Params> adam;
  static constexpr auto kFields =
      fields(field("params", &State::params), field("adam", &State::adam));
};

int main() {
  const auto adam = optim::adam({.learning_rate = 0.05});
  const Tensor xs = random::normal(random::key(1), {64, 3});
  const Tensor ys = matmul(xs, array({1.0f, -2.0f, 0.5f})) + 3;
  const auto loss = [](Params p, Tensor x, Tensor y) {
    const Tensor error = matmul(x, p.w) + p.b - y;
    return mean(error * error);
  };
  const auto step = compile([&](State s, Tensor x, Tensor y) {
    auto [params, moments] = adam.update(grad(loss)(s.params, x, y), s.adam, s.params);
    return State{params, moments};
  });
  const auto train = [&](State s, int steps) {
    for (int i = 0; i < steps; ++i) s = step(s, xs, ys);
    return s;
  };
  const Params zero{zeros(3), zeros({})};
  const State start{zero, adam.init(zero)};
  const State whole = train(start, 200);

  const std::string path =
      (std::filesystem::temp_directory_path() / "heddle_checkpoint.safetensors").string();
  // [resume]
  State state = train(start, 100);
  save_safetensors(path, state, {.metadata = {{"step", "100"}}});

  // Another day: `start` says what the file has to have.
  State again = load_safetensors(path, start);
  const int done = std::stoi(load_safetensors_metadata(path).at("step"));
  again = train(again, 200 - done);
  // [/resume]

  const bool same = again.params.w.to_literal() == whole.params.w.to_literal();
  std::printf("loss %.2e after 200 steps, %s as without a stop\n",
              loss(again.params, xs, ys).item<double>(), same ? "the same bits" : "not");
  for (const auto& [name, tensor] : load_safetensors(path))
    std::printf("  %-16s %s\n", name.c_str(), to_string(tensor.shape()).c_str());
  std::filesystem::remove(path);
  return same ? 0 : 1;
}
