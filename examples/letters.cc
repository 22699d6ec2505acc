// A hidden Markov model of the letters of eight sonnets, with two hidden states. Nothing tells it
// what a vowel is. Fitted by gradients of its likelihood, it finds the vowels by itself (R. Cave
// and
// L. Neuwirth, Hidden Markov Models for English, 1980). The forward algorithm is a scan over 4,755
// letters; the gradient goes through it, and so does the probability of a state at each letter,
// which is the derivative of the log-likelihood by the letter's log-probability in that state.
//
//   letters [OUTPUT_DIR]     prints both groups; writes letters.svg there: how often a letter is
//                            written in which state
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "heddle/examples/plot.h"
#include "heddle/examples/sonnets.h"
#include "heddle/heddle.h"

using namespace heddle;

namespace {

constexpr int64_t kStates = 2, kSymbols = 27, kStarts = 8;
constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz_";  // '_': whatever is between words

// [model]
struct Chain {     // scores; log_softmax makes log-probabilities of each row
  Tensor first;    // f64[states]
  Tensor moves;    // f64[states, states], from a state to the next
  Tensor letters;  // f64[states, symbols], written in a state
  static constexpr auto kFields =
      fields(field("first", &Chain::first), field("moves", &Chain::moves),
             field("letters", &Chain::letters));
};

// The log-likelihood. seen: f64[time, states], the log-probability of each letter in each state.
Tensor forward(const Chain& chain, Tensor seen) {
  const Tensor moves = log_softmax(chain.moves);
  const auto step = [&](Tensor now, Tensor letter) {  // now: log p(letters so far, state)
    return std::pair(logsumexp(expand_dims(now, 1) + moves, /*axis=*/0) + letter, None{});
  };
  const Tensor start = log_softmax(chain.first) + seen[0];
  return logsumexp(scan(step, start, seen[Slice{1}]).first, 0);
}

// text: s32[time].
Tensor seen_in(const Chain& chain, Tensor text) {
  return take(transpose(log_softmax(chain.letters)), text, 0);
}

// Nats a letter.
Tensor surprise(const Chain& chain, Tensor text) {
  return -forward(chain, seen_in(chain, text)) / static_cast<double>(text.size());
}

// The probability of each state at each letter, given all letters: f64[time, states].
Tensor states_of(const Chain& chain, Tensor text) {
  return grad([&](Tensor seen) { return forward(chain, seen); })(seen_in(chain, text));
}
// [/model]

// Letters as numbers; everything between two words is one '_'.
std::vector<int32_t> numbers_of(const std::string& text) {
  std::vector<int32_t> out;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)))
      out.push_back(std::tolower(static_cast<unsigned char>(c)) - 'a');
    else if (c != '\'' && !out.empty() && out.back() != kSymbols - 1)
      out.push_back(kSymbols - 1);
  }
  return out;
}

void write_plot(const std::string& path, const std::vector<double>& counts,
                const std::vector<double>& share) {
  Plot plot("Letters of eight sonnets, and the hidden state they are written in",
            "logarithm of how often it is written", "share of the vowels' state");
  std::vector<double> x;
  std::vector<std::string> names;
  for (size_t i = 0; i < counts.size(); ++i) {
    x.push_back(std::log10(counts[i]));
    names.emplace_back(1, kLetters[i]);
  }
  plot.names(x, share, names);
  plot.write(path);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int32_t> numbers = numbers_of(examples::kSonnets);
  const Tensor text = array(numbers);

  // [fit]
  // The likelihood has many maxima: fitted from eight starts side by side, of which one is best.
  const auto fit = compile([](Tensor keys, Tensor letters) {
    const auto from = [&](Tensor key) {
      const auto [first, moves, symbols] = random::split<3>(key);
      const Chain start{random::normal(first, {kStates}, f64),
                        random::normal(moves, {kStates, kStates}, f64),
                        random::normal(symbols, {kStates, kSymbols}, f64)};
      return optim::lbfgs([&](Chain chain) { return surprise(chain, letters); }, start,
                          {.max_steps = 300, .tolerance = 1e-5});
    };
    return vmap(from)(keys);
  });
  const auto found = fit(random::split(random::key(1), kStarts), text);
  const Tensor best = argmin(found.value);
  const Chain chain = tree_map([&](Tensor each) { return each[best]; }, found.x);
  // [/fit]
  std::printf("%zu letters; nats a letter of each start:", numbers.size());
  for (const double value : found.value.to_vector<double>()) std::printf(" %.4f", value);

  const Tensor states = states_of(chain, text);
  const Tensor of_letter = segment_sum(states, text, kSymbols);  // [symbols, states]
  const std::vector<double> sums = of_letter.to_vector<double>();
  const size_t vowels = sums[0] > sums[1] ? 0 : 1;  // the state that writes 'a'
  std::vector<double> counts, share;
  std::string groups[2];
  for (size_t i = 0; i < kSymbols; ++i) {
    counts.push_back(sums[2 * i] + sums[2 * i + 1]);
    share.push_back(sums[2 * i + vowels] / counts.back());
    groups[share.back() > 0.5 ? 0 : 1] += kLetters[i];
  }
  std::printf("\n\none state writes    %s\nthe other           %s\n", groups[0].c_str(),
              groups[1].c_str());
  if (argc > 1) {
    const std::string path = std::string(argv[1]) + "/letters.svg";
    write_plot(path, counts, share);
    std::printf("Wrote %s\n", path.c_str());
  }
  // 'h' stands between a consonant and a vowel, and may go with either.
  bool right = max(abs(sum(states, {.axes = {1}}) - 1)).item<double>() < 1e-9;
  for (size_t i = 0; i < kSymbols; ++i) {
    const bool is_vowel = std::string("aeiou_").find(kLetters[i]) != std::string::npos;
    right &= kLetters[i] == 'h' || (is_vowel ? share[i] > 0.9 : share[i] < 0.5);
  }
  return right ? 0 : 1;
}
