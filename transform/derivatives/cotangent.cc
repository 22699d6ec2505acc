#include "heddle/transform/derivatives/internal/cotangent.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "heddle/hlo/derivative.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/transform/derivatives/internal/dependence.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

namespace {

// A padded part pays if it is this much smaller than the whole, and the whole is no small array,
// which a backend makes in one go.
constexpr int64_t kLeastPadded = 256, kLeastRatio = 4;

// An elementwise op of more parts than this takes all of the array.
constexpr size_t kMostParts = 8;

bool is_worth_writing(const Instruction& pad, const Shape& part) {
  const auto& dimensions = pad.attrs.get<hlo::PadAttrs>().padding;
  const int64_t whole = pad.shape.element_count();
  return whole >= kLeastPadded && part.element_count() * kLeastRatio <= whole &&
         std::ranges::all_of(dimensions, [](const hlo::PadDimension& d) {
           return d.low >= 0 && d.high >= 0 && d.interior == 0;
         });
}

// Whether it is zeros but for a part.
bool is_part(Graph& graph, const Instruction& term) {
  switch (term.opcode) {
    case Opcode::kDynamicUpdateSlice: return is_zero(graph, term.operands[0]);
    case Opcode::kScatter:
      return term.operands.size() == 3 && is_zero(graph, term.operands[0]) &&
             term.called[0] == graph.writer().combiner(Opcode::kAdd, term.shape.dtype());
    case Opcode::kPad:
      return is_zero(graph, term.operands[1]) &&
             is_worth_writing(term, graph.at(term.operands[0]).shape);
    default: return false;
  }
}

// Whether both write into zeros alike, at the same place.
bool are_at_one_place(const Instruction& a, const Instruction& b) {
  if (a.opcode != b.opcode || !(a.shape == b.shape) || !(a.attrs == b.attrs)) return false;
  if (a.opcode == Opcode::kScatter) return a.operands[1] == b.operands[1];
  return a.opcode == Opcode::kPad ||
         std::ranges::equal(std::span(a.operands).subspan(2), std::span(b.operands).subspan(2));
}

// a + b of two at one place, if what they write has one shape. Else absent.
Value at_one_place(const Value& a, const Value& b) {
  Graph& graph = a.graph();
  if (!are_at_one_place(graph.at(a.id()), graph.at(b.id()))) return {};
  const Instruction first = graph.at(a.id()), second = graph.at(b.id());
  const size_t written = first.opcode == Opcode::kPad       ? 0
                         : first.opcode == Opcode::kScatter ? 2
                                                            : 1;
  const Value u = graph.wrap(first.operands[written]), v = graph.wrap(second.operands[written]);
  if (!(u.shape() == v.shape())) return {};
  Values operands = graph.wrap(first.operands);
  operands[written] = u + v;
  return copied(graph, first, operands, first.called);
}

// What a dynamic-update-slice, or a pad, writes into zeros, and where.
struct Update {
  Value part;
  Values starts;
};
Update update_of(const Value& term) {
  Graph& graph = term.graph();
  const Instruction update = graph.at(term.id());
  if (update.opcode == Opcode::kDynamicUpdateSlice)
    return {graph.wrap(update.operands[1]), graph.wrap(std::span(update.operands).subspan(2))};
  const auto& padding = update.attrs.get<hlo::PadAttrs>().padding;
  const bool is_wide = std::ranges::any_of(
      padding, [](const hlo::PadDimension& each) { return each.low > INT32_MAX; });
  Values starts;
  for (const hlo::PadDimension& each : padding)
    starts.push_back(graph.number(is_wide ? s64 : s32, static_cast<double>(each.low)));
  return {graph.wrap(update.operands[0]), std::move(starts)};
}
Value in_zeros(const Update& update, const hlo::Dims& sizes) {
  const Value& part = update.part;
  return dynamic_update_slice(part.graph().zeros(Shape(part.dtype(), sizes)), part, update.starts);
}

bool reads(Graph& graph, const Value& slice, const Instruction& update) {
  const Instruction& read = graph.at(slice.id());
  return read.opcode == Opcode::kDynamicSlice && read.operands[0] == update.operands[0] &&
         slice.shape() == graph.at(update.operands[1]).shape &&
         std::ranges::equal(std::span(read.operands).subspan(1),
                            std::span(update.operands).subspan(2));
}

// sum + the part at `starts`. A place that was just written is written once.
Value with_slice(Graph& graph, const Value& sum, const Value& part, const Values& starts) {
  const Instruction last = graph.at(sum.id());
  const auto is_start = [](InstructionId id, const Value& start) { return id == start.id(); };
  const bool is_same_place =
      last.opcode == Opcode::kDynamicUpdateSlice &&
      graph.at(last.operands[1]).shape == part.shape() &&
      std::ranges::equal(std::span(last.operands).subspan(2), starts, is_start);
  if (!is_same_place)
    return dynamic_update_slice(sum, dynamic_slice(sum, starts, part.sizes()) + part, starts);
  const Value before = graph.wrap(last.operands[0]), there = graph.wrap(last.operands[1]);
  const Value both = is_zero(graph, there.id()) ? part : there + part;
  return reads(graph, both, last) ? before : dynamic_update_slice(before, both, starts);
}

Value with_part(const Value& sum, const Value& part) {
  Graph& graph = sum.graph();
  const Instruction term = graph.at(part.id());
  if (term.opcode == Opcode::kScatter)
    return copied(graph, term, {sum, graph.wrap(term.operands[1]), graph.wrap(term.operands[2])},
                  term.called);
  const auto [update, starts] = update_of(part);
  return with_slice(graph, sum, update, starts);
}

// reshape(x, sizes); of a reshape what it is of, if that has these sizes.
Value with_sizes(const Value& x, const hlo::Dims& sizes) {
  Graph& graph = x.graph();
  const Instruction& last = graph.at(x.id());
  if (last.opcode != Opcode::kReshape) return reshape(x, sizes);
  const Value before = graph.wrap(last.operands[0]);
  return before.sizes() == sizes ? before : reshape(x, sizes);
}

template <class Each>
std::vector<Each> in_order(const std::vector<Each>& all, const hlo::Dims& order) {
  std::vector<Each> out;
  for (int64_t d : order) out.push_back(all[static_cast<size_t>(d)]);
  return out;
}

// Dimensions of an operand that windows of its updates have, in order.
hlo::Dims window_dimensions(int64_t rank, const hlo::ScatterAttrs& s) {
  hlo::Dims out;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::ranges::count(s.inserted_window_dims, d) +
            std::ranges::count(s.input_batching_dims, d) ==
        0)
      out.push_back(d);
  }
  return out;
}

