#include "heddle/scan/scan.h"

#include <algorithm>
#include <cstdint>

#include "heddle/scan/trace_body.h"
#include "heddle/trace/recorder.h"

namespace heddle::scan_internal {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::emit_many;

constexpr char kScanBody = 0;

Shape without_axis(const Shape& shape, int64_t axis) {
  std::vector<int64_t> dimensions = shape.dimensions();
  dimensions.erase(dimensions.begin() + axis);
  return {shape.dtype(), std::move(dimensions)};
}

// Everything about one call that is settled before its body is looked at.
struct Setting {
  int64_t length = 0;
  int64_t axis = 0;                // of every x
  std::vector<Tensor> xs;          // all with the scanned axis at `axis`
  std::vector<Shape> slices;       // types of the body's x
};

class Resolver {
 public:
  Resolver(std::string_view what, const Argument& xs, const ScanOptions& options, SourceLocation at)
      : what_(what), xs_(xs), options_(options), at_(at) {}

  Setting resolve() {
    check_options();
    Setting setting;
    std::vector<int64_t> axes = resolve_axes();
    setting.length = resolve_length(axes);
    // The HLO op scans one axis, which is also that of its outputs: leaves with another axis are turned first.
    for (size_t i = 0; i < xs_.leaves.size(); ++i) {
      setting.xs.push_back(axis_first(xs_.leaves[i], axes[i]));
      setting.slices.push_back(without_axis(setting.xs.back().shape(), 0));
    }
    return setting;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw Error(invalid_argument(what_, ": ", parts...), at_);
  }

  [[nodiscard]] std::string path(size_t leaf) const { return cat("xs", leaf_paths(xs_.spec())[leaf]); }

  void check_options() const {
    if (options_.length && *options_.length < 0) fail("length is ", *options_.length, "; it must be 0 or more");
    if (options_.unroll < 0) fail("unroll is ", options_.unroll, "; it must be 1 or more, or ScanOptions::kUnrollAll");
    if (xs_.leaves.empty() && !options_.length) fail("has neither xs nor length; set options.length");
  }

  [[nodiscard]] std::vector<int64_t> resolve_axes() const {
    if (!options_.axis.all && options_.axis.each.size() != xs_.leaves.size()) {
      fail("axis lists ", options_.axis.each.size(), " axes; xs has ", xs_.leaves.size(), " leaves, give one each");
    }
    std::vector<int64_t> axes;
    for (size_t i = 0; i < xs_.leaves.size(); ++i) {
      const Shape& shape = trace_internal::node_of(xs_.leaves[i], what_, at_).shape;
      int64_t axis = options_.axis.each[options_.axis.all ? 0 : i];
      int64_t index = axis < 0 ? axis + shape.rank() : axis;
      if (!shape.has_dimension(index)) fail(path(i), " is ", shape, " and has no axis ", axis, " to scan; give it a leading axis or pass it by capture");
      axes.push_back(index);
    }
    return axes;
  }

  [[nodiscard]] int64_t resolve_length(const std::vector<int64_t>& axes) const {
    if (axes.empty()) return *options_.length;
    int64_t length = xs_.leaves[0].shape().dimension(axes[0]);
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t size = xs_.leaves[i].shape().dimension(axes[i]);
      if (size != length) fail("leaves of xs differ in length: ", path(0), " has ", length, " and ", path(i), " has ", size, "; cut or pad them to one length");
    }
    if (options_.length && *options_.length != length) fail("length is ", *options_.length, "; xs has ", length, " elements along the scanned axis");
    return length;
  }

  [[nodiscard]] Tensor axis_first(const Tensor& x, int64_t axis) const {
    if (axis == 0) return x;
    std::vector<int64_t> order{axis};
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i != axis) order.push_back(i);
    }
    return emit({.opcode = Opcode::kTranspose, .operands = {x}, .attrs = hlo::DimensionsAttrs{.dimensions = std::move(order)}, .at = at_});
  }

  std::string_view what_;
  const Argument& xs_;
  const ScanOptions& options_;
  SourceLocation at_;
};

// Without xs the HLO op would not know its length: an unused iota tells it, and the lowering removes it.
void add_counter(Setting& setting, SourceLocation at) {
  DType dtype = setting.length > INT32_MAX ? s64 : s32;
  setting.xs.push_back(emit({.opcode = Opcode::kIota,
                             .attrs = hlo::IotaAttrs{.iota_dimension = 0},
                             .declared = Shape(dtype, {setting.length}),
                             .at = at}));
  setting.slices.push_back(Shape::scalar(dtype));
}

