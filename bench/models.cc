// Whole models in three ways: each op at once, the step compiled by compile(fn), and the raw
// program of it, called by itself. The ways take turns, so that a busy machine is as slow for all
// of them; results must be equal. One JSON line for each way goes to stdout; bench/eager_peers.py
// runs this beside libtorch and MLX.
//
//   bench_models [seconds a way [model [way]]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/peers/timing.h"
#include "heddle/heddle.h"

namespace {

using namespace heddle;

// ----- a decoder: one token in, one token out, with a cache of keys and values

constexpr int64_t kLayers = 2, kWidth = 256, kHeads = 4, kHead = kWidth / kHeads, kHidden = 512,
                  kTokens = 1024, kSteps = 300;

struct Layer {
  Tensor norm, wq, wk, wv, wo, ffn_norm, gate, up, down;
  static constexpr auto kFields =
      fields(field("norm", &Layer::norm), field("wq", &Layer::wq), field("wk", &Layer::wk),
             field("wv", &Layer::wv), field("wo", &Layer::wo), field("ffn_norm", &Layer::ffn_norm),
             field("gate", &Layer::gate), field("up", &Layer::up), field("down", &Layer::down));
};
struct Decoder {
  Tensor embedding;  // [tokens, width]
  std::vector<Layer> layers;
  static constexpr auto kFields =
      fields(field("embedding", &Decoder::embedding), field("layers", &Decoder::layers));
};
struct Cache {
  Tensor keys, values;  // [steps, heads, head]
  static constexpr auto kFields =
      fields(field("keys", &Cache::keys), field("values", &Cache::values));
};
struct Reading {
  Tensor token, position;  // s32[]
  std::vector<Cache> caches;
  static constexpr auto kFields =
      fields(field("token", &Reading::token), field("position", &Reading::position),
             field("caches", &Reading::caches));
};

Tensor normed(const Tensor& x, const Tensor& weight) {
  return x * rsqrt(mean(square(x)) + 1e-5) * weight;
}

Tensor attended(const Layer& layer, const Tensor& x, const Tensor& position, Cache& cache) {
  const Tensor q = reshape(matmul(x, layer.wq), {kHeads, kHead});
  const Tensor k = reshape(matmul(x, layer.wk), {1, kHeads, kHead});
  const Tensor v = reshape(matmul(x, layer.wv), {1, kHeads, kHead});
  // In place, if nobody else has the cache.
  cache.keys = dynamic_update_slice(std::move(cache.keys), k, {position, 0, 0});
  cache.values = dynamic_update_slice(std::move(cache.values), v, {position, 0, 0});
  const Tensor scores = einsum("hd,thd->ht", q, cache.keys) / std::sqrt(double{kHead});
  const Tensor weights = softmax(where(arange(kSteps) <= position, scores, -1e30), -1);
  return matmul(reshape(einsum("ht,thd->hd", weights, cache.values), {kWidth}), layer.wo);
}

Reading next_token(const Decoder& decoder, Reading at) {
  Tensor x = take(decoder.embedding, at.token, 0);
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    const Layer& layer = decoder.layers[i];
    x = x + attended(layer, normed(x, layer.norm), at.position, at.caches[i]);
    const Tensor u = normed(x, layer.ffn_norm);
    x = x + matmul(nn::silu(matmul(u, layer.gate)) * matmul(u, layer.up), layer.down);
  }
  at.token = argmax(matmul(decoder.embedding, x));
  at.position = at.position + 1;
  return at;
}

class Random {
 public:
  Tensor operator()(const std::vector<int64_t>& shape, double scale) {
    return random::normal(random::key(++seed_), shape) * scale;
  }

 private:
  int64_t seed_ = 0;
};

