// The work of lower(), for the files that share it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/codegen/plan/builder.h"
#include "heddle/cpu/lower/elements/packs.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

// Where a leaf's value is.
struct Value {
  enum class Kind : uint8_t { kNone, kNode, kBuffer };
  Kind kind = Kind::kNone;  // kNone: not computed yet, or lazy
  NodeId node;
  BufferId buffer;
  static Value of(NodeId node) { return {.kind = Kind::kNode, .node = node, .buffer = {}}; }
  static Value of(BufferId buffer) { return {.kind = Kind::kBuffer, .node = {}, .buffer = buffer}; }
  [[nodiscard]] bool is_node() const { return kind == Kind::kNode; }
  [[nodiscard]] bool is_buffer() const { return kind == Kind::kBuffer; }
};

// A position in one dimension: lane l stands at base + l * step. The base may differ by lane.
struct Coordinate {
  NodeId base;
  int64_t step = 0;
  friend auto operator<=>(const Coordinate&, const Coordinate&) = default;
};

// Positions of `lanes` elements of an array, by dimension.
struct Place {
  std::vector<Coordinate> coordinates;
  int32_t lanes = 1;
  // One coordinate stands for all: the number of the element in row-major order.
  bool is_flat = false;
  // So many last dimensions share the last coordinate, the number of the element among them.
  int64_t joined = 1;
};
// How far apart, in elements, neighbours along each coordinate of a place are.
std::vector<int64_t> strides_at(const Shape& shape, const Place& place);
// The place of one element.
Place place_at(std::span<const NodeId> indices);

// The elements of one column of an array, of `width` columns and rows without holes between them.
struct Column {
  NodeId rows;  // where the first row begins
  int64_t width = 0, number = 0;
};

// An array by strides, in elements, from a place of a buffer.
struct View {
  BufferId buffer;
  NodeId offset;
  std::vector<int64_t> strides;
  DType dtype;                           // of the elements in the buffer
  const Instruction* convert = nullptr;  // makes the array's elements of them; null: none
};

// What all regions of a program share.
class ProgramLowering {
 public:
  ProgramLowering(const hlo::Module& module, int64_t vector_bytes, bool as_lapack,
                  LoweredProgram& program)
      : module(module), as_lapack(as_lapack), program(program), builder(program.plan) {
    program.plan.vector_bytes = vector_bytes;
    program.plan.name = module.name;
  }

  Status run();

  // An array that the program may write.
  BufferId allocate(const Shape& shape);
  // The number of the instruction in Plan::origins.
  uint32_t origin(const Instruction& instruction);
  void next_step() { ++now_; }
  // A buffer is read or written now.
  void touch(BufferId buffer);
  // A loop begins and ends: what it touches lives as long as it does.
  void begin_loop();
  void end_loop();
  BufferId constant(const Literal& literal);
  // The next kernel.
  Status add_kernel(KernelRecipe recipe);
  // Copies an array whose old place is read `reads` more times by the step that copies it.
  void copy_whole(BufferId to, BufferId from, int64_t bytes, int reads);
  // As to memory alone, of an array whose elements were read before.
  void take_over(BufferId to, BufferId from, int reads);

  struct BufferState {
    bool is_writable = false;
    int pending = 0;  // steps that will still read it
  };
  BufferState& state(BufferId buffer) {
    if (buffer.value >= states_.size()) states_.resize(buffer.value + 1);
    return states_[buffer.value];
  }

  const hlo::Module& module;
  const bool as_lapack;
  LoweredProgram& program;
  PlanBuilder builder;
  std::set<const Instruction*> to_double;  // loops that would copy less with two turns in one

 private:
  struct OpenLoop {
    int64_t began;
    std::vector<BufferId> touched;
  };
  std::vector<BufferState> states_;
  std::vector<OpenLoop> loops_;
  std::map<const Instruction*, uint32_t> origins_;
  int64_t now_ = 0;
};

// A square: its rows, and arrays in it with columns in rows, by buffer, first element and step
// between rows. No member of a class: clang makes no optional of one that has an initializer.
struct OpenSquare {
  std::vector<NodeId> rows;  // each is the one before and 1
  size_t row = 0;            // that the code stands in
  std::map<std::tuple<BufferId, NodeId, int64_t>, std::vector<NodeId>> turned;
};

