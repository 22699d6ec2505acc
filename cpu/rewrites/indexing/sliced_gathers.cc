#include "heddle/cpu/rewrites/indexing/sliced_gathers.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/indexing/known_indices.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::GatherAttrs;

constexpr int64_t kMostSlices = 32;     // that stand side by side
constexpr int64_t kFewestInSlice = 16;  // elements of each of several slices
constexpr int64_t kManyNeighbours = 8;  // of a window that a gather takes at once
constexpr size_t kMostRuns = 4;         // runs of indices along one dimension

// Indices first, first + step, ..
struct Steps {
  int64_t first = 0, step = 0, count = 0;
  [[nodiscard]] int64_t last() const { return first + step * (count - 1); }
};

// Nothing: they are too many.
std::optional<std::vector<Steps>> steps_of(const Dims& indices) {
  std::vector<Steps> all;
  for (const int64_t index : indices) {
    if (!all.empty() && all.back().count == 1) {
      all.back().step = index - all.back().first;
      ++all.back().count;
    } else if (!all.empty() && index == all.back().last() + all.back().step) {
      ++all.back().count;
    } else {
      if (all.size() == kMostRuns) return std::nullopt;
      all.push_back({.first = index, .count = 1});
    }
  }
  return all;
}

// The elements of x at these indices along d.
hlo::Value taken(const hlo::Value& x, int64_t d, const std::vector<Steps>& all) {
  const auto axis = static_cast<size_t>(d);
  hlo::Values pieces;
  for (const Steps& steps : all) {
    std::vector<hlo::SliceDimension> parts;
    for (const int64_t size : x.shape().dimensions()) parts.push_back({.limit = size});
    parts[axis] = {.start = std::min(steps.first, steps.last()),
                   .limit = std::max(steps.first, steps.last()) + 1,
                   .stride = std::max<int64_t>(std::abs(steps.step), 1)};
    hlo::Value piece = slice(x, parts);
    if (steps.step < 0) piece = reverse(piece, {d});
    if (steps.step == 0 && steps.count > 1) {
      Dims sizes = piece.shape().dimensions(), places = sizes;
      sizes[axis] = steps.count;
      std::iota(places.begin(), places.end(), 0);
      places.erase(places.begin() + d);
      piece = broadcast(drop_dimension(piece, d), sizes, places);
    }
    pieces.push_back(piece);
  }
  return pieces.size() == 1 ? pieces[0] : concatenate(pieces, d);
}

class SlicedGather {
 public:
  SlicedGather(const Computation& from, ComputationId in, KnownIndices& indices,
               const Instruction& gather)
      : attrs_(gather.attrs.get<GatherAttrs>()),
        x_(from.at(gather.operands[0]).shape),
        result_(gather.shape) {
    const Instruction& starts = from.at(gather.operands[1]);
    if (!attrs_.operand_batching_dims.empty() || x_.is_dynamic() || starts.shape.is_dynamic() ||
        result_.element_count() == 0 || x_.element_count() == 0)
      return;
    find_batch(starts.shape);
    is_sliced_ = find_parts(from, in, indices, starts, gather.operands[1]) && find_stacked() &&
                 !is_window() && find_steps();
  }

  [[nodiscard]] bool is_sliced() const { return is_sliced_; }

  // Slices side by side, for all places along the dimensions of the batch that are stacked.
  [[nodiscard]] hlo::Value written(const hlo::Value& x) const {
    std::vector<Run> runs;
    for (size_t b = 0; b < batch_.size(); ++b) {
      if (!is_stacked_[b]) continue;
      const bool is_next = !runs.empty() && places_[runs.back().back()] + 1 == places_[b];
      if (!is_next) runs.emplace_back();
      runs.back().push_back(b);
    }
    Dims at(batch_.size(), 0);
    return reshape(stack_of(x, runs, 0, at), result_.dimensions());
  }

 private:
  // Dimensions of the batch that are neighbours in the result.
  using Run = std::vector<size_t>;

  // One index of the gather.
  struct Part {
    Known values;
    std::vector<int64_t> places;     // where `values` differs: dimensions of the batch
    int64_t along = 0;               // the array's dimension
    DType dtype = s32;
    std::optional<size_t> moved_by;  // the dimension of the batch that is not stacked
  };

  // The dimensions of the indices beside that of their parts, and where the result has them.
  void find_batch(const Shape& starts) {
    for (int64_t d = 0; d < starts.rank(); ++d) {
      if (d != attrs_.index_vector_dim) batch_.push_back(starts.dimension(d));
    }
    places_ = other_dimensions(result_.rank(), attrs_.offset_dims);
    is_stacked_.assign(batch_.size(), false);
  }

