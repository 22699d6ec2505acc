// Rules for ops that move elements and make tuples.
#include <algorithm>
#include <tuple>
#include <utility>

#include "heddle/hlo/dimensions.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/rules.h"

namespace heddle::transform {
namespace {

using hlo::DimensionsAttrs;
using hlo::Dims;

const Dims& dims(const Instruction& instruction) {
  return instruction.attrs.get<DimensionsAttrs>().dimensions;
}

bool is_identity(const Dims& dimensions) {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// outer[inner[0]], outer[inner[1]], ...
Dims compose(const Dims& outer, const Dims& inner) {
  Dims out;
  for (int64_t d : inner) out.push_back(outer[static_cast<size_t>(d)]);
  return out;
}

// `now` on the operand of its operand, with these attributes.
InstructionId past(Simplifier& to, Instruction now, const Instruction& inner, hlo::Attrs attrs) {
  now.operands = inner.operands;
  now.attrs = std::move(attrs);
  return to.emit(std::move(now));
}

InstructionId element_of_tuple(Simplifier& to, const Instruction& now) {
  const Instruction* tuple = to.inner(now, Opcode::kTuple);
  if (tuple == nullptr) return kDoesNotApply;
  return to.if_same(
      now, tuple->operands[static_cast<size_t>(now.attrs.get<hlo::TupleIndexAttrs>().index)]);
}

InstructionId tuple_of_elements(Simplifier& to, const Instruction& now) {
  if (now.operands.empty() || to.inner(now, Opcode::kGetTupleElement) == nullptr)
    return kDoesNotApply;
  InstructionId whole = to.at(now.operands[0]).operands[0];
  for (size_t i = 0; i < now.operands.size(); ++i) {
    const Instruction& element = to.at(now.operands[i]);
    bool in_place = element.opcode == Opcode::kGetTupleElement && element.operands[0] == whole &&
                    element.attrs.get<hlo::TupleIndexAttrs>().index == static_cast<int64_t>(i);
    if (!in_place) return kDoesNotApply;
  }
  return to.if_same(now, whole);
}

// For an op that does nothing if the type stays: reshape, convert, copy, slice, ...
InstructionId to_same_type(Simplifier& to, const Instruction& now) {
  return to.if_same(now, now.operands[0]);
}

InstructionId reshape_of_reshape(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kReshape);
  return inner == nullptr ? kDoesNotApply : past(to, now, *inner, hlo::ReshapeAttrs());
}

InstructionId transpose_in_place(Simplifier& to, const Instruction& now) {
  return is_identity(dims(now)) ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

InstructionId transpose_of_transpose(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kTranspose);
  if (inner == nullptr) return kDoesNotApply;
  return past(to, now, *inner, DimensionsAttrs{compose(dims(*inner), dims(now))});
}

InstructionId broadcast_in_place(Simplifier& to, const Instruction& now) {
  return is_identity(dims(now)) ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

InstructionId broadcast_of_broadcast(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kBroadcast);
  if (inner == nullptr) return kDoesNotApply;
  return past(to, now, *inner, DimensionsAttrs{compose(dims(now), dims(*inner))});
}

InstructionId reverse_of_nothing(Simplifier& to, const Instruction& now) {
  bool nothing =
      std::ranges::all_of(dims(now), [&](int64_t d) { return now.shape.dimension(d) <= 1; });
  return nothing ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

InstructionId reverse_of_reverse(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kReverse);
  if (inner == nullptr || !std::ranges::is_permutation(dims(*inner), dims(now)))
    return kDoesNotApply;
  return to.if_same(now, inner->operands[0]);
}

InstructionId slice_of_slice(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kSlice);
  if (inner == nullptr) return kDoesNotApply;
  const auto& first = inner->attrs.get<hlo::SliceAttrs>().slice;
  hlo::SliceAttrs both = now.attrs.get<hlo::SliceAttrs>();
  for (size_t d = 0; d < both.slice.size(); ++d) {
    hlo::SliceDimension& s = both.slice[d];
    int64_t size = now.shape.dimension(static_cast<int64_t>(d));
    // The start of an empty slice may lie behind all elements.
    s.start = first[d].start + (size == 0 ? 0 : s.start * first[d].stride);
    s.stride *= first[d].stride;
    s.limit = size == 0 ? s.start : s.start + (size - 1) * s.stride + 1;
  }
  return past(to, now, *inner, std::move(both));
}

// The slice of the only part that it reads, of few parts: a chain of them, or many slices of many,
// would take quadratic time.
InstructionId slice_of_concatenate(Simplifier& to, const Instruction& now) {
  constexpr size_t kMostParts = 64;
  const Instruction* inner = to.inner(now, Opcode::kConcatenate);
  if (inner == nullptr || inner->operands.size() > kMostParts) return kDoesNotApply;
  hlo::SliceAttrs attrs = now.attrs.get<hlo::SliceAttrs>();
  hlo::SliceDimension& s = attrs.slice[static_cast<size_t>(dims(*inner)[0])];
  for (const InstructionId part : inner->operands) {
    const int64_t size = to.shape(part).dimension(dims(*inner)[0]);
    if (s.start < size) {
      if (s.limit > size) return kDoesNotApply;
      Instruction slice = now;
      slice.operands = {part};
      if (to.inner(slice, Opcode::kConcatenate) != nullptr) return kDoesNotApply;
      slice.attrs = std::move(attrs);
      return to.emit(std::move(slice));
    }
    s.start -= size;
    s.limit -= size;
  }
  return kDoesNotApply;
}

InstructionId pad_of_nothing(Simplifier& to, const Instruction& now) {
  const auto& padding = now.attrs.get<hlo::PadAttrs>().padding;
  bool nothing = std::ranges::all_of(
      padding, [](const hlo::PadDimension& p) { return p.low == 0 && p.high == 0; });
  return nothing ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

InstructionId concatenate_of_one(Simplifier& to, const Instruction& now) {
  return now.operands.size() == 1 ? to.if_same(now, now.operands[0]) : kDoesNotApply;
}

// The start, clamped as dynamic-slice does it. Returns false if it is no constant.
bool constant_start(const Simplifier& to, InstructionId id, int64_t last, int64_t& start) {
  const Literal* literal = to.shape(id).is_scalar() ? to.splat(id) : nullptr;
  if (literal == nullptr) return false;
  start = literal->to_int64(0);
  if (start < 0)
    start = is_unsigned(literal->shape().dtype()) ? last : 0;  // an unsigned one past 2^63
  start = std::min(start, last);
  return true;
}

InstructionId dynamic_slice_at_constant(Simplifier& to, const Instruction& now) {
  const Shape x = to.shape(now.operands[0]);
  if (now.operands.size() != static_cast<size_t>(x.rank()) + 1) return kDoesNotApply;
  hlo::SliceAttrs attrs;
  for (int64_t d = 0; d < x.rank(); ++d) {
    int64_t size = now.shape.dimension(d);
    int64_t start = 0;
    InstructionId operand = now.operands[static_cast<size_t>(d) + 1];
    if (!constant_start(to, operand, x.dimension(d) - size, start)) return kDoesNotApply;
    attrs.slice.push_back({.start = start, .limit = start + size});
  }
  Instruction slice = now;
  slice.opcode = Opcode::kSlice;
  slice.operands = {now.operands[0]};
  slice.attrs = std::move(attrs);
  return to.emit(std::move(slice));
}

// Of a block at constants. What it does not reach stays a slice of the updated array, so that the
// update may be in place.
InstructionId slice_of_update(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kDynamicUpdateSlice);
  if (inner == nullptr || now.shape.element_count() == 0) return kDoesNotApply;
  const Shape x = to.shape(inner->operands[0]), block = to.shape(inner->operands[1]);
  if (inner->operands.size() != static_cast<size_t>(x.rank()) + 2) return kDoesNotApply;
  hlo::SliceAttrs attrs = now.attrs.get<hlo::SliceAttrs>();
  for (int64_t d = 0; d < x.rank(); ++d) {
    hlo::SliceDimension& s = attrs.slice[static_cast<size_t>(d)];
    const int64_t size = block.dimension(d);
    const InstructionId operand = inner->operands[static_cast<size_t>(d) + 2];
    int64_t start = 0;
    if (!constant_start(to, operand, x.dimension(d) - size, start) || s.start < start ||
        s.limit > start + size)
      return kDoesNotApply;
    s.start -= start;
    s.limit -= start;
  }
  Instruction slice = now;
  slice.operands = {inner->operands[1]};
  slice.attrs = std::move(attrs);
  return to.emit(std::move(slice));
}

// The dimensions of an operand that its slices keep, in order.
Dims kept_dimensions(size_t rank, const hlo::GatherAttrs& attrs) {
  Dims out;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d) {
    if (std::ranges::count(attrs.collapsed_slice_dims, d) +
            std::ranges::count(attrs.operand_batching_dims, d) ==
        0)
      out.push_back(d);
  }
  return out;
}

