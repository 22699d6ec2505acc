#include "heddle/transform/derivatives.h"

#include <algorithm>

#include "heddle/base/containers/span.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/backward.h"
#include "heddle/transform/derivatives/internal/devices.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/dump.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"
#include "heddle/transform/internal/transform_span.h"
#include "heddle/transform/passes.h"

namespace heddle::transform {

using hlo::Module;

namespace {

Value or_zeros(Graph& graph, const Value& value, const Shape& shape) {
  return value ? value : graph.zeros(shape);
}

// The module with equal values once, and without unused ones. It is not simplified: that would
// remove stop_gradient, which a further derivative needs.
StatusOr<Module> finished(Writer& writer, const Module& like, ComputationId entry) {
  HEDDLE_RETURN_IF_ERROR(writer.status());
  Module module = std::move(writer).finish(entry);
  module.name = like.name;
  HEDDLE_ASSIGN_OR_RETURN(module, merge_equal(module));
  return remove_unused(module);
}

size_t leaf_count_of(const Computation& entry) {
  size_t count = 0;
  for (InstructionId id : entry.parameters) count += leaf_count(entry.at(id).shape);
  return count;
}

// The values of the entry with tangents beside them: (x.., tangents of those in `of`) -> (y..,
// tangents of the first `wanted`..), and which results have one.
struct Both {
  ComputationId id;
  std::vector<Shape> parameters;
  std::vector<Shape> results;
  std::vector<bool> has_tangent;  // by result
};

StatusOr<Both> with_tangents(Writer& writer, const Module& module, const std::vector<bool>& of,
                             Mode mode, size_t wanted = kAllResults) {
  const Computation& entry = module.entry_computation();
  Source source(writer, module);
  Graph graph(writer, entry.name);
  Both both;
  Duals duals;
  const bool is_flat = leaf_count_of(entry) == entry.parameters.size();
  for (InstructionId id : entry.parameters) {
    for (const Shape& leaf : leaves_of(entry.at(id).shape)) {
      duals.push_back({is_flat ? graph.append(entry.at(id)) : graph.parameter(leaf)});
      both.parameters.push_back(leaf);
    }
  }
  for (size_t i = 0; i < duals.size(); ++i) {
    if (of[i]) duals[i].dx = graph.parameter(both.parameters[i]);
  }
  HEDDLE_ASSIGN_OR_RETURN(Duals results, Forward(source, mode).run(graph, entry, duals));
  for (size_t i = wanted; i < results.size(); ++i) results[i] = {results[i].x};
  HEDDLE_RETURN_IF_ERROR(reason_in(results));
  Values all;
  for (const Dual& each : results) {
    all.push_back(each.x);
    both.results.push_back(each.x.shape());
    both.has_tangent.push_back(bool(each.dx));
  }
  for (const Dual& each : results) {
    if (each.dx) all.push_back(each.dx);
  }
  both.id = std::move(graph).finish(all);
  return both;
}

}  // namespace

StatusOr<Module> jvp(const Module& module, const std::vector<bool>& of) {
  const TransformSpan span("jvp");
  Writer writer;
  HEDDLE_ASSIGN_OR_RETURN(const Both both, with_tangents(writer, module, of, Mode::kTogether));
  const Computation computation = writer.module().at(both.id);
  Graph graph(writer, computation.name);
  PartCopy copy(graph, computation);
  for (InstructionId id : computation.parameters) copy.give(id, graph.append(computation.at(id)));
  const Values made = copy.want_with_effects(returned_values(computation));
  Values all(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(both.results.size()));
  size_t next = both.results.size();
  for (size_t i = 0; i < both.results.size(); ++i)
    all.push_back(both.has_tangent[i] ? made[next++] : graph.zeros(both.results[i]));
  return dumped("jvp", module, finished(writer, module, std::move(graph).finish(all)));
}

namespace {

// (x.., cotangents that are given..) -> (y.., cotangents of x..); `seed` makes those of the first
// `wanted` results.
StatusOr<Module> reversed(const Module& module, const std::vector<bool>& to, size_t wanted,
                          base::FunctionRef<Value(Graph&, size_t, const Shape&)> seed) {
  Writer writer;
  HEDDLE_ASSIGN_OR_RETURN(const Both both, with_tangents(writer, module, to, Mode::kApart, wanted));
  const Computation computation = writer.module().at(both.id);
  Graph graph(writer, computation.name);
  Values parameters, ct(both.results.size());  // the values themselves have no cotangents
  for (size_t i = 0; i < both.parameters.size(); ++i)
    parameters.push_back(graph.append(computation.at(computation.parameters[i])));
  parameters.resize(computation.parameters.size());
  for (size_t i = 0; i < both.results.size(); ++i) {
    const Value of_result = seed(graph, i, both.results[i]);
    if (both.has_tangent[i]) ct.push_back(of_result);
  }
  HEDDLE_ASSIGN_OR_RETURN(const Backward::Result out,
                          Backward(writer).run(graph, computation, parameters, ct));
  Values all(out.known.begin(),
             out.known.begin() + static_cast<std::ptrdiff_t>(both.results.size()));
  size_t next = both.parameters.size();
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i]) all.push_back(or_zeros(graph, out.ct[next++], both.parameters[i]));
  }
  return finished(writer, module, std::move(graph).finish(all));
}

}  // namespace

