#include "heddle/compile/bucket.h"

#include <algorithm>
#include <limits>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/runtime/host/rows.h"
#include "heddle/trace/node.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/recorder.h"

namespace heddle::compile_internal {
namespace {

// Rows are counted in an s32.
constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(base::invalid_argument(parts...));
}

int64_t smallest_of(const Bucket& bucket) { return bucket.smallest.value_or(8); }

void check_sizes(const Bucket& bucket) {
  const int64_t smallest = smallest_of(bucket);
  if (!bucket.sizes.empty() && (bucket.smallest || bucket.largest))
    refuse("compile: bucket has sizes, and a smallest or a largest one; give it one of the two");
  if (smallest < 1) refuse("compile: bucket.smallest is ", smallest, "; it must be at least 1");
  if (bucket.largest && int64_t{*bucket.largest} < smallest)
    refuse("compile: bucket.largest is ", int64_t{*bucket.largest},
           "; it must be at least bucket.smallest, ", smallest);
  for (size_t i = 0; i < bucket.sizes.size(); ++i) {
    const int64_t before = i == 0 ? 0 : bucket.sizes[i - 1];
    if (bucket.sizes[i] <= before)
      refuse("compile: bucket.sizes[", i, "] is ", bucket.sizes[i], "; it must be greater than ",
             before, ": sizes ascend, from 1");
  }
}

const Shape& shape_of(const Tensor& x) { return x.node()->shape; }

// The same in a program, for memory that is not the host's.
Tensor padded_by_program(const Tensor& x, int64_t rows, const Literal& filler) {
  return trace_internal::in_program("call", [&] {
    const int64_t have = shape_of(x).dimension(0);
    const Shape more = of_rows(shape_of(x), rows - have);
    Tensor row;
    if (filler.is_valid()) {
      row = trace_internal::emit_constant(filler);
    } else {
      std::vector<int64_t> start(static_cast<size_t>(shape_of(x).rank()), 0);
      std::vector<int64_t> limit(shape_of(x).dimensions().begin(), shape_of(x).dimensions().end());
      start[0] = have - 1;
      row = slice(x, start, limit);
    }
    return std::vector<Tensor>{concat({x, broadcast_to(row, more.dimensions())}, 0)};
  })[0];
}

Tensor cut_by_program(const Tensor& x, int64_t rows) {
  return trace_internal::in_program("call", [&] {
    const Shape cut = of_rows(shape_of(x), rows);
    const std::vector<int64_t> start(static_cast<size_t>(cut.rank()), 0);
    return std::vector<Tensor>{slice(x, start, cut.dimensions())};
  })[0];
}

}  // namespace

Shape of_rows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> sizes(shape.dimensions().begin(), shape.dimensions().end());
  sizes[0] = rows;
  return shape.with_dimensions(std::move(sizes));
}

Buckets::Buckets(Bucket options, std::string label, SourceLocation at)
    : options_(std::move(options)), label_(std::move(label)) {
  const trace_internal::PublicCall call("compile", at);
  check_sizes(options_);
  const bool has_more = options_.smallest || options_.largest || !options_.sizes.empty() ||
                        options_.fill != 0 || options_.repeat_last || options_.may_mix_rows;
  if (!are_used() && has_more)
    refuse("compile: bucket has no arguments; write which have rows: {.arguments = {0}}");
  if (options_.repeat_last && options_.fill != 0)
    refuse("compile: bucket has fill = ", options_.fill,
           " and repeat_last; rows are filled or repeated");
}

RowLeaves Buckets::leaves_of(const std::vector<TreeSpec>& structure,
                             const std::vector<Donated>& donate) const {
  std::vector<SignatureLeaf> leaves;
  for (size_t i = 0; i < structure.size(); ++i) {
    for (const std::string& path : leaf_paths(structure[i]))
      leaves.push_back({base::cat("arg", i, path), {}});
  }
  RowLeaves rows;
  rows.have.resize(leaves.size());
  rows.first = leaves.size();
  const trace_internal::PartsOf bucket{leaves, structure, "compile: bucket has ", label_, ""};
  for (int leaf : trace_internal::leaves_of(options_.arguments, bucket)) {
    rows.have[static_cast<size_t>(leaf)] = true;
    rows.first = std::min(rows.first, static_cast<size_t>(leaf));
  }
  if (rows.first == leaves.size())
    refuse(label_, ": the arguments in bucket.arguments have no tensors in this call");
  const trace_internal::PartsOf given{leaves, structure, "compile: donates ", label_, ""};
  for (int leaf : trace_internal::leaves_of(donate, given)) {
    if (rows.have[static_cast<size_t>(leaf)])
      refuse(label_, ": ", leaves[static_cast<size_t>(leaf)].path,
             " is donated and has rows, of which the run takes a copy; leave it out of .donate");
  }
  for (SignatureLeaf& leaf : leaves) rows.paths.push_back(std::move(leaf.path));
  return rows;
}