  bool find_parts(const Computation& from, ComputationId in, KnownIndices& indices,
                  const Instruction& starts, InstructionId id) {
    const int64_t vector = attrs_.index_vector_dim;
    const size_t count = attrs_.start_index_map.size();
    const bool has_vector = vector < starts.shape.rank();
    const bool is_joined = has_vector && starts.opcode == Opcode::kConcatenate &&
                           dimensions_of(starts)[0] == vector && starts.operands.size() == count;
    for (size_t k = 0; k < count; ++k) {
      const InstructionId part = is_joined ? starts.operands[k] : id;
      if (is_joined && from.at(part).shape.dimension(vector) != 1) return false;
      const Known* values = indices.of(in, part);
      if (values == nullptr) return false;
      parts_.push_back({.values = *values,
                        .places = {},
                        .along = attrs_.start_index_map[k],
                        .dtype = from.at(part).shape.dtype()});
      Known& own = parts_.back().values;
      if (has_vector && !is_joined) own = at_place(own, vector, static_cast<int64_t>(k));
      for (const int64_t d : own.along)
        parts_.back().places.push_back(has_vector && d > vector ? d - 1 : d);
      own.along = parts_.back().places;
    }
    return true;
  }

  // The values at one place along d.
  static Known at_place(const Known& all, int64_t d, int64_t place) {
    const auto found = std::ranges::find(all.along, d);
    if (found == all.along.end()) return all;
    const auto k = static_cast<size_t>(found - all.along.begin());
    int64_t inner = 1;
    for (size_t j = k + 1; j < all.sizes.size(); ++j) inner *= all.sizes[j];
    Known out{.along = all.along, .sizes = all.sizes, .values = {}};
    out.along.erase(out.along.begin() + static_cast<std::ptrdiff_t>(k));
    out.sizes.erase(out.sizes.begin() + static_cast<std::ptrdiff_t>(k));
    for (int64_t i = 0; i < std::ssize(all.values); ++i) {
      if (i / inner % all.sizes[k] == place)
        out.values.push_back(all.values[static_cast<size_t>(i)]);
    }
    return out;
  }

  // Stacks the shorter one of two dimensions that move one index, until no index is moved by two
  // and no dimension moves two. False: the slices would be many.
  bool find_stacked() {
    int64_t slices = 1, elements = result_.element_count();
    const auto stack = [&](size_t b) {
      is_stacked_[b] = true;
      slices *= batch_[b];
      elements /= batch_[b];
    };
    for (size_t b = 0; b < batch_.size(); ++b) {
      if (std::ranges::count_if(parts_, [&](const Part& part) { return moves(part, b); }) > 1)
        stack(b);
    }
    for (Part& part : parts_) {
      for (size_t b = 0; b < batch_.size(); ++b) {
        if (is_stacked_[b] || !moves(part, b)) continue;
        if (!is_collapsed(part.along)) {
          stack(b);
        } else if (!part.moved_by) {
          part.moved_by = b;
        } else {
          const bool is_longer = batch_[b] > batch_[*part.moved_by];
          stack(is_longer ? *part.moved_by : b);
          if (is_longer) part.moved_by = b;
        }
      }
    }
    return slices <= kMostSlices && (slices == 1 || elements >= kFewestInSlice);
  }

  static bool moves(const Part& part, size_t b) {
    return std::ranges::count(part.places, static_cast<int64_t>(b)) > 0;
  }
  [[nodiscard]] bool is_collapsed(int64_t d) const {
    return std::ranges::count(attrs_.collapsed_slice_dims, d) > 0;
  }

  // Many neighbours stand in the last dimension of the array and of the result: a gather takes them
  // at once (window_gathers.h).
  [[nodiscard]] bool is_window() const {
    if (batch_.empty() || !is_stacked_.back() || places_.back() != result_.rank() - 1) return false;
    return batch_.back() >= kManyNeighbours && std::ranges::any_of(parts_, [&](const Part& part) {
             return part.along == x_.rank() - 1 && moves(part, batch_.size() - 1);
           });
  }

  // The indices of a part at one place of the stacked dimensions, moved to lie within the array.
  [[nodiscard]] Dims indices_of(const Part& part, Dims at) const {
    const int64_t most =
        x_.dimension(part.along) - attrs_.slice_sizes[static_cast<size_t>(part.along)];
    Dims all;
    for (int64_t i = 0, count = part.moved_by ? batch_[*part.moved_by] : 1; i < count; ++i) {
      if (part.moved_by) at[*part.moved_by] = i;
      const int64_t index = part.values.at(at);
      const bool is_great = part.dtype == u64 && index < 0;  // 2^63 and more
      all.push_back(is_great ? most : std::clamp<int64_t>(index, 0, most));
    }
    return all;
  }

  // False: some indices are too many runs of equal steps.
  bool find_steps() {
    Dims at(batch_.size(), 0);
    return for_each_stacked(0, at, [&] {
      return std::ranges::all_of(
          parts_, [&](const Part& part) { return steps_of(indices_of(part, at)).has_value(); });
    });
  }
  template <class Visit>
  bool for_each_stacked(size_t b, Dims& at, const Visit& visit) const {
    while (b < batch_.size() && !is_stacked_[b]) ++b;
    if (b == batch_.size()) return visit();
    for (at[b] = 0; at[b] < batch_[b]; ++at[b]) {
      if (!for_each_stacked(b + 1, at, visit)) return false;
    }
    at[b] = 0;
    return true;
  }