StatusOr<Module> vjp(const Module& module, const std::vector<bool>& to,
                     const std::vector<bool>& from) {
  const TransformSpan span("vjp");
  const auto seed = [&](Graph& graph, size_t i, const Shape& shape) {
    return from[i] ? graph.parameter(shape) : Value();
  };
  return dumped("vjp", module, reversed(module, to, kAllResults, seed));
}

StatusOr<Module> gradient(const Module& module, const std::vector<bool>& of) {
  const TransformSpan span("gradient");
  const auto seed = [](Graph& graph, size_t, const Shape& shape) { return graph.full(shape, 1); };
  return dumped("gradient", module, reversed(module, of, 1, seed));
}

namespace {

// x.. -> (wanted..), the part of (x.., dx..) -> .. that does not depend on tangents.
ComputationId known_part(Writer& writer, const Computation& both, size_t parameters,
                         const std::vector<InstructionId>& wanted) {
  Graph graph(writer, both.name);
  PartCopy part(graph, both);
  for (size_t i = 0; i < parameters; ++i)
    part.give(both.parameters[i], graph.append(both.at(both.parameters[i])));
  Values made = part.want_with_effects(wanted);
  PartsOfDevices(both).join(graph, wanted, made);
  return std::move(graph).finish(made);
}

// (residuals.., dx..) -> dy.. of the first `wanted` results, zeros for one without a tangent.
ComputationId linear_part(Writer& writer, const Computation& computation, const Both& both,
                          const std::vector<InstructionId>& residuals,
                          const std::vector<InstructionId>& results, size_t wanted) {
  Graph graph(writer, computation.name + ".tangent");
  PartCopy part(graph, computation);
  const PartsOfDevices devices(computation);
  for (InstructionId id : residuals) {
    const Value kept = graph.parameter(devices.residual_type(computation, id));
    part.give(id, devices.read(graph, id, kept));
  }
  for (size_t i = both.parameters.size(); i < computation.parameters.size(); ++i)
    part.give(computation.parameters[i], graph.parameter(computation.parameter_shape(i)));
  const Values made = part.want(results);
  Values all;
  size_t next = 0;
  for (size_t i = 0; i < std::min(wanted, both.results.size()); ++i)
    all.push_back(both.has_tangent[i] ? made[next++] : graph.zeros(both.results[i]));
  return std::move(graph).finish(all);
}

}  // namespace

