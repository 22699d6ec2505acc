#include "heddle/grad/vmap.h"

#include <algorithm>

#include "heddle/grad/internal/made.h"
#include "heddle/grad/internal/traced.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/transform/batch.h"

namespace heddle::grad_internal {
namespace {

// Batched forms of modules.
struct LanesKey {
  Fragment of;
  std::vector<bool> batched;
  int64_t size;
  std::string together;
  friend bool operator==(const LanesKey&, const LanesKey&) = default;
};
struct LanesMade {
  Fragment module;
  std::vector<bool> results;
};
using LanesCache = MadeOf<LanesKey, LanesMade>;

LanesCache::Ptr find_or_make(LanesKey key, std::string_view what) {
  base::Hasher hasher;
  hasher.add_word(reinterpret_cast<uint64_t>(key.of.get()));
  hasher.add_word(static_cast<uint64_t>(key.size));
  for (bool each : key.batched) hasher.add_word(each ? 1 : 0);
  return LanesCache::all().find_or_make(
      hasher.digest().low, std::move(key), [&](const LanesKey& key) {
        auto batch = transform::batch(*key.of, key.batched, key.size, key.together);
        if (!batch.ok()) throw Error(base::annotate(batch.status(), what, ": "));
        return LanesMade{std::make_shared<const hlo::Module>(std::move(batch->module)),
                         batch->results};
      });
}

void append_axes(std::string& out, const AxisTree& axes) {
  if (!axes.is_list()) {
    base::append(out, axes.axis(), ",");
    return;
  }
  out += '(';
  for (const AxisTree& each : axes.each()) append_axes(out, each);
  out += ')';
}

// The same for all examples, which lie along the axis.
Tensor repeated(const Tensor& x, int64_t axis, int64_t size) {
  std::vector<int64_t> sizes = x.shape().dimensions();
  sizes.insert(sizes.begin() + axis, size);
  return broadcast_to(expand_dims(x, axis), sizes);
}

// What vmap says of one leaf of the arguments or of the result.
struct Leaf {
  std::string path;
  int64_t axis;  // as given, then counted from the front; kNoAxis
};

class Vmapped {
 public:
  Vmapped(const FlatFunction& fn, const Mapped& arguments, const VmapOptions& options)
      : fn_(fn), arguments_(arguments), options_(options) {}

  std::pair<std::vector<Tensor>, TreeSpec> run() {
    require_arguments();
    const std::vector<Shape> one = shapes_of_one();
    const trace_internal::LaneScope scope(options_.axis_name, size_);
    const Trace trace = traced(fn_, one, {}, trace_internal::Recorder::Numbers::kWithStarts);
    std::vector<bool> batched;
    for (const Leaf& leaf : leaves_) batched.push_back(leaf.axis != kNoAxis);
    batched.resize(batched.size() + trace.captures.size());
    const LanesCache::Ptr made = find_or_make(
        {trace.module, std::move(batched), size_, options_.axis_name.empty() ? "" : scope.mark()},
        fn_.what);
    const std::vector<Leaf> results = results_of(trace, *made);
    if (results.empty()) return {{}, trace.spec};
    return {trace_internal::in_program(fn_.what, [&] { return called(trace, *made, results); }),
            trace.spec};
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    trace_internal::refuse(parts...);
  }

  // Checks the axes of the leaves, and finds the number of examples.
  void require_arguments() {
    const std::vector<TreeSpec>& specs = arguments_.specs;
    const AxisTree& axes = options_.in_axes;
    if (axes.is_list() && axes.each().size() != specs.size())
      fail("in_axes has ", entries(axes), "; the function is called with ", specs.size(),
           specs.size() == 1 ? " argument" : " arguments",
           ", it must have one for each, or be one number for all");
    size_t next = 0;
    if (options_.axis_size) {
      size_ = *options_.axis_size;
      first_ = base::cat("axis_size is ", size_);
      if (size_ < 0) fail("axis_size is ", size_, "; it must be at least 0");
      if (size_ > int64_t{1} << 40) fail("axis_size is ", size_, "; it must be at most 2^40");
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      const std::string name = base::cat("arg", i);
      trace_internal::require_values(
          fn_.what, name, std::span(arguments_.leaves).subspan(next, leaf_count(specs[i])),
          [&] { return specs[i]; });
      append_leaves(axes.is_list() ? axes.each()[i] : axes, specs[i], "in_axes", name, leaves_);
      for (; next < leaves_.size(); ++next) require_axis(arguments_.leaves[next], leaves_[next]);
    }
    if (size_ >= 0) return;
    fail("no argument has an axis of examples; give one in in_axes, or axis_size");
  }

  static std::string entries(const AxisTree& axes) {
    const size_t count = axes.each().size();
    return base::cat(count, count == 1 ? " entry" : " entries");
  }

  // Appends the leaves of a tree at `path`, each with its axis of `axes`, which is part of the
  // option.
  void append_leaves(const AxisTree& axes, const TreeSpec& spec, std::string_view option,
                     const std::string& path, std::vector<Leaf>& out) const {
    if (!axes.is_list()) {
      for (const std::string& leaf : leaf_paths(spec)) out.push_back({path + leaf, axes.axis()});
      return;
    }
    if (spec.kind == TreeSpec::Kind::kLeaf)
      fail(option, " has ", entries(axes), " for ", path, ", which is ", describe(spec),
           "; write one number, without braces");
    if (spec.children.empty() || spec.children.size() != axes.each().size())
      fail(option, " has ", entries(axes), " for ", path, ", which is ", describe(spec),
           "; it must have one for each element of that, or be one number for all");
    for (size_t i = 0; i < spec.children.size(); ++i)
      append_leaves(axes.each()[i], spec.children[i], option, path + path_of_child(spec, i), out);
  }

