#include "heddle/cpu/rewrites/sorts/keyed_sorts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/sorts/ranked_sorts.h"
#include "heddle/cpu/rewrites/sorts/sort_keys.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using interpreter::SortKey;

constexpr int64_t kFewestToPick = kMostRanked + 1;  // of shorter rows all elements are ranked
constexpr int64_t kMostOfShortRow = 64;             // from here on topk's kernel is as fast
constexpr int64_t kPickedShare = 4;  // of a row's elements one in so many, or fewer, is read

int64_t dimension_of(const Instruction& sort) {
  return sort.attrs.get<hlo::SortAttrs>().dimensions[0];
}

bool has_order(DType dtype) {
  return dtype == pred || is_integer(dtype) || dtype == f32 || dtype == f64 || dtype == bf16 ||
         dtype == f16;
}

bool is_plain_sort(const Computation& computation, const Instruction& sort) {
  if (sort.opcode != Opcode::kSort) return false;
  const Shape& shape = computation.at(sort.operands[0]).shape;
  return shape.element_count() > 0 && std::ranges::all_of(sort.operands, [&](InstructionId id) {
           const Shape& operand = computation.at(id).shape;
           return !operand.is_dynamic() && scalar_of(operand.dtype()).has_value();
         });
}

hlo::Value joined(hlo::Graph& graph, const Instruction& sort, const hlo::Values& results) {
  return sort.shape.is_tuple() ? graph.tuple(results) : results[0];
}

// The key of a sort by one.
std::optional<SortKey> key_of_sort(const hlo::Module& module, const Computation& computation,
                                   const Instruction& sort) {
  if (!is_plain_sort(computation, sort) ||
      dimension_of(sort) != computation.at(sort.operands[0]).shape.rank() - 1)
    return {};
  const Computation& comparator = module.at(sort.called[0]);
  const auto keys = interpreter::sort_keys(comparator);
  if (!keys || keys->size() != 1 || !is_scalar_computation(comparator)) return {};
  const DType dtype = comparator.at((*keys)[0].left).shape.dtype();
  return has_order(dtype) ? std::optional((*keys)[0]) : std::nullopt;
}

// A sort of a few integers that are narrow: of their own type they fill no vectors.
bool is_of_few_narrow(const hlo::Module& module, const Computation& computation,
                      const Instruction& sort) {
  const Shape& shape = computation.at(sort.operands[0]).shape;
  const DType dtype = shape.dtype();
  if (sort.operands.size() > 1 || !is_integer(dtype) || storage_bytes(dtype) >= 4 ||
      shape.dimension(dimension_of(sort)) >= kFewestToPick)
    return false;
  const Computation& comparator = module.at(sort.called[0]);
  const auto keys = interpreter::sort_keys(comparator);
  return keys && keys->size() == 1 && keys->front().left == comparator.parameters[0];
}

// The sorted rows. `called` is the comparator in the new module. Rows that were converted are
// compared as numbers.
hlo::Values in_order(const hlo::Module& module, hlo::Graph& graph, const Instruction& sort,
                     ComputationId called, const hlo::Values& xs) {
  const int64_t last = xs[0].rank() - 1;
  const Computation& comparator = module.at(sort.called[0]);
  if (xs[0].dtype() != comparator.at(comparator.parameters[0]).shape.dtype()) {
    const bool is_descending = interpreter::sort_keys(comparator)->front().is_descending;
    return hlo::sort(xs, last,
                     is_descending ? hlo::ComparisonDirection::kGt : hlo::ComparisonDirection::kLt);
  }
  return graph.op_of_many(
      Opcode::kSort, xs,
      hlo::SortAttrs{.dimensions = {last}, .is_stable = sort.attrs.get<hlo::SortAttrs>().is_stable},
      {called});
}

// Of each sort of a computation, how many of the first elements of its rows are read.
class FirstElements {
 public:
  explicit FirstElements(const Computation& computation)
      : computation_(computation),
        sort_(computation.instructions.size()),
        count_(computation.instructions.size(), 0) {
    for (InstructionId id : transform::IdRange<InstructionId>(computation.instructions.size()))
      look_at(id);
    if (const InstructionId sort = sort_[computation.root.value]; sort.valid()) read_all(sort);
  }

