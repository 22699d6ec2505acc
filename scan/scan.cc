#include "heddle/scan/scan.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/scan/internal/checkpoint.h"
#include "heddle/scan/internal/trace_body.h"
#include "heddle/scan/progress.h"
#include "heddle/scan/ready_scans.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/run_module.h"
#include "heddle/transform/derivatives.h"

namespace heddle::scan_internal {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::emit_many;
using trace_internal::PublicCall;

constexpr char kScanBody = 0;

// The names that errors of a scanning function give to the parts of its step.
struct Parts {
  std::string_view carry = "carry", xs = "xs", y = "y";
};
Parts parts_of(std::string_view what) {
  if (what == "map") return {.y = "result"};
  if (what == "scan_layers") return {.carry = "x", .xs = "layers"};
  if (what == "fori_loop") return {.carry = "value"};
  return {};
}

Shape without_axis(const Shape& shape, int64_t axis) {
  if (shape.rank() == 1) return Shape::scalar(shape.dtype());
  std::vector<int64_t> dimensions = shape.dimensions();
  dimensions.erase(dimensions.begin() + axis);
  return {shape.dtype(), std::move(dimensions)};
}

// No allocation for calls of usual size.
template <class T>
using Few = absl::InlinedVector<T, 8>;

// Everything about one call that is known before its body.
struct Setting {
  int64_t length = 0;
  Few<int64_t> axes;         // of each x
  Few<Shape> slices;         // types of the body's x; of a counter first, where it has one
  bool has_counter = false;  // without xs, or to show how far it is
  std::string progress = {};
  bool is_reverse = false;
};

// Without xs the HLO op would not know its length. An unused iota tells it, and the lowering
// removes that.
Shape counter_of(int64_t length) { return Shape(length > INT32_MAX ? s64 : s32, {length}); }

class Resolver {
 public:
  Resolver(std::string_view what, const Argument& xs, const ScanOptions& options)
      : what_(what), xs_(xs), options_(options) {}

  Setting resolve() {
    check_options();
    Setting setting;
    setting.axes = resolve_axes();
    setting.length = resolve_length(setting.axes);
    setting.progress = options_.progress;
    setting.is_reverse = options_.reverse;
    setting.has_counter = xs_.leaves.empty() || !setting.progress.empty();
    setting.slices.reserve(xs_.leaves.size() + setting.has_counter);
    if (setting.has_counter) setting.slices.push_back(without_axis(counter_of(setting.length), 0));
    for (size_t i = 0; i < xs_.leaves.size(); ++i)
      setting.slices.push_back(without_axis(xs_.leaves[i].node()->shape, setting.axes[i]));
    return setting;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    trace_internal::refuse(parts...);
  }

  [[nodiscard]] std::string path(size_t leaf) const {
    return base::cat(parts_of(what_).xs, leaf_paths(xs_.spec())[leaf]);
  }

  void check_options() const {
    if (options_.length && *options_.length < 0)
      fail("length is ", *options_.length, "; it must be 0 or more");
    if (options_.unroll < 1)
      fail("unroll is ", options_.unroll, "; it must be 1 or more, or ScanOptions::kUnrollAll");
    if (options_.checkpoint) require_valid(*options_.checkpoint);
    if (options_.checkpoint && options_.parallel_backward)
      fail("has both checkpoint and parallel_backward, which keeps all; must have one of them");
    if (xs_.leaves.empty() && !options_.length)
      fail("has neither xs nor length; set options.length");
  }

  [[nodiscard]] Few<int64_t> resolve_axes() const {
    if (!options_.axis.all && options_.axis.each.size() != xs_.leaves.size()) {
      fail("axis lists ", options_.axis.each.size(), " axes; xs has ", xs_.leaves.size(),
           " leaves, give one each");
    }
    Few<int64_t> axes;
    axes.reserve(xs_.leaves.size());
    for (size_t i = 0; i < xs_.leaves.size(); ++i) {
      const Shape& shape = trace_internal::node_of(xs_.leaves[i], what_).shape;
      int64_t axis = options_.axis.each[options_.axis.all ? 0 : i];
      int64_t index = axis < 0 ? axis + shape.rank() : axis;
      if (!shape.has_dimension(index))
        fail(path(i), " is ", shape, " and has no axis ", axis, " to scan; ",
             shape.rank() == 0 ? std::string("give it a leading axis or pass it by capture")
                               : base::cat("an axis is -", shape.rank(), " .. ", shape.rank() - 1));
      axes.push_back(index);
    }
    return axes;
  }

