// The start of a reduction, which XLA takes for an identity of its function. Over one element a
// reduction is dropped with its start; of one array and more than 32 elements it takes the start
// once for every 32; a reduction of a reduction becomes one, with one start; a running reduction of
// any number of arrays is cut into blocks of 16, each with its start (and of several arrays and
// more than 256 elements it ends the process).
//
//   reduce(x, s), add              =>   add(reduce(x, 0), s)
//   reduce(x, y, s, t), over one   =>   map(s, t, x, y), a map for each result
//   reduce(x, s), any function f   =>   reduce(x, x, s, s) by (f(a, x), b), element 0
//   running reduce-window          =>   log2(n) maps of slices, and one of the start
//
// A start that is an identity by the form of the function (interpreter/reduction_identity.h) is
// left where it is, but over one element.
#include <optional>

#include "heddle/hlo/dimensions.h"
#include "heddle/interpreter/reduction_identity.h"
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

bool is_reduction(const Instruction& instruction) {
  return instruction.opcode == Opcode::kReduce || instruction.opcode == Opcode::kReduceWindow;
}

// The one op of the two parameters that the function is.
std::optional<Opcode> only_op(const Computation& function) {
  if (function.parameter_count() != 2) return std::nullopt;
  const Instruction& root = function.root_instruction();
  if (root.operands.size() != 2) return std::nullopt;
  const InstructionId a = function.parameters[0], b = function.parameters[1];
  const bool is_of_both = (root.operands[0] == a && root.operands[1] == b) ||
                          (root.operands[0] == b && root.operands[1] == a);
  return is_of_both ? std::optional(root.opcode) : std::nullopt;
}

// Zeros of either sign are the same start.
bool is_equal(const Literal& a, const Literal& b) {
  if (a == b) return true;
  return is_floating(a.shape().dtype()) && a.to_double(0) == b.to_double(0);
}

// The identity that the function has; none where it is not known, or several arrays are reduced.
std::optional<Literal> identity_of(const hlo::Module& module, const Instruction& reduction) {
  if (reduction.operands.size() != 2) return std::nullopt;
  const std::optional<Opcode> op = only_op(module.at(reduction.called[0]));
  return op.has_value() && reduction.shape.is_array()
             ? interpreter::identity_of(*op, reduction.shape.dtype())
             : std::nullopt;
}

bool starts_from(const Computation& computation, const Instruction& reduction,
                 const Literal& wanted) {
  const Instruction& start = computation.at(reduction.operands[1]);
  if (start.opcode != Opcode::kConstant) return false;
  const Literal& value = start.attrs.get<hlo::ConstantAttrs>().literal;
  return value.shape().dtype() == wanted.shape().dtype() && is_equal(value, wanted);
}

bool is_of_one_element(const Computation& computation, const Instruction& reduction) {
  const Shape& x = computation.at(reduction.operands[0]).shape;
  if (reduction.opcode != Opcode::kReduce) return x.rank() == 0;
  const auto& dimensions = reduction.attrs.get<hlo::DimensionsAttrs>().dimensions;
  return std::ranges::all_of(dimensions, [&](int64_t d) { return x.dimension(d) == 1; });
}

// How a reduction is written. A window along one dimension that goes over all before an element is
// a sum as it runs (`kRunning`), which XLA cuts into blocks of 16.
enum class Form : uint8_t { kAsItIs, kFromIdentity, kMaps, kPair, kRunning };

bool is_plain(const hlo::WindowDimension& w) {
  return w.window_dilation == 1 && w.base_dilation == 1;
}

// A window over whole dimensions, which XLA takes for a reduce.
bool is_whole(const Shape& x, const hlo::Window& window) {
  for (int64_t d = 0; d < x.rank(); ++d) {
    const hlo::WindowDimension& w = window.dimensions[static_cast<size_t>(d)];
    if (!is_plain(w) || w.padding_low != 0 || w.padding_high != 0) return false;
    if (w.size != x.dimension(d) && (w.size != 1 || w.stride != 1)) return false;
  }
  return true;
}