// The same slices of what is transposed, where dimension d of the transpose is dimension order[d].
hlo::GatherAttrs before_transpose(const Dims& order, const hlo::GatherAttrs& attrs) {
  hlo::GatherAttrs out = attrs;
  out.collapsed_slice_dims = compose(order, attrs.collapsed_slice_dims);
  std::ranges::sort(out.collapsed_slice_dims);
  out.start_index_map = compose(order, attrs.start_index_map);
  std::vector<std::pair<int64_t, int64_t>> batching;
  for (size_t i = 0; i < attrs.operand_batching_dims.size(); ++i)
    batching.emplace_back(order[static_cast<size_t>(attrs.operand_batching_dims[i])],
                          attrs.start_indices_batching_dims[i]);
  std::ranges::sort(batching);
  for (size_t i = 0; i < batching.size(); ++i)
    std::tie(out.operand_batching_dims[i], out.start_indices_batching_dims[i]) = batching[i];
  for (size_t d = 0; d < order.size(); ++d)
    out.slice_sizes[static_cast<size_t>(order[d])] = attrs.slice_sizes[d];
  return out;
}

// Where the operand has fewer elements than the slices, its transpose is less work.
InstructionId gather_of_transpose(Simplifier& to, const Instruction& now) {
  const Instruction* inner = to.inner(now, Opcode::kTranspose);
  if (inner == nullptr || now.shape.element_count() > inner->shape.element_count())
    return kDoesNotApply;
  const auto& attrs = now.attrs.get<hlo::GatherAttrs>();
  const Dims& order = dims(*inner);
  const hlo::GatherAttrs before = before_transpose(order, attrs);
  const Dims kept = compose(order, kept_dimensions(order.size(), attrs));
  const Dims sorted = kept_dimensions(order.size(), before);
  Dims back = consecutive_dimensions(now.shape.rank()), sizes(back.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto place = std::ranges::find(sorted, kept[i]) - sorted.begin();
    back[static_cast<size_t>(attrs.offset_dims[i])] = attrs.offset_dims[static_cast<size_t>(place)];
  }
  for (size_t d = 0; d < back.size(); ++d)
    sizes[static_cast<size_t>(back[d])] = now.shape.dimension(static_cast<int64_t>(d));

  Instruction slices = now;
  slices.operands[0] = inner->operands[0];
  slices.attrs = before;
  slices.shape = Shape(now.shape.dtype(), std::move(sizes));
  Instruction transpose = now;
  transpose.opcode = Opcode::kTranspose;
  transpose.operands = {to.emit(std::move(slices))};
  transpose.attrs = DimensionsAttrs{std::move(back)};
  return to.emit(std::move(transpose));
}

