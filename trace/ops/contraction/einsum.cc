// einsum: letters become axes of a dot, of one for each pair of operands. Each operand is first
// reduced to distinct letters (diagonals taken, lone letters summed); letters of both operands are
// batch axes where the output or another operand has them, else contracted.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "heddle/trace/axes.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using trace_internal::known_program;
using trace_internal::KnownOptions;
using trace_internal::one_program;
using trace_internal::PublicCall;

// A tensor whose axes are named by letters.
struct Labelled {
  Tensor x;
  std::string letters;
};

class Einsum {
 public:
  Einsum(std::string_view spec, std::optional<DType> result) : spec_(spec), result_(result) {}

  Tensor run(std::vector<Tensor> operands) {
    std::vector<std::string> inputs = parse(operands);
    std::vector<Labelled> terms;
    for (size_t i = 0; i < operands.size(); ++i) terms.push_back(label(operands, i, inputs[i]));
    for (Labelled& term : terms) term = take_diagonals(std::move(term));
    // Where there are several sums, each is in the wider type, and the last is cast to the result.
    const std::optional<DType> asked = result_;
    if (asked.has_value() && !is_one_product(terms)) {
      result_.reset();
      for (Labelled& term : terms) {
        if (trace_internal::is_wider(*asked, term.x.dtype())) term.x = term.x.astype(*asked);
      }
    }
    for (size_t i = 0; i < terms.size(); ++i)
      terms[i] = sum_lone_letters(std::move(terms[i]), letters_beside(terms, i, i));
    while (terms.size() > 1) {
      auto [i, j] = terms.size() == 2 ? std::pair(size_t{0}, size_t{1}) : smallest_product(terms);
      Labelled product = contract(terms[i], terms[j], letters_beside(terms, i, j));
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
      terms[i] = std::move(product);
    }
    const Tensor made = arrange(terms[0]);
    return asked.has_value() ? made.astype(*asked) : made;
  }

 private:
  // Whether all sums are those of one product, which has a result type of its own.
  [[nodiscard]] bool is_one_product(const std::vector<Labelled>& terms) const {
    if (terms.size() != 2) return false;
    for (size_t i = 0; i < 2; ++i) {
      const std::string wanted = letters_beside(terms, i, i);
      if (terms[i].letters.find_first_not_of(wanted) != std::string::npos) return false;
    }
    return true;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    trace_internal::refuse("\"", spec_, "\": ", parts...);
  }