// Writes the code of one computation at the place where the builder stands.
class RegionLowering {
 public:
  // `arguments` by leaf of the parameters.
  RegionLowering(ProgramLowering& program, const Region& region, std::span<const Value> arguments);

  // Scalars that come as lanes of vectors: leaf, vector, lane.
  void set_lane(LeafId leaf, NodeId vector, int64_t lane);
  // The leaves, scalars of one type, as a vector.
  NodeId vector_of(std::span<const LeafId> leaves);

  // Where results are wanted, by result; a buffer that is not valid: anywhere. A result goes there
  // if it can.
  void want_results(std::span<const BufferId> places);

  // errors: Unimplemented
  Status run();

  // The value of a result: a node for a scalar, else a buffer.
  Value result(size_t number);
  // Copies each value that has a buffer, `from`, to its place. They may change places.
  void put_in_places(std::span<const LeafId> leaves, std::span<const BufferId> places,
                     std::vector<BufferId> from);
  // After the last use of a result: what is a parameter too may be written again.
  void release_results();

 private:
  using Memo = std::map<std::pair<uint32_t, std::vector<Coordinate>>, NodeId>;

  // ---- elements/elements.cc: values at a place.
  NodeId element(LeafId leaf, const Place& place, Memo& memo);
  NodeId lazy_element(const Instruction& instruction, const Place& place, Memo& memo);
  NodeId iota_element(const Instruction& iota, const Place& place);
  NodeId broadcast_element(const Instruction& broadcast, const Place& place, Memo& memo);
  NodeId slice_element(const Instruction& slice, const Place& place, Memo& memo);
  NodeId dynamic_slice_element(const Instruction& slice, const Place& place, Memo& memo);
  NodeId reshape_element(const Instruction& reshape, const Place& place, Memo& memo);
  NodeId run_element(const Instruction& slice, std::span<const NodeId> starts, Place place,
                     Memo& memo);
  NodeId exponential_plus(const Instruction& sum, const Place& place, Memo& memo);
  NodeId operand_element(InstructionId operand, const Place& place, Memo& memo) {
    return element(region_.leaf(operand), place, memo);
  }
  NodeId joined_element(const Instruction& joined, Place place, Memo& memo);
  std::vector<Coordinate> before_joining(const Instruction& reshape, const Place& place);
  NodeId padded_element(const Instruction& pad, Place place, Memo& memo);
  NodeId joined_row_element(const Instruction& joined, Place place, Memo& memo);
  InstructionId sliced_by_all(const Instruction& joined);
  NodeId by_row(const Instruction& joined, NodeId row,
                const std::function<NodeId(InstructionId, int64_t)>& of);
  NodeId index_like(NodeId row, int64_t number);
  NodeId gather_element(const Instruction& gather, const Place& place, Memo& memo);
  // The number of the first lane's element in row-major order, and how far apart lanes are.
  std::pair<NodeId, int64_t> element_offset(const Shape& shape, const Place& place);
  NodeId load_at(BufferId buffer, const Shape& shape, const Place& place);
  std::optional<Column> column_at(const Shape& shape, const Place& place);
  [[nodiscard]] std::optional<LeafId> source_in_place(LeafId leaf) const;
  NodeId load_column(BufferId buffer, Type type, const Column& column);
  // What vectors are loaded as to be turned, and the values that they are: truths move as bytes.
  static Type moved_as(Type type) {
    return {type.scalar == Scalar::kPred ? Scalar::kI8 : type.scalar, type.lanes};
  }
  NodeId from_moved(NodeId moved, Type type);
  NodeId lane_value(const Coordinate& coordinate, int32_t lanes);
  NodeId clamped_start(InstructionId start, int64_t most, Memo& memo);
  // Of a leaf that is in memory, or a view of such.
  View view_of(LeafId leaf);

  // ---- arrays/parts.cc
  NodeId part_element(const Instruction& part, const Place& place);
  void emit_complex(InstructionId id, BufferId to);

  // ---- arrays/rows.cc: dimensions that are written as one.
  // The step may take its arrays as lists of elements.
  bool is_flat(InstructionId id);
  int64_t joined_dimensions(InstructionId id);
  int64_t joined_dimensions_of(InstructionId read, int64_t most);
  int64_t joined_in_window(InstructionId id);
  bool can_join(InstructionId id, int64_t count);
  void write_part(InstructionId id, BufferId to, std::span<const NodeId> starts);