  [[nodiscard]] int64_t resolve_length(std::span<const int64_t> axes) const {
    if (axes.empty()) return *options_.length;
    int64_t length = xs_.leaves[0].node()->shape.dimension(axes[0]);
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t size = xs_.leaves[i].node()->shape.dimension(axes[i]);
      if (size != length)
        fail("leaves of ", parts_of(what_).xs, " differ in length: ", path(0), " has ", length,
             " and ", path(i), " has ", size, "; cut or pad them to one length");
    }
    if (options_.length && *options_.length != length)
      fail("length is ", *options_.length, "; ", parts_of(what_).xs, " has ", length,
           " elements along the scanned axis; leave length out, or cut xs to it");
    return length;
  }

  std::string_view what_;
  const Argument& xs_;
  const ScanOptions& options_;
};

Tensor axis_first(const Tensor& x, int64_t axis) {
  if (axis == 0) return x;
  std::vector<int64_t> order{axis};
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  return emit({.opcode = Opcode::kTranspose,
               .operands = {x},
               .attrs = hlo::DimensionsAttrs{.dimensions = std::move(order)}});
}

// The arrays that the HLO op scans. It has one axis, for its outputs too, so leaves with another
// axis are transposed first.
std::vector<Tensor> scanned(const Setting& setting, const Argument& xs) {
  std::vector<Tensor> out;
  if (setting.has_counter) {
    out.push_back(emit({.opcode = Opcode::kIota,
                        .attrs = hlo::IotaAttrs{.iota_dimension = 0},
                        .declared = counter_of(setting.length)}));
  }
  for (size_t i = 0; i < xs.leaves.size(); ++i)
    out.push_back(axis_first(xs.leaves[i], setting.axes[i]));
  return out;
}

// The body as HLO wants it: (slices.., carries..) -> (ys.., carries..).
BodyPtr scan_body(std::string_view what, const Callable& step, const Argument& init,
                  const Argument& xs, const Setting& setting) {
  Few<Shape> parameters = setting.slices;
  parameters.reserve(setting.slices.size() + init.leaves.size());
  for (const Tensor& leaf : init.leaves)
    parameters.push_back(trace_internal::node_of(leaf, what).shape);
  const Parts parts = parts_of(what);
  auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    std::vector<Tensor> results = step.run(setting.has_counter ? leaves.subspan(1) : leaves, specs);
    const PublicCall own(what, {});
    if (!setting.progress.empty()) {
      const Tensor& i = leaves[0];
      progress(setting.is_reverse ? setting.length - 1 - i : i, setting.length, setting.progress);
    }
    std::ptrdiff_t carries = static_cast<std::ptrdiff_t>(leaf_count(specs[0]));
    std::span<const Tensor> all(results);
    auto require = [&](std::string_view name, std::span<const Tensor> leaves, size_t part) {
      trace_internal::require_values(what, name, leaves, [&] { return specs[part]; });
    };
    require(parts.carry, all.first(static_cast<size_t>(carries)), 0);
    require(parts.y, all.subspan(static_cast<size_t>(carries)), 1);
    std::rotate(results.begin(), results.begin() + carries, results.end());
    return results;
  };
  auto check = [&](const Body& body) {
    size_t ys = leaf_count(body.results[1]);
    check_carry(what, parts.carry, init, body.results[0],
                std::span(body.result_shapes()).subspan(ys));
  };
  std::string structure;  // only a promise is kept by it
  if (step.identity.known()) {
    structure = base::cat(init.structure, "|", xs.structure);
    if (!setting.progress.empty())
      base::append(structure, "|", setting.progress, "|", setting.length,
                   setting.is_reverse ? "r" : "");
  }
  Callable flat{step.identity, step.types, run, step.name};
  return body_for({.what = what,
                   .kind = &kScanBody,
                   .callable = flat,
                   .structure = std::move(structure),
                   .parameters = parameters,
                   .returns_captures = true,
                   .init = init.leaves},
                  check);
}