Decoder make_decoder() {
  Random random;
  const double scale = 1 / std::sqrt(double{kWidth});
  Decoder decoder{random({kTokens, kWidth}, 1), {}};
  for (int64_t i = 0; i < kLayers; ++i) {
    decoder.layers.push_back({ones({kWidth}), random({kWidth, kWidth}, scale),
                              random({kWidth, kWidth}, scale), random({kWidth, kWidth}, scale),
                              random({kWidth, kWidth}, scale), ones({kWidth}),
                              random({kWidth, kHidden}, scale), random({kWidth, kHidden}, scale),
                              random({kHidden, kWidth}, scale)});
  }
  return decoder;
}

Reading start() {
  Reading at{scalar(1), scalar(0), {}};
  for (int64_t i = 0; i < kLayers; ++i)
    at.caches.push_back({zeros({kSteps, kHeads, kHead}), zeros({kSteps, kHeads, kHead})});
  return at;
}

// The tokens of 300 steps.
std::vector<int> read_with(const std::function<Reading(Reading)>& step) {
  std::vector<Tensor> tokens;
  Reading at = start();
  for (int64_t i = 0; i < kSteps; ++i) {
    at = step(std::move(at));
    tokens.push_back(at.token);
  }
  return stack(tokens).to_vector<int>();
}

// ----- a ResNet-18 (He et al. 2016) for small images, channels last, and a step of its training

struct Norm {
  Tensor scale, bias;
  static constexpr auto kFields = fields(field("scale", &Norm::scale), field("bias", &Norm::bias));
};
struct Block {
  Tensor first, second;
  Norm after_first, after_second;
  std::optional<Tensor> shortcut;
  static constexpr auto kFields =
      fields(field("first", &Block::first), field("second", &Block::second),
             field("after_first", &Block::after_first), field("after_second", &Block::after_second),
             field("shortcut", &Block::shortcut));
};
struct ResNet {
  Tensor stem;
  Norm after_stem;
  std::vector<Block> blocks;
  Tensor out, out_bias;
  static constexpr auto kFields =
      fields(field("stem", &ResNet::stem), field("after_stem", &ResNet::after_stem),
             field("blocks", &ResNet::blocks), field("out", &ResNet::out),
             field("out_bias", &ResNet::out_bias));
};

Tensor batch_normed(const Tensor& x, const Norm& norm) {
  const Tensor middle = mean(x, {.axes = {0, 1, 2}, .keep_dims = true});
  const Tensor spread = mean(square(x - middle), {.axes = {0, 1, 2}, .keep_dims = true});
  return (x - middle) * rsqrt(spread + 1e-5) * norm.scale + norm.bias;
}

Tensor convolved(const Tensor& x, const Tensor& kernel, int64_t stride) {
  return conv(x, kernel, {.strides = {stride, stride}, .padding = WindowPadding::kSame});
}

Tensor forward(const ResNet& net, const Tensor& images) {
  Tensor x = nn::relu(batch_normed(convolved(images, net.stem, 1), net.after_stem));
  for (size_t i = 0; i < net.blocks.size(); ++i) {
    const Block& block = net.blocks[i];
    const int64_t stride = block.shortcut ? 2 : 1;
    Tensor h = nn::relu(batch_normed(convolved(x, block.first, stride), block.after_first));
    h = batch_normed(convolved(h, block.second, 1), block.after_second);
    x = nn::relu(h + (block.shortcut ? convolved(x, *block.shortcut, stride) : x));
  }
  return matmul(mean(x, {.axes = {1, 2}}), net.out) + net.out_bias;
}

Tensor loss_of(const ResNet& net, const Tensor& images, const Tensor& labels) {
  return mean(nn::softmax_cross_entropy_with_integer_labels(forward(net, images), labels));
}

ResNet make_resnet() {
  Random random;
  const auto norm = [](int64_t n) { return Norm{ones({n}), zeros({n})}; };
  const auto kernel = [&](int64_t size, int64_t in, int64_t out) {
    return random({size, size, in, out}, std::sqrt(2.0 / static_cast<double>(size * size * in)));
  };
  ResNet net{kernel(3, 3, 64), norm(64), {}, random({512, 10}, 0.05), zeros({10})};
  int64_t in = 64;
  for (const int64_t out : {64, 64, 128, 128, 256, 256, 512, 512}) {
    Block block{kernel(3, in, out), kernel(3, out, out), norm(out), norm(out), std::nullopt};
    if (in != out) block.shortcut = kernel(1, in, out);
    net.blocks.push_back(std::move(block));
    in = out;
  }
  return net;
}