  // Letters of each operand, with "..." written out in capitals from Z down that the spec does not
  // use.
  std::vector<std::string> parse(const std::vector<Tensor>& operands) {
    std::string text;
    for (char c : spec_) {
      if (c != ' ') text.push_back(c);
    }
    size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    const auto is_no_label = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) == 0 && c != ',' && c != '.';
    };
    if (const auto other = std::ranges::find_if(left, is_no_label); other != left.end())
      fail("has '", *other,
           "', which is no letter; write labels as letters and ',' between operands");
    std::vector<std::string> inputs(1);
    for (char c : left) {
      if (c == ',')
        inputs.emplace_back();
      else
        inputs.back().push_back(c);
    }
    if (inputs.size() != operands.size())
      fail("names ", inputs.size(), " operands; ", operands.size(), " were given");
    size_t widest = 0;
    for (size_t i = 0; i < inputs.size(); ++i)
      widest = std::max(widest, expand(inputs[i], operands[i], i));
    output_ = arrow == std::string::npos ? implicit_output(left, widest) : text.substr(arrow + 2);
    expand_output(widest);
    check_output(inputs);
    return inputs;
  }

  static std::string ellipsis_letters(size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i)
      out.push_back(static_cast<char>(1 + count - 1 - i));  // control characters: no user's letter
    return out;
  }

  // Replaces "..." in one operand's letters; returns how many axes it stands for.
  size_t expand(std::string& letters, const Tensor& x, size_t operand) const {
    size_t dots = letters.find("...");
    size_t named = letters.size() - (dots == std::string::npos ? 0 : 3);
    size_t rank = static_cast<size_t>(x.rank());
    if (dots == std::string::npos ? named != rank : named > rank) {
      fail("operand ", operand, " is ", x.shape(), "; \"", letters, "\" names ", named, " axes");
    }
    size_t stands_for = rank - named;
    if (dots != std::string::npos) letters.replace(dots, 3, ellipsis_letters(stands_for));
    for (char c : letters) {
      if (c > 26 && !std::isalpha(static_cast<unsigned char>(c)))
        fail("'", c, "' is no letter; axes are named by letters");
    }
    return stands_for;
  }

  // numpy's: letters that stand once, in alphabetical order.
  [[nodiscard]] std::string implicit_output(const std::string& left, size_t widest) const {
    std::map<char, int> uses;
    for (char c : left) {
      if (std::isalpha(static_cast<unsigned char>(c))) ++uses[c];
    }
    std::string out = widest > 0 ? "..." : "";
    for (auto [c, n] : uses) {
      if (n == 1) out.push_back(c);
    }
    return out;
  }

  void expand_output(size_t widest) {
    size_t dots = output_.find("...");
    if (dots != std::string::npos) output_.replace(dots, 3, ellipsis_letters(widest));
  }

  void check_output(const std::vector<std::string>& inputs) const {
    for (char c : output_) {
      bool known = std::ranges::any_of(
          inputs, [&](const std::string& in) { return in.find(c) != std::string::npos; });
      if (!known) fail("the output names an axis '", c, "' that no operand has");
      if (std::ranges::count(output_, c) > 1) fail("the output names axis '", c, "' twice");
    }
  }

  Labelled label(const std::vector<Tensor>& operands, size_t number, const std::string& letters) {
    const Tensor& x = operands[number];
    for (size_t i = 0; i < letters.size(); ++i) {
      int64_t size = x.dim(static_cast<int64_t>(i));
      auto [found, is_new] = sizes_.try_emplace(letters[i], size);
      const size_t first = first_.try_emplace(letters[i], number).first->second;
      if (!is_new && found->second != size)
        fail("axis '", letters[i], "' has size ", found->second, " in operand ", first, ", ",
             operands[first].shape(), ", and ", size, " in operand ", number, ", ", x.shape(),
             "; they must be equal");
    }
    return {x, letters};
  }

  // In the dtype of x, as contractions are: sum() widens small integers.
  [[nodiscard]] Tensor sum_of(const Tensor& x, const std::vector<int64_t>& axes) const {
    return sum(x, {.axes = axes}).astype(x.dtype());
  }

  // A letter that stands twice: keep the diagonal, by masking and summing one of the two axes.
  Labelled take_diagonals(Labelled term) const {
    for (size_t i = 0; i < term.letters.size(); ++i) {
      size_t j = term.letters.find(term.letters[i], i + 1);
      if (j == std::string::npos) continue;
      Dimensions shape = term.x.shape().dimensions();
      Tensor on = equal(iota(s32, shape, static_cast<int64_t>(i)),
                        iota(s32, shape, static_cast<int64_t>(j)));
      Tensor masked = where(on, term.x, zeros_like(term.x));
      term.x = sum_of(masked, {static_cast<int64_t>(j)});
      term.letters.erase(j, 1);
      --i;
    }
    return term;
  }

  // The letters of the output and of all terms but two.
  [[nodiscard]] std::string letters_beside(const std::vector<Labelled>& terms, size_t i,
                                           size_t j) const {
    std::string letters = output_;
    for (size_t k = 0; k < terms.size(); ++k) {
      if (k != i && k != j) letters += terms[k].letters;
    }
    return letters;
  }

  // The pair whose product has the fewest elements, the first of equals.
  [[nodiscard]] std::pair<size_t, size_t> smallest_product(
      const std::vector<Labelled>& terms) const {
    std::pair<size_t, size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < terms.size(); ++i) {
      for (size_t j = i + 1; j < terms.size(); ++j) {
        const double size = product_size(terms[i], terms[j], letters_beside(terms, i, j));
        if (size >= least) continue;
        least = size;
        best = {i, j};
      }
    }
    return best;
  }

  [[nodiscard]] double product_size(const Labelled& a, const Labelled& b,
                                    const std::string& wanted) const {
    double size = 1;
    for (char c : a.letters) {
      if (wanted.find(c) != std::string::npos || b.letters.find(c) == std::string::npos)
        size *= static_cast<double>(sizes_.at(c));
    }
    for (char c : b.letters) {
      if (a.letters.find(c) == std::string::npos) size *= static_cast<double>(sizes_.at(c));
    }
    return size;
  }

  // Letters that nothing else wants.
  Labelled sum_lone_letters(Labelled term, const std::string& wanted) const {
    std::vector<int64_t> gone;
    std::string letters;
    for (size_t i = 0; i < term.letters.size(); ++i) {
      char c = term.letters[i];
      if (wanted.find(c) == std::string::npos)
        gone.push_back(static_cast<int64_t>(i));
      else
        letters.push_back(c);
    }
    if (!gone.empty()) term.x = sum_of(term.x, gone);
    term.letters = letters;
    return term;
  }

  [[nodiscard]] Labelled contract(const Labelled& a, const Labelled& b,
                                  const std::string& wanted) const {
    DotAxes axes;
    std::string batch, left, right;
    for (size_t i = 0; i < a.letters.size(); ++i) {
      size_t j = b.letters.find(a.letters[i]);
      bool shared = j != std::string::npos;
      bool is_batch = wanted.find(a.letters[i]) != std::string::npos;
      if (!shared) left.push_back(a.letters[i]);
      if (!shared) continue;
      (is_batch ? axes.lhs_batch : axes.lhs_contracting).push_back(static_cast<int64_t>(i));
      (is_batch ? axes.rhs_batch : axes.rhs_contracting).push_back(static_cast<int64_t>(j));
      if (is_batch) batch.push_back(a.letters[i]);
    }
    for (char c : b.letters) {
      if (a.letters.find(c) == std::string::npos) right.push_back(c);
    }
    return {dot_general(a.x, b.x, axes, result_), batch + left + right};
  }

  [[nodiscard]] Tensor arrange(const Labelled& term) const {
    std::vector<int64_t> order;
    for (char c : output_) order.push_back(static_cast<int64_t>(term.letters.find(c)));
    return order.empty() ? term.x : transpose(term.x, order);
  }

  std::string_view spec_;
  std::optional<DType> result_;
  std::string output_;
  std::map<char, int64_t> sizes_;
  std::map<char, size_t> first_;  // operand that has the letter
};

}  // namespace

