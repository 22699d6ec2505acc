#include <algorithm>
#include <cstring>

#include "heddle/interpreter/ops/elementwise/combine.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/reduction/window_taps.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// The position in x that each place of the window picks, or kNone. One tap after the other, at all
// places at once.
class Selection {
 public:
  static constexpr int64_t kNone = -1;

  explicit Selection(EvalArgs& in)
      : in_(in),
        picked_(Shape(in[0].shape().dtype(), in[1].shape().dimensions())),
        positions_(Shape(s64, in[1].shape().dimensions())) {
    std::ranges::fill(positions_.mutable_values<int64_t>(), kNone);
  }

  StatusOr<Literal> run() {
    HEDDLE_RETURN_IF_ERROR(for_each_tap(in_.attrs<WindowAttrs>().window, in_[0].shape(),
                                        in_[1].shape(),
                                        [this](const TapPart& part) { return take(part); }));
    return std::move(positions_);
  }

 private:
  Status take(const TapPart& part) {
    const Literal later = read_strided(in_[0], part.in_base, part.base_strides, part.sizes);
    Literal picked = read_strided(picked_, part.in_places, part.place_strides, part.sizes);
    Literal positions = read_strided(positions_, part.in_places, part.place_strides, part.sizes);
    HEDDLE_ASSIGN_OR_RETURN(const Literal stays,
                            in_.caller.map(0, std::vector<Literal>{picked, later}));
    const int64_t width = storage_bytes(later.shape().dtype());
    const std::span<const bool> stay = stays.values<bool>();
    const std::span<int64_t> at = positions.mutable_values<int64_t>();
    std::byte* to = picked.mutable_bytes();
    PositionWalk place(part);
    for (size_t i = 0; i < stay.size(); ++i, place.next()) {
      if (at[i] != kNone && stay[i]) continue;
      at[i] = place.position();
      const auto offset = static_cast<int64_t>(i) * width;
      std::memcpy(to + offset, later.bytes() + offset, static_cast<size_t>(width));
    }
    write_strided(picked_, part.in_places, part.place_strides, picked);
    write_strided(positions_, part.in_places, part.place_strides, positions);
    return {};
  }

  // The positions in x of the part's elements, in row-major order.
  class PositionWalk {
   public:
    explicit PositionWalk(const TapPart& part)
        : part_(part), at_(part.sizes.size()), position_(part.in_base) {}
    [[nodiscard]] int64_t position() const { return position_; }
    void next() {
      for (size_t d = at_.size(); d-- > 0;) {
        position_ += part_.base_strides[d];
        if (++at_[d] < part_.sizes[d]) return;
        position_ -= part_.base_strides[d] * part_.sizes[d];
        at_[d] = 0;
      }
    }

   private:
    const TapPart& part_;
    Dims at_;
    int64_t position_;
  };

  EvalArgs& in_;
  Literal picked_;
  Literal positions_;
};

// One value after the other, since places may pick the same element.
StatusOr<Literal> select_and_scatter_by_calls(EvalArgs& in, std::span<const int64_t> positions,
                                              Literal result) {
  const Dims one;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] == Selection::kNone) continue;
    std::vector<Literal> arguments = {read_strided(result, positions[i], one, one),
                                      read_strided(in[1], static_cast<int64_t>(i), one, one)};
    HEDDLE_ASSIGN_OR_RETURN(const Literal value, in.caller.call_and_consume(1, arguments));
    write_strided(result, positions[i], one, value);
  }
  return result;
}

StatusOr<Literal> evaluate_select_and_scatter(EvalArgs& in) {
  HEDDLE_ASSIGN_OR_RETURN(const Literal picked, Selection(in).run());
  const std::span<const int64_t> positions = picked.values<int64_t>();
  Literal result = repeated(in[2], in.result());
  const Combiner combiner = recognise_combiner(in.caller.computation(1), in.result().dtype());
  if (combiner.kind != Combiner::Kind::kNative)
    return select_and_scatter_by_calls(in, positions, std::move(result));
  const int64_t width = storage_bytes(in.result().dtype());
  std::byte* to = result.mutable_bytes();
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] == Selection::kNone) continue;
    combiner.run(to + positions[i] * width, 0, in[1].bytes() + static_cast<int64_t>(i) * width, 0,
                 1);
  }
  return result;
}

}  // namespace

const Evaluation kSelectAndScatterEvaluation = {.evaluate = evaluate_select_and_scatter};

}  // namespace heddle::interpreter
