#include "heddle/grad/jacobian.h"

#include "heddle/numpy/matrices.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::grad_internal {
namespace {

Dimensions both(Dimensions a, const Dimensions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int64_t count_of(const Tensor& x) { return x.shape().element_count(); }

void require_real(const std::string& name, const Tensor& x) {
  if (!has_tangent(x))
    trace_internal::refuse(name, " is ", x.shape(), ", which has no derivative; cast it to floats");
  if (is_complex(x.dtype()))
    trace_internal::refuse(name, " is ", x.shape(),
                           "; it must be real: take the Jacobian of its real and of its imaginary "
                           "part, as functions of real numbers");
}

// One tensor of each x's type for each element of all of them, along a new first axis: 1 in this
// element, else 0.
std::vector<Tensor> basis_of(const std::vector<Tensor>& xs) {
  int64_t total = 0, before = 0;
  for (const Tensor& x : xs) total += count_of(x);
  std::vector<Tensor> out;
  for (const Tensor& x : xs) {
    const trace_internal::OnDeviceOf device(x);
    const Tensor ones = eye(total, count_of(x), -before, x.dtype());
    out.push_back(reshape(ones, both({total}, x.shape().dimensions())));
    before += count_of(x);
  }
  return out;
}

// Rows `first` .. `first` + `count`.
Tensor rows_of(const Tensor& all, int64_t first, int64_t count) {
  return count == all.shape().dimension(0) ? all : slice_in_dim(all, first, first + count);
}

// [y's sizes.., x's sizes..] for each y and for each x.
std::vector<Tensor> blocks(const Linear& linear, By by, const std::vector<Tensor>& ys,
                           const std::vector<Tensor>& xs) {
  const bool is_rows = by == By::kRows;
  const std::vector<Tensor> all =
      is_rows ? linear.pull_each(basis_of(ys)) : linear.push_each(basis_of(xs));
  std::vector<Tensor> out;
  int64_t row = 0;
  for (size_t i = 0; i < ys.size(); ++i) {
    const int64_t m = count_of(ys[i]);
    int64_t column = 0;
    for (size_t j = 0; j < xs.size(); ++j) {
      const int64_t n = count_of(xs[j]);
      const Tensor block = is_rows ? rows_of(all[j], row, m)
                                   : swapaxes(reshape(rows_of(all[i], column, n), {n, m}), 0, 1);
      out.push_back(reshape(block, both(ys[i].shape().dimensions(), xs[j].shape().dimensions())));
      column += n;
    }
    row += m;
  }
  return out;
}

}  // namespace

Derived jacobian(const FlatFunction& fn, const Point& point, By by, Wanted wanted) {
  require_floats(point);
  std::vector<Tensor> xs;
  for (size_t i = 0; i < point.leaves.size(); ++i) {
    if (!point.of[i]) continue;
    xs.push_back(point.leaves[i]);
    if (by == By::kColumns) require_real(paths_of(point)[i], xs.back());
  }
  auto [out, linear] = linearize(fn, point, wanted);
  std::vector<Tensor> ys = out.results;
  if (wanted == Wanted::kFirst) ys.resize(leaf_count(out.spec.children[0]));
  for (size_t i = 0; i < ys.size() && by == By::kRows; ++i)
    require_real(base::cat("the result", leaf_paths(out.spec)[i]), ys[i]);
  if (!xs.empty() && !ys.empty()) out.derivatives = blocks(linear, by, ys, xs);
  return std::move(out);
}

TreeSpec jacobian_spec(const TreeSpec& result, const TreeSpec& by) {
  using Kind = TreeSpec::Kind;
  if (result.kind == Kind::kLeaf) return by;
  TreeSpec out = result;
  out.children.clear();
  if (result.kind == Kind::kStruct) out.kind = Kind::kTuple;
  for (const TreeSpec& child : result.children) {
    if (child.kind != Kind::kStatic) out.children.push_back(jacobian_spec(child, by));
  }
  return out;
}

}  // namespace heddle::grad_internal