// Records the scan of a body in the running trace. The leaves of init and xs are in it already.
ScanResult emit_scan(const Setting& setting, const Argument& init, const Argument& xs,
                     const Body& body, const ScanOptions& options) {
  std::vector<Tensor> operands = scanned(setting, xs);
  operands.insert(operands.end(), init.leaves.begin(), init.leaves.end());
  operands.insert(operands.end(), body.captures.begin(), body.captures.end());
  hlo::FrontendAttributes attributes;
  if (options.unroll != 1) {  // 0 in HLO: no loop at all
    const bool all = options.unroll == ScanOptions::kUnrollAll;
    attributes.emplace_back("heddle.unroll", base::cat(all ? 0 : int64_t{options.unroll}));
  }
  if (options.checkpoint) attributes.push_back(attribute_of(*options.checkpoint, setting.length));
  if (options.parallel_backward) attributes.emplace_back(transform::kParallelBackward, "true");
  std::vector<Tensor> all =
      emit_many({.opcode = Opcode::kScan,
                 .operands = std::move(operands),
                 .attrs = hlo::ScanAttrs{.dimensions = {0},
                                         .num_carries = static_cast<int64_t>(init.leaves.size() +
                                                                             body.captures.size()),
                                         .is_reverse = options.reverse},
                 .called = {body.fragment},
                 .frontend_attributes = std::move(attributes)});
  auto carry = all.begin() + static_cast<std::ptrdiff_t>(leaf_count(body.results[1]));
  auto captures = all.end() - static_cast<std::ptrdiff_t>(body.captures.size());
  return {{carry, captures}, {all.begin(), carry}, body.results[1]};
}

// One scan outside a trace. It finds its body, or traces it and finds that trace. It makes the
// program around the body once for each body, length and options.
class AtOnce {
 public:
  AtOnce(std::string_view what, const Callable& step, const Argument& init, const Argument& xs,
         const ScanOptions& options)
      : what_(what),
        init_(init),
        xs_(xs),
        options_(options),
        setting_(Resolver(what, xs, options).resolve()) {
    buffers_.reserve(init.leaves.size() + xs.leaves.size());
    for (const Argument* argument : {&init, &xs}) {
      for (const Tensor& leaf : argument->leaves)
        buffers_.push_back(trace_internal::buffer_of(leaf, what));
    }
    body_ = scan_body(what, step, init, xs, setting_);
  }

  ScanResult run() {
    const size_t arguments = buffers_.size();
    const std::span<const Tensor> lists[] = {init_.leaves, xs_.leaves, body_->captures};
    buffers_.clear();
    runtime::Device& device = trace_internal::append_buffers(lists, buffers_, what_);
    const ReadyQuery query{.body = body_->fragment,
                           .carries = init_.leaves.size(),
                           .xs = xs_.leaves.size(),
                           .length = setting_.length,
                           .options = options_,
                           .device = device.serial(),
                           .shardings = shardings()};
    ReadyPtr ready = find_ready_scan(query);
    std::shared_ptr<runtime::Executable> executable = ready ? ready->program.get() : nullptr;
    if (!executable) {
      ready = make(device, executable);
      keep_ready_scan(query, ready);
    }
    if (!ready->captures_in_order) {
      const std::vector<runtime::BufferPtr> captures(buffers_.begin() + arguments, buffers_.end());
      for (size_t i = 0; i < captures.size(); ++i)
        buffers_[arguments + i] = captures[ready->captures[i]];
    }
    std::vector<Tensor> all = trace_internal::run_at_once(*executable, buffers_);
    const size_t ys = leaf_count(body_->results[1]);
    if (ys == 0) return {std::move(all), {}, body_->results[1]};
    const auto carry = all.begin() + static_cast<std::ptrdiff_t>(ys);
    return {{std::move_iterator(carry), std::move_iterator(all.end())},
            {std::move_iterator(all.begin()), std::move_iterator(carry)},
            body_->results[1]};
  }

 private:
  // The shardings of the arguments, for ReadyKey.
  [[nodiscard]] std::vector<std::shared_ptr<const hlo::Sharding>> shardings() const {
    const std::span<const Tensor> all[] = {init_.leaves, xs_.leaves, body_->captures};
    const auto has_sharding = [](const Tensor& leaf) { return leaf.node()->sharding != nullptr; };
    std::vector<std::shared_ptr<const hlo::Sharding>> out;
    if (std::ranges::none_of(
            all, [&](const auto& leaves) { return std::ranges::any_of(leaves, has_sharding); }))
      return out;
    for (const std::span<const Tensor> leaves : all) {
      for (const Tensor& leaf : leaves) out.push_back(leaf.node()->sharding);
    }
    return out;
  }

  // Traced on parameters of its own, not on captured values: two leaves that are one tensor now may
  // be two the next time.
  [[nodiscard]] trace_internal::Traced traced() const {
    trace_internal::Recorder recorder(what_);
    auto parameters = [&](std::span<const Tensor> leaves) {
      std::vector<Tensor> out;
      for (const Tensor& leaf : leaves) out.push_back(recorder.parameter(leaf.shape(), &leaf));
      return out;
    };
    const std::vector<Tensor> of_init = parameters(init_.leaves), of_xs = parameters(xs_.leaves);
    const Argument init{of_init, init_.structure, init_.spec};
    const Argument xs{of_xs, xs_.structure, xs_.spec};
    ScanResult result = emit_scan(setting_, init, xs, *body_, options_);
    std::vector<Tensor> all = std::move(result.ys);
    all.insert(all.end(), result.carry.begin(), result.carry.end());
    return recorder.finish(all, what_);
  }

