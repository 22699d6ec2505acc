// libtorch's eager operations and models, those of bench/eager.cc and bench/models.cc. Built and
// run by bench/eager_peers.py, from the C++ part of PyPI's wheel.
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "heddle/bench/peers/timing.h"

namespace {

using torch::Tensor;
constexpr char kWay[] = "libtorch";

void operations(double seconds) {
  const torch::NoGradGuard none;
  for (const int64_t size : {4, 4096}) {
    const Tensor y = torch::ones({size});
    peers::time(kWay, size == 4 ? "add of 4" : "add of 4096", "op", 1000, seconds, [&] {
      Tensor x = y;
      for (int i = 0; i < 1000; ++i) x = x + y;
    });
  }
  const Tensor x = torch::ones({4});
  double number = 1;
  peers::time(kWay, "x * new number", "op", 1000, seconds, [&] {
    for (int i = 0; i < 1000; ++i) (void)(x * (number += 1e-6));
  });
  const Tensor b = torch::ones({1024, 4});
  peers::time(kWay, "b[new index]", "op", 1024, seconds, [&] {
    for (int64_t i = 0; i < 1024; ++i) (void)b[i];
  });
  peers::time(kWay, "b[new index], copied", "op", 1024, seconds, [&] {
    for (int64_t i = 0; i < 1024; ++i) (void)b[i].clone();
  });
  const Tensor init = torch::zeros({}), xs = torch::ones({10});
  peers::time(kWay, "scan of 10", "call", 100, seconds, [&] {
    for (int i = 0; i < 100; ++i) {
      Tensor c = init;
      for (int64_t j = 0; j < 10; ++j) c = c + xs[j];
    }
  });
  const Tensor half = torch::full({}, 0.5f), which = half < 1;
  peers::time(kWay, "cond", "call", 100, seconds, [&] {
    for (int i = 0; i < 100; ++i) (void)(which.item<bool>() ? half + 1 : half);
  });
}

void dense(double seconds) {
  auto parameter = [](std::vector<int64_t> shape) {
    return (torch::randn(shape) * 0.1).set_requires_grad(true);
  };
  std::vector<Tensor> p{parameter({64, 128}), parameter({128}), parameter({128, 10}),
                        parameter({10})};
  const Tensor x = torch::randn({32, 64}), y = torch::randn({32, 10});
  const auto forward = [&] {
    return torch::matmul(torch::relu(torch::matmul(x, p[0]) + p[1]), p[2]) + p[3];
  };
  peers::time(kWay, "dense forward", "step", 100, seconds, [&] {
    const torch::NoGradGuard none;
    for (int i = 0; i < 100; ++i) (void)forward();
  });
  peers::time(kWay, "dense training", "step", 100, seconds, [&] {
    for (int i = 0; i < 100; ++i) {
      const Tensor loss = torch::mean(torch::square(forward() - y));
      const auto slopes = torch::autograd::grad({loss}, p);
      const torch::NoGradGuard none;
      for (size_t j = 0; j < p.size(); ++j) p[j].sub_(slopes[j] * 0.01);
    }
  });
}

void cell(double seconds) {
  const torch::NoGradGuard none;
  const Tensor w = torch::randn({16, 16}) * 0.2, u = torch::randn({16, 16}) * 0.2,
               x = torch::randn({1, 16});
  peers::time(kWay, "rnn cell", "step", 10000, seconds, [&] {
    Tensor h = torch::zeros({1, 16});
    for (int i = 0; i < 10000; ++i) h = torch::tanh(torch::matmul(x, w) + torch::matmul(h, u));
  });
  peers::time(kWay, "rnn dot", "step", 10000, seconds, [&] {
    Tensor h = torch::zeros({1, 16});
    for (int i = 0; i < 10000; ++i) h = torch::matmul(h, w);
  });
}

void decoder(double seconds) {
  const torch::NoGradGuard none;
  constexpr int64_t kLayers = 2, kWidth = 256, kHeads = 4, kHead = 64, kHidden = 512,
                    kTokens = 1024, kSteps = 300;
  struct Layer {
    Tensor norm, wq, wk, wv, wo, ffn_norm, gate, up, down;
  };
  const double scale = 1 / std::sqrt(double{kWidth});
  const auto weight = [&](int64_t n, int64_t m) { return torch::randn({n, m}) * scale; };
  const Tensor embedding = torch::randn({kTokens, kWidth});
  std::vector<Layer> layers;
  for (int64_t i = 0; i < kLayers; ++i) {
    layers.push_back({torch::ones({kWidth}), weight(kWidth, kWidth), weight(kWidth, kWidth),
                      weight(kWidth, kWidth), weight(kWidth, kWidth), torch::ones({kWidth}),
                      weight(kWidth, kHidden), weight(kWidth, kHidden), weight(kHidden, kWidth)});
  }
  const auto normed = [](const Tensor& x, const Tensor& w) {
    return x * torch::rsqrt(torch::mean(torch::square(x)) + 1e-5) * w;
  };
  peers::time(kWay, "decoder", "token", kSteps, seconds, [&] {
    std::vector<Tensor> keys, values;
    for (int64_t i = 0; i < kLayers; ++i) {
      keys.push_back(torch::zeros({kSteps, kHeads, kHead}));
      values.push_back(torch::zeros({kSteps, kHeads, kHead}));
    }
    Tensor token = torch::ones({}, torch::kLong);
    for (int64_t t = 0; t < kSteps; ++t) {
      Tensor x = embedding.index_select(0, token.reshape({1})).reshape({kWidth});
      for (size_t i = 0; i < layers.size(); ++i) {
        const Layer& layer = layers[i];
        const Tensor u = normed(x, layer.norm);
        const Tensor q = torch::matmul(u, layer.wq).reshape({kHeads, kHead});
        keys[i][t].copy_(torch::matmul(u, layer.wk).reshape({kHeads, kHead}));
        values[i][t].copy_(torch::matmul(u, layer.wv).reshape({kHeads, kHead}));
        // As ours: over all places, with later ones masked.
        Tensor scores = torch::einsum("hd,thd->ht", {q, keys[i]}) / std::sqrt(double{kHead});
        scores = torch::where(torch::arange(kSteps) <= t, scores, -1e30);
        const Tensor mixed = torch::einsum("ht,thd->hd", {torch::softmax(scores, -1), values[i]});
        x = x + torch::matmul(mixed.reshape({kWidth}), layer.wo);
        const Tensor v = normed(x, layer.ffn_norm);
        x = x +
            torch::matmul(torch::silu(torch::matmul(v, layer.gate)) * torch::matmul(v, layer.up),
                          layer.down);
      }
      token = torch::argmax(torch::matmul(embedding, x));
    }
    (void)token.item<int64_t>();
  });
}

struct BlockImpl : torch::nn::Module {
  BlockImpl(int64_t in, int64_t out)
      : first(conv(in, out, 3, in == out ? 1 : 2)),
        second(conv(out, out, 3, 1)),
        after_first(out),
        after_second(out) {
    register_module("first", first);
    register_module("second", second);
    register_module("after_first", after_first);
    register_module("after_second", after_second);
    if (in != out) shortcut = register_module("shortcut", conv(in, out, 1, 2));
  }
  static torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t size, int64_t stride) {
    return torch::nn::Conv2d(
        torch::nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false));
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = torch::relu(after_first(first(x)));
    return torch::relu(after_second(second(h)) + (shortcut ? shortcut(x) : x));
  }
  torch::nn::Conv2d first, second, shortcut{nullptr};
  torch::nn::BatchNorm2d after_first, after_second;
};
TORCH_MODULE(Block);

void resnet(double seconds) {
  torch::nn::Sequential net(BlockImpl::conv(3, 64, 3, 1), torch::nn::BatchNorm2d(64),
                            torch::nn::ReLU());
  int64_t in = 64;
  for (const int64_t out : {64, 64, 128, 128, 256, 256, 512, 512}) {
    net->push_back(Block(in, out));
    in = out;
  }
  net->push_back(torch::nn::AdaptiveAvgPool2d(1));
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(512, 10));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  const Tensor images = torch::randn({8, 3, 32, 32}), labels = torch::arange(8);
  peers::time(kWay, "resnet18 step", "step", 1, seconds, [&] {
    optimizer.zero_grad();
    const Tensor loss = torch::nn::functional::cross_entropy(net->forward(images), labels);
    loss.backward();
    optimizer.step();
    (void)loss.item<float>();
  });
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
  operations(seconds / 4);
  dense(seconds);
  cell(seconds);
  decoder(seconds);
  resnet(seconds);
  return 0;
}
