#include <algorithm>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/movement/indexed_windows.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// Copies many windows at once, element by element of the window: in x[:, indices] the elements that
// lie side by side in the result are of different windows.
template <class T>
void copy_across(const IndexedWindows& windows, std::byte* to, const std::byte* from) {
  constexpr int64_t kWidth = sizeof(T);
  constexpr size_t kMany = 512;
  const StridedWalk walk(windows.sizes(), windows.strides_in_batched(), windows.strides_in_x(),
                         kWidth);
  struct Place {
    int64_t in_x, in_result;
  };
  Place places[kMany];
  size_t count = 0;
  auto copy = [&] {
    walk.for_each_run(
        to, from,
        [&](std::byte* t, int64_t t_stride, const std::byte* f, int64_t f_stride, int64_t n) {
          for (int64_t i = 0; i < n; ++i, t += t_stride, f += f_stride) {
            for (size_t w = 0; w < count; ++w)
              write_element(t + places[w].in_result, read_element<T>(f + places[w].in_x));
          }
        });
    count = 0;
  };
  windows.for_each_clamped([&](int64_t in_x, int64_t in_result) {
    places[count++] = {in_x * kWidth, in_result * kWidth};
    if (count == kMany) copy();
  });
  copy();
}

StatusOr<Literal> evaluate_gather(EvalArgs& in) {
  const auto& attrs = in.attrs<GatherAttrs>();
  const Shape& result = in.result();
  // Slices of size 0 hold nothing, even where the result, without their dimension, does.
  if (std::ranges::count(attrs.slice_sizes, 0) > 0) return Literal(result);
  const IndexedWindows windows(in[0].shape(), in[1], result,
                               {.window_dims = attrs.offset_dims,
                                .dropped_dims = attrs.collapsed_slice_dims,
                                .x_batching_dims = attrs.operand_batching_dims,
                                .indices_batching_dims = attrs.start_indices_batching_dims,
                                .index_map = attrs.start_index_map,
                                .index_vector_dim = attrs.index_vector_dim});
  const int64_t width = storage_bytes(result.dtype());
  Literal out = Literal::uninitialised(result);
  std::byte* to = out.mutable_bytes();
  const std::byte* from = in[0].bytes();
  if (windows.batch_is_densest()) {
    visit_width(width, [&]<class T>(T) { copy_across<T>(windows, to, from); });
    return out;
  }
  const StridedCopy copy(windows.sizes(), windows.strides_in_batched(), windows.strides_in_x(),
                         width);
  windows.for_each_clamped([&](int64_t in_x, int64_t in_result) {
    copy.run(to + in_result * width, from + in_x * width);
  });
  return out;
}

}  // namespace

const Evaluation kGatherEvaluation = {.evaluate = evaluate_gather};

}  // namespace heddle::interpreter
