// scatter as loops: one index vector after the other, each with its window.
#include <algorithm>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

namespace {

constexpr int64_t kFewPlaces = 4096;  // bytes of an array that many elements go to
constexpr int64_t kManyScattered = 64;
constexpr size_t kScatteredParts = 4;
constexpr int64_t kMostOfAWindow = 16;  // elements side by side, of windows that are taken apart
constexpr int64_t kFewestWindows = 4;   // that is done for

bool has(const Dims& dims, int64_t d) { return std::ranges::count(dims, d) > 0; }

}  // namespace

// A scatter, and what its parts have to do with each other.
struct RegionLowering::Scattering {
  InstructionId id;
  const Instruction& scatter;
  const hlo::ScatterAttrs& attrs;
  std::span<const LeafId> leaves;  // the arrays
  const Shape& shape;              // of each array
  const Shape& updates;
  std::vector<BufferId> to;
  // Dimensions of the updates: those of the index vectors, and those of a window.
  std::vector<int64_t> outer, window, outer_sizes, window_sizes;
  // Of the operand: how long a window is there, and which of its dimensions that is.
  std::vector<int64_t> length, from_window;
  // The first dimensions of a window of which the operand has all places: the outermost loops.
  std::vector<int64_t> apart, apart_sizes;
  std::vector<NodeId> at_apart;  // where they are

  void match_dimensions() {
    for (int64_t d = 0; d < updates.rank(); ++d)
      (has(attrs.update_window_dims, d) ? window : outer).push_back(d);
    for (int64_t d : outer) outer_sizes.push_back(updates.dimension(d));
    for (int64_t d : window) window_sizes.push_back(updates.dimension(d));
    length.assign(shape.dimensions().size(), 1);
    from_window.assign(shape.dimensions().size(), -1);
    int64_t next = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (has(attrs.inserted_window_dims, d) || has(attrs.input_batching_dims, d)) continue;
      length[static_cast<size_t>(d)] = window_sizes[static_cast<size_t>(next)];
      from_window[static_cast<size_t>(d)] = next++;
    }
    take_apart();
  }

 private:
  // Windows that lie far apart in pieces, as vmap makes them: in the order of the operand each
  // piece of it stays in the cache.
  void take_apart() {
    size_t count = 0;
    int64_t rest = product_of(window_sizes);
    while (count < window.size() && from_window[count] == static_cast<int64_t>(count) &&
           length[count] == shape.dimension(static_cast<int64_t>(count)) &&
           !has(attrs.scatter_dims_to_operand_dims, static_cast<int64_t>(count)))
      rest /= std::max<int64_t>(window_sizes[count++], 1);
    if (rest > kMostOfAWindow || product_of(outer_sizes) < kFewestWindows) return;
    const auto part = static_cast<std::ptrdiff_t>(count);
    apart.assign(window.begin(), window.begin() + part);
    apart_sizes.assign(window_sizes.begin(), window_sizes.begin() + part);
    window.erase(window.begin(), window.begin() + part);
    window_sizes.erase(window_sizes.begin(), window_sizes.begin() + part);
    for (int64_t& d : from_window) d = d < part ? -1 : d - part;
  }
};

// What is scattered may be, or be computed from, what it overwrites: also where that is a copy,
// since a donated argument and its copy are one. Returns the values that copies replace.
std::vector<std::pair<LeafId, Value>> RegionLowering::copy_overwritten(const Instruction& scatter,
                                                                       size_t count) {
  std::vector<std::pair<LeafId, Value>> copied;
  for (size_t k = count; k < scatter.operands.size(); ++k) {
    const LeafId operand = region_.leaf(scatter.operands[k]);
    bool overwrites = false;
    for (size_t i = 0; i < count; ++i)
      overwrites = overwrites || region_.reaches(operand, region_.leaf(scatter.operands[i]));
    if (!overwrites) continue;
    const BufferId copy = program_.allocate(shape(operand));
    write_leaf(operand, copy);
    copied.emplace_back(operand, std::exchange(values_[operand.value], Value::of(copy)));
  }
  return copied;
}

// The arrays' old memory, or copies of it.
std::vector<BufferId> RegionLowering::scatter_places(InstructionId id,
                                                     std::span<const BufferId> old) {
  const auto leaves = region_.leaves_of(id);
  std::vector<BufferId> to;
  for (size_t i = 0; i < old.size(); ++i) {
    const bool in_place = program_.state(old[i]).is_writable &&
                          program_.state(old[i]).pending == 1 &&
                          std::ranges::count(old, old[i]) == 1;
    to.push_back(in_place ? old[i] : place_for(leaves[i], id));
    if (!in_place) program_.copy_whole(to[i], old[i], shape(leaves[i]).byte_size(), 1);
  }
  return to;
}

