#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/elementwise/combine.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/movement/indexed_windows.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// Operands are n inputs, the indices, n updates.
size_t input_count(size_t operands) { return operands / 2; }

// One input, in place, where the computation is known.
void scatter_natively(const Combiner& combiner, const IndexedWindows& windows, Literal& x,
                      const Literal& updates) {
  const int64_t width = storage_bytes(x.shape().dtype());
  std::byte* to = x.mutable_bytes();
  const std::byte* from = updates.bytes();
  const StridedWalk walk(windows.sizes(), windows.strides_in_x(), windows.strides_in_batched(),
                         width);
  if (walk.is_point() && combiner.kind == Combiner::Kind::kSecond) {
    visit_width(width, [&]<class T>(T) {
      windows.for_each_inside([&](int64_t in_x, int64_t in_updates) {
        write_element(to + in_x * width, read_element<T>(from + in_updates * width));
      });
    });
  } else if (walk.is_point()) {
    windows.for_each_inside([&](int64_t in_x, int64_t in_updates) {
      combiner.run(to + in_x * width, 0, from + in_updates * width, 0, 1);
    });
  } else if (combiner.kind == Combiner::Kind::kSecond) {
    const StridedCopy copy(windows.sizes(), windows.strides_in_x(), windows.strides_in_batched(),
                           width);
    windows.for_each_inside([&](int64_t in_x, int64_t in_updates) {
      copy.run(to + in_x * width, from + in_updates * width);
    });
  } else {
    windows.for_each_inside([&](int64_t in_x, int64_t in_updates) {
      walk.for_each_run(to + in_x * width, from + in_updates * width, combiner.run);
    });
  }
}

// Elements of a window are distinct, so that the computation may be applied to all of them at once.
Status scatter_by_calls(EvalArgs& in, const IndexedWindows& windows,
                        std::vector<Literal>& results) {
  const size_t n = results.size();
  std::vector<Literal> arguments(2 * n);
  Status status;
  windows.for_each_inside([&](int64_t in_x, int64_t in_updates) {
    if (!status.ok()) return;
    for (size_t i = 0; i < n; ++i) {
      arguments[i] = read_strided(results[i], in_x, windows.strides_in_x(), windows.sizes());
      arguments[n + i] =
          read_strided(in[n + 1 + i], in_updates, windows.strides_in_batched(), windows.sizes());
    }
    StatusOr<Literal> values = in.caller.map(0, arguments);
    if (!values.ok()) {
      status = values.status();
      return;
    }
    for (size_t i = 0; i < n; ++i) {
      const Literal& value = n == 1 ? *values : values->elements()[i];
      write_strided(results[i], in_x, windows.strides_in_x(), value);
    }
  });
  return status;
}

StatusOr<Literal> evaluate_scatter(EvalArgs& in) {
  const auto& attrs = in.attrs<ScatterAttrs>();
  const size_t n = input_count(in.size());
  const Shape x = in[0].shape();
  std::vector<Literal> results(
      std::make_move_iterator(in.operands.begin()),
      std::make_move_iterator(in.operands.begin() + static_cast<std::ptrdiff_t>(n)));
  const Combiner combiner =
      n == 1 ? recognise_combiner(in.caller.computation(0), x.dtype()) : Combiner{};
  // Arrays without elements have no window that lies in them.
  if (x.element_count() > 0 && in[n + 1].element_count() > 0 &&
      combiner.kind != Combiner::Kind::kFirst) {
    const IndexedWindows windows(x, in[n], in[n + 1].shape(),
                                 {.window_dims = attrs.update_window_dims,
                                  .dropped_dims = attrs.inserted_window_dims,
                                  .x_batching_dims = attrs.input_batching_dims,
                                  .indices_batching_dims = attrs.scatter_indices_batching_dims,
                                  .index_map = attrs.scatter_dims_to_operand_dims,
                                  .index_vector_dim = attrs.index_vector_dim});
    if (combiner.kind == Combiner::Kind::kOther) {
      HEDDLE_RETURN_IF_ERROR(scatter_by_calls(in, windows, results));
    } else {
      scatter_natively(combiner, windows, results[0], in[n + 1]);
    }
  }
  if (n == 1) return std::move(results[0]);
  return Literal::tuple(std::move(results));
}

}  // namespace

const Evaluation kScatterEvaluation = {.evaluate = evaluate_scatter};

}  // namespace heddle::interpreter
