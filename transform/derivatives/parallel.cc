#include "heddle/transform/derivatives/internal/parallel.h"

#include "heddle/transform/batching/internal/batcher.h"
#include "heddle/transform/derivatives/internal/split_sums.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

using hlo::Dims;

namespace {

constexpr int64_t kMostNumbers = 64;

// s -> s m + b for each of some steps: m[t, n, n], b[t, n].
struct Maps {
  Value m, b;

  [[nodiscard]] int64_t count() const { return m.size(0); }
};

// The maps that do `first` and then `second`.
Maps then(const Maps& first, const Maps& second) {
  const int64_t t = first.count(), n = first.b.size(1);
  const Value moved = hlo::matmul(reshape(first.b, {t, 1, n}), second.m);
  return {hlo::matmul(first.m, second.m), reshape(moved, {t, n}) + second.b};
}

Value strided(const Value& x, int64_t start, int64_t limit) {
  std::vector<hlo::SliceDimension> slices;
  for (int64_t size : x.sizes()) slices.push_back({.start = 0, .limit = size, .stride = 1});
  slices[0] = {.start = start, .limit = limit, .stride = 2};
  return slice(x, slices);
}
Maps strided(const Maps& x, int64_t start, int64_t limit) {
  return {strided(x.m, start, limit), strided(x.b, start, limit)};
}
Maps first_of(const Maps& x, int64_t count) {
  return {slice(x.m, 0, 0, count), slice(x.b, 0, 0, count)};
}

// even[0], odd[0], even[1], ..: as many evens as odds, or one more.
Value interleaved(const Value& even, const Value& odd) {
  const int64_t pairs = odd.size(0);
  Dims apart = odd.sizes(), joined = odd.sizes();
  apart.insert(apart.begin() + 1, 1);
  joined[0] = 2 * pairs;
  const Value all = reshape(
      hlo::concatenate({reshape(slice(even, 0, 0, pairs), apart), reshape(odd, apart)}, 1), joined);
  if (even.size(0) == pairs) return all;
  return hlo::concatenate({all, slice(even, 0, pairs, 1)}, 0);
}

// The maps from the first step to each step: first for pairs, and from those for the steps between.
Maps prefixes(const Maps& all) {
  const int64_t count = all.count();
  if (count == 1) return all;
  const int64_t pairs = count / 2, evens = count - pairs;
  const Maps odd = prefixes(then(strided(all, 0, 2 * pairs), strided(all, 1, count)));
  Maps even = first_of(all, 1);
  if (evens > 1) {
    const Maps rest = then(first_of(odd, evens - 1), strided(all, 2, count));
    even = {hlo::concatenate({even.m, rest.m}, 0), hlo::concatenate({even.b, rest.b}, 0)};
  }
  return {interleaved(even.m, odd.m), interleaved(even.b, odd.b)};
}

class AllAtOnce {
 public:
  AllAtOnce(Source& source, Graph& graph, const StepsAtOnce& steps)
      : source_(source), graph_(graph), steps_(steps) {}

  StatusOr<Values> run() {
    HEDDLE_RETURN_IF_ERROR(lay_out());
    Values before(steps_.carries.size());  // before each step: the states
    Values last;
    if (!states_.empty()) {
      HEDDLE_ASSIGN_OR_RETURN(Maps maps, maps_of_steps());
      if (steps_.is_reverse) maps = {reverse(maps.m, {0}), reverse(maps.b, {0})};
      const Maps all = prefixes(maps);
      const Value start = start_vector();
      const Value moved = hlo::matmul(stretched_row(start), all.m);
      const Value after = reshape(moved, {steps_.length, numbers_}) + all.b;
      Value at = hlo::concatenate({start, slice(after, 0, 0, steps_.length - 1)}, 0);
      if (steps_.is_reverse) at = reverse(at, {0});
      before = as_carries(at);
      last = as_carries(slice(after, 0, steps_.length - 1, 1));
    }
    HEDDLE_ASSIGN_OR_RETURN(Values out, of_all_steps(before));
    const Values written = written_in_turn(before);
    for (size_t i = 0; i < steps_.carries.size(); ++i) {
      Value& result = out[steps_.outputs + i];
      if (written[i])
        result = written[i];
      else if (steps_.is_sum[i])
        result = reduce_sum(result, {0}) + steps_.carries[i];
      else
        result = reshape(last[i], steps_.carries[i].sizes());
    }
    return out;
  }

