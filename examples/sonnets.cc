// A small decoder learns to write sonnets, character by character: layers by scan_layers, gradients
// by value_and_grad, AdamW with a warm-up, all of it one compiled step whose memory is donated.
//
//   sonnets [OUTPUT_DIR] [STEPS]     prints the loss and a sample; writes sonnets.svg there
#include "heddle/examples/sonnets.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "heddle/examples/decoder.h"
#include "heddle/examples/plot.h"
#include "heddle/heddle.h"

using namespace heddle;
using namespace heddle::examples;

namespace {

constexpr Size kSize{.layers = 2, .d = 64, .ffn = 128, .heads = 4, .kv_heads = 4, .dh = 16};
constexpr int64_t kTime = 64, kBatch = 16;

// [model]
struct Model {
  Tensor characters;  // [characters, d], a vector for each
  Tensor places;      // [time, d]
  Layer layers;
  Tensor norm;     // [d]
  Tensor unembed;  // [d, characters]
  static constexpr auto kFields =
      fields(field("characters", &Model::characters), field("places", &Model::places),
             field("layers", &Model::layers), field("norm", &Model::norm),
             field("unembed", &Model::unembed));
};

// The logits of each next character. text: s32[batch, time].
Tensor logits(const Model& m, Tensor text) {
  const Tensor x = take(m.characters, text, 0) + m.places;
  return matmul(rms_norm(decode(kSize, m.layers, x), m.norm), m.unembed);
}

// text: s32[batch, time + 1].
Tensor loss(const Model& m, Tensor text) {
  const Tensor known = slice_in_dim(text, 0, kTime, 1, 1),
               next = slice_in_dim(text, 1, kTime + 1, 1, 1);
  return mean(nn::softmax_cross_entropy_with_integer_labels(logits(m, known), next));
}
// [/model]

Model make_model(int64_t characters, Tensor key) {
  int64_t number = 0;
  const auto normal = [&](Dimensions shape) {
    const double size = shape.size() < 2 ? 1 : static_cast<double>(shape[shape.size() - 2]);
    return random::normal(random::fold_in(key, number++), shape) / std::sqrt(size);
  };
  // Vectors that scale the result of a norm are 1.
  const auto of_layers = [&](Dimensions shape) {
    return shape.size() == 2 ? ones(shape) : normal(shape);
  };
  return {normal({characters, kSize.d}) * 6.0, normal({kTime, kSize.d}) * 6.0,
          make_layers(kSize, of_layers), ones({kSize.d}), normal({kSize.d, characters})};
}

// `count` characters after `text`, s32[time], each drawn from the model's distribution.
Tensor sample(const Model& m, Tensor text, Tensor key, int64_t count) {
  const auto step = [&](std::pair<Tensor, Tensor> now, None) {
    const auto [window, before] = now;
    const auto [next_key, drawn] = random::split<2>(before);
    const Tensor last = logits(m, reshape(window, {1, kTime}))[0][kTime - 1];
    const Tensor character = random::categorical(drawn, last / 0.6).astype(s32);
    const Tensor moved = concat({window[Slice{1, kTime}], reshape(character, {1})}, 0);
    return std::pair(std::pair(moved, next_key), character);
  };
  return scan(step, std::pair(text, key), None{}, {.length = count}).second;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 500;
  const std::string text = kSonnets;
  const std::set<char> alphabet(text.begin(), text.end());
  const std::string characters(alphabet.begin(), alphabet.end());
  std::vector<int32_t> numbers;
  for (char c : text) numbers.push_back(static_cast<int32_t>(characters.find(c)));
  const Tensor all = array(numbers);

  // [train]
  const auto optimizer =
      optim::adamw({.learning_rate = optim::warmup_cosine(1e-2, 20, std::max<int64_t>(steps, 21)),
                    .weight_decay = 0.1});
  const auto train = compile(
      [&](Model model, optim::AdamState<Model> state, Tensor text, Tensor key) {
        const Tensor starts = random::randint(key, {kBatch, 1}, 0, text.dim(0) - kTime);
        const Tensor batch = take(text, starts + arange(kTime + 1), 0);
        const auto [value, grads] = value_and_grad(loss)(model, batch);
        const auto [next, next_state] =
            optimizer.update(optim::clip_by_global_norm(grads, 1), state, model);
        return std::tuple(next, next_state, value);
      },
      {.name = "train", .donate = {0, 1}});

  Model model = make_model(static_cast<int64_t>(characters.size()), random::key(1));
  auto state = optimizer.init(model);
  const Tensor key = random::key(2);
  std::vector<Tensor> losses;
  for (int64_t i = 0; i < steps; ++i) {
    auto [next, next_state, value] = train(model, state, all, random::fold_in(key, i));
    model = next, state = next_state;
    losses.push_back(value);
    if (i % 50 == 0 || i + 1 == steps)
      std::printf("step %4lld  loss %.3f\n", static_cast<long long>(i), value.item<float>());
  }
  std::printf("%s\n", to_string(train.stats()).c_str());
  // [/train]

  const auto write =
      compile([](Model m, Tensor start, Tensor k) { return sample(m, start, k, 240); });
  std::string written;
  for (int number : write(model, all[Slice{0, kTime}], random::key(3)).to_vector<int>())
    written += characters[static_cast<size_t>(number)];
  std::printf("\n%s\n", written.c_str());

  const std::vector<double> curve = stack(losses).to_vector<double>();
  if (argc > 1) {
    std::vector<double> x;
    for (size_t i = 0; i < curve.size(); ++i) x.push_back(static_cast<double>(i));
    Plot plot("A decoder of 2 layers learns eight sonnets", "step", "loss, nats a character");
    plot.line(x, curve, "loss of a batch");
    plot.write(std::string(argv[1]) + "/sonnets.svg");
    std::printf("Wrote %s/sonnets.svg\n", argv[1]);
  }
  const bool has_learnt = steps < 500 || curve.back() < 1.5;
  return has_learnt && train.stats().graphs == 1 ? 0 : 1;
}
