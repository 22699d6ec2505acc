// Writes a computation for all lanes.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/batching.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

// The values of all lanes: one each, along dimension 0, or one that they share.
struct Lanes {
  Value x;
  bool is_batched = false;
};
using AllLanes = std::vector<Lanes>;

std::vector<bool> mask_of(const AllLanes& lanes);

class Batcher {
 public:
  Batcher(Source& source, int64_t size, std::string_view together)
      : source_(source), size_(size), together_(together) {}

  // Writes a computation of the source into the graph, in place of a call of it. Leaf by leaf.
  //
  // active: pred, one a lane: whether the lane takes part. Absent: all do. Loops do not wait for
  // the other lanes.
  // errors: Unimplemented for an op without a batched form
  StatusOr<AllLanes> run(Graph& graph, const hlo::Computation& computation,
                         const AllLanes& parameters, const Value& active);

  [[nodiscard]] hlo::Computation at(hlo::ComputationId id) const { return source_.at(id); }
  Writer& into() { return source_.into(); }
  [[nodiscard]] int64_t size() const { return size_; }
  // Whether anything in it depends on `active`: a while, or a debug call.
  bool minds_active(hlo::ComputationId id);
  // Whether lanes do something in it together.
  bool has_together(const hlo::Computation& computation);
  // The type of one leaf, and the leaf with one value a lane.
  [[nodiscard]] Shape type_of(const Shape& lane, bool is_batched) const;
  [[nodiscard]] Value full(const Lanes& lanes) const;
  [[nodiscard]] Shape active_type() const { return {pred, {size_}}; }
  // The same value, with derivative zero in lanes where p is not true: infinities and NaN in the
  // tangents of such a lane go nowhere. Only for floats.
  [[nodiscard]] Value stopped_where_not(Graph& graph, const Value& p, const Value& x) const;
  // Where p (pred, one a lane) is true x, elsewhere y: both with one value a lane.
  [[nodiscard]] Value chosen(const Value& p, const Value& x, const Value& y) const;

 private:
  bool minds_active(const hlo::Instruction& instruction);
  // Whether lanes do it together, or something inside.
  bool is_together(const hlo::Instruction& instruction);
  Value reduced(Graph& graph, const Value& x, const hlo::Instruction& all_reduce);
  Lanes together(Graph& graph, const hlo::Instruction& instruction, const AllLanes& operands);
  [[nodiscard]] Value sent(const Value& x, const std::vector<hlo::SourceTarget>& pairs) const;
  StatusOr<AllLanes> batched(Graph& graph, const hlo::Computation& computation,
                             const hlo::Instruction& instruction, const AllLanes& operands,
                             const Value& active);
  AllLanes plain(Graph& graph, const hlo::Computation& computation,
                 const hlo::Instruction& instruction, const AllLanes& operands);
  StatusOr<AllLanes> by_rule(Graph& graph, const hlo::Computation& computation,
                             const hlo::Instruction& instruction, const AllLanes& operands);
  // Calls of one computation with the same batched operands are one computation.
  StatusOr<AllLanes> of_call(Graph& graph, const hlo::Instruction& call, const AllLanes& operands,
                             const Value& active);

  // A debug call: lines for the active lanes.
  StatusOr<AllLanes> of_debug_call(Graph& graph, const hlo::Instruction& call,
                                   const AllLanes& operands, const Value& active);

  // A function with a derivative of its own: all its operands have lanes.
  StatusOr<AllLanes> of_custom_derivative(Graph& graph, const hlo::Instruction& call,
                                          const AllLanes& operands);
  // The same for a function with a loop or a debug call inside: one active lane after another. In
  // the other lanes the loop might not end.
  AllLanes of_active_lanes(Graph& graph, const hlo::Instruction& call, const AllLanes& operands,
                           const Value& active);
  Value guarded(Graph& graph, const hlo::Instruction& call, const Value& on,
                const Values& operands);

  struct Called {
    hlo::ComputationId id;
    std::vector<bool> results;
    std::vector<size_t> operand_of;  // for each result: which operand it is; beyond them: none
  };

  Source& source_;
  int64_t size_;
  std::string_view together_;
  std::map<std::tuple<hlo::ComputationId, std::vector<bool>, bool>, Called> calls_;
  std::map<hlo::ComputationId, bool> minds_active_, has_together_;
};

// Rules of regions. Operands are leaves: those of all operands, one after another.
StatusOr<AllLanes> batch_of_scan(Batcher& batcher, Graph& graph, const hlo::Computation& caller,
                                 const hlo::Instruction& scan, const AllLanes& operands,
                                 const Value& active);
StatusOr<AllLanes> batch_of_while(Batcher& batcher, Graph& graph, const hlo::Instruction& loop,
                                  const AllLanes& operands, const Value& active);
StatusOr<AllLanes> batch_of_conditional(Batcher& batcher, Graph& graph,
                                        const hlo::Computation& caller,
                                        const hlo::Instruction& conditional,
                                        const AllLanes& operands, const Value& active);

}  // namespace heddle::transform