int64_t Buckets::rows_of(const RowLeaves& rows, std::span<const Tensor> leaves) const {
  int64_t count = 0;
  for (size_t i = rows.first; i < leaves.size(); ++i) {
    if (!rows.have[i]) continue;
    const std::string& path = rows.paths[i];
    if (!leaves[i].is_valid())
      refuse(label_, ": ", path, ": operand ", trace_internal::why_no_value(leaves[i]));
    const trace_internal::Node& node = *leaves[i].node();
    if (node.shape.rank() == 0)
      refuse(label_, ": ", path, " is ", to_string(node.shape),
             "; rows are axis 0, and it has none; name the parts that have rows in "
             "bucket.arguments");
    if (node.sharding != nullptr)
      refuse(label_, ": ", path, " is ", to_string(node.shape), " with the sharding ",
             to_string(*node.sharding), "; what has rows must not be sharded: pad it yourself");
    if (i == rows.first) count = node.shape.dimension(0);
    if (node.shape.dimension(0) != count)
      refuse(label_, ": ", path, " is ", to_string(node.shape), ", and ", rows.paths[rows.first],
             " has ", count, " rows; all in bucket.arguments must have as many");
  }
  return count;
}

int64_t Buckets::size_for(int64_t rows) const {
  const auto too_many = [&](int64_t largest) {
    refuse(label_, ": the call has ", rows, " rows, and the largest bucket has ", largest,
           "; give compile a larger bucket, or call it with parts");
  };
  if (rows > kMostRows) too_many(kMostRows);
  if (!options_.sizes.empty()) {
    const auto found = std::ranges::lower_bound(options_.sizes, rows);
    if (found == options_.sizes.end()) too_many(options_.sizes.back());
    return *found;
  }
  const int64_t largest = options_.largest ? int64_t{*options_.largest} : kMostRows;
  if (rows > largest) too_many(largest);
  int64_t size = smallest_of(options_);
  while (size < rows) size *= 2;
  return std::min(size, largest);
}

int64_t Buckets::beside(int64_t size) const {
  if (!options_.sizes.empty()) {
    const auto here = std::ranges::lower_bound(options_.sizes, size);
    if (here != options_.sizes.begin()) return *(here - 1);
    return options_.sizes.size() > 1 ? *(here + 1) : 2 * size;
  }
  const int64_t smallest = smallest_of(options_);
  if (size > smallest) {
    int64_t before = smallest;
    while (2 * before < size) before *= 2;
    return before;
  }
  return options_.largest && int64_t{*options_.largest} > size
             ? std::min(2 * size, int64_t{*options_.largest})
             : 2 * size;
}

void Buckets::check_fill(DType dtype, const std::string& path) const {
  if (!is_integer(dtype) && dtype != pred) return;
  if (Literal::scalar(dtype, options_.fill).to_double(0) == options_.fill) return;
  refuse(label_, ": bucket.fill is ", options_.fill, ", which is no ", to_string(dtype), " of ",
         path, "; give it one, or repeat_last");
}

Tensor Buckets::pad(const Tensor& x, int64_t rows, const std::string& path) const {
  const runtime::BufferPtr buffer = trace_internal::buffer_of(x, "call", path);
  const Shape& shape = shape_of(x);
  Literal filler;
  if (!options_.repeat_last || shape.dimension(0) == 0)
    filler = Literal::scalar(shape.dtype(), options_.fill);
  runtime::BufferPtr made = value_or_throw(runtime::with_rows(*buffer, rows, filler));
  if (made != nullptr) return trace_internal::tensor_of(std::move(made));
  return padded_by_program(x, rows, filler);
}

Tensor Buckets::cut(const Tensor& x, int64_t rows) {
  runtime::Buffer& buffer = *x.node()->buffer;
  runtime::BufferPtr made = value_or_throw(runtime::first_rows(buffer, rows));
  if (made != nullptr) return trace_internal::tensor_of(std::move(made));
  return cut_by_program(x, rows);
}

}  // namespace heddle::compile_internal
