#include "heddle/cpu/rewrites/loops/transposed_states.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"
#include "heddle/transform/trip_count.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostOfARow = 64;        // elements: longer rows fill their vectors
constexpr int64_t kFewestInABatch = 16;    // else new rows are short too
constexpr int64_t kFewestTransposedTurns = 8;        // if they are known
constexpr int64_t kWorkPerTransposed = 6;  // elements computed for one that each turn transposes
constexpr int64_t kOfLongRows = 32;        // elements
constexpr int64_t kWorkPerTransposedLong = 10;  // the same, where rows are long

bool is_plain(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() && scalar_of(shape.dtype()).has_value();
}

// The dimensions along which an op moves elements of its result; nothing: it is no such op.
std::optional<Dims> moved_dimensions(const Instruction& instruction) {
  Dims out;
  switch (instruction.opcode) {
    case Opcode::kConcatenate:
    case Opcode::kReverse: return dimensions_of(instruction);
    case Opcode::kPad: {
      const auto& padding = instruction.attrs.get<hlo::PadAttrs>().padding;
      for (size_t d = 0; d < padding.size(); ++d) {
        if (padding[d] != hlo::PadDimension()) out.push_back(static_cast<int64_t>(d));
      }
      return out;
    }
    default: return std::nullopt;
  }
}

template <class Elements>
Elements permuted(const Elements& from, const Dims& order) {
  Elements out;
  for (const int64_t d : order) out.push_back(from[static_cast<size_t>(d)]);
  return out;
}