// The body as HLO wants it: (slices.., carries..) -> (ys.., carries..).
BodyPtr scan_body(std::string_view what, const Callable& step, const Argument& init, const Argument& xs, const Setting& setting,
                  SourceLocation at) {
  std::vector<Shape> carry = shapes_of(init.leaves, what, at);
  std::vector<Shape> parameters = setting.slices;
  parameters.insert(parameters.end(), carry.begin(), carry.end());
  bool counted = xs.leaves.empty();
  auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    std::vector<Tensor> results = step.run(counted ? leaves.subspan(1) : leaves, specs);
    std::ptrdiff_t carries = static_cast<std::ptrdiff_t>(leaf_count(specs[0]));
    std::rotate(results.begin(), results.begin() + carries, results.end());
    return results;
  };
  auto check = [&](const Body& body) {
    size_t ys = leaf_count(body.results[1]);
    check_carry(what, "carry", init.spec(), body.results[0], carry, std::span(body.result_shapes).subspan(ys), at);
  };
  Callable flat{step.identity, step.types, run};
  return body_for({.what = what, .kind = &kScanBody, .callable = flat, .structure = cat(init.structure, "|", xs.structure),
                   .parameters = std::move(parameters), .at = at, .returns_captures = true},
                  check);
}

std::vector<Tensor> emit_scan(const Setting& setting, const Argument& init, const Body& body, const ScanOptions& options, SourceLocation at) {
  std::vector<Tensor> operands = setting.xs;
  operands.insert(operands.end(), init.leaves.begin(), init.leaves.end());
  operands.insert(operands.end(), body.captures.begin(), body.captures.end());
  hlo::FrontendAttributes attributes;
  if (options.unroll != 1) attributes.emplace_back("heddle.unroll", cat(options.unroll));
  return emit_many({.opcode = Opcode::kScan,
                    .operands = std::move(operands),
                    .attrs = hlo::ScanAttrs{.dimensions = {0},
                                            .num_carries = static_cast<int64_t>(init.leaves.size() + body.captures.size()),
                                            .is_reverse = options.reverse},
                    .called = {body.fragment},
                    .at = at,
                    .frontend_attributes = std::move(attributes)});
}

}  // namespace

ScanResult run_scan(std::string_view what, const Callable& step, const Argument& init, const Argument& xs, const ScanOptions& options,
                    SourceLocation at) {
  BodyPtr body;
  std::vector<Tensor> results = trace_internal::in_program(what, at, [&] {
    Setting setting = Resolver(what, xs, options, at).resolve();
    if (xs.leaves.empty()) add_counter(setting, at);
    body = scan_body(what, step, init, xs, setting, at);
    std::vector<Tensor> all = emit_scan(setting, init, *body, options, at);
    all.resize(all.size() - body->captures.size());
    return all;
  });
  ScanResult out;
  size_t ys = leaf_count(body->results[1]);
  out.ys.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(ys));
  out.carry.assign(results.begin() + static_cast<std::ptrdiff_t>(ys), results.end());
  out.ys_spec = body->results[1];
  return out;
}

std::vector<Tensor> stack_layers(const std::vector<std::vector<Tensor>>& leaves, const std::vector<TreeSpec>& specs, SourceLocation at) {
  std::vector<std::string> paths = leaf_paths(specs[0]);
  for (size_t layer = 1; layer < leaves.size(); ++layer) {
    if (specs[layer] != specs[0]) {
      throw Error(invalid_argument("scan_layers: layer", first_difference(specs[0], specs[layer]), ", in layers 0 and ", layer, "; layers must have one structure"), at);
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      if (same_type(leaves[layer][i].shape(), leaves[0][i].shape())) continue;
      throw Error(invalid_argument("scan_layers: layer", paths[i], " is ", leaves[0][i].shape(), " in layer 0 and ", leaves[layer][i].shape(), " in layer ", layer,
                                   "; layers must have equal types"),
                  at);
    }
  }
  return trace_internal::in_program("stack", at, [&] {
    std::vector<Tensor> stacked;
    for (size_t i = 0; i < paths.size(); ++i) {
      std::vector<Tensor> rows;
      for (const std::vector<Tensor>& layer : leaves) {
        std::vector<int64_t> dimensions = layer[i].shape().dimensions();
        dimensions.insert(dimensions.begin(), 1);
        rows.push_back(emit({.opcode = Opcode::kReshape, .operands = {layer[i]}, .attrs = hlo::ReshapeAttrs{}, .declared = Shape(layer[i].dtype(), dimensions), .at = at}));
      }
      stacked.push_back(emit({.opcode = Opcode::kConcatenate, .operands = std::move(rows), .attrs = hlo::DimensionsAttrs{.dimensions = {0}}, .at = at}));
    }
    return stacked;
  });
}

}  // namespace heddle::scan_internal