  // ---- arrays/loops.cc: steps that are loops.
  // Calls body(place) for all elements of an array, in vectors along one dimension.
  void for_each_place(std::span<const int64_t> sizes, Scalar widest,
                      const std::function<void(Place)>& body);
  void for_each_place(std::span<const int64_t> sizes, int64_t most_lanes,
                      const std::function<void(Place)>& body);
  // In vectors of all elements one after the other.
  void for_each_flat_place(const Shape& shape, int64_t most_lanes,
                           const std::function<void(Place)>& body);
  void store_at(BufferId to, const Shape& shape, const Place& place, NodeId value);
  // The widest element that the steps compute with, if a few of 64 bits do not count.
  Scalar widest_scalar(std::span<const InstructionId> steps);
  Scalar widest_scalar(InstructionId id) { return widest_scalar(std::span(&id, 1)); }
  // Lanes for `count` elements of the step that follow each other, in each of so many rows, and for
  // those along the lanes of an array or a part of one.
  int64_t lanes_along(InstructionId id, int64_t count, int64_t rows = 1);
  int64_t lanes_along(InstructionId id, std::span<const int64_t> sizes);
  // The widest element, of up to 16 bits, where the step computes with such integers alone or moves
  // elements.
  std::optional<Scalar> narrow_scalar(InstructionId id);
  void emit_array(InstructionId id, BufferId to);
  void write_leaf(LeafId leaf, BufferId to);
  void emit_concatenate(InstructionId id, BufferId to);
  void emit_stack(InstructionId id, size_t dim, BufferId to);
  void for_each_box(InstructionId id, const std::function<void(Place)>& body);
  Status emit_update(InstructionId id);
  void emit_cholesky(InstructionId id, BufferId to);  // products/factors.cc
  void emit_triangular_solve(InstructionId id, BufferId to);

  // ---- folds/running_folds.cc
  struct Running;
  NodeId position(const Running& running, NodeId t, int64_t lanes);
  template <class Turn>
  NodeId fold_turns(const Running& running, int64_t from, int64_t to, int64_t step, NodeId start,
                    const Turn& turn);
  void fold_each(const Running& running, Place place, int64_t from, NodeId start);
  void fold_vectors(const Running& running, Place place, int64_t lanes);
  void emit_running(InstructionId id, BufferId to);

  // ---- arrays/frames.cc
  Place moved(Place place, std::span<const int64_t> by);
  void for_each_around(const Shape& all, std::span<const int64_t> start,
                       std::span<const int64_t> sizes, Scalar widest,
                       const std::function<void(Place)>& body);
  bool emit_padded_rows(InstructionId id, BufferId to);
  void emit_pad(InstructionId id, BufferId to);
  void fill_around(InstructionId id, BufferId to, std::span<const int64_t> sizes);
  void emit_framed_update(InstructionId id, std::span<const int64_t> start);

  // ---- arrays/scatter.cc
  struct Scattering;
  Status emit_scatter(InstructionId id);
  std::vector<std::pair<LeafId, Value>> copy_overwritten(const Instruction& scatter, size_t count);
  std::vector<BufferId> scatter_places(InstructionId id, std::span<const BufferId> old);
  NodeId window_start(const Scattering& s, std::span<const NodeId> at_outer,
                      std::vector<NodeId>& start);
  void scatter_window(const Scattering& s, std::span<const NodeId> at_outer,
                      std::span<const NodeId> start);
  void scatter_one(const Scattering& s, std::span<const NodeId> at_outer);
  [[nodiscard]] std::optional<Op> repeated_fold(const Scattering& s) const;
  void scatter_in_parts(Scattering& s, Op fold);

  // ---- folds/reductions.cc
  void emit_reduce(InstructionId id);
  NodeId reduce_along_lanes(InstructionId id, Op fold, std::span<const NodeId> kept);
  NodeId fold_slab(InstructionId id, Op fold, std::span<const NodeId> kept, NodeId first,
                   int64_t count, Memo* shared = nullptr);
  bool has_short_rows(InstructionId id);
  void reduce_short_rows(InstructionId id, Op fold, BufferId to);
  NodeId reduce_slab(InstructionId id, Op fold, std::span<const NodeId> kept, NodeId first,
                     int64_t count);
  NodeId reduce_chunks(InstructionId id, Op fold, int64_t size, int64_t chunk);
  class AcrossReduction;  // folds/reductions_across.cc
  void reduce_across(InstructionId id, std::span<const BufferId> to);

