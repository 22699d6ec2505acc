// PlanBuilder writes a Plan, block by block.
//
// Blocks are open from the outside in. A node without an effect goes to the outermost open block in
// which its operands are known, and equal ones are made once: a value that a loop does not change
// is computed before the loop. Arithmetic on constants folds, and so do tests of integers whose
// bounds decide them.
//
// What a block stored into a small buffer at constant places is known there: a later load of it is
// no load but lanes of the values. Stores that nothing reads in the end are removed from the plan.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "heddle/codegen/plan/bounds.h"
#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Every 64-bit Arm rounds x * y + z once, and converts floats of 16 bits.
#if defined(__aarch64__)
inline constexpr bool kIsArm64 = true;
#else
inline constexpr bool kIsArm64 = false;
#endif

inline constexpr Type kIndex = {Scalar::kI64, 1};

class PlanBuilder {
 public:
  explicit PlanBuilder(Plan& plan);  // opens the entry block

  [[nodiscard]] Type type(NodeId id) const { return plan_.at(id).type; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  // Constants, with all lanes alike.
  NodeId bits(Type type, int64_t bits);
  NodeId integer(Type type, int64_t value) { return bits(type, value); }
  NodeId number(Type type, double value);  // of a float type
  NodeId index(int64_t value) { return bits(kIndex, value); }
  NodeId lanes(Scalar scalar, int32_t count);  // 0, 1, 2, ..
  // The value of a constant.
  [[nodiscard]] bool is_constant(NodeId id) const { return plan_.at(id).op == Op::kConstant; }
  [[nodiscard]] int64_t bits_of(NodeId id) const { return plan_.at(id).imm; }
  [[nodiscard]] double float_of(NodeId id) const;  // of a float type
  // What an integer may be.
  [[nodiscard]] const Bounds& bounds(NodeId id) const { return bounds_[id.value]; }
  void assume(NodeId id, const Bounds& bounds) { bounds_[id.value] = bounds; }  // the caller knows

  // Operations. Operands of one lane go to every lane where another one has more.
  NodeId unary(Op op, NodeId x);
  NodeId binary(Op op, NodeId x, NodeId y);
  NodeId fma(NodeId x, NodeId y, NodeId z);
  NodeId compare(Predicate predicate, NodeId x, NodeId y);
  NodeId select(NodeId mask, NodeId x, NodeId y) { return select(mask, x, y, 0); }
  // The same of an x that takes long: whole vectors and single numbers do not compute it where no
  // lane takes it.
  NodeId choose(NodeId mask, NodeId x, NodeId y);
  // The same of an x that is hardly ever taken: nobody computes it where no lane takes it.
  NodeId rarely(NodeId mask, NodeId x, NodeId y) { return select(mask, x, y, 1); }
  NodeId cast(Op op, Scalar to, NodeId x);
  NodeId math(MathFunction function, std::initializer_list<NodeId> operands);
  NodeId splat(NodeId x, int32_t lanes);
  NodeId reduce_lanes(Op fold, NodeId x);
  // Lane l takes lane l - by of x; where there is none, lane l of `fill`.
  NodeId shift_lanes(NodeId x, int64_t by, NodeId fill);
  NodeId extract(NodeId x, int64_t lane);
  // Each lane from a lane of one of the operands, which are of one scalar type.
  NodeId shuffle(std::span<const NodeId> operands, std::vector<LaneSource> lanes);
  NodeId add(NodeId x, NodeId y) { return binary(Op::kAdd, x, y); }
  NodeId mul(NodeId x, NodeId y) { return binary(Op::kMul, x, y); }
  NodeId add(NodeId x, int64_t y) { return add(x, integer(type(x), y)); }
  NodeId mul(NodeId x, int64_t y) { return mul(x, integer(type(x), y)); }

  // Memory. A load never leaves the block that was innermost when the current Floor was made, but
  // for what is still (see below).
  NodeId load(BufferId buffer, Type type, NodeId at);
  NodeId gather(BufferId buffer, Scalar scalar, NodeId at);
  // The offset between two places of memory; nothing: it is not known.
  [[nodiscard]] std::optional<int64_t> distance(NodeId from, NodeId to) const;
  // Lane l from `at` + l * step.
  NodeId load_strided(BufferId buffer, Type type, NodeId at, int64_t step);
  // As many rows as a vector has lanes, one after the other in the vectors, as their columns: lane
  // l of column c is element l * (number of vectors) + c.
  std::vector<NodeId> columns_of(std::span<const NodeId> rows);
  NodeId column_of(std::span<const NodeId> rows, size_t column);  // one of them
  // Columns as rows: the first lanes of all, then the second ones, and so on.
  std::vector<NodeId> rows_of(std::span<const NodeId> columns);
  // The same where each column is what load_strided() gave, by one step of one array that nothing
  // has written since: rows that are shuffled of what lies next to each other there. Empty where
  // the columns are others, or a row needs many vectors.
  std::vector<NodeId> moved_rows(std::span<const NodeId> columns);
  // Loads that are made while it lives stay where they are made: stores stand between them.
  class Ordered {
   public:
    explicit Ordered(PlanBuilder& builder) : builder_(builder) { ++builder.ordered_; }
    ~Ordered() { --builder_.ordered_; }
    Ordered(const Ordered&) = delete;
    Ordered& operator=(const Ordered&) = delete;

   private:
    PlanBuilder& builder_;
  };
  void store(BufferId buffer, NodeId at, NodeId value);
  void scatter(BufferId buffer, NodeId at, NodeId value);  // each lane to its own index
  void copy(BufferId to, BufferId from, int64_t bytes);
  // Each buffer from a number of bytes on; none: from its beginning.
  void kernel(std::vector<BufferId> buffers, std::span<const NodeId> offsets = {},
              std::string what = {}, double flops = -1);

  // Loads that are made while it lives stay in the block that is innermost now, or deeper.
  class Floor {
   public:
    explicit Floor(PlanBuilder& builder) : builder_(builder), outer_(builder.load_floor_) {
      builder.load_floor_ = builder.open_.size() - 1;
    }
    ~Floor() { builder_.load_floor_ = outer_; }
    Floor(const Floor&) = delete;
    Floor& operator=(const Floor&) = delete;

   private:
    PlanBuilder& builder_;
    size_t outer_;
  };

  // Nothing writes the buffer while it lives: its loads may leave the blocks that are opened then.
  class Still {
   public:
    Still(PlanBuilder& builder, BufferId buffer);
    ~Still() { builder_.still_[buffer_.value] = outer_; }
    Still(const Still&) = delete;
    Still& operator=(const Still&) = delete;

   private:
    PlanBuilder& builder_;
    BufferId buffer_;
    size_t outer_;
  };

  // Something is known of what lies there.
  [[nodiscard]] bool is_known(BufferId buffer) const {
    return open_.back().contents.contains(buffer);
  }

  // Floats that are made while it lives are rounded as written: no product joins a sum.
  class Exact {
   public:
    explicit Exact(PlanBuilder& builder) : builder_(builder), outer_(builder.is_exact_) {
      builder.is_exact_ = true;
    }
    ~Exact() { builder_.is_exact_ = outer_; }
    Exact(const Exact&) = delete;
    Exact& operator=(const Exact&) = delete;

   private:
    PlanBuilder& builder_;
    bool outer_;
  };
  // The machine rounds x * y + z once.
  [[nodiscard]] bool has_fma() const { return kIsArm64 || plan_.vector_bytes >= 32; }
  // The machine estimates 1 / sqrt(x): floats and doubles to 14 bits, or floats to 11.
  [[nodiscard]] bool has_rsqrt_estimate() const { return !kIsArm64 && plan_.vector_bytes >= 64; }
  [[nodiscard]] bool has_rough_rsqrt() const { return !kIsArm64 && plan_.vector_bytes == 32; }
  // The machine converts floats of 16 bits.
  [[nodiscard]] bool has_half() const { return kIsArm64 || plan_.vector_bytes >= 32; }

  // Nodes that are made while it lives are made for this instruction, by its number in
  // Plan::origins.
  class For {
   public:
    For(PlanBuilder& builder, uint32_t origin) : builder_(builder), outer_(builder.origin_) {
      builder.origin_ = origin;
    }
    ~For() { builder_.origin_ = outer_; }
    For(const For&) = delete;
    For& operator=(const For&) = delete;

   private:
    PlanBuilder& builder_;
    uint32_t outer_;
  };

  // Control. Between begin and end stands the body.
  struct Region {
    std::vector<NodeId> parameters;
  };
  // The first parameter is the index; a loop of one turn leaves no trace.
  Region begin_for(NodeId from, NodeId to, int64_t step, std::span<const NodeId> initial);
  std::vector<NodeId> end_for(std::span<const NodeId> yields);
  // Turns that may run in any order. Ended by end_for().
  Region begin_for_each(NodeId from, NodeId to, int64_t step);
  // The condition is open after begin, the body after begin_body. `turns`: 0 where not known.
  Region begin_while(std::span<const NodeId> initial, int64_t turns = 0);
  Region begin_body(NodeId condition);
  std::vector<NodeId> end_while(std::span<const NodeId> yields);
  // Branches follow each other.
  void begin_switch(NodeId which, std::span<const Type> results);
  void begin_branch();
  void end_branch(std::span<const NodeId> yields);
  std::vector<NodeId> end_switch();

  BufferId buffer(BufferInfo info);

 private:
  using Key = std::tuple<Op, Scalar, int32_t, int64_t, uint32_t, std::array<uint32_t, 4>>;
  // A lane of a node; not valid: what an element of memory is is not known.
  struct Lane {
    NodeId node;
    int32_t lane = 0;
  };
  struct Open {
    BlockId block;
    bool is_barrier = false;  // nothing leaves it: a branch
    std::map<Key, NodeId> known;
    std::map<BufferId, std::vector<Lane>> contents;  // by element
    std::set<BufferId> written;
  };
  // What load_strided() was asked for.
  struct Strided {
    BufferId buffer;
    NodeId at;
    int64_t step = 0;
  };
  struct Control {
    Op op;
    std::vector<NodeId> args;
    std::vector<BlockId> blocks;
    std::vector<Type> results;
    int64_t step = 0;        // of a while: the turns
    bool is_single = false;  // a for of one turn
  };

  NodeId make(Node node, std::span<const NodeId> args);
  NodeId select(NodeId mask, NodeId x, NodeId y, int64_t imm);
  NodeId pure(Op op, Type type, int64_t imm, std::initializer_list<NodeId> args,
              BufferId buffer = {}, size_t floor = 0);
  NodeId effect(Op op, Type type, int64_t imm, std::initializer_list<NodeId> args, BufferId buffer,
                BufferId buffer2 = {});
  [[nodiscard]] size_t depth_for(std::span<const NodeId> args, size_t floor) const;

  // memory.cc
  [[nodiscard]] size_t floor_of(BufferId buffer) const;
  void remember(BufferId buffer, NodeId at, NodeId value);
  void forget(BufferId buffer);
  // The lanes of the elements from `at` on; none where one of them is not known.
  std::vector<Lane> known_lanes(BufferId buffer, Type type, NodeId at, int64_t step);
  NodeId join(Type type, std::span<const Lane> lanes);
  NodeId load_between(BufferId buffer, Type type, NodeId at, int64_t step);
  bool copy_known(BufferId to, BufferId from, int64_t bytes);
  [[nodiscard]] bool fits_half(NodeId index) const;
  NodeId lower_half(NodeId index);
  NodeId gather_narrow(BufferId buffer, Scalar scalar, NodeId at);

  NodeId parameter(BlockId block, Type type);
  Region open_block(std::span<const NodeId> initial, bool with_index, bool is_barrier);
  BlockId close_block(std::span<const NodeId> yields);
  Region begin_counted(Op op, NodeId from, NodeId to, int64_t step,
                       std::span<const NodeId> initial);
  std::vector<NodeId> close_control();
  [[nodiscard]] bool is_never_minus_zero(NodeId id) const;  // of floats; false: not known
  // Not valid: nothing to fold.
  NodeId fold(Op op, NodeId x, NodeId y);
  NodeId divided_by(NodeId x, double divisor);
  NodeId divided_in_double(NodeId x, double divisor);
  NodeId fold_masks(Op op, NodeId x, NodeId y);
  NodeId fold_bounded(Op op, NodeId x, NodeId y);
  [[nodiscard]] std::optional<bool> decided(Predicate predicate, NodeId x, NodeId y) const;
  [[nodiscard]] NodeId remainder_in(NodeId x) const;
  NodeId folded_float(Type type, std::optional<double> value);
  int32_t match(NodeId& x, NodeId& y);

  Plan& plan_;
  std::vector<Open> open_;
  std::vector<uint16_t> depth_;  // by node: the number of the open block that it stands in
  std::vector<Bounds> bounds_;   // by node
  std::map<NodeId, Strided> strided_;
  std::vector<Control> controls_;
  size_t load_floor_ = 0;
  std::vector<size_t> still_;  // by buffer: the open block that its loads need not leave
  bool is_exact_ = false;
  uint32_t origin_ = 0;
  int ordered_ = 0;
};

}  // namespace heddle::cpu