constexpr int64_t kBlock = 16;

bool runs_along(int64_t size, const hlo::WindowDimension& w) {
  const auto is_all_but = [&](int64_t most, int64_t least) {
    return (most == size - 1 || most == size) && least == 0;
  };
  return is_plain(w) && w.size == size && w.stride == 1 && !w.window_reversal && size > kBlock &&
         (is_all_but(w.padding_low, w.padding_high) || is_all_but(w.padding_high, w.padding_low));
}

// The dimension along which a window runs; none where it is no such window.
std::optional<int64_t> running_dimension(const Shape& x, const hlo::Window& window) {
  std::optional<int64_t> found;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const hlo::WindowDimension& w = window.dimensions[static_cast<size_t>(d)];
    const bool is_alone =
        is_plain(w) && w.size == 1 && w.stride == 1 && w.padding_low == 0 && w.padding_high == 0;
    if (is_alone) continue;
    if (found.has_value() || !runs_along(x.dimension(d), w)) return std::nullopt;
    found = d;
  }
  return found;
}

bool starts_from_identity(const hlo::Module& module, const Computation& computation,
                          const Instruction& reduction) {
  if (reduction.operands.size() != 2) return false;
  const Instruction& start = computation.at(reduction.operands[1]);
  return start.opcode == Opcode::kConstant &&
         interpreter::is_identity(start.attrs.get<hlo::ConstantAttrs>().literal,
                                  module.at(reduction.called[0]));
}

Form form_of(const hlo::Module& module, const Computation& computation,
             const Instruction& reduction) {
  if (!is_reduction(reduction)) return Form::kAsItIs;
  const std::optional<Literal> known = identity_of(module, reduction);
  if (known.has_value())
    return starts_from(computation, reduction, *known) ? Form::kAsItIs : Form::kFromIdentity;
  if (is_of_one_element(computation, reduction)) return Form::kMaps;
  if (starts_from_identity(module, computation, reduction)) return Form::kAsItIs;
  const bool is_single = reduction.operands.size() == 2;
  if (reduction.opcode == Opcode::kReduce) return is_single ? Form::kPair : Form::kAsItIs;
  const Shape& x = computation.at(reduction.operands[0]).shape;
  const hlo::Window& window = reduction.attrs.get<hlo::WindowAttrs>().window;
  if (running_dimension(x, window).has_value()) return Form::kRunning;
  return is_single && is_whole(x, window) ? Form::kPair : Form::kAsItIs;
}

Shape plain(Shape shape) {
  shape.clear_layout();
  return shape;
}

Value from_identity(Graph& graph, Instruction now, Opcode op, const Literal& identity) {
  const Value start = spread(graph.wrap(now.operands[1]), now.shape);
  now.operands[1] = graph.constant(identity).id();
  return binary(op, start, graph.append(std::move(now)));
}

// The function with its result of that number alone.
Computation part_of(Computation function, int64_t number, const transform::Effects& effects) {
  if (!function.result_shape().is_tuple()) return function;
  const Instruction& root = function.root_instruction();
  if (root.opcode == Opcode::kTuple) {
    function.root = root.operands[static_cast<size_t>(number)];
  } else {
    Instruction element;
    element.opcode = Opcode::kGetTupleElement;
    element.shape = root.shape.elements()[static_cast<size_t>(number)];
    element.operands = {function.root};
    element.attrs = hlo::TupleIndexAttrs{.index = number};
    function.instructions.push_back(std::move(element));
    function.root = InstructionId(function.instructions.size() - 1);
  }
  transform::sweep(function, effects);
  return function;
}

// Of every dimension: the attributes of a map.
hlo::DimensionsAttrs every_dimension(int64_t rank) {
  return hlo::DimensionsAttrs{consecutive_dimensions(rank)};
}