  // The sort whose result, or one of its results, this is.
  [[nodiscard]] InstructionId sort_of(InstructionId id) const { return sort_[id.value]; }
  [[nodiscard]] int64_t of(InstructionId sort) const { return count_[sort.value]; }

 private:
  void look_at(InstructionId id) {
    const Instruction& instruction = computation_.at(id);
    if (instruction.opcode == Opcode::kSort) sort_[id.value] = id;
    for (const InstructionId operand : instruction.operands) {
      const InstructionId sort = sort_[operand.value];
      if (!sort.valid()) continue;
      if (instruction.opcode == Opcode::kGetTupleElement) {
        sort_[id.value] = sort;
      } else if (instruction.opcode == Opcode::kSlice) {
        const auto& rows =
            instruction.attrs.get<hlo::SliceAttrs>().slice[dimension_of(computation_.at(sort))];
        if (rows.start != 0) read_all(sort);
        count_[sort.value] = std::max(count_[sort.value], rows.limit);
      } else {
        read_all(sort);
      }
    }
  }
  void read_all(InstructionId sort) {
    const Instruction& instruction = computation_.at(sort);
    count_[sort.value] =
        computation_.at(instruction.operands[0]).shape.dimension(dimension_of(instruction));
  }

  const Computation& computation_;
  std::vector<InstructionId> sort_;
  std::vector<int64_t> count_;
};

// x [.., n] at positions [.., k] of its rows.
hlo::Value taken(const hlo::Value& x, const hlo::Value& positions) {
  const int64_t last = x.rank() - 1;
  const Dims rows = consecutive_dimensions(last);
  return gather(x, positions,
                {.offset_dims = {},
                 .collapsed_slice_dims = {last},
                 .start_index_map = {last},
                 .operand_batching_dims = rows,
                 .start_indices_batching_dims = rows,
                 .index_vector_dim = last + 1,
                 .slice_sizes = Dims(static_cast<size_t>(x.rank()), 1)});
}

class SortsOfAComputation {
 public:
  SortsOfAComputation(const hlo::Module& module, const Computation& computation)
      : module_(module), first_(computation) {}

  hlo::Value rewritten(transform::Rebuilder& to, InstructionId id) {
    const Instruction& old = to.old(id);
    if (old.opcode == Opcode::kSort) return with_key(to, id);
    if (old.opcode != Opcode::kSlice) return {};
    const InstructionId sort = first_.sort_of(old.operands[0]);
    if (!sort.valid() || !is_picked(to.from(), sort)) return {};
    const auto key = key_of_sort(module_, to.from(), to.old(sort));
    if (!key) return {};
    const Instruction& of = to.old(old.operands[0]);
    const size_t result = of.opcode == Opcode::kGetTupleElement
                              ? static_cast<size_t>(of.attrs.get<hlo::TupleIndexAttrs>().index)
                              : 0;
    const hlo::Value all = picked(to, sort, *key)[result];
    return slice(all, old.attrs.get<hlo::SliceAttrs>().slice);
  }

 private:
  [[nodiscard]] bool is_picked(const Computation& computation, InstructionId sort) const {
    const Instruction& instruction = computation.at(sort);
    const Shape& shape = computation.at(instruction.operands[0]).shape;
    const int64_t length = shape.dimension(dimension_of(instruction));
    return length >= kFewestToPick && first_.of(sort) * kPickedShare <= length;
  }

  hlo::Value with_key(transform::Rebuilder& to, InstructionId id) {
    const Instruction& sort = to.old(id);
    const auto key = key_of_sort(module_, to.from(), sort);
    const bool has_one_order = sort.attrs.get<hlo::SortAttrs>().is_stable;
    if (!key || !has_one_order || is_picked(to.from(), id)) return {};
    hlo::Graph& graph = to.in_place_of(id);
    const hlo::Values xs = to.operands(id);
    hlo::Values all = {as_ordered_integers(key_of(*key, module_.at(sort.called[0]), xs))};
    if (xs.size() == 1 && all[0].id() == xs[0].id()) return {};
    all.insert(all.end(), xs.begin(), xs.end());
    const auto direction =
        key->is_descending ? hlo::ComparisonDirection::kGt : hlo::ComparisonDirection::kLt;
    hlo::Values results = hlo::sort(all, xs[0].rank() - 1, direction);
    results.erase(results.begin());
    return joined(graph, sort, results);
  }