Tensor einsum(std::string_view spec, Operand a, std::optional<DType> result) {
  const PublicCall call("einsum", a.at());
  const auto of = [&](std::span<const Tensor> xs) { return einsum(spec, xs[0], result); };
  if (Tensor made = known_program("einsum", KnownOptions(spec, result), {a}, of); made.is_valid())
    return made;
  Tensor x = as_tensor(a);
  return one_program("einsum", [&] { return Einsum(spec, result).run({x}); });
}

Tensor einsum(std::string_view spec, Operand a, Operand b, std::optional<DType> result) {
  const PublicCall call("einsum", a.at());
  const auto of = [&](std::span<const Tensor> xs) { return einsum(spec, xs[0], xs[1], result); };
  if (Tensor made = known_program("einsum", KnownOptions(spec, result), {a, b}, of);
      made.is_valid())
    return made;
  Tensor x = as_tensor(a);
  Tensor y = as_tensor(b);
  return one_program("einsum", [&] { return Einsum(spec, result).run({x, y}); });
}

Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands, DType result,
              SourceLocation at) {
  return one_program("einsum", at, [&] { return Einsum(spec, result).run(operands); });
}

Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands, SourceLocation at) {
  return one_program("einsum", at, [&] { return Einsum(spec, std::nullopt).run(operands); });
}

}  // namespace heddle