Dims inverse(const Dims& order) {
  Dims out(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    out[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  return out;
}

// Arrays of one rank and batch, [batch.., places..], and such with one dimension before these: the
// stack of all turns', and a row of it.
struct Family {
  int64_t rank = 0;
  Dims batch;

  // The number of dimensions before the batch; nothing: it is another array.
  [[nodiscard]] std::optional<int64_t> lead(const Shape& shape) const {
    if (!is_plain(shape)) return std::nullopt;
    const int64_t lead = shape.rank() - rank;
    if (lead != 0 && lead != 1) return std::nullopt;
    const auto sizes = shape.dimensions().begin() + lead;
    return std::equal(batch.begin(), batch.end(), sizes) ? std::optional(lead) : std::nullopt;
  }
  [[nodiscard]] int64_t first_place(int64_t lead) const { return lead + std::ssize(batch); }
  // Dimension d of a transposed array is dimension order[d] of it.
  [[nodiscard]] Dims order(const Shape& shape) const {
    const int64_t lead = shape.rank() - rank;
    Dims out;
    if (lead == 1) out.push_back(0);
    for (int64_t d = first_place(lead); d < shape.rank(); ++d) out.push_back(d);
    for (int64_t d = lead; d < first_place(lead); ++d) out.push_back(d);
    return out;
  }
  [[nodiscard]] Shape transposed(const Shape& shape) const {
    return Shape(shape.dtype(), permuted(shape.dimensions(), order(shape)));
  }
};

// What of a loop's body is transposed.
class TransposedBody {
 public:
  // Nothing: it does not pay.
  static std::optional<TransposedBody> of(const hlo::Module& module, const Instruction& loop) {
    const auto trips = transform::greatest_trip_count(loop);
    const Computation& body = module.at(loop.called[0]);
    if (trips.value_or(kFewestTransposedTurns) < kFewestTransposedTurns ||
        body.root_instruction().opcode != Opcode::kTuple || !takes_elements(body) ||
        !takes_elements(module.at(loop.called[1])))
      return std::nullopt;
    const std::optional<Family> family = family_of(body);
    if (!family) return std::nullopt;
    TransposedBody out(body, *family);
    out.find_elements(module.at(loop.called[1]));
    while (out.drops_some()) {
    }
    return !out.elements_.empty() && out.pays() ? std::optional(std::move(out)) : std::nullopt;
  }

  [[nodiscard]] const Family& family() const { return family_; }
  // Of the state.
  [[nodiscard]] const std::set<int64_t>& elements() const { return elements_; }
  [[nodiscard]] bool has(InstructionId id) const { return is_in_[id.value]; }
  // The dimensions of the transposed result that those of the operand are, of a broadcast that it
  // has.
  [[nodiscard]] Dims dimensions(const Instruction& broadcast) const {
    return permuted(inverse(family_.order(broadcast.shape)), dimensions_of(broadcast));
  }
  [[nodiscard]] bool keeps_order(const Instruction& broadcast) const {
    return std::ranges::is_sorted(dimensions(broadcast));
  }
  [[nodiscard]] Shape state(const Shape& from) const {
    std::vector<Shape> out = from.elements();
    for (const int64_t i : elements_)
      out[static_cast<size_t>(i)] = family_.transposed(out[static_cast<size_t>(i)]);
    return Shape::tuple(out);
  }

 private:
  TransposedBody(const Computation& body, Family family)
      : body_(&body), family_(std::move(family)), is_in_(body.instructions.size()) {}

  const Instruction& at(InstructionId id) const { return body_->at(id); }

  // Nobody but its elements reads the state.
  static bool takes_elements(const Computation& of) {
    return of.root != of.parameters[0] &&
           std::ranges::all_of(of.instructions, [&](const Instruction& each) {
             return each.opcode == Opcode::kGetTupleElement ||
                    std::ranges::count(each.operands, of.parameters[0]) == 0;
           });
  }

  // Of the biggest array that moves along its short last dimension.
  static std::optional<Family> family_of(const Computation& body) {
    const Instruction* most = nullptr;
    for (const Instruction& each : body.instructions) {
      const std::optional<Dims> moved = moved_dimensions(each);
      if (!moved || !is_plain(each.shape) || each.shape.rank() < 2) continue;
      const int64_t last = each.shape.rank() - 1;
      const bool is_seed =
          std::ranges::count(*moved, last) > 0 && each.shape.dimension(last) <= kMostOfARow;
      if (is_seed && (most == nullptr || each.shape.element_count() > most->shape.element_count()))
        most = &each;
    }
    if (most == nullptr) return std::nullopt;
    const Dims& sizes = most->shape.dimensions();
    int64_t batch = std::ssize(sizes) - 1;
    for (const Instruction& each : body.instructions) {
      if (!each.shape.is_array() || each.shape.dimensions() != sizes) continue;
      for (const int64_t d : moved_dimensions(each).value_or(Dims())) batch = std::min(batch, d);
    }
    Family out{std::ssize(sizes), Dims(sizes.begin(), sizes.begin() + batch)};
    int64_t rows = 1;
    for (const int64_t size : out.batch) rows *= size;
    const bool fill_vectors = rows >= sizes.back() || rows % kFewestInABatch == 0;
    return rows >= kFewestInABatch && fill_vectors ? std::optional(std::move(out)) : std::nullopt;
  }

  void find_elements(const Computation& condition) {
    const Shape& state = at(body_->parameters[0]).shape;
    for (int64_t i = 0; i < std::ssize(state.elements()); ++i) {
      if (family_.lead(state.elements()[static_cast<size_t>(i)])) elements_.insert(i);
    }
    for (const Instruction& each : condition.instructions) {
      if (each.opcode == Opcode::kGetTupleElement)
        elements_.erase(each.attrs.get<hlo::TupleIndexAttrs>().index);
    }
    for (size_t i = 0; i < is_in_.size(); ++i) is_in_[i] = may_be_in(InstructionId(i));
  }

  [[nodiscard]] bool may_be_in(InstructionId id) const {
    const Instruction& op = at(id);
    const std::optional<int64_t> lead = family_.lead(op.shape);
    if (!lead || id == body_->root) return false;
    const int64_t first = family_.first_place(*lead);
    if (const std::optional<Dims> moved = moved_dimensions(op))
      return std::ranges::all_of(*moved, [&](int64_t d) { return d >= first; });
    const auto is_like = [&](size_t operand) {
      return family_.lead(at(op.operands[operand]).shape).has_value();
    };
    switch (op.opcode) {
      case Opcode::kSlice: return is_like(0) && family_.lead(at(op.operands[0]).shape) == lead;
      case Opcode::kReshape: return is_row(op.shape, at(op.operands[0]).shape);
      case Opcode::kDynamicSlice: return *lead == 1 && is_whole_row(op, op.operands[0]);
      case Opcode::kDynamicUpdateSlice: return *lead == 1 && is_whole_row(op, op.operands[1]);
      case Opcode::kBroadcast:
      case Opcode::kIota: return true;
      case Opcode::kGetTupleElement: return op.operands[0] == body_->parameters[0];
      default:
        return has_trait(op.opcode, hlo::kElementwise) &&
               std::ranges::all_of(op.operands, [&](InstructionId operand) {
                 const Shape& read = at(operand).shape;
                 return read.is_scalar() || read.dimensions() == op.shape.dimensions();
               });
    }
  }
  // One is the other with a dimension of one place before the batch.
  [[nodiscard]] bool is_row(const Shape& a, const Shape& b) const {
    const Shape &row = a.rank() < b.rank() ? a : b, &stacked = a.rank() < b.rank() ? b : a;
    const Dims &own = row.dimensions(), &others = stacked.dimensions();
    return own.size() + 1 == others.size() && family_.lead(row) == 0 && others[0] == 1 &&
           std::equal(own.begin(), own.end(), others.begin() + 1);
  }
  // The op's other array has the same places; its starts come one by one.
  [[nodiscard]] bool is_whole_row(const Instruction& op, InstructionId other) const {
    const Dims &own = op.shape.dimensions(), &others = at(other).shape.dimensions();
    return own.size() == others.size() &&
           std::equal(own.begin() + 1, own.end(), others.begin() + 1) &&
           std::cmp_greater(op.operands.size(), own.size());
  }

  bool drops_some() {
    bool drops = false;
    const auto drop = [&](InstructionId id) {
      is_in_[id.value] = false;
      drops = true;
    };
    const Instruction& root = body_->root_instruction();
    for (size_t i = 0; i < is_in_.size(); ++i) {
      const InstructionId id(i);
      const Instruction& op = at(id);
      if (!has(id)) continue;
      if (op.opcode == Opcode::kGetTupleElement) {
        if (!elements_.contains(op.attrs.get<hlo::TupleIndexAttrs>().index)) drop(id);
      } else if ((op.opcode == Opcode::kDynamicSlice || op.opcode == Opcode::kDynamicUpdateSlice) &&
                 !has(op.operands[0])) {
        drop(id);
      }
    }
    std::erase_if(elements_, [&](int64_t e) {
      const bool goes = !has(root.operands[static_cast<size_t>(e)]);
      drops = drops || goes;
      return goes;
    });
    return drops;
  }

  // The elements that one turn computes are many beside those that it transposes.
  [[nodiscard]] bool pays() const {
    int64_t work = 0, longest_row = 0;
    std::set<InstructionId> transposed;
    for (size_t i = 0; i < is_in_.size(); ++i) {
      const InstructionId id(i);
      const Instruction& op = at(id);
      const auto differs = [&](size_t operand) {
        if (id == body_->root && elements_.contains(static_cast<int64_t>(operand))) return false;
        const bool is_spread =
            has(id) && op.opcode == Opcode::kBroadcast && keeps_order(op);  // as it is
        return has(op.operands[operand]) != has(id) && !is_spread &&
               has_order(op.operands[operand]);
      };
      for (size_t operand = 0; operand < op.operands.size(); ++operand) {
        if (differs(operand)) transposed.insert(op.operands[operand]);
      }
      const bool moves = moved_dimensions(op).has_value();
      if (!has(id) || !(moves || has_trait(op.opcode, hlo::kElementwise))) continue;
      work += op.shape.element_count();
      if (moves) longest_row = std::max(longest_row, op.shape.dimensions().back());
    }
    int64_t elements = 0;
    for (const InstructionId id : transposed) elements += at(id).shape.element_count();
    const bool is_long = longest_row >= kOfLongRows;
    return longest_row > 0 &&
           elements * (is_long ? kWorkPerTransposedLong : kWorkPerTransposed) <= work;
  }
  // An array of which a transpose is another one, and not known before the program runs.
  [[nodiscard]] bool has_order(InstructionId id) const {
    const Instruction& read = at(id);
    return is_plain(read.shape) && read.shape.rank() >= 2 && read.opcode != Opcode::kConstant;
  }

  const Computation* body_;
  Family family_;
  std::set<int64_t> elements_;
  std::vector<bool> is_in_;
};

// The loop with a transposed state, as the state that it was.
hlo::Value loop_of(transform::Rebuilder& to, InstructionId id, const TransposedBody& body) {
  const hlo::Value init = to.value(to.old(id).operands[0]);
  hlo::Graph& graph = to.in_place_of(id);
  const auto elements = [&](const hlo::Value& state, bool forward) {
    hlo::Values out = graph.elements(state);
    for (const int64_t e : body.elements()) {
      const Dims order = body.family().order(to.old(id).shape.elements()[static_cast<size_t>(e)]);
      hlo::Value& element = out[static_cast<size_t>(e)];
      element = transpose(element, forward ? order : inverse(order));
    }
    return graph.tuple(out);
  };
  const hlo::Value state = elements(init, /*forward=*/true);
  Instruction now = to.mapped(id);
  now.operands = {state.id()};
  now.shape = body.state(now.shape);
  return elements(graph.wrap(to.builder().append(std::move(now))), /*forward=*/false);
}

using Bodies = std::map<ComputationId, TransposedBody>;  // by the bodies' ids

void copy(transform::Rebuilder& to, InstructionId id, const Bodies& bodies) {
  const Instruction& old = to.old(id);
  const auto body = old.opcode == Opcode::kWhile ? bodies.find(old.called[0]) : bodies.end();
  if (body == bodies.end())
    to.copy(id);
  else
    to.replace(id, loop_of(to, id, body->second));
}

void write_parameter(transform::Rebuilder& to, const TransposedBody& body) {
  const InstructionId id = to.from().parameters[0];
  Instruction now = to.mapped(id);
  now.shape = body.state(now.shape);
  to.replace(id, to.builder().append(std::move(now)));
}

// Writes a body anew.
class BodyWriter {
 public:
  BodyWriter(transform::ModuleRebuilder& module, ComputationId id, const Bodies& bodies)
      : to_(module, id), bodies_(bodies), body_(bodies.at(id)), family_(body_.family()) {}

  Computation run() && {
    const Computation& from = to_.from();
    for (const InstructionId id : to_.order()) {
      if (id == from.parameters[0]) {
        write_parameter(to_, body_);
      } else if (body_.has(id)) {
        transposed_.emplace(id, op(id));
      } else if (id == from.root) {
        to_.replace(id, root(id));
      } else {
        for (const InstructionId operand : to_.old(id).operands) make_whole(operand);
        copy(to_, id, bodies_);
      }
    }
    return std::move(to_).finish();
  }

 private:
  hlo::Value root(InstructionId id) {
    const Instruction& old = to_.old(id);
    hlo::Values elements;
    for (size_t e = 0; e < old.operands.size(); ++e) {
      const bool is_transposed = body_.elements().contains(static_cast<int64_t>(e));
      elements.push_back(is_transposed ? transposed(old.operands[e]) : whole(old.operands[e]));
    }
    return to_.in_place_of(id).tuple(elements);
  }

  void make_whole(InstructionId old) {
    if (to_[old].valid() || !body_.has(old)) return;
    to_.in_place_of(old);
    to_.replace(old, transpose(transposed_.at(old), inverse(family_.order(to_.old(old).shape))));
  }
  hlo::Value whole(InstructionId old) {
    make_whole(old);
    return to_.value(old);
  }
  hlo::Value transposed(InstructionId old) {
    const auto found = transposed_.find(old);
    if (found != transposed_.end()) return found->second;
    to_.in_place_of(old);
    return transposed_[old] = transpose(to_.value(old), family_.order(to_.old(old).shape));
  }

  // The op on transposed arrays.
  hlo::Value op(InstructionId id) {
    const Instruction& old = to_.old(id);
    const Shape shape = family_.transposed(old.shape);
    const Dims order = family_.order(old.shape), places = inverse(order);
    switch (old.opcode) {
      case Opcode::kGetTupleElement:
        return to_.in_place_of(id).element(to_.value(old.operands[0]),
                                           old.attrs.get<hlo::TupleIndexAttrs>().index);
      case Opcode::kBroadcast: return broadcast_of(id, shape);
      case Opcode::kIota: {
        const int64_t along = old.attrs.get<hlo::IotaAttrs>().iota_dimension;
        const hlo::IotaAttrs attrs{places[static_cast<size_t>(along)]};
        return to_.in_place_of(id).op(Opcode::kIota, {}, attrs, {}, &shape);
      }
      case Opcode::kReshape: {
        const hlo::Value x = transposed(old.operands[0]);
        to_.in_place_of(id);
        return reshape(x, shape.dimensions());
      }
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice: return of_a_row(id, order);
      default: break;
    }
    hlo::Values operands;
    for (const InstructionId operand : old.operands)
      operands.push_back(to_.old(operand).shape.is_scalar() ? whole(operand) : transposed(operand));
    hlo::Attrs attrs = old.attrs;
    if (old.opcode == Opcode::kConcatenate || old.opcode == Opcode::kReverse)
      attrs = hlo::DimensionsAttrs{permuted(places, dimensions_of(old))};
    if (old.opcode == Opcode::kSlice)
      attrs = hlo::SliceAttrs{permuted(old.attrs.get<hlo::SliceAttrs>().slice, order)};
    if (old.opcode == Opcode::kPad)
      attrs = hlo::PadAttrs{permuted(old.attrs.get<hlo::PadAttrs>().padding, order)};
    return to_.in_place_of(id).op(old.opcode, operands, attrs, {}, &shape);
  }

  hlo::Value broadcast_of(InstructionId id, const Shape& shape) {
    const Instruction& old = to_.old(id);
    Dims dimensions = body_.dimensions(old);
    hlo::Value x = whole(old.operands[0]);
    to_.in_place_of(id);
    if (!body_.keeps_order(old)) {
      Dims order;
      for (int64_t d = 0; d < std::ssize(dimensions); ++d) order.push_back(d);
      std::ranges::sort(order, {}, [&](int64_t d) { return dimensions[static_cast<size_t>(d)]; });
      x = transpose(x, order);
      std::ranges::sort(dimensions);
    }
    return broadcast(x, shape.dimensions(), dimensions);
  }

  // A dynamic slice, or an update, of a stack.
  hlo::Value of_a_row(InstructionId id, const Dims& order) {
    const Instruction& old = to_.old(id);
    const bool is_update = old.opcode == Opcode::kDynamicUpdateSlice;
    const hlo::Value stack = transposed(old.operands[0]);
    const hlo::Value part = is_update ? transposed(old.operands[1]) : hlo::Value();
    hlo::Values starts;
    for (const int64_t d : order)
      starts.push_back(whole(old.operands[static_cast<size_t>(d + (is_update ? 2 : 1))]));
    to_.in_place_of(id);
    if (is_update) return dynamic_update_slice(stack, part, starts);
    const Dims& sizes = old.attrs.get<hlo::DynamicSliceAttrs>().dynamic_slice_sizes;
    return dynamic_slice(stack, starts, permuted(sizes, order));
  }

  transform::Rebuilder to_;
  const Bodies& bodies_;
  const TransposedBody& body_;
  const Family& family_;
  std::map<InstructionId, hlo::Value> transposed_;  // by the old instruction
};

}  // namespace

StatusOr<std::optional<hlo::Module>> transpose_states(const hlo::Module& module) {
  std::map<ComputationId, int> calls;
  for (const Computation& computation : module.computations) {
    for (const Instruction& each : computation.instructions) {
      for (const ComputationId called : each.called) ++calls[called];
    }
  }
  Bodies bodies;
  std::map<ComputationId, const TransposedBody*> conditions;
  for (const Computation& computation : module.computations) {
    for (const Instruction& loop : computation.instructions) {
      if (loop.opcode != Opcode::kWhile || calls[loop.called[0]] != 1 || calls[loop.called[1]] != 1)
        continue;
      if (auto body = TransposedBody::of(module, loop)) {
        const auto at = bodies.emplace(loop.called[0], *std::move(body)).first;
        conditions.emplace(loop.called[1], &at->second);
      }
    }
  }
  if (bodies.empty()) return std::optional<hlo::Module>();
  transform::ModuleRebuilder into(module);
  for (const ComputationId id : into.order()) {
    if (bodies.contains(id)) {
      into.replace(id, BodyWriter(into, id, bodies).run());
      continue;
    }
    transform::Rebuilder to(into, id);
    const auto loop = conditions.find(id);
    for (const InstructionId i : to.order()) {
      if (loop != conditions.end() && i == to.from().parameters[0])
        write_parameter(to, *loop->second);
      else
        copy(to, i, bodies);
    }
    into.replace(id, std::move(to).finish());
  }
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(into).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
