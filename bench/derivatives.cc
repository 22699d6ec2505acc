// Derivatives by Heddle beside those by JAX of the same function, both compiled by the native
// backend. They take turns in one process, on the same inputs, and must agree with each other and
// with JAX's results. The bar is 1.05 times JAX's. Before that, gradients of scans of N steps
// that read or write few elements of an array of N: ns / N, the same for any N.
//
//   bench_derivatives [PROGRAMS]      folders with JAX's HLO; default ../shared/peers/programs
//     --only=NAME                     one of them; "steps": the scans
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/tests/support/few_elements.h"
#include "heddle/tools/bench/measure.h"

namespace {

using namespace heddle;

// The gradient of the sum of the last carry, by the first one: scalars that their neighbours drive.
Program leafgrad(int64_t leaves) {
  using Scalars = std::vector<Tensor>;
  const auto loss = [](const Scalars& start) {
    const auto step = [](const Scalars& x, None) {
      Scalars next;
      const size_t n = x.size();
      for (size_t i = 0; i < n; ++i)
        next.push_back(x[i] + (sin(x[(i + n - 1) % n]) - x[i] * x[(i + 1) % n]) * 0.01);
      return std::pair(next, None{});
    };
    const Scalars last = scan(step, start, None{}, {.length = 614}).first;
    Tensor total = last[0];
    for (size_t i = 1; i < last.size(); ++i) total = total + last[i];
    return total;
  };
  return trace(grad(loss), Scalars(static_cast<size_t>(leaves), placeholder({}, f32)));
}

// A step of training a decoder of 4 layers with Adam.
constexpr int64_t kLayers = 4, kModel = 512, kHeads = 8, kHead = kModel / kHeads, kWide = 1376,
                  kWords = 4096, kBatch = 4, kTime = 128;

struct Layer {
  Tensor norm_1, qkv, out, norm_2, gate, up, down;
  static constexpr auto kFields =
      fields(field("norm_1", &Layer::norm_1), field("qkv", &Layer::qkv), field("out", &Layer::out),
             field("norm_2", &Layer::norm_2), field("gate", &Layer::gate), field("up", &Layer::up),
             field("down", &Layer::down));
};
struct Model {
  Tensor embed, unembed, norm;
  Layer layers;
  static constexpr auto kFields =
      fields(field("embed", &Model::embed), field("unembed", &Model::unembed),
             field("norm", &Model::norm), field("layers", &Model::layers));
};

Model model_types() {
  const auto of = [](Dimensions sizes) { return placeholder(std::move(sizes), f32); };
  return {of({kWords, kModel}),
          of({kModel, kWords}),
          of({kModel}),
          {of({kLayers, kModel}), of({kLayers, kModel, 3 * kModel}), of({kLayers, kModel, kModel}),
           of({kLayers, kModel}), of({kLayers, kModel, kWide}), of({kLayers, kModel, kWide}),
           of({kLayers, kWide, kModel})}};
}

Tensor norm(Tensor x, Tensor scale) {
  return x * rsqrt(mean(square(x), {.axes = {-1}, .keep_dims = true}) + 1e-5) * scale;
}

// Turns pairs of features by the angle of their place.
struct Turn {
  Tensor cosine, sine;  // [1, time, 1, kHead / 2]
  Tensor operator()(Tensor x) const {
    const Tensor a = slice_in_dim(x, 0, kHead / 2, 1, -1),
                 b = slice_in_dim(x, kHead / 2, kHead, 1, -1);
    return concat({a * cosine - b * sine, a * sine + b * cosine}, -1);
  }
};

Tensor loss_of(const Model& m, Tensor words) {  // s32[batch, time + 1]
  const Tensor rates = power(10000.0f, -arange(kHead / 2, f32) / (kHead / 2.0));
  const Tensor angles = outer(arange(kTime, f32), rates);
  const auto wide = [](Tensor x) { return reshape(x, {1, kTime, 1, kHead / 2}); };
  const Turn turn{wide(cos(angles)), wide(sin(angles))};
  const Tensor is_past = expand_dims(arange(kTime), 1) >= expand_dims(arange(kTime), 0);
  const auto layer = [&](Layer l, Tensor x) {
    const Tensor all = matmul(norm(x, l.norm_1), l.qkv);
    const auto part = [&](int64_t i) {
      return reshape(slice_in_dim(all, i * kModel, (i + 1) * kModel, 1, -1),
                     {kBatch, kTime, kHeads, kHead});
    };
    const Tensor scores = einsum("bqhd,bkhd->bhqk", turn(part(0)), turn(part(1))) * 0.125;
    const Tensor weights = softmax(where(is_past, scores, -1e30), -1);
    const Tensor seen = einsum("bhqk,bkhd->bqhd", weights, part(2));
    x = x + matmul(reshape(seen, {kBatch, kTime, kModel}), l.out);
    const Tensor u = norm(x, l.norm_2);
    return x + matmul(nn::silu(matmul(u, l.gate)) * matmul(u, l.up), l.down);
  };
  const Tensor known = slice_in_dim(words, 0, kTime, 1, 1),
               next = slice_in_dim(words, 1, kTime + 1, 1, 1);
  const Tensor last = scan_layers(layer, m.layers, take(m.embed, known, 0));
  const Tensor logits = matmul(norm(last, m.norm), m.unembed);
  return mean(nn::softmax_cross_entropy_with_integer_labels(logits, next));
}

Program llama_step() {
  const Model types = model_types();
  return trace(
      [](Model model, Model mean, Model square, Tensor step, Tensor words) {
        const auto [loss, grads] = value_and_grad(loss_of)(model, words);
        const optim::AdamState<Model> state{step.astype(s32), mean, square};
        const auto [next, now] = optim::adam({.learning_rate = 1e-4}).update(grads, state, model);
        return std::tuple(next, now.mean, now.square, now.step.astype(f32), loss);
      },
      types, types, types, placeholder({}, f32), placeholder({kBatch, kTime + 1}, s32));
}

struct Peer {
  std::string name;
  Program (*ours)();
};
const Peer kPeers[] = {{"leafgrad_4", [] { return leafgrad(4); }},
                       {"leafgrad_16", [] { return leafgrad(16); }},
                       {"leafgrad_60", [] { return leafgrad(60); }},
                       {"leafgrad_80", [] { return leafgrad(80); }},
                       {"llama_train_b4_l4", llama_step}};

// Prints one line. Returns whether both ran and agree.
bool compare(const Peer& peer, const std::string& folder, const tools::BenchTimes& times) {
  const auto program = tools::load_bench_program(folder);
  if (!program.ok()) {
    std::printf("%-18s %s\n", peer.name.c_str(), base::message_of(program.status()).c_str());
    return false;
  }
  tools::BenchBackend jax = *tools::open_bench_backend("cpu"), ours = jax;
  jax.name = "JAX's HLO", ours.name = "Heddle's";
  ours.instead = std::make_shared<const hlo::Module>(peer.ours().lowered().module());
  const std::vector<tools::Measurement> found = tools::measure(*program, {jax, ours}, times);
  for (const tools::Measurement& each : found) {
    if (each.agrees && each.call_ns_min) continue;
    std::printf("%-18s %s: %s\n", peer.name.c_str(), each.backend.c_str(), each.error.c_str());
    return false;
  }
  const auto us = [](std::optional<double> ns) { return *ns / 1e3; };
  std::printf("%-18s %12.1f %12.1f %12.1f %12.1f %8.3fx %8.3fx %11.1f %11.1f\n", peer.name.c_str(),
              us(found[0].call_ns_min), us(found[0].call_ns_median), us(found[1].call_ns_min),
              us(found[1].call_ns_median), *found[1].call_ns_min / *found[0].call_ns_min,
              *found[1].call_ns_median / *found[0].call_ns_median,
              static_cast<double>(found[0].peak_bytes.value_or(0)) / 1e6,
              static_cast<double>(found[1].peak_bytes.value_or(0)) / 1e6);
  std::fflush(stdout);
  return true;
}

// The least time of a call of each program.
std::vector<double> ns_in_turns(const std::vector<Program>& programs, const std::vector<Tensor>& xs,
                                int rounds) {
  std::vector<double> least(programs.size(), INFINITY);
  for (int round = 0; round <= rounds; ++round) {  // the first one compiles
    for (size_t i = 0; i < programs.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      (void)programs[i].call<Tensor>(xs[i]).item<double>();
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - start;
      if (round > 0) least[i] = std::min(least[i], took.count());
    }
  }
  return least;
}

void print_steps(const std::vector<int64_t>& sizes, int rounds) {
  std::printf("ns / N              ");
  for (const char* what : {"scan, N =", "gradient, N ="}) {
    for (int64_t n : sizes) std::printf(" %13s %6lld", what, static_cast<long long>(n));
  }
  std::printf("\n");
  std::vector<few_elements::Loss> losses(std::begin(few_elements::kLosses),
                                         std::end(few_elements::kLosses));
  losses.insert(losses.end(), std::begin(few_elements::kLossesOfValues),
                std::end(few_elements::kLossesOfValues));
  for (const few_elements::Loss& loss : losses) {
    std::vector<Program> programs;
    std::vector<Tensor> xs;
    const auto add = [&](const auto& fn) {
      for (int64_t n : sizes) {
        xs.push_back(0.1 * sin(arange(n, f64)));
        programs.push_back(trace(fn, xs.back()));
      }
    };
    add(loss.run);
    add([run = loss.run](const Tensor& x) { return sum(grad(run)(x)); });
    const std::vector<double> ns = ns_in_turns(programs, xs, rounds);
    std::printf("%-20s", loss.name);
    for (size_t i = 0; i < ns.size(); ++i)
      std::printf(" %20.1f", ns[i] / static_cast<double>(sizes[i % sizes.size()]));
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::string programs = "../shared/peers/programs";
  tools::BenchTimes times{.seconds = 2, .rounds = 11};
  std::vector<int64_t> sizes{5000, 20000};
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--benchmark_min_time"))
      times = {.seconds = 0.001, .rounds = 1}, sizes = {200};
    else if (word.starts_with("--only="))
      only = word.substr(7);
    else
      programs = word;
  }
  if (only.empty() || only == "steps") print_steps(sizes, times.rounds);
  if (only == "steps") return 0;
  if (!std::filesystem::exists(programs)) {
    std::printf("%s is not there; name the folder with JAX's programs\n", programs.c_str());
    return 0;
  }
  std::printf("us a call          %12s %12s %12s %12s %9s %9s %11s %11s\n", "JAX's min", "median",
              "Heddle's min", "median", "min", "median", "JAX's MB", "Heddle's MB");
  bool all = true;
  for (const Peer& peer : kPeers) {
    if (only.empty() || peer.name == only) all &= compare(peer, programs + "/" + peer.name, times);
  }
  return all ? 0 : 1;
}