  [[nodiscard]] ReadyPtr make(runtime::Device& device,
                              std::shared_ptr<runtime::Executable>& executable) const {
    trace_internal::Traced program = traced();
    auto ready = std::make_shared<Ready>();
    for (const Tensor& capture : program.captures) {
      const auto place = std::ranges::find(body_->captures, capture.id(), &Tensor::id);
      ready->captures.push_back(static_cast<size_t>(place - body_->captures.begin()));
    }
    ready->captures_in_order = std::ranges::is_sorted(ready->captures);
    executable = value_or_throw(
        trace_internal::executable_for(std::move(program.module), device, &ready->program));
    return ready;
  }

  std::string_view what_;
  const Argument& init_;
  const Argument& xs_;
  const ScanOptions& options_;
  Setting setting_;
  std::vector<runtime::BufferPtr> buffers_;
  BodyPtr body_;
};

}  // namespace

ScanResult run_scan(std::string_view what, const Callable& step, const Argument& init,
                    const Argument& xs, const ScanOptions& options) {
  const Parts parts = parts_of(what);
  trace_internal::require_values(what, parts.carry, init.leaves, init.spec);
  trace_internal::require_values(what, parts.xs, xs.leaves, xs.spec);
  if (trace_internal::Recorder::current() == nullptr)
    return AtOnce(what, step, init, xs, options).run();
  const Setting setting = Resolver(what, xs, options).resolve();
  const BodyPtr body = scan_body(what, step, init, xs, setting);
  return emit_scan(setting, init, xs, *body, options);
}

Tensor constant_leaf(const void* value, DType dtype) {
  const Literal literal = trace_internal::literal_from_bytes(value, 1, dtype, {});
  const Tensor made = trace_internal::emit_constant(literal);
  if (is_complex(dtype)) return made;
  return trace_internal::with_number(made, {literal.to_double(0), dtype, PublicCall::line_or({})});
}

ScanOptions layer_options(size_t layers, const ScanOptions& options) {
  const auto count = static_cast<int64_t>(layers);
  if (options.length && *options.length != count)
    trace_internal::refuse("length is ", *options.length, "; there are ", count,
                           " layers, leave it out");
  if (options.axis != Axes())
    trace_internal::refuse(
        "has an axis for a vector of layers, which are stacked along axis 0; leave it out");
  ScanOptions out = options;
  out.length = count;
  return out;
}

std::vector<Tensor> stack_layers(const std::vector<std::vector<Tensor>>& leaves,
                                 const std::vector<TreeSpec>& specs) {
  std::vector<std::string> paths = leaf_paths(specs[0]);
  for (size_t layer = 0; layer < leaves.size(); ++layer) {
    trace_internal::require_values("scan_layers", base::cat("layers[", layer, "]"), leaves[layer],
                                   [&] { return specs[layer]; });
    if (specs[layer] != specs[0]) {
      trace_internal::refuse(
          "layer",
          first_difference(specs[0], specs[layer], " in layer 0", base::cat(" in layer ", layer)),
          "; layers must have one structure");
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      if (same_type(leaves[layer][i].shape(), leaves[0][i].shape())) continue;
      trace_internal::refuse("layer", paths[i], " is ", leaves[0][i].shape(), " in layer 0 and ",
                             leaves[layer][i].shape(), " in layer ", layer,
                             "; layers must have equal types");
    }
  }
  if (paths.empty()) return {};
  return trace_internal::in_program("stack", [&] {
    std::vector<Tensor> stacked;
    for (size_t i = 0; i < paths.size(); ++i) {
      std::vector<Tensor> rows;
      for (const std::vector<Tensor>& layer : leaves) {
        std::vector<int64_t> dimensions = layer[i].shape().dimensions();
        dimensions.insert(dimensions.begin(), 1);
        rows.push_back(emit({.opcode = Opcode::kReshape,
                             .operands = {layer[i]},
                             .attrs = hlo::ReshapeAttrs{},
                             .declared = Shape(layer[i].dtype(), dimensions)}));
      }
      stacked.push_back(emit({.opcode = Opcode::kConcatenate,
                              .operands = std::move(rows),
                              .attrs = hlo::DimensionsAttrs{.dimensions = {0}}}));
    }
    return stacked;
  });
}

}  // namespace heddle::scan_internal
