#include "heddle/transform/derivatives/internal/split_sums.h"

#include <algorithm>
#include <optional>

#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

namespace {

class Splitter {
 public:
  Splitter(Writer& writer, const StepOfSums& step, const std::vector<bool>& may_split)
      : writer_(writer),
        step_(step),
        may_split_(may_split),
        body_(merged(writer, step.id)),
        returned_(returned_values(body_)),
        uses_(body_.instructions.size()),
        differs_(different_in_steps()) {
    count_uses();
  }

  SplitSums run() {
    SplitSums out;
    out.id = step_.id;
    out.stays.assign(may_split_.size(), true);
    out.products.resize(may_split_.size());
    std::vector<std::vector<InstructionId>> rest(may_split_.size());  // terms that stay
    for (size_t i = 0; i < may_split_.size(); ++i) {
      if (may_split_[i]) split(i, out, rest[i]);
    }
    const auto is_split = [](const auto& products) { return !products.empty(); };
    if (!std::ranges::any_of(out.products, is_split)) return out;
    out.more = more_.size();
    write(out, rest);
    return out;
  }

 private:
  [[nodiscard]] size_t first_sum() const { return step_.inputs + step_.known; }
  [[nodiscard]] InstructionId parameter(size_t sum) const {
    return body_.parameters[first_sum() + sum];
  }
  [[nodiscard]] InstructionId result(size_t sum) const {
    return returned_[step_.outputs + step_.known + sum];
  }

  void count_uses() {
    for (InstructionId id : returned_) ++uses_[id.value];
    for (size_t i = uses_.size(); i-- > 0;) {
      if (uses_[i] == 0 || InstructionId(i) == body_.root) continue;
      for (InstructionId id : body_.instructions[i].operands) ++uses_[id.value];
    }
  }

  // Which instructions depend on the parameter.
  std::vector<bool> made_of(InstructionId parameter) const {
    std::vector<bool> out(body_.instructions.size());
    out[parameter.value] = true;
    for (size_t i = 0; i < out.size(); ++i) {
      for (InstructionId id : body_.instructions[i].operands) {
        if (out[id.value]) out[i] = true;
      }
    }
    return out;
  }

  // The terms of parameter + t1 + t2 + .. that a sum becomes; nothing if it becomes something else,
  // or if somebody reads a value on the way.
  std::optional<std::vector<InstructionId>> terms_of(size_t sum) const {
    const InstructionId start = parameter(sum);
    const std::vector<bool> depends = made_of(start);
    std::vector<InstructionId> terms;
    InstructionId at = result(sum);
    while (at != start) {
      const Instruction& instruction = body_.at(at);
      if (instruction.opcode != Opcode::kAdd || uses_[at.value] != 1) return std::nullopt;
      const InstructionId a = instruction.operands[0], b = instruction.operands[1];
      if (depends[a.value] == depends[b.value]) return std::nullopt;
      terms.push_back(depends[a.value] ? b : a);
      at = depends[a.value] ? a : b;
    }
    if (uses_[start.value] != 1) return std::nullopt;
    return terms;
  }

  void split(size_t sum, SplitSums& out, std::vector<InstructionId>& rest) {
    const auto terms = terms_of(sum);
    if (!terms || terms->empty()) return;
    for (InstructionId term : *terms) {
      if (auto product = product_of(term))
        out.products[sum].push_back(*std::move(product));
      else
        rest.push_back(term);
    }
    out.stays[sum] = out.products[sum].empty() || !rest.empty();
  }

  // A product that is bigger than its factors, with transposes and reshapes behind it.
  std::optional<SplitSums::Product> product_of(InstructionId term) {
    SplitSums::Product out;
    InstructionId at = term;
    while (body_.at(at).opcode == Opcode::kTranspose || body_.at(at).opcode == Opcode::kReshape) {
      out.behind.insert(out.behind.begin(), body_.at(at));
      at = body_.at(at).operands[0];
    }
    out.dot = body_.at(at);
    if (out.dot.opcode != Opcode::kDot) return std::nullopt;
    const InstructionId a = out.dot.operands[0], b = out.dot.operands[1];
    const int64_t parts = body_.at(a).shape.element_count() + body_.at(b).shape.element_count();
    const int64_t whole = out.dot.shape.element_count();
    if (whole < kLeastElements || parts >= whole || is_same_in_all(a) || is_same_in_all(b))
      return std::nullopt;
    out.a = operand(a);
    out.b = operand(b);
    return out;
  }