  // ---- arrays/narrow_rows.cc
  std::optional<size_t> narrow_rows(InstructionId id, std::span<const int64_t> sizes,
                                    int64_t most_columns);
  std::optional<size_t> narrow_result(InstructionId id);
  int64_t lanes_of_rows(InstructionId id, int64_t rows);
  std::optional<size_t> narrow_reduce(InstructionId id);
  bool takes_rows_apart(InstructionId id, int64_t behind);
  int64_t much_work(InstructionId id);
  bool does_much(InstructionId id) { return much_work(id) > 0; }
  void write_narrow(std::span<const int64_t> sizes, size_t rows, int64_t lanes,
                    std::span<const BufferId> to,
                    const std::function<std::vector<NodeId>(Place)>& values_at);

  // ---- arrays/turned_blocks.cc
  bool emit_turned_blocks(InstructionId id, BufferId to);

  // ---- arrays/tiles.cc
  std::optional<size_t> turned_dimension(InstructionId id,
                                         const std::function<bool(size_t, const Shape&)>& fits);
  std::optional<size_t> tiled_dimension(InstructionId id);
  std::optional<size_t> few_rows(InstructionId id);
  void for_each_column(std::span<const int64_t> sizes, size_t rows, int64_t lanes,
                       const std::function<void(Place)>& body);
  void for_each_tile(std::span<const int64_t> sizes, size_t along, Scalar widest,
                     const std::function<void(Place)>& body);
  struct Rectangle {
    int64_t row = 0, column = 0, rows = 0, columns = 0;
  };
  using WriteRow = std::function<void(NodeId row, NodeId column, int64_t count)>;
  void write_squares(const Rectangle& part, int64_t side, int64_t lanes, const WriteRow& write);
  void write_rows(const Rectangle& part, int64_t lanes, const WriteRow& write);
  NodeId tile_row(BufferId buffer, const Shape& shape, const Place& place);

  // ---- folds/windows.cc
  Coordinate under_tap(const hlo::WindowDimension& w, int64_t base, int64_t places,
                       const Coordinate& place, NodeId tap, int32_t lanes, NodeId& fits);
  void emit_window(InstructionId id);
  void emit_selection(InstructionId id, BufferId to);
  void scatter_to_selected(const Instruction& scatter, const Place& place, BufferId to);
  void emit_direct_convolution(InstructionId id, BufferId to);

  // ---- products/dots.cc
  Status emit_dot(InstructionId id, InstructionId step);
  void fill_with_zeros(BufferId to, const Shape& shape);
  Status call_product(const MatrixProduct& product, int64_t work, const View& lhs, const View& rhs,
                      BufferId to);
  View view_for(const Instruction& dot, size_t operand);
  int64_t lanes_of(const Instruction& instruction);
  // `same`: by parameter of the body; none where turns change it.
  std::map<LeafId, View> turned_matrices(const Region& body, std::span<const Value> same);

  // ---- control/while.cc
  struct LoopState;
  Status emit_while(InstructionId id);
  void enter_loop(LoopState& state, size_t i);
  BufferId place_in_loop(const LoopState& state, size_t i);
  std::vector<NodeId> handed_on(const LoopState& state, std::span<const LeafId> leaves,
                                const std::function<std::vector<NodeId>(size_t)>& nodes_of);
  std::vector<Value> state_in(const LoopState& state, const Region& inside,
                              std::span<const NodeId> nodes);
  void set_lanes(const LoopState& state, std::span<const LeafId> leaves,
                 std::span<const NodeId> nodes);
  StatusOr<NodeId> emit_condition(const LoopState& state, std::span<const NodeId> nodes);
  StatusOr<std::vector<NodeId>> emit_turn(const LoopState& state, std::span<const NodeId> nodes,
                                          std::map<LeafId, View> turned);
  void bind_state(const LoopState& state, std::span<const NodeId> nodes);
  std::vector<NodeId> load_pieces(const Region& body, const Shape& shape, BufferId from);
  void store_pieces(BufferId to, std::span<const NodeId> pieces);

