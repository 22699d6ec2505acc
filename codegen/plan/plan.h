// The plan: a whole program as structured loops over memory, the form between HLO and machine code.
//
// A Plan is a table of nodes, a table of blocks and a table of buffers. A node is one operation on
// scalars or on vectors of a fixed number of lanes; `for`, `while` and `switch` hold blocks and
// hand values from one turn to the next as block parameters and yields; `for_each` hands on none.
// Arrays live in buffers and are reached by load and store with an element index. Nothing here
// knows of HLO or of LLVM.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/ids.h"

namespace heddle::cpu {

using NodeId = Id<struct NodeTag>;
using BlockId = Id<struct BlockTag>;
using BufferId = Id<struct BufferTag>;
using SharedLoopId = Id<struct SharedLoopTag>;

// kPred is one bit in a register and one byte in memory. Integers have no sign; ops do.
enum class Scalar : uint8_t { kPred, kI8, kI16, kI32, kI64, kF32, kF64 };

constexpr int64_t bytes_of(Scalar scalar) {
  constexpr int64_t kBytes[] = {1, 1, 2, 4, 8, 4, 8};
  return kBytes[static_cast<size_t>(scalar)];
}
constexpr int64_t bits_of(Scalar scalar) {
  return scalar == Scalar::kPred ? 1 : 8 * bytes_of(scalar);
}
inline bool is_float(Scalar scalar) { return scalar >= Scalar::kF32; }

struct Type {
  Scalar scalar = Scalar::kI64;
  int32_t lanes = 1;
  // Integers whose quotients, by what is no constant, the code generator computes as floats.
  [[nodiscard]] bool is_divided_as_float() const { return lanes > 1 && bits_of(scalar) <= 32; }
  friend bool operator==(const Type&, const Type&) = default;
};

// The list is ops.def.
enum class Op : uint8_t {
#define HEDDLE_PLAN_OP(enumerator, text) enumerator,
#include "heddle/codegen/plan/ops.def"
#undef HEDDLE_PLAN_OP
};

std::string_view to_string(Op op);

// The test that kCompare makes. Of floats it is ordered, but for kNe, which is true of NaN.
enum class Predicate : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kULt, kULe, kUGt, kUGe };

// Functions of the C library, by their names there: exp is expf for f32.
#define HEDDLE_MATH_FUNCTIONS(X) \
  X(exp)                         \
  X(expm1)                       \
  X(log)                         \
  X(log1p)                       \
  X(sin)                         \
  X(cos)                         \
  X(tan)                         \
  X(asin)                        \
  X(acos)                        \
  X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(cbrt) X(pow) X(atan2) X(fmod)

enum class MathFunction : uint8_t {
#define HEDDLE_X(name) k_##name,
  HEDDLE_MATH_FUNCTIONS(HEDDLE_X)
#undef HEDDLE_X
};

std::string_view to_string(MathFunction function);

struct Node {
  Op op = Op::kConstant;
  Type type;         // of the value; of no use for what has none
  BufferId buffer;   // load, gather, store, copy
  BufferId buffer2;  // copy: the source
  int64_t imm = 0;
  uint32_t first_arg = 0;  // in Plan::args
  uint32_t arg_count = 0;
  uint32_t first_block = 0;  // in Plan::block_lists
  uint32_t block_count = 0;
  SharedLoopId shared;  // for_each; not valid: one thread runs it
  uint32_t origin = 0;       // in Plan::origins
  bool checks_stop = false;  // loops: a turn ends the run where it is asked to stop
};

// What a node was made for.
struct Origin {
  std::string name;  // of the instruction
  std::string file;  // of the user's line; empty: not known
  int64_t line = 0;
};