 private:
  Status lay_out() {
    for (size_t i = 0; i < steps_.carries.size(); ++i) {
      if (steps_.is_sum[i]) continue;
      const Shape shape = steps_.carries[i].shape();
      states_.push_back(i);
      numbers_ += reals_of(shape);
      if (dtype_ == DType::kInvalid) dtype_ = shape.dtype();
      if (shape.dtype() != dtype_)
        return base::unimplemented("parallel_backward: carries are of ", to_string(dtype_), " and ",
                                   to_string(shape.dtype()), "; they must be of one dtype");
    }
    if (dtype_ != DType::kInvalid) dtype_ = real_part(dtype_);
    if (numbers_ <= kMostNumbers) return {};
    return base::unimplemented("parallel_backward: the carries have ", numbers_,
                               " numbers, those of all lanes of a vmap together; at most ",
                               kMostNumbers,
                               " are worth a Jacobian for each step; leave the "
                               "option out, or take vmap(grad(..)) in place of grad(vmap(..))");
  }

  [[nodiscard]] Computation step() const { return source_.at(steps_.step); }
  [[nodiscard]] static Values xs_of(const AllLanes& lanes, const Batcher& batcher) {
    Values out;
    for (const Lanes& each : lanes) out.push_back(batcher.full(each));
    return out;
  }

  // A step's operands without its carries: each step is a lane.
  [[nodiscard]] AllLanes inputs_of_steps() const {
    AllLanes out;
    for (const Value& each : steps_.inputs) out.push_back({each, true});
    for (const Value& each : steps_.known) out.push_back({each});
    return out;
  }

  // The carries after every step, [length, ..] each, from the carries before it, or from zeros.
  StatusOr<Values> of_all_steps(const Values& carries) {
    Batcher batcher(source_, steps_.length, "");
    AllLanes given = inputs_of_steps();
    for (size_t i = 0; i < steps_.carries.size(); ++i) {
      if (carries[i])
        given.push_back({carries[i], true});
      else
        given.push_back({graph_.zeros(steps_.carries[i].shape())});
    }
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes made, batcher.run(graph_, step(), given, Value()));
    Values all = xs_of(made, batcher);
    const auto known = all.begin() + static_cast<std::ptrdiff_t>(steps_.outputs);
    all.erase(known, known + static_cast<std::ptrdiff_t>(steps_.known.size()));
    return all;
  }

  // Whether steps write parts of a big sum, or hand it to loops and branches of their own.
  [[nodiscard]] bool is_written(size_t carry, const Instruction& result) const {
    return steps_.is_sum[carry] && result.opcode != Opcode::kAdd &&
           steps_.carries[carry].shape().element_count() >= kLeastElements;
  }

  // Such sums after all steps, of which the states before each are known; the others are absent.
  Values written_in_turn(const Values& before) {
    const Computation from = step();
    const std::vector<InstructionId> returned = returned_values(from);
    Graph body(source_.into(), from.name + ".sums");
    PartCopy copy(body, from);
    const auto give = [&](size_t number) {
      const Value given = body.parameter(from.parameter_shape(number));
      copy.give(from.parameters[number], given);
      return given;
    };
    const size_t known = steps_.inputs.size(), first = known + steps_.known.size();
    Values operands = steps_.inputs, carries = steps_.known, results;
    for (size_t i = 0; i < known; ++i) give(i);
    for (size_t i : states_) {
      operands.push_back(before[i]);
      give(first + i);
    }
    for (size_t i = known; i < first; ++i) results.push_back(give(i));
    std::vector<size_t> sums;
    std::vector<InstructionId> wanted;
    for (size_t i = 0; i < steps_.carries.size(); ++i) {
      const InstructionId result = returned[steps_.outputs + steps_.known.size() + i];
      if (!is_written(i, from.at(result))) continue;
      give(first + i);
      sums.push_back(i);
      wanted.push_back(result);
      carries.push_back(steps_.carries[i]);
    }
    Values out(steps_.carries.size());
    if (sums.empty()) return out;
    append(results, copy.want(wanted));
    append(operands, carries);
    const hlo::ScanAttrs attrs{.dimensions = {0},
                               .num_carries = static_cast<int64_t>(carries.size()),
                               .is_reverse = steps_.is_reverse};
    const ComputationId id = std::move(body).finish(results);
    const Values all = flattened(graph_, graph_.op(Opcode::kScan, operands, attrs, {id}));
    for (size_t i = 0; i < sums.size(); ++i) out[sums[i]] = all[steps_.known.size() + i];
    return out;
  }

