// What a loop does with memory, by its turn.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// An index of an element in turn i: by * i + offset, from a place that all turns share. Turns of
// loops inside add up to `spread`.
struct ElementIndex {
  int64_t by = 0;
  int64_t offset = 0;
  NodeId from;  // not valid: 0
  int64_t spread = 0;
};

struct Access {
  BufferId buffer;  // the one that stands for its memory
  ElementIndex index;
  int64_t lanes = 1;
  bool is_write = false;
  bool is_known = false;  // the index is
};

struct LoopRange {
  int64_t from = 0, to = 0, step = 1;
  friend bool operator==(const LoopRange&, const LoopRange&) = default;
};

inline bool writes_memory(Op op) { return op == Op::kStore || op == Op::kScatter; }

// Of a for or for_each; none where a bound is not known.
std::optional<LoopRange> range_of(const Plan& plan, const Node& loop);

// The one block of a for or for_each.
inline const Block& body_of(const Plan& plan, NodeId loop) {
  return plan.at(plan.blocks_of(plan.at(loop))[0]);
}

// Ranges of the loops inside, by their counters.
using InnerLoops = std::map<NodeId, LoopRange>;

// The index of an element as a function of the turn; `inside`: the nodes of the loop.
std::optional<ElementIndex> index_of(const Plan& plan, NodeId id, NodeId turn,
                                     const std::set<NodeId>& inside, const InnerLoops& inner = {});

// By buffer: the one that stands for its memory. `taken`: arguments and results, by number, that
// may be the same memory.
std::vector<BufferId> same_memory(const Plan& plan,
                                  std::span<const std::pair<int64_t, int64_t>> taken);

// What a for_each does; none where it holds more than plain operations.
std::optional<std::vector<Access>> accesses_of(const Plan& plan, std::span<const BufferId> same,
                                               NodeId loop);

// What a for_each and the for_each loops inside do.
struct Nest {
  InnerLoops inner;
  std::set<NodeId> inside;  // nodes
  std::vector<Access> accesses;
};
// None where it holds more than for_each loops and plain operations, or an index is not known.
std::optional<Nest> nest_of(const Plan& plan, std::span<const BufferId> same, NodeId loop);

}  // namespace heddle::cpu
