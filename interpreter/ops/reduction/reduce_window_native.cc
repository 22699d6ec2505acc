#include "heddle/interpreter/ops/reduction/reduce_window_native.h"

#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/window.h"
#include "heddle/interpreter/ops/elementwise/accumulators.h"
#include "heddle/interpreter/ops/reduction/window_taps.h"

namespace heddle::interpreter {
namespace {

// One dimension of an array: [outer, size, inner] before, [outer, places, inner] after.
struct Axis {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  int64_t step = 1;  // between the elements that the window hits at one place
  struct Place {
    int64_t count;
    int64_t position;  // of the first
  };
  std::vector<Place> places;
};

// Combines the hits of each place, in [size, inner] of one outer index. In round k, elements[i]
// stands for the 2^k hits from i on. A place without hits is left as it was.
template <class A>
void reduce_axis(const Axis& axis, A* elements, A* to) {
  int64_t most = 0;
  for (const Axis::Place& place : axis.places) most = std::max(most, place.count);
  for (int64_t run = 1; run <= most; run *= 2) {
    for (size_t place = 0; place < axis.places.size(); ++place) {
      const auto [count, position] = axis.places[place];
      if ((count & run) == 0) continue;
      const int64_t before = count & (run - 1);
      const A* from = elements + (position + before * axis.step) * axis.inner;
      A* into = to + static_cast<int64_t>(place) * axis.inner;
      for (int64_t i = 0; i < axis.inner; ++i) {
        if (before == 0) {
          into[i] = from[i];
        } else {
          into[i].join(from[i]);
        }
      }
    }
    if (2 * run > most) return;
    const int64_t left = axis.size - (2 * run - 1) * axis.step;
    for (int64_t i = 0; i < left * axis.inner; ++i)
      elements[i].join(elements[i + run * axis.step * axis.inner]);
  }
}

template <class A>
std::vector<A> elements_of(const Literal& x) {
  std::vector<typename A::Element> values(static_cast<size_t>(x.element_count()));
  load(x.shape().dtype(), x.bytes(), x.element_count(), values.data());
  return std::vector<A>(values.begin(), values.end());
}

template <class A>
class WindowReduction {
 public:
  WindowReduction(const Literal& x, const Window& window, const Shape& result)
      : window_(window_entries(window, x.shape().rank())),
        base_(x.shape().dimensions()),
        places_(result.dimensions()),
        sizes_(base_),
        values_(elements_of<A>(x)) {}

  // Dimensions that shrink go first, so that no array between is larger than both operand and
  // result.
  std::vector<A> run(const A& init) && {
    for (const bool grows : {false, true}) {
      for (size_t d = 0; d < base_.size(); ++d) {
        if (!is_point(window_[d]) && (places_[d] > base_[d]) == grows) reduce(d, init);
      }
    }
    for (A& value : values_) {
      A total = init;
      total.join(value);
      value = total;
    }
    for (size_t d = 0; d < base_.size(); ++d) {
      if (!is_point(window_[d])) clear_empty_places(axis(d), init);
    }
    return std::move(values_);
  }

 private:
  // Dimension d; the others are of the sizes reached so far.
  Axis axis(size_t d) const {
    Axis axis{.size = base_[d]};
    for (size_t i = 0; i < d; ++i) axis.outer *= sizes_[i];
    for (size_t i = d + 1; i < sizes_.size(); ++i) axis.inner *= sizes_[i];
    axis.places.reserve(static_cast<size_t>(places_[d]));
    for (int64_t place = 0; place < places_[d]; ++place) {
      const Hits hits = hits_at_place(window_[d], base_[d], place);
      axis.places.push_back({hits.count, hits.position});
      if (hits.count > 1) axis.step = hits.position_step;  // the same at all places
    }
    return axis;
  }

  void reduce(size_t d, const A& init) {
    const Axis axis = this->axis(d);
    std::vector<A> reduced(static_cast<size_t>(axis.outer * places_[d] * axis.inner), init);
    for (int64_t outer = 0; outer < axis.outer; ++outer) {
      reduce_axis(axis, values_.data() + outer * axis.size * axis.inner,
                  reduced.data() + outer * places_[d] * axis.inner);
    }
    values_ = std::move(reduced);
    sizes_[d] = places_[d];
  }

  // A window that hits nothing along one dimension hits nothing at all.
  void clear_empty_places(const Axis& axis, const A& init) {
    const auto places = static_cast<int64_t>(axis.places.size());
    for (int64_t place = 0; place < places; ++place) {
      if (axis.places[static_cast<size_t>(place)].count > 0) continue;
      for (int64_t outer = 0; outer < axis.outer; ++outer) {
        std::fill_n(values_.begin() + (outer * places + place) * axis.inner, axis.inner, init);
      }
    }
  }

  const std::vector<WindowDimension> window_;
  const Dims base_, places_;
  Dims sizes_;  // of values_
  std::vector<A> values_;
};

template <class A>
Literal reduce_windows(const Literal& x, const Literal& init, const Window& window,
                       const Shape& result) {
  Literal out = Literal::uninitialised(result);
  if (result.element_count() == 0) return out;
  typename A::Element start;
  load(init.shape().dtype(), init.bytes(), 1, &start);
  std::vector<typename A::Element> numbers;
  numbers.reserve(static_cast<size_t>(result.element_count()));
  for (const A& each : WindowReduction<A>(x, window, result).run(A(start)))
    numbers.push_back(each.result());
  store(result.dtype(), numbers.data(), result.element_count(), out.mutable_bytes());
  return out;
}

}  // namespace

Literal reduce_window_native(Opcode op, const Literal& x, const Literal& init, const Window& window,
                             const Shape& result) {
  using Loop = Literal (*)(const Literal&, const Literal&, const Window&, const Shape&);
  const auto loop =
      loop_of<Loop>(op, result.dtype(), []<class A>(Of<A>) -> Loop { return reduce_windows<A>; });
  return loop(x, init, window, result);
}

}  // namespace heddle::interpreter