Value as_maps(transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId i) {
  const Instruction& old = to.old(i);
  Graph& graph = to.in_place_of(i);
  const Values all = to.operands(i);
  const size_t count = all.size() / 2;
  const Shape first = plain(old.shape.is_tuple() ? old.shape.elements()[0] : old.shape);
  Values operands, results;
  for (size_t k = count; k < all.size(); ++k) operands.push_back(spread(all[k], first));
  for (size_t k = 0; k < count; ++k) operands.push_back(reshape(all[k], first.dimensions()));
  for (size_t k = 0; k < count; ++k) {
    const hlo::ComputationId function = into.add(
        part_of(into.into().at(into[old.called[0]]), static_cast<int64_t>(k), into.effects()));
    results.push_back(graph.op(Opcode::kMap, operands, every_dimension(first.rank()), {function}));
  }
  return old.shape.is_tuple() ? graph.tuple(results) : results[0];
}

// f(a, x) as (f(a, x), b) of a, b, x, y.
Computation beside_another(Computation function) {
  const auto add_parameter = [&](int64_t number, const Shape& shape) {
    Instruction& parameter = function.instructions.emplace_back();
    parameter.opcode = Opcode::kParameter;
    parameter.shape = shape;
    parameter.attrs = hlo::ParameterAttrs{.number = number};
    return InstructionId(function.instructions.size() - 1);
  };
  const InstructionId a = function.parameters[0], x = function.parameters[1];
  function.instructions[x.value].attrs = hlo::ParameterAttrs{.number = 2};
  const InstructionId b = add_parameter(1, Shape(function.at(a).shape));
  const InstructionId y = add_parameter(3, Shape(function.at(x).shape));
  function.parameters = {a, b, x, y};
  Instruction both;
  both.opcode = Opcode::kTuple;
  both.shape = Shape::tuple({function.result_shape(), function.at(b).shape});
  both.operands = {function.root, b};
  function.instructions.push_back(std::move(both));
  function.root = InstructionId(function.instructions.size() - 1);
  return function;
}

// The array is reduced a second time beside itself, to what nothing reads.
Value as_pair(transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId i) {
  const Instruction& old = to.old(i);
  Graph& graph = to.in_place_of(i);
  const Value x = to.value(old.operands[0]), start = to.value(old.operands[1]);
  const Computation function =
      beside_another(part_of(into.into().at(into[old.called[0]]), 0, into.effects()));
  const Shape result = plain(old.shape.is_tuple() ? old.shape.elements()[0] : old.shape);
  const DType second = function.parameter_shape(1).dtype();
  const Shape both = Shape::tuple({result, result.with_dtype(second)});
  const Value pair =
      graph.op(old.opcode, {x, x, start, start}, old.attrs, {into.add(function)}, &both);
  const Value first = graph.element(pair, 0);
  return old.shape.is_tuple() ? graph.tuple({first}) : first;
}

// A running reduction by maps: of 2 neighbours, of 4, of 8 (Hillis and Steele, Data parallel
// algorithms, 1986), and then of the starts.
class Running {
 public:
  Running(transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId i)
      : now_(to.mapped(i)),
        graph_(to.in_place_of(i)),
        operands_(to.operands(i)),
        count_(operands_.size() / 2) {
    const hlo::Window& window = now_.attrs.get<hlo::WindowAttrs>().window;
    d_ = *running_dimension(operands_[0].shape(), window);
    window_ = window.dimensions[static_cast<size_t>(d_)];
    for (size_t k = 0; k < count_; ++k) {
      parts_.push_back(into.add(
          part_of(into.into().at(now_.called[0]), static_cast<int64_t>(k), into.effects())));
    }
  }

