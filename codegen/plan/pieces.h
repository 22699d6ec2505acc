// Long blocks in pieces. Code generators take more than linear time for what stands in one
// function, so that a long block becomes several, which hand values on through memory.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Nodes of a block that follow each other.
struct Piece {
  std::span<const NodeId> nodes;
  std::vector<NodeId> inputs;     // values from before it that it uses, in the order of first use
  std::vector<BufferId> buffers;  // that it reads and writes
  // What pieces of one form are told, in the order of first use: where a buffer lies, in the arena
  // or in the table of its kind, and a kernel's number. Which of them is whose. None in a piece
  // whose loops threads share or that has a block longer than a piece.
  std::vector<int64_t> places;
  std::map<BufferId, size_t> place_of;
  std::map<int64_t, size_t> place_of_kernel;
  // What it does with its inputs and places: pieces whose forms are equal are the same code.
  std::vector<int64_t> form;
};

struct Pieces {
  std::vector<Piece> pieces;
  // Of the block's values, by number: those that another piece uses, or what the block yields.
  std::vector<NodeId> kept;
};

// Whether a node is known without its place in the program.
bool is_literal(const Node& node);

// How many instructions a block becomes, with the blocks inside of it: an estimate.
int64_t code_size(const Plan& plan, BlockId block);

// Pieces of `size` instructions, up to a quarter more and up to one node more. A control node
// stands in one piece with its results. Where nodes repeat, pieces begin at the same node of each
// turn, so that their forms are equal.
Pieces cut(const Plan& plan, BlockId block, int64_t size);

}  // namespace heddle::cpu
