// Derivatives of what the lanes of a vmap do together (hlo/batching.h): sums are linear, and their
// own transposes.
#include "heddle/hlo/batching.h"
#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Values> same_sum(Graph& graph, const Instruction& of, const Computation& combiner,
                          const Value& x) {
  if (op_of(combiner) != Opcode::kAdd)
    return base::unimplemented("of what lanes do together sums alone have derivatives");
  const Value made = graph.op(Opcode::kAllReduce, {x}, of.attrs, of.called, &of.shape);
  return Values{graph.with_frontend_attributes(made, of.extras->frontend_attributes)};
}

}  // namespace

StatusOr<Values> jvp_sum_of_lanes(const JvpArgs& d) {
  return same_sum(d.graph, d.of, d.called(), d.full_dx(0));
}

StatusOr<Values> transpose_sum_of_lanes(const TransposeArgs& t) {
  return same_sum(t.graph, t.of, t.called(), t.ct[0]);
}

}  // namespace heddle::hlo
