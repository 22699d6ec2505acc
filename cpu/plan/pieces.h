// Long blocks in pieces. Code generators take more than linear time for what stands in one
// function, so that a long block becomes several, which hand values on through memory.
#pragma once

#include <span>
#include <vector>

#include "heddle/cpu/plan/plan.h"

namespace heddle::cpu {

// Nodes of a block that follow each other.
struct Piece {
  std::span<const NodeId> nodes;
  std::vector<NodeId> inputs;     // values from before it that it uses
  std::vector<BufferId> buffers;  // that it reads and writes
};

struct Pieces {
  std::vector<Piece> pieces;
  // Of the block's values, by number: those that another piece uses, or what the block yields.
  std::vector<NodeId> kept;
};

// How many instructions a block becomes, with the blocks inside of it: an estimate.
int64_t code_size(const Plan& plan, BlockId block);

// Pieces of `size` instructions and up to one node more. A control node stands in one piece with
// its results.
Pieces cut(const Plan& plan, BlockId block, int64_t size);

}  // namespace heddle::cpu
