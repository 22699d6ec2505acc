// rng(a, b): numbers of a distribution, from a stream that is not specified; here of Philox, keyed
// by the seed of the run. rng-bit-generator(state): bits of a counter-based generator, and its next
// state. rng-get-and-update-state(): the counter of the run.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_rng(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_declared_array(in));
  if (in.attrs<RngAttrs>().distribution == RandomDistribution::kInvalid) {
    return in.error("has no distribution; must be rng_uniform or rng_normal");
  }
  HEDDLE_RETURN_IF_ERROR(check_rank(in, 0, 0));
  HEDDLE_RETURN_IF_ERROR(check_rank(in, 1, 0));
  HEDDLE_RETURN_IF_ERROR(check_dtype(in, 1, in[0].dtype(), "a"));
  return *in.declared();
}

// The result is (next state, bits); old modules leave the state out.
StatusOr<Shape> infer_bits(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  if (!is_unsigned(in[0].dtype())) {
    return in.error("state is ", in[0], "; must be of unsigned integers");
  }
  const Shape& result = *in.declared();
  if (result.is_array()) return result;
  bool pair = result.is_tuple() && result.element_shapes() == 2 && result.element(1).is_array();
  if (pair && same_type(result.element(0), in[0])) return result;
  return in.error("result is declared as ", result, "; must be a pair of the next state, ", in[0],
                  ", and an array of bits");
}

StatusOr<Shape> infer_state(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_declared_array(in));
  if (is_integer(in.declared()->dtype())) return *in.declared();
  return in.error("result is declared as ", *in.declared(), "; must be of integers");
}

constexpr std::string_view kBounds[] = {"a", "b"};
constexpr std::string_view kState[] = {"state"};

}  // namespace

const OpDef kRngDef = {Opcode::kRng, kBounds, kOpaque, infer_rng};
const OpDef kRngBitGeneratorDef = {
    Opcode::kRngBitGenerator, kState, {Work::kMost, Rows::kMixed, kPlain}, infer_bits};
const OpDef kRngGetAndUpdateStateDef = {Opcode::kRngGetAndUpdateState, {}, kOpaque, infer_state};

}  // namespace heddle::hlo
