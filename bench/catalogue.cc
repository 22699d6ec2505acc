// Functions of the catalogue on a few elements, called outside of a trace, beside the call of the
// program that each is. What a call takes beyond its program is what Heddle adds. Those of `large`
// are programs on 2^20 normal numbers, as rows of 1,024 or as one.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "heddle/heddle.h"

namespace {

using namespace heddle;

struct Entry {
  std::string name;
  std::function<Tensor(const Tensor& x, const Tensor& key)> call;
};

const Entry kEntries[] = {
    {"random::bits", [](const Tensor&, const Tensor& k) { return random::bits(k, {4}); }},
    {"random::split", [](const Tensor&, const Tensor& k) { return random::split(k, 2); }},
    {"random::fold_in", [](const Tensor&, const Tensor& k) { return random::fold_in(k, 3); }},
    {"random::uniform", [](const Tensor&, const Tensor& k) { return random::uniform(k, {4}); }},
    {"random::normal", [](const Tensor&, const Tensor& k) { return random::normal(k, {4}); }},
    {"random::randint",
     [](const Tensor&, const Tensor& k) { return random::randint(k, {4}, 0, 10); }},
    {"random::bernoulli",
     [](const Tensor&, const Tensor& k) { return random::bernoulli(k, 0.5, {4}); }},
    {"random::categorical",
     [](const Tensor& x, const Tensor& k) { return random::categorical(k, x); }},
    {"random::permutation",
     [](const Tensor&, const Tensor& k) { return random::permutation(k, 8); }},
    {"random::choice",
     [](const Tensor& x, const Tensor& k) { return random::choice(k, x[0], {4}); }},
    {"random::gamma", [](const Tensor&, const Tensor& k) { return random::gamma(k, 2.0, {4}); }},
    {"random::poisson",
     [](const Tensor&, const Tensor& k) { return random::poisson(k, 3.0, {4}); }},
    {"special::ndtr", [](const Tensor& x, const Tensor&) { return special::ndtr(x); }},
    {"special::gammaln", [](const Tensor& x, const Tensor&) { return special::gammaln(x); }},
    {"special::digamma", [](const Tensor& x, const Tensor&) { return special::digamma(x); }},
    {"special::betainc",
     [](const Tensor& x, const Tensor&) { return special::betainc(2.0, 3.0, x); }},
    {"nn::layer_norm", [](const Tensor& x, const Tensor&) { return nn::layer_norm(x); }},
    {"nn::gelu", [](const Tensor& x, const Tensor&) { return nn::gelu(x); }},
    {"nn::relu", [](const Tensor& x, const Tensor&) { return nn::relu(x); }},
    {"linalg::solve", [](const Tensor& x, const Tensor&) { return linalg::solve(x, x[0]); }},
    {"linalg::det", [](const Tensor& x, const Tensor&) { return linalg::det(x); }},
    {"linalg::inv", [](const Tensor& x, const Tensor&) { return linalg::inv(x); }},
    {"linalg::expm", [](const Tensor& x, const Tensor&) { return linalg::expm(x); }},
    {"linalg::norm", [](const Tensor& x, const Tensor&) { return linalg::norm(x); }},
    {"cumsum", [](const Tensor& x, const Tensor&) { return cumsum(x, 0); }},
    {"sort", [](const Tensor& x, const Tensor&) { return sort(x); }},
    {"argsort", [](const Tensor& x, const Tensor&) { return argsort(x); }},
    {"median", [](const Tensor& x, const Tensor&) { return median(x); }},
    {"var", [](const Tensor& x, const Tensor&) { return var(x); }},
    {"clip", [](const Tensor& x, const Tensor&) { return clip(x, 0.25, 0.75); }},
    {"roll", [](const Tensor& x, const Tensor&) { return roll(x, 1); }},
    {"flip", [](const Tensor& x, const Tensor&) { return flip(x); }},
    {"diff", [](const Tensor& x, const Tensor&) { return diff(x); }},
    {"eye", [](const Tensor&, const Tensor&) { return eye(4); }},
    {"linspace", [](const Tensor&, const Tensor&) { return linspace(0.0, 1.0, 8); }},
    {"outer", [](const Tensor& x, const Tensor&) { return outer(x[0], x[1]); }},
    {"trace_of", [](const Tensor& x, const Tensor&) { return diagonal(x); }},
    {"tril", [](const Tensor& x, const Tensor&) { return tril(x); }},
    {"logsumexp", [](const Tensor& x, const Tensor&) { return logsumexp(x); }},
    {"interp", [](const Tensor& x, const Tensor&) { return interp(x, x[0], x[1]); }},
    {"searchsorted", [](const Tensor& x, const Tensor&) { return searchsorted(x[0], x); }},
};

void at_once(benchmark::State& state, const Entry& function) {
  const Tensor x = reshape(linspace(0.1, 0.9, 16), {4, 4}) + eye(4), key = random::key(1);
  (void)function.call(x, key);  // compiles
  for (auto _ : state) benchmark::DoNotOptimize(function.call(x, key));
}

void compiled(benchmark::State& state, const Entry& function) {
  const Tensor x = reshape(linspace(0.1, 0.9, 16), {4, 4}) + eye(4), key = random::key(1);
  const auto program = trace(function.call, x, key).compile();
  (void)program(x, key);
  for (auto _ : state) benchmark::DoNotOptimize(program(x, key));
}

const Entry kLarge[] = {
    {"sort", [](const Tensor& x, const Tensor&) { return sort(ravel(x)); }},
    {"argsort", [](const Tensor& x, const Tensor&) { return argsort(ravel(x)); }},
    {"sort_rows", [](const Tensor& x, const Tensor&) { return sort(x); }},
    {"sort_columns", [](const Tensor& x, const Tensor&) { return sort(x, 0); }},
    {"median_of_rows", [](const Tensor& x, const Tensor&) { return median(x, 1); }},
    {"flatnonzero", [](const Tensor& x, const Tensor&) { return flatnonzero(x > 1.0, 200000); }},
    {"ten_steps_of_heat_inside",
     [](const Tensor& x, const Tensor&) {
       const Slice inner{1, -1}, less{0, -2}, more{2, {}};
       const auto step = [&](Tensor, Tensor u) {
         const Tensor around = u[{less, inner}] + u[{more, inner}] + u[{inner, less}] +
                               u[{inner, more}] - 4.0 * u[{inner, inner}];
         return u.at({inner, inner}).add(0.2 * around);
       };
       return fori_loop(0, 10, step, x);
     }},
    {"top_8_of_rows", [](const Tensor& x, const Tensor&) { return top_k(x, 8).values; }},
};

void large(benchmark::State& state, const Entry& function) {
  const Tensor key = random::key(1), x = random::normal(key, {1024, 1024});
  const auto program = trace(function.call, x, key).compile();
  program(x, key).wait();
  for (auto _ : state) program(x, key).wait();
}

}  // namespace

int main(int argc, char** argv) {
  for (const Entry& function : kEntries) {
    benchmark::RegisterBenchmark(("at_once/" + function.name).c_str(), at_once, function);
    benchmark::RegisterBenchmark(("compiled/" + function.name).c_str(), compiled, function);
  }
  for (const Entry& function : kLarge)
    benchmark::RegisterBenchmark(("large/" + function.name).c_str(), large, function)
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
