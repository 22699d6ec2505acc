// sort(x..), dimensions={d}, to_apply=less: the rows of all operands along d, reordered together so
// that less(later, earlier) holds for none. less gets (left, right) of each operand in turn.
// Without is_stable, equals come as std::sort leaves them, which is what XLA's CPU calls: programs
// that sort pairs by their firsts show it in rows of more than 16.
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kSortOperands[] = {"x"};

StatusOr<Shape> infer_sort(const InferArgs& in) {
  if (in.size() == 0) return in.error("has no operands; takes one or more");
  std::vector<Shape> parameters, results;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].is_array() || !same_dimensions(in[i], in[0])) {
      return in.error("operand ", i, " is ", to_string(in[i]),
                      "; must have the dimensions of operand 0, ", to_string(in[0]));
    }
    parameters.insert(parameters.end(), 2, Shape::scalar(in[i].dtype()));
    results.push_back(in[i]);
    results.back().clear_layout();
  }
  const Dims& dimensions = in.attrs<SortAttrs>().dimensions;
  if (dimensions.size() != 1) {
    return in.error("has dimensions {", base::join(dimensions, ","), "}; takes exactly one");
  }
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, dimensions, in[0]));
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "comparator", parameters));
  HEDDLE_RETURN_IF_ERROR(check_returns(in, 0, "comparator", Shape::scalar(pred)));
  if (results.size() == 1) return results[0];
  return settle(in, Shape::tuple(std::move(results)));
}

}  // namespace

const OpDef kSortDef = {
    Opcode::kSort, kSortOperands, {Work::kMost, Rows::kByRule, kPlain}, infer_sort};

}  // namespace heddle::hlo