  // The first elements of the results of a sort, which are made once.
  const hlo::Values& picked(transform::Rebuilder& to, InstructionId id, const SortKey& key) {
    const auto [found, is_new] = picked_.try_emplace(id.value);
    if (!is_new) return found->second;
    const Instruction& sort = to.old(id);
    hlo::Graph& graph = to.in_place_of(id);
    const hlo::Values xs = to.operands(id);
    const hlo::Value keys = as_ordered_integers(key_of(key, module_.at(sort.called[0]), xs));
    const hlo::Value positions = graph.op_of_many(
        Opcode::kTopK, {keys}, hlo::TopKAttrs{.k = first_.of(id), .largest = key.is_descending})[1];
    for (size_t i = 0; i < xs.size(); ++i) {
      const Instruction& x = to.old(sort.operands[i]);
      const bool counts = x.opcode == Opcode::kIota &&
                          x.attrs.get<hlo::IotaAttrs>().iota_dimension == dimension_of(sort);
      found->second.push_back(counts ? convert(positions, x.shape.dtype())
                                     : taken(xs[i], positions));
    }
    return found->second;
  }

  const hlo::Module& module_;
  FirstElements first_;
  std::map<size_t, hlo::Values> picked_;
};

// The first elements of short rows in order: all of them are.
hlo::Value first_of_short_rows(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  const hlo::Value x = to.operands(id)[0];
  const int64_t last = x.rank() - 1;
  if (x.shape().dimension(last) > kMostOfShortRow || old.shape.element(0).element_count() == 0 ||
      !has_order(x.dtype()) || !scalar_of(x.dtype()))
    return {};
  hlo::Graph& graph = to.in_place_of(id);
  const auto& attrs = old.attrs.get<hlo::TopKAttrs>();
  const auto direction =
      attrs.largest ? hlo::ComparisonDirection::kGt : hlo::ComparisonDirection::kLt;
  const hlo::Values sorted =
      hlo::sort({as_ordered_integers(x), x, graph.iota(x.sizes(), last)}, last, direction);
  return graph.tuple({slice(sorted[1], last, 0, attrs.k), slice(sorted[2], last, 0, attrs.k)});
}

}  // namespace

StatusOr<hlo::Module> sort_in_rows(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& sort = to.old(id);
        if (sort.opcode == Opcode::kTopK) return first_of_short_rows(to, id);
        if (!is_plain_sort(to.from(), sort)) return {};
        const Shape& shape = to.from().at(sort.operands[0]).shape;
        const int64_t dimension = dimension_of(sort);
        const bool is_narrow = is_of_few_narrow(module, to.from(), sort);
        if (dimension == shape.rank() - 1 && !is_narrow) return {};
        Dims permutation = other_dimensions(shape.rank(), {&dimension, 1}), back;
        permutation.push_back(dimension);
        for (int64_t d = 0; d < shape.rank(); ++d)
          back.push_back(std::ranges::find(permutation, d) - permutation.begin());
        hlo::Graph& graph = to.in_place_of(id);
        hlo::Values xs, results;
        for (const hlo::Value& x : to.operands(id))
          xs.push_back(transpose(is_narrow ? convert(x, s32) : x, permutation));
        for (const hlo::Value& y : in_order(module, graph, sort, to.mapped(id).called[0], xs))
          results.push_back(transpose(is_narrow ? convert(y, shape.dtype()) : y, back));
        return joined(graph, sort, results);
      });
}

StatusOr<hlo::Module> key_sorts(const hlo::Module& module) {
  std::map<size_t, SortsOfAComputation> sorts;
  return transform::with_rewritten(
      module,
      [&](auto&, transform::Rebuilder& to, ComputationId computation,
          InstructionId id) -> hlo::Value {
        const auto found = sorts.try_emplace(computation.value, module, to.from()).first;
        return found->second.rewritten(to, id);
      });
}

}  // namespace heddle::cpu