// The scatter into a transpose of its operand: `place` is where each dimension goes.
Value transposed_scatter(Graph& graph, const Instruction& term, const Value& zeros,
                         const hlo::Dims& place) {
  const auto& before = term.attrs.get<hlo::ScatterAttrs>();
  hlo::ScatterAttrs now = before;
  now.inserted_window_dims = in_order(place, before.inserted_window_dims);
  now.scatter_dims_to_operand_dims = in_order(place, before.scatter_dims_to_operand_dims);
  std::ranges::sort(now.inserted_window_dims);
  std::vector<std::pair<int64_t, int64_t>> batching;
  for (size_t i = 0; i < before.input_batching_dims.size(); ++i)
    batching.emplace_back(place[static_cast<size_t>(before.input_batching_dims[i])],
                          before.scatter_indices_batching_dims[i]);
  std::ranges::sort(batching);
  for (size_t i = 0; i < batching.size(); ++i)
    std::tie(now.input_batching_dims[i], now.scatter_indices_batching_dims[i]) = batching[i];

  const Value updates = graph.wrap(term.operands[2]);
  hlo::Dims order = consecutive_dimensions(updates.rank());
  const hlo::Dims windows = in_order(place, window_dimensions(zeros.rank(), before));
  const hlo::Dims sorted = window_dimensions(zeros.rank(), now);
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto to = static_cast<size_t>(std::ranges::find(sorted, windows[i]) - sorted.begin());
    order[static_cast<size_t>(before.update_window_dims[to])] = before.update_window_dims[i];
  }
  return hlo::scatter(Opcode::kAdd, zeros, graph.wrap(term.operands[1]), transpose(updates, order),
                      now);
}

// transpose(part, order), which is zeros but for a part too.
Value transposed_part(const Value& part, const hlo::Dims& order) {
  Graph& graph = part.graph();
  const hlo::Dims sizes = in_order(part.sizes(), order);
  const Instruction term = graph.at(part.id());
  if (term.opcode == Opcode::kScatter)
    return transposed_scatter(graph, term, graph.zeros(Shape(part.dtype(), sizes)),
                              inverse_permutation(order));
  const Update update = update_of(part);
  return in_zeros({transpose(update.part, order), in_order(update.starts, order)}, sizes);
}