  [[nodiscard]] bool is_same_in_all(InstructionId id) const { return !differs_[id.value]; }

  // Which instructions depend on values that differ between steps.
  [[nodiscard]] std::vector<bool> different_in_steps() const {
    std::vector<bool> out(body_.instructions.size());
    for (size_t i = 0; i < body_.parameters.size(); ++i) {
      const bool is_known = i >= step_.inputs && i < first_sum();
      out[body_.parameters[i].value] = !is_known;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      for (InstructionId id : body_.instructions[i].operands) {
        if (out[id.value]) out[i] = true;
      }
    }
    return out;
  }

  SplitSums::Operand operand(InstructionId id) {
    const auto inputs = std::span(body_.parameters).first(step_.inputs);
    const auto input = std::ranges::find(inputs, id);
    if (input != inputs.end())
      return {.is_input = true, .number = static_cast<size_t>(input - inputs.begin())};
    const auto known = std::ranges::find(more_, id);
    const auto number = static_cast<size_t>(known - more_.begin());
    if (known == more_.end()) more_.push_back(id);
    return {.is_input = false, .number = number};
  }

  void write(SplitSums& out, const std::vector<std::vector<InstructionId>>& rest) {
    Graph graph(writer_, body_.name);
    PartCopy copy(graph, body_);
    Values sums(may_split_.size());
    for (size_t i = 0; i < body_.parameters.size(); ++i) {
      if (i >= first_sum() && !out.stays[i - first_sum()]) continue;
      const Value given = graph.parameter(body_.parameter_shape(i));
      copy.give(body_.parameters[i], given);
      if (i >= first_sum()) sums[i - first_sum()] = given;
    }
    std::vector<InstructionId> wanted(
        returned_.begin(), returned_.begin() + static_cast<std::ptrdiff_t>(step_.outputs));
    wanted.insert(wanted.end(), more_.begin(), more_.end());
    const auto known = returned_.begin() + static_cast<std::ptrdiff_t>(step_.outputs);
    wanted.insert(wanted.end(), known, known + static_cast<std::ptrdiff_t>(step_.known));
    Values results = copy.want(wanted);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (!out.stays[i]) continue;
      if (out.products[i].empty()) {
        results.push_back(copy.want(std::vector{result(i)})[0]);
        continue;
      }
      Value sum = sums[i];
      for (const Value& term : copy.want(rest[i])) sum = sum + term;
      results.push_back(sum);
    }
    out.id = std::move(graph).finish(results);
  }

  Writer& writer_;
  const StepOfSums& step_;
  const std::vector<bool>& may_split_;
  Computation body_;
  std::vector<InstructionId> returned_;
  std::vector<size_t> uses_;   // of the values that the results need
  std::vector<bool> differs_;  // between steps
  std::vector<InstructionId> more_;
};

// With one dimension more before each of these from `dimension` on.
hlo::Dims shifted(hlo::Dims dims, int64_t dimension) {
  for (int64_t& each : dims) {
    if (each >= dimension) ++each;
  }
  return dims;
}

}  // namespace

SplitSums split_sums(Writer& writer, const StepOfSums& step, const std::vector<bool>& may_split) {
  if (!std::ranges::any_of(may_split, [](bool each) { return each; })) {
    return {.id = step.id,
            .stays = std::vector<bool>(may_split.size(), true),
            .products = std::vector<std::vector<SplitSums::Product>>(may_split.size())};
  }
  return Splitter(writer, step, may_split).run();
}

Value sum_of_products(Graph& graph, const SplitSums::Product& product, const Value& a,
                      const Value& b, int64_t dimension) {
  auto attrs = product.dot.attrs.get<hlo::DotAttrs>();
  for (hlo::Dims* dims : {&attrs.lhs_batch_dims, &attrs.lhs_contracting_dims, &attrs.rhs_batch_dims,
                          &attrs.rhs_contracting_dims})
    *dims = shifted(std::move(*dims), dimension);
  attrs.lhs_contracting_dims.push_back(dimension);
  attrs.rhs_contracting_dims.push_back(dimension);
  Value out = dot(a, b, attrs, product.dot.shape.dtype());
  for (const Instruction& each : product.behind) out = copied(graph, each, {out}, {});
  return out;
}

}  // namespace heddle::transform
