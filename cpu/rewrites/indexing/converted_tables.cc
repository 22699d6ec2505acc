#include "heddle/cpu/rewrites/indexing/converted_tables.h"

#include <algorithm>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kShortestTaken = 16;  // elements
constexpr int64_t kMostTaken = 2;       // times that an element of the table is taken

bool takes_rows_of_wider(const Computation& in, const Instruction& gather) {
  if (gather.opcode != Opcode::kGather || gather.shape.is_dynamic() || gather.shape.is_scalar())
    return false;
  const Instruction& table = in.at(gather.operands[0]);
  if (table.opcode != Opcode::kConvert || is_complex(table.shape.dtype())) return false;
  const DType from = in.at(table.operands[0]).shape.dtype();
  const int64_t last = gather.shape.rank() - 1;
  const auto& windows = gather.attrs.get<hlo::GatherAttrs>().offset_dims;
  return storage_bytes(from) * 2 <= storage_bytes(table.shape.dtype()) &&
         std::ranges::count(windows, last) > 0 && gather.shape.dimension(last) >= kShortestTaken &&
         gather.shape.element_count() <= kMostTaken * table.shape.element_count();
}

}  // namespace

StatusOr<hlo::Module> convert_what_is_taken(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& op = to.old(id);
        if (!takes_rows_of_wider(to.from(), op)) return {};
        to.in_place_of(id);
        const hlo::Value table = to.value(to.old(op.operands[0]).operands[0]);
        return convert(gather(table, to.value(op.operands[1]), op.attrs.get<hlo::GatherAttrs>()),
                       op.shape.dtype());
      });
}

}  // namespace heddle::cpu