// ----- two dense layers, and a recurrent cell

struct Dense {
  Tensor w, b, v, c;
  static constexpr auto kFields = fields(field("w", &Dense::w), field("b", &Dense::b),
                                         field("v", &Dense::v), field("c", &Dense::c));
};
Tensor dense(const Dense& p, const Tensor& x) {
  return matmul(nn::relu(matmul(x, p.w) + p.b), p.v) + p.c;
}
Tensor dense_loss(const Dense& p, const Tensor& x, const Tensor& y) {
  return mean(square(dense(p, x) - y));
}
struct Trained {
  Tensor loss;
  Dense next;
  static constexpr auto kFields =
      fields(field("loss", &Trained::loss), field("next", &Trained::next));
};
Trained trained(const Dense& p, const Tensor& x, const Tensor& y) {
  static const Function kLoss("dense_loss", dense_loss);
  const auto [loss, slope] = value_and_grad(kLoss)(p, x, y);
  return {loss,
          {p.w - slope.w * 0.01, p.b - slope.b * 0.01, p.v - slope.v * 0.01, p.c - slope.c * 0.01}};
}

Tensor cell(const Tensor& h, const Tensor& x, const Tensor& w, const Tensor& u) {
  return tanh(matmul(x, w) + matmul(h, u));
}

// ----- ways, in turns

using peers::Clock;

// What to time, and how long; empty: all of them.
struct Options {
  double seconds = 1;
  std::string model = {}, way = {};
};

struct Way {
  std::string name;
  std::function<std::vector<double>()> run;  // once; what it found
  peers::Times times = {};
};

bool are_near(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::abs(x - y) <= 1e-3 * std::max(1.0, std::abs(y));
  });
}

// Prints a line a way: the least and the median time of `units`.
bool take_turns(const char* model, double units, const char* unit, std::vector<Way> ways,
                const Options& options) {
  if (!options.model.empty() && options.model != model) return true;
  if (!options.way.empty())
    std::erase_if(ways, [&](const Way& way) { return way.name != options.way; });
  if (ways.empty()) return true;
  const std::vector<double> want = ways.back().run();  // and the compiled one too
  bool is_right = true;
  for (Way& way : ways) {
    if (are_near(way.run(), want)) continue;
    std::fprintf(stderr, "%s: %s gives something else\n", model, way.name.c_str());
    is_right = false;
  }
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         options.seconds * static_cast<double>(ways.size())));
  for (int round = 0; round < 5 || Clock::now() < end; ++round) {
    for (Way& way : ways) peers::time_once(way.times, [&] { (void)way.run(); });
  }
  for (const Way& way : ways) peers::print(way.name.c_str(), model, unit, units, way.times);
  return is_right;
}

bool time_decoder(const Options& options) {
  const Decoder decoder = make_decoder();
  const auto compiled = compile(next_token, {.name = "next_token"});
  const auto raw = trace(next_token, decoder, start()).compile();
  const auto donating = raw.with({.donate = {"arg1.caches"}});
  const auto way = [](auto step) {
    return [step] {
      const std::vector<int> tokens = read_with(step);
      return std::vector<double>(tokens.begin(), tokens.end());
    };
  };
  return take_turns("decoder", kSteps, "token",
                    {{"traced anew", way([&](const Reading& at) {
                        return trace(next_token, decoder, at)(decoder, at);
                      })},
                     {"eager", way([&](const Reading& at) { return next_token(decoder, at); })},
                     {"eager, cache given away",
                      way([&](Reading at) { return next_token(decoder, std::move(at)); })},
                     {"compiled", way([&](const Reading& at) { return compiled(decoder, at); })},
                     {"raw program, cache given away",
                      way([&](const Reading& at) { return donating(decoder, at); })},
                     {"raw program", way([&](const Reading& at) { return raw(decoder, at); })}},
                    options);
}