// What a scatter's updates stand for in another array like its operand.
Value gathered(Graph& graph, const Instruction& scatter, const Value& x) {
  const auto& s = scatter.attrs.get<hlo::ScatterAttrs>();
  const Shape& updates = graph.at(scatter.operands[2]).shape;
  hlo::Dims sizes(static_cast<size_t>(x.rank()), 1);
  const hlo::Dims windows = window_dimensions(x.rank(), s);
  for (size_t i = 0; i < windows.size(); ++i)
    sizes[static_cast<size_t>(windows[i])] = updates.dimension(s.update_window_dims[i]);
  return hlo::gather(x, graph.wrap(scatter.operands[1]),
                     {.offset_dims = s.update_window_dims,
                      .collapsed_slice_dims = s.inserted_window_dims,
                      .start_index_map = s.scatter_dims_to_operand_dims,
                      .operand_batching_dims = s.input_batching_dims,
                      .start_indices_batching_dims = s.scatter_indices_batching_dims,
                      .index_vector_dim = s.index_vector_dim,
                      .slice_sizes = std::move(sizes)});
}

// reshape(term, sizes) as an update, where it only adds or drops dimensions of size 1.
Value with_ones(const Value& term, const hlo::Dims& sizes) {
  const hlo::Dims before = term.sizes();
  const auto is_one = [](int64_t size) { return size == 1; };
  hlo::Dims have = before, want = sizes;
  std::erase_if(have, is_one);
  std::erase_if(want, is_one);
  const bool is_scatter = term.graph().at(term.id()).opcode == Opcode::kScatter;
  if (is_scatter || have != want || before == sizes || before.empty()) return term;
  const Update update = update_of(term);
  if (update.part.shape().element_count() == 0) return term;
  hlo::Dims of_part;
  Values starts;
  size_t next = 0;
  for (int64_t size : sizes) {
    while (size != 1 && before[next] == 1) ++next;
    of_part.push_back(size == 1 ? 1 : update.part.size(static_cast<int64_t>(next)));
    starts.push_back(size == 1 ? update.starts[0].number(0) : update.starts[next++]);
  }
  return in_zeros({reshape(update.part, of_part), starts}, sizes);
}

bool are_plain(const Values& starts) {
  return std::ranges::all_of(starts, [&](const Value& start) {
    return (start.dtype() == s32 || start.dtype() == s64) && start.dtype() == starts[0].dtype();
  });
}

// Starts that are moved to where a slice of these sizes lies whole.
Values inside(const Values& starts, const hlo::Dims& sizes, const hlo::Dims& whole) {
  Values out;
  for (size_t d = 0; d < starts.size(); ++d) {
    const Value last = starts[d].number(static_cast<double>(whole[d] - sizes[d]));
    out.push_back(maximum(minimum(starts[d], last), starts[d].number(0)));
  }
  return out;
}

}  // namespace

void Cotangent::add(const Value& term) {
  if (term.is_absent()) return;
  if (is_part(term.graph(), term.graph().at(term.id())))
    add_part({term, term.sizes()});
  else
    sum_ = hlo::add(sum_, term);
}

void Cotangent::add(const Cotangent& of) {
  add(of.sum_);
  for (const Part& part : of.parts_) add_part(part);
}

// Parts at one place are one part. Else the parts of a value that is used twice at each of n
// operations would be 2^n.
void Cotangent::add_part(const Part& part) {
  const size_t first = parts_.size() - std::min(parts_.size(), kMostParts);
  for (Part& each : std::span(parts_).subspan(first)) {
    if (each.sizes != part.sizes) continue;
    if (const Value both = at_one_place(each.term, part.term)) {
      each.term = both;
      return;
    }
  }
  parts_.push_back(part);
}

void Cotangent::add_reshaped(const Cotangent& of, const hlo::Dims& sizes) {
  if (of.sum_) add(with_sizes(of.sum_, sizes));
  for (const Part& part : of.parts_) add_part({with_ones(part.term, sizes), sizes});
}

void Cotangent::add_transposed(const Cotangent& of, const hlo::Dims& order) {
  const hlo::Dims back = inverse_permutation(order);
  if (of.sum_) add(transpose(of.sum_, back));
  for (const Part& part : of.parts_) {
    const bool is_reshaped = part.term.sizes() != part.sizes;
    add(is_reshaped ? transpose(reshape(part.term, part.sizes), back)
                    : transposed_part(part.term, back));
  }
}

