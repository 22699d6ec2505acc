#include "heddle/interpreter/ops/reduction/reduce_native.h"

#include <algorithm>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/ops/elementwise/accumulators.h"

namespace heddle::interpreter {
namespace {

// Neighbouring dimensions of a kind, as one. The position in the result of a row is the sum of
// index times stride.
struct Group {
  int64_t size;
  int64_t stride;  // in the result; 0: reduced
};

std::vector<Group> groups_of(const Shape& shape, const std::vector<int64_t>& reduced) {
  std::vector<Group> groups;  // from the innermost
  int64_t stride = 1;
  for (int64_t d = shape.rank(); d-- > 0;) {
    const int64_t size = shape.dimension(d);
    const bool kept = std::ranges::find(reduced, d) == reduced.end();
    if (size == 1) continue;
    if (!groups.empty() && (groups.back().stride != 0) == kept) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, kept ? stride : 0});
    }
    if (kept) stride *= size;
  }
  if (groups.empty()) groups.push_back({1, 0});
  return groups;
}

// Walks over the rows of an array (runs of its innermost group) in the order of memory.
class RowWalk {
 public:
  explicit RowWalk(std::vector<Group> groups)
      : groups_(std::move(groups)), at_(groups_.size(), 0) {}

  [[nodiscard]] int64_t length() const { return groups_[0].size; }
  [[nodiscard]] bool is_kept() const { return groups_[0].stride != 0; }
  [[nodiscard]] int64_t count() const {
    int64_t count = 1;
    for (size_t g = 1; g < groups_.size(); ++g) count *= groups_[g].size;
    return count;
  }
  // Where the row's first element goes in the result; then moves on.
  int64_t next() {
    const int64_t position = position_;
    for (size_t g = 1; g < groups_.size(); ++g) {
      position_ += groups_[g].stride;
      if (++at_[g] < groups_[g].size) break;
      position_ -= groups_[g].stride * groups_[g].size;
      at_[g] = 0;
    }
    return position;
  }

 private:
  std::vector<Group> groups_;
  std::vector<int64_t> at_;
  int64_t position_ = 0;
};

constexpr int64_t kReduceNativeBlock = 2048;

template <class Accumulator>
void take_row(Accumulator* to, bool is_kept, const typename Accumulator::Element* from,
              int64_t count) {
  if (is_kept) {
    for (int64_t i = 0; i < count; ++i) to[i].take(from[i]);
  } else {
    Accumulator one = *to;
    for (int64_t i = 0; i < count; ++i) one.take(from[i]);
    *to = one;
  }
}

template <class Accumulator>
void take_all(Accumulator* to, RowWalk rows, const Literal& x) {
  using Element = typename Accumulator::Element;
  const DType dtype = x.shape().dtype();
  const int64_t width = storage_bytes(dtype);
  const std::byte* from = x.bytes();
  std::vector<Element> block(static_cast<size_t>(std::min(kReduceNativeBlock, x.element_count())));
  const int64_t at_once = std::max<int64_t>(1, kReduceNativeBlock / rows.length());
  for (int64_t left = rows.count(); left > 0;) {
    const int64_t batch = std::min(left, at_once);
    left -= batch;
    if (rows.length() <= kReduceNativeBlock) {
      load(dtype, from, batch * rows.length(), block.data());
      for (int64_t r = 0; r < batch; ++r) {
        take_row(to + rows.next(), rows.is_kept(), block.data() + r * rows.length(), rows.length());
      }
    } else {
      Accumulator* row = to + rows.next();
      for (int64_t i = 0; i < rows.length(); i += kReduceNativeBlock) {
        const int64_t count = std::min(kReduceNativeBlock, rows.length() - i);
        load(dtype, from + i * width, count, block.data());
        take_row(rows.is_kept() ? row + i : row, rows.is_kept(), block.data(), count);
      }
    }
    from += batch * rows.length() * width;
  }
}

template <class Accumulator>
Literal reduce(const Literal& x, const Literal& init, const std::vector<int64_t>& dimensions,
               const Shape& shape) {
  typename Accumulator::Element start;
  load(init.shape().dtype(), init.bytes(), 1, &start);
  std::vector<Accumulator> accumulators(static_cast<size_t>(shape.element_count()),
                                        Accumulator(start));
  if (x.element_count() > 0) {
    take_all(accumulators.data(), RowWalk(groups_of(x.shape(), dimensions)), x);
  }
  Literal out = Literal::uninitialised(shape);
  std::vector<typename Accumulator::Element> values;
  values.reserve(accumulators.size());
  for (const Accumulator& each : accumulators) values.push_back(each.result());
  store(shape.dtype(), values.data(), shape.element_count(), out.mutable_bytes());
  return out;
}

using ReduceLoop = Literal (*)(const Literal&, const Literal&, const std::vector<int64_t>&,
                               const Shape&);

ReduceLoop loop_for(Opcode op, DType dtype) {
  return loop_of<ReduceLoop>(op, dtype, []<class Accumulator>(Of<Accumulator>) -> ReduceLoop {
    return reduce<Accumulator>;
  });
}

}  // namespace

std::optional<Opcode> native_reducer(const Computation& computation) {
  const Instruction& root = computation.root_instruction();
  if (computation.parameter_count() != 2 || root.operands.size() != 2) return std::nullopt;
  const std::vector<InstructionId>& parameters = computation.parameters;
  const bool of_parameters = root.operands == parameters || (root.operands[0] == parameters[1] &&
                                                             root.operands[1] == parameters[0]);
  if (!of_parameters || loop_for(root.opcode, root.shape.dtype()) == nullptr) return std::nullopt;
  return root.opcode;
}

Literal reduce_native(Opcode op, const Literal& x, const Literal& init,
                      const std::vector<int64_t>& dimensions, const Shape& result) {
  return loop_for(op, result.dtype())(x, init, dimensions, result);
}

}  // namespace heddle::interpreter