bool time_resnet(const Options& options) {
  Random random;
  const ResNet net = make_resnet();
  const Tensor images = random({8, 32, 32, 3}, 1);
  const Tensor labels = array({0, 1, 2, 3, 4, 5, 6, 7});
  const auto optimizer = optim::momentum({.learning_rate = 0.01});
  const auto state = optimizer.init(net);
  const Function loss("loss", loss_of);
  const auto step = [&](const ResNet& params, const Tensor& x, const Tensor& y) {
    const auto [value, slope] = value_and_grad(loss)(params, x, y);
    return std::pair(value, optimizer.update(slope, state, params).first);
  };
  const auto compiled = compile(step, {.name = "train"});
  const auto raw = trace(step, net, images, labels).compile();
  const auto found = [](const std::pair<Tensor, ResNet>& next) {
    next.second.stem.wait();
    const std::vector<double> bias = next.second.out_bias.to_vector<double>();
    std::vector<double> all{next.first.item<double>()};
    all.insert(all.end(), bias.begin(), bias.end());
    return all;
  };
  return take_turns("resnet18 step", 1, "step",
                    {{"eager", [&] { return found(step(net, images, labels)); }},
                     {"compiled", [&] { return found(compiled(net, images, labels)); }},
                     {"raw program", [&] { return found(raw(net, images, labels)); }}},
                    options);
}

bool time_small(const Options& options) {
  Random random;
  const Dense p{random({64, 128}, 0.1), zeros({128}), random({128, 10}, 0.1), zeros({10})};
  const Tensor x = random({32, 64}, 1), y = random({32, 10}, 1);
  constexpr int kRuns = 100;
  const auto forward_way = [&](auto f) {
    return [&p, &x, f] {
      Tensor last;
      for (int i = 0; i < kRuns; ++i) last = f(p, x);
      return last.to_vector<double>();
    };
  };
  const auto compiled = compile(dense);
  bool is_right =
      take_turns("dense forward", kRuns, "step",
                 {{"eager", forward_way(dense)}, {"compiled", forward_way(compiled)}}, options);
  const auto training_way = [&](auto f) {
    return [&p, &x, &y, f] {
      Trained at{Tensor(), p};
      for (int i = 0; i < kRuns; ++i) at = f(at.next, x, y);
      return std::vector<double>{at.loss.template item<double>()};
    };
  };
  const auto compiled_step = compile(trained);
  is_right &= take_turns(
      "dense training", kRuns, "step",
      {{"eager", training_way(trained)}, {"compiled", training_way(compiled_step)}}, options);
  const Tensor w = random({16, 16}, 0.2), u = random({16, 16}, 0.2), at = random({1, 16}, 1);
  constexpr int kCells = 10'000;
  const auto loop = [&](auto f) {
    return [&, f] {
      Tensor h = zeros({1, 16});
      for (int i = 0; i < kCells; ++i) h = f(h, at, w, u);
      return h.to_vector<double>();
    };
  };
  const auto compiled_cell = compile(cell);
  is_right &= take_turns("rnn cell", kCells, "step",
                         {{"eager", loop(cell)}, {"compiled", loop(compiled_cell)}}, options);
  const auto dots = [&](const Tensor& h, const Tensor&, const Tensor& a, const Tensor&) {
    return matmul(h, a);
  };
  return take_turns("rnn dot", kCells, "step", {{"eager", loop(dots)}}, options) && is_right;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (count > 1) options.seconds = std::atof(arguments[1]);
  if (count > 2) options.model = arguments[2];
  if (count > 3) options.way = arguments[3];
  const bool small = time_small(options), decoder = time_decoder(options);
  return time_resnet(options) && small && decoder ? 0 : 1;
}
