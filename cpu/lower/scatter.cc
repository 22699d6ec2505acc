// scatter as loops: one index vector after the other, each with its window.
#include <algorithm>

#include "heddle/cpu/lower/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::Instruction;
using hlo::InstructionId;

namespace {

bool has(const hlo::Dims& dims, int64_t d) { return std::ranges::count(dims, d) > 0; }

}  // namespace

// A window that does not fit is left out as a whole: its elements are written as they were.
Status RegionLowering::emit_scatter(InstructionId id) {
  const Instruction& scatter = at(id);
  const auto& attrs = scatter.attrs.get<hlo::ScatterAttrs>();
  const auto leaves = region_.leaves_of(id);
  const size_t count = leaves.size();  // arrays
  const auto shape_of = [&](LeafId leaf) -> const Shape& { return this->shape(leaf); };
  const Shape& shape = shape_of(leaves[0]);
  const Shape& indices = at(scatter.operands[count]).shape;
  const Shape& updates = at(scatter.operands[count + 1]).shape;
  const hlo::Computation& combine = program_.module.at(scatter.called[0]);

  // What is scattered may be, or be computed from, what it overwrites: also where that is a copy,
  // since a donated argument and its copy are one.
  std::vector<BufferId> old;
  for (size_t i = 0; i < count; ++i) old.push_back(in_memory(region_.leaf(scatter.operands[i])));
  std::vector<std::pair<LeafId, Value>> copied;
  for (size_t k = count; k < scatter.operands.size(); ++k) {
    const LeafId operand = region_.leaf(scatter.operands[k]);
    const auto reaches = [&](size_t i) {
      return region_.reaches(operand, region_.leaf(scatter.operands[i]));
    };
    bool overwrites = false;
    for (size_t i = 0; i < count; ++i) overwrites = overwrites || reaches(i);
    if (!overwrites) continue;
    const BufferId copy = program_.allocate(shape_of(operand));
    write_leaf(operand, copy);
    copied.emplace_back(operand, std::exchange(values_[operand.value], Value::of(copy)));
  }
  std::vector<BufferId> to;
  for (size_t i = 0; i < count; ++i) {
    const bool in_place = program_.state(old[i]).is_writable &&
                          program_.state(old[i]).pending == 1 &&
                          std::ranges::count(old, old[i]) == 1;
    to.push_back(in_place ? old[i] : place_for(leaves[i], id));
    if (!in_place) program_.copy_whole(to[i], old[i], shape_of(leaves[i]).byte_size(), 1);
  }
  // Dimensions of the updates: those of the index vectors, and those of a window.
  std::vector<int64_t> outer, window;
  for (int64_t d = 0; d < updates.rank(); ++d)
    (has(attrs.update_window_dims, d) ? window : outer).push_back(d);
  std::vector<int64_t> outer_sizes, window_sizes;
  for (int64_t d : outer) outer_sizes.push_back(updates.dimension(d));
  for (int64_t d : window) window_sizes.push_back(updates.dimension(d));
  // Of the operand: how long a window is there, and which of its dimensions that is.
  std::vector<int64_t> length(shape.dimensions().size(), 1);
  std::vector<int64_t> from_window(shape.dimensions().size(), -1);
  int64_t next = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (has(attrs.inserted_window_dims, d) || has(attrs.input_batching_dims, d)) continue;
    length[static_cast<size_t>(d)] = window_sizes[static_cast<size_t>(next)];
    from_window[static_cast<size_t>(d)] = next++;
  }

  std::vector<NodeId> at_outer;
  const auto finish = [&] {
    for (size_t i = copied.size(); i-- > 0;) values_[copied[i].first.value] = copied[i].second;
    for (size_t i = 0; i < count; ++i) bind(leaves[i], Value::of(to[i]));
    return Status();
  };
  if (shape.element_count() == 0 || std::ranges::count(outer_sizes, 0)) return finish();
  loop_nest(b(), outer_sizes, at_outer, {}, [&](const std::vector<NodeId>&) -> std::vector<NodeId> {
    Memo memo;
    std::vector<NodeId> start(shape.dimensions().size(), b().index(0));
    NodeId fits = b().bits({Scalar::kPred, 1}, 1);
    for (size_t i = 0; i < attrs.scatter_dims_to_operand_dims.size(); ++i) {
      Place place;
      for (NodeId node : at_outer) place.coordinates.push_back({node});
      if (attrs.index_vector_dim < indices.rank()) {
        place.coordinates.insert(place.coordinates.begin() + attrs.index_vector_dim,
                                 Coordinate{b().index(static_cast<int64_t>(i))});
      }
      const int64_t d = attrs.scatter_dims_to_operand_dims[i];
      const NodeId index =
          as_index(b(), indices.dtype(), operand_element(scatter.operands[count], place, memo));
      const int64_t most = shape.dimension(d) - length[static_cast<size_t>(d)];
      // Without a sign, what is below 0 lies behind every array.
      const NodeId inside = b().compare(Predicate::kULe, index, b().index(most));
      fits = i == 0 ? inside : b().binary(Op::kAnd, fits, inside);
      start[static_cast<size_t>(d)] = index;
    }
    for (size_t i = 0; i < attrs.input_batching_dims.size(); ++i) {
      int64_t d = attrs.scatter_indices_batching_dims[i];
      if (attrs.index_vector_dim < d) --d;
      start[static_cast<size_t>(attrs.input_batching_dims[i])] = at_outer[static_cast<size_t>(d)];
    }
    // What does not fit is left out.
    b().begin_switch(b().select(fits, b().index(0), b().index(1)), {});
    b().begin_branch();
    for_each_place(window_sizes, widest_scalar(id), [&](const Place& in_window) {
      Memo inner;
      Place source{.coordinates = std::vector<Coordinate>(updates.dimensions().size()),
                   .lanes = in_window.lanes};
      for (size_t i = 0; i < outer.size(); ++i)
        source.coordinates[static_cast<size_t>(outer[i])] = {at_outer[i]};
      for (size_t i = 0; i < window.size(); ++i)
        source.coordinates[static_cast<size_t>(window[i])] = in_window.coordinates[i];
      Place target{.coordinates = {}, .lanes = in_window.lanes};
      for (size_t d = 0; d < start.size(); ++d) {
        Coordinate c{start[d]};
        if (from_window[d] >= 0) {
          const Coordinate& w = in_window.coordinates[static_cast<size_t>(from_window[d])];
          c = {b().add(w.base, start[d]), w.step};
        }
        target.coordinates.push_back(c);
      }
      std::vector<NodeId> before(count);
      {
        const PlanBuilder::Ordered after_the_last_one(b());
        for (size_t i = 0; i < count; ++i) before[i] = load_at(to[i], shape_of(leaves[i]), target);
      }
      std::vector<NodeId> arguments = before;
      for (size_t i = 0; i < count; ++i)
        arguments.push_back(operand_element(scatter.operands[count + 1 + i], source, inner));
      const std::vector<NodeId> after = inline_scalars(b(), combine, arguments);
      for (size_t i = 0; i < count; ++i) store_at(to[i], shape_of(leaves[i]), target, after[i]);
    });
    b().end_branch({});
    b().begin_branch();
    b().end_branch({});
    b().end_switch();
    return {};
  });
  return finish();
}

}  // namespace heddle::cpu