  // For the places `at` along all runs but these, of which it has each one. A run is one dimension.
  hlo::Value stack_of(const hlo::Value& x, std::span<const Run> runs, int64_t dropped,
                      Dims& at) const {
    if (runs.empty()) return slice_at(x, at);
    const Run& run = runs.front();
    int64_t count = 1;
    for (const size_t b : run) count *= batch_[b];
    hlo::Values pieces;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      for (size_t k = run.size(); k-- > 0; rest /= batch_[run[k]])
        at[run[k]] = rest % batch_[run[k]];
      pieces.push_back(stack_of(x, runs.subspan(1), dropped + std::ssize(run) - 1, at));
    }
    return pieces.size() == 1 ? pieces[0] : concatenate(pieces, places_[run.front()] - dropped);
  }

  // The part of the result at one place of the stacked dimensions. Each run of them has size 1.
  [[nodiscard]] hlo::Value slice_at(const hlo::Value& x, const Dims& at) const {
    hlo::Value now = x;
    Dims sizes, order;  // `order`: the result's dimension of each of the array's that stays
    size_t next = 0;    // of the result's dimensions from the array
    for (int64_t d = 0; d < x_.rank(); ++d) {
      const int64_t size = attrs_.slice_sizes[static_cast<size_t>(d)];
      const int64_t offset = is_collapsed(d) ? -1 : attrs_.offset_dims[next++];
      const auto part = std::ranges::find(parts_, d, &Part::along);
      std::vector<Steps> steps = {{.first = 0, .step = 1, .count = size}};
      if (part != parts_.end()) {
        const Dims indices = indices_of(*part, at);
        steps = part->moved_by
                    ? steps_of(indices).value()
                    : std::vector<Steps>{{.first = indices[0], .step = 1, .count = size}};
      }
      now = taken(now, d, steps);
      const bool is_moved = part != parts_.end() && part->moved_by;
      if (is_collapsed(d) && !is_moved) continue;
      sizes.push_back(now.shape().dimension(d));
      order.push_back(is_moved ? places_[*part->moved_by] : offset);
    }
    now = reshape(now, sizes);
    Dims turned(order.size());
    std::iota(turned.begin(), turned.end(), 0);
    std::ranges::sort(turned, {}, [&](int64_t d) { return order[static_cast<size_t>(d)]; });
    now = transpose(now, turned);
    std::ranges::sort(order);
    Dims all = result_.dimensions(), kept;
    for (size_t b = 0; b < batch_.size(); ++b) {
      if (is_stacked_[b]) all[static_cast<size_t>(places_[b])] = 1;
    }
    now = broadcast(now, all, order);
    for (int64_t d = 0; d < result_.rank(); ++d) {
      if (!is_stacked_at(d) || !is_stacked_at(d - 1)) kept.push_back(all[static_cast<size_t>(d)]);
    }
    return reshape(now, kept);
  }
  [[nodiscard]] bool is_stacked_at(int64_t d) const {
    const auto place = std::ranges::find(places_, d);
    return place != places_.end() && is_stacked_[static_cast<size_t>(place - places_.begin())];
  }

  const GatherAttrs& attrs_;
  const Shape &x_, &result_;
  Dims batch_, places_;
  std::vector<Part> parts_;
  std::vector<bool> is_stacked_;  // by dimension of the batch
  bool is_sliced_ = false;
};

// Slices of size 0 in a collapsed dimension, which give elements all the same: zeros.
bool takes_none(const Instruction& gather) {
  const auto& attrs = gather.attrs.get<GatherAttrs>();
  return !gather.shape.is_dynamic() &&
         std::ranges::any_of(attrs.collapsed_slice_dims, [&](int64_t d) {
           return attrs.slice_sizes[static_cast<size_t>(d)] == 0;
         });
}

}  // namespace

StatusOr<hlo::Module> slice_gathers(const hlo::Module& traced) {
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module module, transform::inline_calls(traced));
  KnownIndices indices(module);
  return transform::with_rewritten(
      module,
      [&](auto&, transform::Rebuilder& to, ComputationId in, InstructionId id) -> hlo::Value {
        const Instruction& old = to.old(id);
        if (old.opcode == Opcode::kGather) {
          if (takes_none(old)) return to.in_place_of(id).full(old.shape, 0);
          const SlicedGather gather(to.from(), in, indices, old);
          if (!gather.is_sliced()) return {};
          to.in_place_of(id);
          return gather.written(to.operands(id)[0]);
        }
        if (!old.shape.is_array() || old.shape.dtype() != pred || old.opcode == Opcode::kConstant)
          return {};
        const Known* truths = indices.of(in, id);
        if (truths == nullptr || !truths->are_alike()) return {};
        return to.in_place_of(id).full(old.shape, truths->values[0] != 0 ? 1 : 0);
      });
}

}  // namespace heddle::cpu