// Where the window of an index vector begins. Returns whether it fits.
NodeId RegionLowering::window_start(const Scattering& s, std::span<const NodeId> at_outer,
                                    std::vector<NodeId>& start) {
  const InstructionId vectors = s.scatter.operands[s.leaves.size()];
  const Shape& indices = at(vectors).shape;
  Memo memo;
  NodeId fits = b().bits({Scalar::kPred, 1}, 1);
  for (size_t i = 0; i < s.attrs.scatter_dims_to_operand_dims.size(); ++i) {
    Place place = place_at(at_outer);
    if (s.attrs.index_vector_dim < indices.rank()) {
      place.coordinates.insert(place.coordinates.begin() + s.attrs.index_vector_dim,
                               Coordinate{b().index(static_cast<int64_t>(i))});
    }
    const int64_t d = s.attrs.scatter_dims_to_operand_dims[i];
    const NodeId index = as_index(b(), indices.dtype(), operand_element(vectors, place, memo));
    const int64_t most = s.shape.dimension(d) - s.length[static_cast<size_t>(d)];
    // Without a sign, what is below 0 lies behind every array.
    const NodeId inside = b().compare(Predicate::kULe, index, b().index(most));
    fits = i == 0 ? inside : b().binary(Op::kAnd, fits, inside);
    start[static_cast<size_t>(d)] = index;
  }
  for (size_t i = 0; i < s.attrs.input_batching_dims.size(); ++i) {
    int64_t d = s.attrs.scatter_indices_batching_dims[i];
    if (s.attrs.index_vector_dim < d) --d;
    start[static_cast<size_t>(s.attrs.input_batching_dims[i])] = at_outer[static_cast<size_t>(d)];
  }
  return fits;
}

// The elements of one window, into what is there.
void RegionLowering::scatter_window(const Scattering& s, std::span<const NodeId> at_outer,
                                    std::span<const NodeId> start) {
  const Computation& combine = program_.module.at(s.scatter.called[0]);
  const size_t count = s.leaves.size();
  for_each_place(s.window_sizes, widest_scalar(s.id), [&](const Place& in_window) {
    Memo memo;
    Place source{.coordinates = std::vector<Coordinate>(s.updates.dimensions().size()),
                 .lanes = in_window.lanes};
    for (size_t i = 0; i < s.outer.size(); ++i)
      source.coordinates[static_cast<size_t>(s.outer[i])] = {at_outer[i]};
    for (size_t i = 0; i < s.apart.size(); ++i)
      source.coordinates[static_cast<size_t>(s.apart[i])] = {s.at_apart[i]};
    for (size_t i = 0; i < s.window.size(); ++i)
      source.coordinates[static_cast<size_t>(s.window[i])] = in_window.coordinates[i];
    Place target{.coordinates = {}, .lanes = in_window.lanes};
    for (size_t d = 0; d < start.size(); ++d) {
      Coordinate c{start[d]};
      if (s.from_window[d] >= 0) {
        const Coordinate& w = in_window.coordinates[static_cast<size_t>(s.from_window[d])];
        c = {b().add(w.base, start[d]), w.step};
      }
      target.coordinates.push_back(c);
    }
    std::vector<NodeId> arguments(count);
    {
      const PlanBuilder::Ordered after_the_last_one(b());
      for (size_t i = 0; i < count; ++i)
        arguments[i] = load_at(s.to[i], shape(s.leaves[i]), target);
    }
    for (size_t i = 0; i < count; ++i)
      arguments.push_back(operand_element(s.scatter.operands[count + 1 + i], source, memo));
    const std::vector<NodeId> after = inline_scalars(b(), combine, arguments);
    for (size_t i = 0; i < count; ++i) store_at(s.to[i], shape(s.leaves[i]), target, after[i]);
  });
}

// A window that does not fit is left out as a whole.
void RegionLowering::scatter_one(const Scattering& s, std::span<const NodeId> at_outer) {
  std::vector<NodeId> start(s.shape.dimensions().size(), b().index(0));
  std::ranges::copy(s.at_apart, start.begin());
  const NodeId fits = window_start(s, at_outer, start);
  b().begin_switch(b().select(fits, b().index(0), b().index(1)), {});
  b().begin_branch();
  scatter_window(s, at_outer, start);
  b().end_branch({});
  b().begin_branch();
  b().end_branch({});
  b().end_switch();
}