void Cotangent::add_reversed(const Cotangent& of, const hlo::Dims& dimensions) {
  if (of.sum_) add(hlo::reverse(of.sum_, dimensions));
  for (const Part& part : of.parts_) {
    const Value whole = with_sizes(part.term, part.sizes);
    const bool is_update = is_part(whole.graph(), whole.graph().at(whole.id())) &&
                           whole.graph().at(whole.id()).opcode != Opcode::kScatter;
    if (!is_update || !are_plain(update_of(whole).starts)) {
      add(hlo::reverse(whole, dimensions));
      continue;
    }
    Update update = update_of(whole);
    update.starts = inside(update.starts, update.part.sizes(), part.sizes);
    for (int64_t d : dimensions) {
      Value& start = update.starts[static_cast<size_t>(d)];
      const int64_t size = part.sizes[static_cast<size_t>(d)] - update.part.size(d);
      start = start.number(static_cast<double>(size)) - start;
    }
    update.part = hlo::reverse(update.part, dimensions);
    add(in_zeros(update, part.sizes));
  }
}

Status Cotangent::add_to(
    std::span<Cotangent* const> operands,
    base::FunctionRef<StatusOr<Values>(const Value& ct, Read read)> transpose) const {
  // Adds what is made of `ct`; `whole` gives the array of which it is a part.
  const auto add_made = [&](const Value& ct, Read read, const auto& whole) -> Status {
    HEDDLE_ASSIGN_OR_RETURN(const Values made, transpose(ct, read));
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i]) whole(*operands[i], made[i]);
    }
    return {};
  };
  const auto as_it_is = [](Cotangent& to, const Value& made) { to.add(made); };
  const auto itself = [](const Value& known) { return known; };
  // The op reads all of a sum anyway. So the parts are written into it, and the op is there once.
  if (sum_ || parts_.size() > kMostParts) return add_made(value(), itself, as_it_is);
  for (const Part& part : parts_) {
    Graph& graph = part.term.graph();
    const Instruction term = graph.at(part.term.id());
    const bool is_scatter = term.opcode == Opcode::kScatter;
    const Update update =
        is_scatter ? Update{graph.wrap(term.operands[2]), {}} : update_of(part.term);
    if (update.part.shape().element_count() * kLeastRatio > part.term.shape().element_count()) {
      HEDDLE_RETURN_IF_ERROR(add_made(with_sizes(part.term, part.sizes), itself, as_it_is));
      continue;
    }
    const auto read = [&](const Value& known) {
      const Value x = with_sizes(known, part.term.sizes());
      return is_scatter ? gathered(graph, term, x)
                        : dynamic_slice(x, update.starts, update.part.sizes());
    };
    const auto in_its_place = [&](Cotangent& to, const Value& made) {
      const Value zeros = graph.zeros(Shape(made.dtype(), part.term.sizes()));
      to.add_part({is_scatter ? hlo::scatter(Opcode::kAdd, zeros, graph.wrap(term.operands[1]),
                                             made, term.attrs.get<hlo::ScatterAttrs>())
                              : dynamic_update_slice(zeros, made, update.starts),
                   part.sizes});
    };
    HEDDLE_RETURN_IF_ERROR(add_made(update.part, read, in_its_place));
  }
  return {};
}

bool Cotangent::add_sliced(const Cotangent& of, const Values& starts, const hlo::Dims& sizes) {
  if (of.sum_ || starts.empty() || Shape(s32, sizes).element_count() < kLeastPadded) return false;
  std::vector<Update> updates;
  for (const Part& part : of.parts_) {
    const Instruction& term = part.term.graph().at(part.term.id());
    if (term.opcode == Opcode::kScatter || part.term.sizes() != part.sizes) return false;
    updates.push_back(update_of(part.term));
    if (!are_plain(updates.back().starts) || !are_plain(starts) ||
        updates.back().starts[0].dtype() != starts[0].dtype())
      return false;
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    auto& [part, at] = updates[i];
    const hlo::Dims window = of.parts_[i].sizes;
    const Values outer = inside(starts, window, sizes);
    at = inside(at, part.sizes(), window);
    for (size_t d = 0; d < at.size(); ++d) at[d] = at[d] + outer[d];
    add(in_zeros(updates[i], sizes));
  }
  return true;
}

Value Cotangent::value() const {
  Value out = sum_;
  for (const Part& part : parts_) {
    const Value next = out ? with_part(with_sizes(out, part.term.sizes()), part.term) : part.term;
    out = with_sizes(next, part.sizes);
  }
  return out;
}

}  // namespace heddle::transform
