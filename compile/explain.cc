#include "heddle/compile/internal/explain.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "heddle/compile/internal/matching.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/trace/node.h"

namespace heddle::compile_internal {
namespace {

std::string sharding_text(const ShardingPtr& sharding) {
  return sharding ? to_string(*sharding) : "no sharding";
}

// "f32[11,4] padded to f32[16,4]"
std::string type_text(const Call& call, size_t leaf) {
  const std::string own = to_string(call.leaves[leaf].shape());
  return has_rows(call, leaf) ? base::cat(own, " padded to ", to_string(padded(call, leaf))) : own;
}

std::string described(const std::optional<TreeSpec>& spec) {
  return spec ? describe(*spec) : "missing";
}

std::string named_or_none(const std::string& surroundings) {
  return surroundings.empty() ? "no shard_map or named vmap" : surroundings;
}

}  // namespace

Difference difference(const Graph& graph, const Call& call) {
  constexpr int64_t kOtherStructure = int64_t{1} << 32;
  const std::vector<TreeSpec> have = call.structure();
  const std::vector<TreeSpec>& want = graph.types.structure;
  if (have.size() != want.size()) {
    return {2 * kOtherStructure,
            base::cat("it has ", have.size(), have.size() == 1 ? " argument" : " arguments"),
            base::cat("it has ", want.size())};
  }
  Difference found;
  for (size_t i = 0; i < have.size(); ++i) {
    if (have[i] == want[i]) continue;
    if (found.size++ > 0) continue;
    const TreeDifference first = tree_difference(have[i], want[i]);
    found.what = base::cat("arg", i, first.path, " is ", described(first.first));
    found.was = base::cat("it is ", described(first.second));
  }
  if (found.size > 0) {
    found.size += kOtherStructure;
    return found;
  }
  const std::vector<SignatureLeaf>& leaves = graph.program.signature().arguments;
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const Tensor& leaf = call.leaves[i];
    if (!leaf.is_valid()) continue;
    const ShardingPtr& sharding = leaf.node()->sharding;
    const bool fits_type = has_type(call, i, leaves[i].shape);
    if (fits_type && is_same(sharding, graph.types.shardings[i])) continue;
    if (found.size++ > 0) continue;
    found.what = base::cat(leaves[i].path, fits_type ? " has " : " is ",
                           fits_type ? sharding_text(sharding) : type_text(call, i));
    found.was = fits_type ? base::cat("it has ", sharding_text(graph.types.shardings[i]))
                          : base::cat("it is ", to_string(leaves[i].shape));
  }
  const bool is_padded = call.rows.leaves != nullptr, was_padded = graph.types.has_rows;
  if (found.size == 0 && is_padded != was_padded)
    return {1,
            is_padded ? "its rows are padded" : "it is called inside of a trace, without padding",
            was_padded ? "they are padded" : "they are not"};
  if (found.size == 0 && graph.types.surroundings != surroundings())
    return {1, base::cat("it is called inside of ", named_or_none(surroundings())),
            base::cat("it was inside of ", named_or_none(graph.types.surroundings))};
  if (found.size == 0)
    found = {1, "its arguments have other C++ types of equal structure", "they have others"};
  else if (found.size > 1)
    base::append(found.what, ", and ", found.size - 1,
                 found.size > 2 ? " more differ" : " more differs");
  return found;
}

std::string traced_capture(const Program& program) {
  const auto found = std::ranges::find_if(program.captures(), &Tensor::is_traced);
  if (found == program.captures().end()) return "";
  const trace_internal::Node& node = *found->node();
  return base::cat("it captures the traced ", to_string(node.shape),
                   node.where.known() ? base::cat(" made at ", to_string(node.where)) : "", ", of ",
                   trace_internal::name_of(*node.scope));
}

namespace {

std::string capture_text(const Tensor& tensor) {
  return base::cat("#", tensor.id(), " ", to_string(tensor.shape()));
}

std::string line_of(const hlo::Instruction& instruction) {
  return instruction.at.known() ? base::cat(" at ", to_string(instruction.at)) : "";
}
// "multiply f32[3] at a.cc:7"
std::string named(const hlo::Instruction& instruction) {
  return base::cat(to_string(instruction.opcode), " ", to_string(instruction.shape),
                   line_of(instruction));
}

// "the body of the while at a.cc:7"
std::string part(const hlo::Module& module, const hlo::Instruction& caller, size_t k) {
  const std::string of = base::cat(" of the ", to_string(caller.opcode), line_of(caller));
  switch (caller.opcode) {
    case hlo::Opcode::kCall:
      return base::cat("the function ", module.at(caller.called[k]).name, " called",
                       line_of(caller));
    case hlo::Opcode::kWhile: return base::cat(k == 0 ? "the body" : "the condition", of);
    case hlo::Opcode::kScan: return base::cat("the step", of);
    case hlo::Opcode::kConditional: return base::cat("branch ", k, of);
    default: return base::cat("the function", of);
  }
}

// Computations of the old and the new module without a difference: many may call one.
using Same = std::set<std::pair<hlo::ComputationId, hlo::ComputationId>>;

std::string difference(const hlo::Module& old_module, hlo::ComputationId old_id,
                       const hlo::Module& new_module, hlo::ComputationId new_id, Same& same) {
  if (same.contains({old_id, new_id})) return "";
  const hlo::Computation &old_code = old_module.at(old_id), &new_code = new_module.at(new_id);
  const auto &was = old_code.instructions, &is = new_code.instructions;
  const size_t both = std::min(was.size(), is.size());
  for (size_t i = 0; i < both; ++i) {
    const hlo::Instruction &a = was[i], &b = is[i];
    if (a.opcode != b.opcode || !same_type(a.shape, b.shape) ||
        a.called.size() != b.called.size()) {
      return base::cat("it computes ", to_string(b.opcode), " ", to_string(b.shape),
                       ", and computed ", to_string(a.opcode), " ", to_string(a.shape),
                       b.at.known() ? base::cat(", at ", to_string(b.at)) : "");
    }
    for (size_t k = 0; k < b.called.size(); ++k) {
      const std::string inside = difference(old_module, a.called[k], new_module, b.called[k], same);
      if (!inside.empty()) return base::cat("in ", part(new_module, b, k), " ", inside);
    }
    hlo::Instruction same_called = a;
    same_called.called = b.called;
    if (!hlo::equal(same_called, b)) {
      return base::cat(a.operands == b.operands ? "a number or an attribute of " : "an operand of ",
                       to_string(b.opcode), " ", to_string(b.shape), " is another",
                       b.at.known() ? base::cat(", at ", to_string(b.at)) : "");
    }
  }
  if (is.size() > both) return base::cat("it computes ", named(is[both]), " too");
  if (was.size() > both) return base::cat("it computes ", named(was[both]), " no more");
  if (old_code.root != new_code.root) return "it returns another result";
  same.emplace(old_id, new_id);
  return "";
}

}  // namespace

std::string change(const Program& was, const Program& is) {
  const std::vector<Tensor>&before = was.captures(), &now = is.captures();
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i].is_traced() || before[i].id() == now[i].id()) continue;
    return base::cat("it captures ", capture_text(now[i]), ", and captured ",
                     capture_text(before[i]));
  }
  if (before.size() != now.size())
    return base::cat("it captures ", now.size(), " tensors, and captured ", before.size());
  if (hlo::equal(was.module(), is.module())) return "";
  Same same;
  const std::string found =
      difference(was.module(), was.module().entry, is.module(), is.module().entry, same);
  return found.empty() ? "it computes something else" : found;
}

}  // namespace heddle::compile_internal