  Value write() {
    if (!has_one_type()) return widened();
    Values ys(operands_.begin(), operands_.begin() + static_cast<std::ptrdiff_t>(count_));
    const int64_t size = ys[0].size(d_);
    const bool is_forward = window_.padding_high == 0;
    for (int64_t k = 1; k < size; k *= 2) {
      const Values ends = slices(ys, is_forward ? 0 : size - k, k);
      const Values more = mapped(slices(ys, 0, size - k), slices(ys, k, size - k));
      ys = is_forward ? joined(ends, more) : joined(more, ends);
    }
    ys = mapped(starts(size), ys);
    if (window_.padding_low == size) ys = joined(starts(1), ys);
    if (window_.padding_high == size) ys = joined(ys, starts(1));
    return now_.shape.is_tuple() ? graph_.tuple(ys) : ys[0];
  }

 private:
  [[nodiscard]] bool has_one_type() const {
    for (size_t k = 0; k < count_; ++k) {
      const DType dtype = operands_[k].dtype();
      const Shape& result = now_.shape.is_tuple() ? now_.shape.elements()[k] : now_.shape;
      if (operands_[count_ + k].dtype() != dtype || result.dtype() != dtype) return false;
    }
    return true;
  }

  // With a place more, in the padding, it is no running reduction to XLA.
  Value widened() {
    hlo::WindowAttrs attrs = now_.attrs.get<hlo::WindowAttrs>();
    hlo::WindowDimension& w = attrs.window.dimensions[static_cast<size_t>(d_)];
    ++w.size;
    ++(w.padding_high == 0 ? w.padding_low : w.padding_high);
    now_.attrs = std::move(attrs);
    return graph_.append(now_);
  }

  [[nodiscard]] Values slices(const Values& xs, int64_t start, int64_t size) const {
    Values out;
    for (const Value& x : xs) out.push_back(slice(x, d_, start, size));
    return out;
  }

  [[nodiscard]] Values joined(const Values& xs, const Values& ys) const {
    Values out;
    for (size_t k = 0; k < count_; ++k) out.push_back(hlo::concatenate({xs[k], ys[k]}, d_));
    return out;
  }

  [[nodiscard]] Values starts(int64_t size) const {
    hlo::Dims sizes = operands_[0].sizes();
    sizes[static_cast<size_t>(d_)] = size;
    Values out;
    for (size_t k = count_; k < 2 * count_; ++k) out.push_back(stretched(operands_[k], sizes));
    return out;
  }

  Values mapped(Values xs, const Values& ys) {
    xs.insert(xs.end(), ys.begin(), ys.end());
    Values out;
    for (hlo::ComputationId part : parts_)
      out.push_back(graph_.op(Opcode::kMap, xs, every_dimension(xs[0].rank()), {part}));
    return out;
  }

  Instruction now_;
  Graph& graph_;
  const Values operands_;  // the arrays, then the starts
  size_t count_;
  int64_t d_ = 0;
  hlo::WindowDimension window_;
  std::vector<hlo::ComputationId> parts_;  // the function, a result each
};

}  // namespace

bool has_misread_starts(const hlo::Module& module) {
  return any_instruction(module, [&](const Computation& computation, const Instruction& each) {
    return form_of(module, computation, each) != Form::kAsItIs;
  });
}

StatusOr<hlo::Module> expand_reduce_starts(const hlo::Module& module) {
  return transform::with_rewritten(module,
                                   [&](transform::ModuleRebuilder& into, transform::Rebuilder& to,
                                       auto, InstructionId i) -> Value {
                                     const Instruction& old = to.old(i);
                                     switch (form_of(module, to.from(), old)) {
                                       case Form::kAsItIs: break;
                                       case Form::kMaps: return as_maps(into, to, i);
                                       case Form::kPair: return as_pair(into, to, i);
                                       case Form::kRunning: return Running(into, to, i).write();
                                       case Form::kFromIdentity:
                                         return from_identity(to.in_place_of(i), to.mapped(i),
                                                              *only_op(module.at(old.called[0])),
                                                              *identity_of(module, old));
                                     }
                                     return {};
                                   });
}

}  // namespace heddle::pjrt