  // A step is linear only over the reals, as conj is, so a complex number counts as two numbers.
  static int64_t reals_of(const Shape& shape) {
    return shape.element_count() * (is_complex(shape.dtype()) ? 2 : 1);
  }

  // [length, n] of the states among carries [length, ..].
  [[nodiscard]] Value as_vectors(const Values& carries, Dims sizes) const {
    Values parts;
    sizes.push_back(0);
    for (size_t i : states_) {
      const Shape& shape = steps_.carries[i].shape();
      sizes.back() = shape.element_count();
      const Value flat = reshape(carries[i], sizes);
      parts.push_back(is_complex(shape.dtype()) ? real(flat) : flat);
      if (is_complex(shape.dtype())) parts.push_back(imag(flat));
    }
    return parts.size() == 1 ? parts[0]
                             : hlo::concatenate(parts, static_cast<int64_t>(sizes.size()) - 1);
  }
  // And back: from [count, n] each state with its sizes.
  [[nodiscard]] Values as_carries(const Value& vectors) const {
    Values out(steps_.carries.size());
    int64_t next = 0;
    for (size_t i : states_) {
      Dims sizes = steps_.carries[i].sizes();
      const Shape& shape = steps_.carries[i].shape();
      const int64_t size = shape.element_count();
      sizes.insert(sizes.begin(), vectors.size(0));
      Value flat = slice(vectors, 1, next, size);
      if (is_complex(shape.dtype())) flat = complex(flat, slice(vectors, 1, next + size, size));
      out[i] = reshape(flat, sizes);
      next += reals_of(shape);
    }
    return out;
  }

  [[nodiscard]] Value start_vector() const { return as_vectors(steps_.carries, {1}); }
  [[nodiscard]] Value stretched_row(const Value& row) const {
    return broadcast(row, {steps_.length, 1, numbers_}, {1, 2});
  }

  StatusOr<Maps> maps_of_steps() {
    HEDDLE_ASSIGN_OR_RETURN(const Values from_zero, of_all_steps(Values(steps_.carries.size())));
    const std::span<const Value> carries = std::span(from_zero).subspan(steps_.outputs);
    Maps out;
    out.b = as_vectors({carries.begin(), carries.end()}, {steps_.length});
    HEDDLE_ASSIGN_OR_RETURN(const ComputationId jacobian, jacobian_of_step());
    Batcher batcher(source_, steps_.length, "");
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes made,
                            batcher.run(graph_, source_.at(jacobian), inputs_of_steps(), Value()));
    out.m = xs_of(made, batcher)[0];
    return out;
  }

  // (inputs.., known..) of one step -> m[n, n]: row i is the result for the carries' number i.
  StatusOr<ComputationId> jacobian_of_step() {
    const Computation computation = step();
    Graph inside(source_.into(), computation.name + ".jacobian");
    Batcher batcher(source_, numbers_, "");
    AllLanes given;
    const size_t inputs = steps_.inputs.size();
    for (size_t i = 0; i < inputs + steps_.known.size(); ++i) {
      const Value parameter = inside.parameter(computation.parameter_shape(i));
      const bool is_zero = i < inputs && steps_.is_cotangent[i];
      given.push_back({is_zero ? inside.zeros(parameter.shape()) : parameter});
    }
    const Shape square(dtype_, {numbers_, numbers_});
    const Value unit =
        select(inside.iota({numbers_, numbers_}, 0) == inside.iota({numbers_, numbers_}, 1),
               inside.full(square, 1), inside.zeros(square));
    const Values basis = as_carries(unit);
    for (size_t i = 0; i < basis.size(); ++i) {
      if (basis[i])
        given.push_back({basis[i], true});
      else
        given.push_back({inside.zeros(steps_.carries[i].shape())});
    }
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes made, batcher.run(inside, computation, given, Value()));
    const Values all = xs_of(made, batcher);
    const std::span<const Value> carries =
        std::span(all).subspan(steps_.outputs + steps_.known.size());
    const Value rows = as_vectors({carries.begin(), carries.end()}, {numbers_});
    return std::move(inside).finish({rows});
  }

  Source& source_;
  Graph& graph_;
  const StepsAtOnce& steps_;
  std::vector<size_t> states_;  // carries that are no sums
  int64_t numbers_ = 0;         // of them
  DType dtype_ = DType::kInvalid;
};

}  // namespace

StatusOr<Values> all_at_once(Source& source, Graph& graph, const StepsAtOnce& steps) {
  return AllAtOnce(source, graph, steps).run();
}

}  // namespace heddle::transform