// Of many elements into few places, as a histogram: each would wait for the one before it, which
// is often at its place.
std::optional<Op> RegionLowering::repeated_fold(const Scattering& s) const {
  const int64_t count = s.shape.element_count();
  if (s.leaves.size() > 1 || s.attrs.unique_indices || is_small_float(s.shape.dtype()) ||
      s.shape.byte_size() > kFewPlaces || !s.window.empty() || !s.apart.empty() ||
      s.outer_sizes.empty() || product_of(s.outer_sizes) < std::max<int64_t>(count, kManyScattered))
    return std::nullopt;
  const std::optional<Op> fold = fold_of(program_.module.at(s.scatter.called[0]));
  return fold == Op::kMul ? std::nullopt : fold;
}

// Neighbours go to arrays of their own, which are folded in the end.
void RegionLowering::scatter_in_parts(Scattering& s, Op fold) {
  const BufferId whole = s.to[0];
  const int64_t all[] = {s.shape.element_count()};
  const Scalar scalar = scalar_type(s.shape);
  const auto each_place = [&](const std::function<void(Place)>& body) {
    for_each_place(all, scalar, [&](Place place) {
      place.is_flat = true;
      body(place);
    });
  };
  std::vector<BufferId> parts = {whole};
  while (parts.size() < kScatteredParts) {
    parts.push_back(program_.allocate(s.shape));
    each_place([&](const Place& place) {
      store_at(parts.back(), s.shape, place, b().bits({scalar, 1}, identity_bits(fold, scalar)));
    });
  }
  const auto ways = static_cast<int64_t>(parts.size());
  const int64_t length = s.outer_sizes.back(), rounds = length / ways * ways;
  std::vector<NodeId> at_outer;
  const auto some = [&](NodeId from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      s.to[0] = parts[static_cast<size_t>(i)];
      at_outer.push_back(b().add(from, i));
      scatter_one(s, at_outer);
      at_outer.pop_back();
    }
  };
  loop_nest(b(), std::span(s.outer_sizes).first(s.outer_sizes.size() - 1), at_outer, {},
            [&](const std::vector<NodeId>&) -> std::vector<NodeId> {
              if (rounds > 0) {
                some(b().begin_for(b().index(0), b().index(rounds), ways, {}).parameters[0], ways);
                b().end_for({});
              }
              some(b().index(rounds), length - rounds);
              return {};
            });
  s.to[0] = whole;
  each_place([&](const Place& place) {
    NodeId sum = load_at(whole, s.shape, place);
    for (size_t i = 1; i < parts.size(); ++i)
      sum = b().binary(fold, sum, load_at(parts[i], s.shape, place));
    store_at(whole, s.shape, place, sum);
  });
}

Status RegionLowering::emit_scatter(InstructionId id) {
  const Instruction& scatter = at(id);
  const auto leaves = region_.leaves_of(id);
  const size_t count = leaves.size();
  std::vector<BufferId> old;
  for (size_t i = 0; i < count; ++i) old.push_back(in_memory(region_.leaf(scatter.operands[i])));
  const auto copied = copy_overwritten(scatter, count);
  Scattering s{.id = id,
               .scatter = scatter,
               .attrs = scatter.attrs.get<hlo::ScatterAttrs>(),
               .leaves = leaves,
               .shape = shape(leaves[0]),
               .updates = at(scatter.operands[count + 1]).shape,
               .to = scatter_places(id, old)};
  s.match_dimensions();
  if (s.shape.element_count() > 0 && !std::ranges::count(s.outer_sizes, 0)) {
    const std::optional<Op> fold = repeated_fold(s);
    if (fold) {
      scatter_in_parts(s, *fold);
    } else {
      std::vector<NodeId> at_outer;
      using Nodes = std::vector<NodeId>;
      loop_nest(b(), s.apart_sizes, s.at_apart, {}, [&](const Nodes&) -> Nodes {
        return loop_nest(b(), s.outer_sizes, at_outer, {}, [&](const Nodes&) -> Nodes {
          scatter_one(s, at_outer);
          return {};
        });
      });
    }
  }
  for (size_t i = copied.size(); i-- > 0;) values_[copied[i].first.value] = copied[i].second;
  for (size_t i = 0; i < count; ++i) bind(leaves[i], Value::of(s.to[i]));
  return {};
}

}  // namespace heddle::cpu