InstructionId update_of_everything(Simplifier& to, const Instruction& now) {
  return to.if_same(now, now.operands[1]);  // a block of that size can only begin at 0
}

// Along a dimension of one place.
InstructionId sort_of_one(Simplifier& to, const Instruction& now) {
  if (to.shape(now.operands[0]).dimension(now.attrs.get<hlo::SortAttrs>().dimensions[0]) > 1)
    return kDoesNotApply;
  if (now.operands.size() == 1) return to.if_same(now, now.operands[0]);
  Instruction tuple = now;
  tuple.opcode = Opcode::kTuple;
  tuple.called.clear();
  tuple.attrs = {};
  return to.emit(std::move(tuple));
}

constexpr Rule kMovementRules[] = {
    {"get-tuple-element-of-tuple", Opcode::kGetTupleElement, element_of_tuple},
    {"tuple-of-get-tuple-elements", Opcode::kTuple, tuple_of_elements},
    {"reshape-to-same-shape", Opcode::kReshape, to_same_type},
    {"reshape-of-reshape", Opcode::kReshape, reshape_of_reshape},
    {"transpose-in-place", Opcode::kTranspose, transpose_in_place},
    {"transpose-of-transpose", Opcode::kTranspose, transpose_of_transpose},
    {"broadcast-in-place", Opcode::kBroadcast, broadcast_in_place},
    {"broadcast-of-broadcast", Opcode::kBroadcast, broadcast_of_broadcast},
    {"convert-to-same-type", Opcode::kConvert, to_same_type},
    {"bitcast-to-same-type", Opcode::kBitcast, to_same_type},
    {"bitcast-convert-to-same-type", Opcode::kBitcastConvert, to_same_type},
    {"copy", Opcode::kCopy, to_same_type},
    {"reverse-of-nothing", Opcode::kReverse, reverse_of_nothing},
    {"reverse-of-reverse", Opcode::kReverse, reverse_of_reverse},
    {"slice-of-everything", Opcode::kSlice, to_same_type},
    {"slice-of-slice", Opcode::kSlice, slice_of_slice},
    {"slice-of-concatenate", Opcode::kSlice, slice_of_concatenate},
    {"slice-of-dynamic-update-slice", Opcode::kSlice, slice_of_update},
    {"sort-of-one", Opcode::kSort, sort_of_one},
    {"pad-of-nothing", Opcode::kPad, pad_of_nothing},
    {"concatenate-of-one", Opcode::kConcatenate, concatenate_of_one},
    {"dynamic-slice-of-everything", Opcode::kDynamicSlice, to_same_type},
    {"dynamic-slice-at-constant", Opcode::kDynamicSlice, dynamic_slice_at_constant},
    {"gather-of-transpose", Opcode::kGather, gather_of_transpose},
    {"dynamic-update-slice-of-everything", Opcode::kDynamicUpdateSlice, update_of_everything},
};

}  // namespace

std::span<const Rule> movement_rules() { return kMovementRules; }

}  // namespace heddle::transform