StatusOr<Linearized> linearize(const Module& module, const std::vector<bool>& of, size_t wanted) {
  const TransformSpan span("linearize");
  Writer writer;
  HEDDLE_ASSIGN_OR_RETURN(const Both both, with_tangents(writer, module, of, Mode::kApart, wanted));
  const Computation computation = merged(writer, both.id);
  const std::vector<InstructionId> returned = returned_values(computation);
  const auto tangents = returned.begin() + static_cast<std::ptrdiff_t>(both.results.size());
  const std::vector<InstructionId> linear_results(tangents, returned.end());
  std::vector<bool> linear(computation.parameters.size());
  for (size_t i = both.parameters.size(); i < linear.size(); ++i) linear[i] = true;
  const std::vector<InstructionId> residuals = split(computation, linear, linear_results).residuals;
  std::vector<InstructionId> known(returned.begin(), tangents);
  Linearized out;
  for (InstructionId id : residuals) {
    const auto at = std::ranges::find(computation.parameters, id);
    const bool is_given = at != computation.parameters.end();
    out.residuals.push_back(is_given ? std::optional(at - computation.parameters.begin())
                                     : std::nullopt);
    if (!is_given) known.push_back(id);
  }
  const ComputationId forward = known_part(writer, computation, both.parameters.size(), known);
  const ComputationId pushforward =
      linear_part(writer, computation, both, residuals, linear_results, wanted);

  HEDDLE_RETURN_IF_ERROR(writer.status());
  Module whole = std::move(writer).finish(forward);
  whole.name = module.name;
  HEDDLE_ASSIGN_OR_RETURN(out.forward, remove_unused(whole));
  whole.entry = pushforward;
  HEDDLE_ASSIGN_OR_RETURN(out.pushforward, remove_unused(whole));
  HEDDLE_RETURN_IF_ERROR(dump_step("linearize", module, out.forward));
  HEDDLE_RETURN_IF_ERROR(dump_step("pushforward", module, out.pushforward));
  return out;
}

namespace {

// How loops and branches are written before they are transposed.
enum class Regions : uint8_t { kAsTheyAre, kApart };

StatusOr<ComputationId> apart(Writer& writer, ComputationId id, const std::vector<bool>& linear) {
  const Computation computation = writer.module().at(id);
  Graph graph(writer, computation.name);
  Duals parameters;
  for (size_t i = 0; i < linear.size(); ++i)
    parameters.push_back({graph.parameter(computation.parameter_shape(i))});
  Source source(writer);
  HEDDLE_ASSIGN_OR_RETURN(
      const Values results,
      Forward(source, Mode::kApart).run_linear(graph, computation, parameters, linear));
  return std::move(graph).finish(results);
}

StatusOr<Module> transposed(const Module& module, const std::vector<bool>& linear,
                            Backward::Given given, Regions regions) {
  Writer writer;
  Source source(writer, module);
  ComputationId id = source.called(module.entry);
  if (regions == Regions::kApart) {
    HEDDLE_ASSIGN_OR_RETURN(id, apart(writer, id, linear));
  }
  const Computation computation = writer.module().at(id);
  Graph graph(writer, computation.name);
  Values parameters(computation.parameters.size()), ct;
  for (size_t i = 0; i < linear.size(); ++i) {
    if (!linear[i]) parameters[i] = graph.parameter(computation.parameter_shape(i));
  }
  for (const Shape& shape : leaves_of(computation.result_shape()))
    ct.push_back(graph.parameter(shape));
  HEDDLE_ASSIGN_OR_RETURN(const Backward::Result out,
                          Backward(writer, given).run(graph, computation, parameters, ct));
  Values all;
  for (size_t i = 0; i < linear.size(); ++i) {
    if (linear[i]) all.push_back(or_zeros(graph, out.ct[i], computation.parameter_shape(i)));
  }
  return finished(writer, module, std::move(graph).finish(all));
}

}  // namespace

StatusOr<Module> transpose(const Module& module, const std::vector<bool>& linear) {
  const TransformSpan span("transpose");
  const auto run = [&](Regions regions) {
    return transposed(module, linear, Backward::Given::kPerhapsAffine, regions);
  };
  StatusOr<Module> made = run(Regions::kAsTheyAre);
  if (made.ok()) return dumped("transpose", module, std::move(made));
  StatusOr<Module> again = run(Regions::kApart);
  const bool says_more = again.status().code() == StatusCode::kInvalidArgument &&
                         made.status().code() == StatusCode::kUnimplemented;
  return dumped("transpose", module, again.ok() || says_more ? std::move(again) : std::move(made));
}

StatusOr<Module> transpose(const Module& module, size_t known) {
  const TransformSpan span("transpose");
  std::vector<bool> linear(module.entry_computation().parameters.size(), true);
  std::fill_n(linear.begin(), known, false);
  return dumped("transpose", module,
                transposed(module, linear, Backward::Given::kLinear, Regions::kAsTheyAre));
}

}  // namespace heddle::transform