// "train.cc:41"; empty where the file is not known.
inline std::string place_of(const Origin& origin) {
  if (origin.file.empty()) return {};
  return origin.file.substr(origin.file.rfind('/') + 1) + ":" + std::to_string(origin.line);
}
// "tanh.3 [train.cc:41]"
inline std::string to_string(const Origin& origin) {
  return origin.file.empty() ? origin.name : origin.name + " [" + place_of(origin) + "]";
}

struct Block {
  std::vector<NodeId> parameters;
  std::vector<NodeId> nodes;   // in order
  std::vector<NodeId> yields;  // while's condition: one pred; body: the next values
};

// Where an array lies.
struct BufferInfo {
  enum class Kind : uint8_t { kArena, kArgument, kResult, kConstant };
  Kind kind = Kind::kArena;
  int64_t bytes = 0;
  int64_t index = 0;  // kArena: offset in bytes; else the number of argument, result or constant
  // kArena: the first and the last moment at which it is touched, in steps of the program.
  int64_t born = -1;
  int64_t last = -1;
};

// A call of a function that was compiled ahead of time, on whole buffers.
struct KernelUse {
  std::vector<BufferId> buffers;  // in the order that the kernel expects
  std::string what;               // for people
  double flops = -1;              // of a call; below 0: not known
};

// A for_each whose turns threads share: each takes so many values of the index, then the next ones.
struct SharedLoop {
  int64_t chunk = 0;
  std::vector<NodeId> captured;   // values from outside that the body uses
  std::vector<BufferId> buffers;  // that it reads and writes
};

// A lane of one of a shuffle's operands.
struct LaneSource {
  uint32_t operand = 0;
  uint32_t lane = 0;
};

struct Plan {
  std::string name;
  std::vector<Node> nodes;
  std::vector<NodeId> args;
  std::vector<BlockId> block_lists;
  std::vector<Block> blocks;
  std::vector<BufferInfo> buffers;
  std::vector<KernelUse> kernels;
  std::vector<SharedLoop> shared_loops;
  std::vector<Origin> origins{{}};  // the first: of no instruction
  std::vector<std::vector<LaneSource>> shuffles;
  BlockId entry;
  int64_t arena_bytes = 0;
  int64_t vector_bytes = 16;  // what the machine's vectors hold

  [[nodiscard]] const Node& at(NodeId id) const { return nodes[id.value]; }
  [[nodiscard]] const Block& at(BlockId id) const { return blocks[id.value]; }
  [[nodiscard]] std::span<const NodeId> args_of(const Node& node) const {
    return {args.data() + node.first_arg, node.arg_count};
  }
  [[nodiscard]] std::span<const BlockId> blocks_of(const Node& node) const {
    return {block_lists.data() + node.first_block, node.block_count};
  }
  NodeId add(Node node, std::span<const NodeId> of) {
    node.first_arg = static_cast<uint32_t>(args.size());
    node.arg_count = static_cast<uint32_t>(of.size());
    args.insert(args.end(), of.begin(), of.end());
    nodes.push_back(node);
    return NodeId(nodes.size() - 1);
  }
};

// Changes with the operations and the layout of a plan: what the code generator was built for must
// be what it is given.
constexpr uint64_t plan_layout() {
  uint64_t hash = sizeof(Plan) + 64 * sizeof(Node) + 4096 * sizeof(BufferInfo);
  for (const char c : {
#define HEDDLE_PLAN_OP(enumerator, text) text[0], text[sizeof(text) - 2],
#include "heddle/codegen/plan/ops.def"
#undef HEDDLE_PLAN_OP
       })
    hash = (hash ^ static_cast<uint64_t>(c)) * 0x100000001b3;
  return hash;
}

// Takes out what is written into buffers of the arena that nothing reads.
void remove_unread_stores(Plan& plan);

// Gives the buffers of the arena their offsets: two that live at the same time do not overlap.
void place_buffers(Plan& plan);

// The plan as text, for people: its loops (summary.h), then all nodes.
std::string to_text(const Plan& plan);

}  // namespace heddle::cpu