  void require_axis(const Tensor& x, Leaf& leaf) {
    if (leaf.axis == kNoAxis) return;
    const Shape& shape = x.shape();
    if (shape.rank() == 0)
      fail(leaf.path, " is ", shape,
           "; it must have an axis of examples, or kNoAxis in in_axes where all share it");
    if (leaf.axis < -shape.rank() || leaf.axis >= shape.rank())
      fail(leaf.path, " is ", shape, "; its axis in in_axes is ", leaf.axis, ", it must be in [",
           -shape.rank(), ", ", shape.rank() - 1, "]");
    if (leaf.axis < 0) leaf.axis += shape.rank();
    const int64_t count = shape.dimension(leaf.axis);
    if (size_ < 0) {
      size_ = count;
      first_ = base::cat(leaf.path, " is ", shape, " with ", count, " along axis ", leaf.axis);
    }
    if (count == size_) return;
    fail(leaf.path, " is ", shape, " with ", count, " examples along axis ", leaf.axis,
         "; it must have ", size_, ", since ", first_);
  }

  [[nodiscard]] std::vector<Shape> shapes_of_one() const {
    std::vector<Shape> out;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      Shape shape = arguments_.leaves[i].shape();
      if (leaves_[i].axis != kNoAxis) {
        std::vector<int64_t> sizes = shape.dimensions();
        sizes.erase(sizes.begin() + leaves_[i].axis);
        shape = Shape(shape.dtype(), std::move(sizes));
      }
      out.push_back(std::move(shape));
    }
    return out;
  }

  // The paths of the results, and their axes.
  std::vector<Leaf> results_of(const Trace& trace, const LanesMade& made) const {
    std::vector<Leaf> out;
    append_leaves(options_.out_axes, trace.spec, "out_axes", "result", out);
    for (size_t i = 0; i < out.size(); ++i) {
      const Shape& one = trace.results[i];
      int64_t& axis = out[i].axis;
      if (axis == kNoAxis && made.results[i])
        fail(out[i].path, " is ", one,
             " for each example; it must have an axis in out_axes, kNoAxis is for what all "
             "examples share");
      if (axis != kNoAxis && (axis < -one.rank() - 1 || axis > one.rank()))
        fail(out[i].path, " is ", one, " for each example; its axis in out_axes is ", axis,
             ", it must be in [", -one.rank() - 1, ", ", one.rank(), "]");
      if (axis != kNoAxis && axis < 0) axis += one.rank() + 1;
    }
    return out;
  }

  std::vector<Tensor> called(const Trace& trace, const LanesMade& made,
                             const std::vector<Leaf>& results) const {
    std::vector<Tensor> operands;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const Tensor& x = arguments_.leaves[i];
      const bool is_moved = leaves_[i].axis != kNoAxis && leaves_[i].axis != 0;
      operands.push_back(is_moved ? moveaxis(x, leaves_[i].axis, 0) : x);
    }
    std::vector<Tensor> out =
        call(fn_.what, made.module, with_captures(std::move(operands), trace));
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t axis = results[i].axis;
      if (axis == kNoAxis) continue;
      if (made.results[i]) {
        if (axis != 0) out[i] = moveaxis(out[i], 0, axis);
        continue;
      }
      out[i] = repeated(out[i], axis, size_);
    }
    return out;
  }

  const FlatFunction& fn_;
  const Mapped& arguments_;
  const VmapOptions& options_;
  std::vector<Leaf> leaves_;
  int64_t size_ = -1;
  std::string first_;  // the leaf that gave the number of examples
};

}  // namespace

std::string text_of(const VmapOptions& options) {
  std::string out;
  append_axes(out, options.in_axes);
  append_axes(out, options.out_axes);
  if (options.axis_size) base::append(out, static_cast<int64_t>(*options.axis_size));
  base::append(out, ":", options.axis_name.size(), ":", options.axis_name);
  return out;
}

std::vector<Tensor> call_each(std::string_view what, const Fragment& module,
                              std::vector<Tensor> shared, const std::vector<Tensor>& each) {
  const int64_t size = each[0].shape().dimension(0);
  std::vector<bool> batched(shared.size());
  batched.resize(shared.size() + each.size(), true);
  shared.insert(shared.end(), each.begin(), each.end());
  const LanesCache::Ptr made = find_or_make({module, std::move(batched), size, ""}, what);
  return trace_internal::in_program(what, [&] {
    std::vector<Tensor> out = call(what, made->module, std::move(shared));
    for (size_t i = 0; i < out.size(); ++i) {
      if (!made->results[i]) out[i] = repeated(out[i], 0, size);
    }
    return out;
  });
}

std::pair<std::vector<Tensor>, TreeSpec> vmapped(const FlatFunction& fn, const Mapped& arguments,
                                                 const VmapOptions& options) {
  return Vmapped(fn, arguments, options).run();
}

}  // namespace heddle::grad_internal