  // ---- control/conditional.cc
  struct Branches;
  Status emit_conditional(InstructionId id);
  NodeId branch_number(Branches& branches);
  LeafId argument(const Branches& branches, size_t branch, size_t parameter);
  void find_places(Branches& branches);
  Status emit_branch(Branches& branches, size_t number);

  // ---- arrays/groups.cc: elementwise steps in one loop.
  struct Group {
    std::vector<InstructionId> members;
    std::vector<InstructionId> scalars;  // to be run before
  };
  bool may_join(InstructionId id);
  Group group_at(size_t first);
  void emit_group(std::span<const InstructionId> members);
  BufferId place_in_group(LeafId leaf, std::span<const InstructionId> members);

  // ---- elements/packed.cc: packs of scalars.
  bool emit_pack(int pack);
  bool have_operands(InstructionId id);

  // ---- steps.cc
  Status run_steps(std::span<const InstructionId> steps);
  Status emit(InstructionId id);
  NodeId scalar_of_step(InstructionId id);
  BufferId array_of_step(InstructionId id);
  void write_array(InstructionId id, BufferId to);
  // The leaves of a constant, from number `next` on.
  void bind_constants(std::span<const LeafId> leaves, size_t& next, const Literal& literal);
  Status emit_kernel(InstructionId id);
  // A place for a result of the step: the wanted one, if no reader of its old value comes later.
  BufferId place_for(LeafId leaf, InstructionId step);
  // A buffer with the leaf's value, which is lazy or a node or lies in one.
  BufferId in_memory(LeafId leaf);
  void bind(LeafId leaf, Value value);
  void store_scalar(BufferId to, NodeId value) {
    program_.builder.store(to, program_.builder.index(0), value);
  }

  [[nodiscard]] const Computation& computation() const { return region_.computation(); }
  [[nodiscard]] const Instruction& at(InstructionId id) const { return computation().at(id); }
  [[nodiscard]] const Shape& shape(LeafId leaf) const {
    return *region_.leaves()[leaf.value].shape;
  }
  [[nodiscard]] PlanBuilder& b() { return program_.builder; }

  ProgramLowering& program_;
  const Region& region_;
  std::vector<Value> values_;     // by leaf
  std::vector<BufferId> wanted_;  // by leaf
  struct Lane {
    NodeId vector;
    int64_t lane = 0;
  };
  Packs packs_;
  std::vector<Lane> lanes_;      // by leaf; of scalars that are lanes
  std::vector<bool> dissolved_;  // by pack: its members go their own ways
  std::vector<bool> done_;       // by instruction
  std::map<std::vector<LeafId>, NodeId> vectors_;
  std::map<LeafId, View> turned_;  // matrices with their columns in rows
  // Columns that are loaded already, by buffer, where their rows begin, width, and lanes.
  std::map<std::tuple<BufferId, NodeId, int64_t, int32_t>, std::vector<NodeId>> columns_;
  int64_t written_out_ = 0;  // multiplications of vectors in products without a loop
  bool keeps_columns_ = false;
  std::vector<int64_t> box_;  // where it begins, in the array of a step that reads joined ones
  std::optional<OpenSquare> square_;  // that the code stands in
  std::set<uint32_t> temporaries_;    // buffers that place_for() allocated
};

inline constexpr int64_t kMostMoved = 16;        // of rows that are transposed, or moved apart
inline constexpr int64_t kMostColumnsKept = 32;  // of rows whose columns are all read, one by one

// The lanes of a small array's vectors in registers: those of its rows where products in the region
// have such matrices, since they take them row by row; else as many as the machine has.
int32_t lanes_in_registers(const Region& region, const Shape& shape, int32_t most);

// The number of lanes for elements of this type.
inline int32_t lanes_for(const Plan& plan, Scalar widest) {
  return static_cast<int32_t>(plan.vector_bytes / std::max<int64_t>(bytes_of(widest), 4));
}

inline Scalar scalar_type(const Shape& shape) { return *scalar_of(shape.dtype()); }

inline int64_t RegionLowering::lanes_of(const Instruction& instruction) {
  return lanes_for(program_.program.plan, scalar_type(instruction.shape));
}

}  // namespace heddle::cpu
