#include <cstring>
#include <iterator>

#include "heddle/hlo/dimensions.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

std::span<const Shape> values_of(const Shape& shape) {
  if (shape.is_tuple()) return shape.elements();
  return {&shape, 1};
}

// An array seen as [outer, length, inner] around the scanned dimension: slices at an index are read
// and written.
class Strips {
 public:
  Strips(const Shape& shape, int64_t dimension)
      : slice_(without_dimensions(shape, {&dimension, 1})), length_(shape.dimension(dimension)) {
    for (int64_t i = 0; i < dimension; ++i) outer_ *= shape.dimension(i);
    if (slice_.element_count() == 0) outer_ = 0;
    if (outer_ != 0) width_ = static_cast<size_t>(slice_.byte_size() / outer_);
  }

  // Into the buffer of `slice` where that is one of a slice, and nobody else's.
  void read(const Literal& stacked, int64_t index, Literal& slice) const {
    if (!slice.is_unique() || slice.shape() != slice_) slice = Literal::uninitialised(slice_);
    std::byte* to = slice.mutable_bytes();
    const std::byte* from = stacked.bytes();
    for (int64_t i = 0; i < outer_; ++i, to += width_)
      std::memcpy(to, from + offset(i, index), width_);
  }

  void write(Literal& stacked, int64_t index, const Literal& slice) const {
    std::byte* to = stacked.mutable_bytes();
    const std::byte* from = slice.bytes();
    for (int64_t i = 0; i < outer_; ++i, from += width_)
      std::memcpy(to + offset(i, index), from, width_);
  }

 private:
  [[nodiscard]] size_t offset(int64_t outer, int64_t index) const {
    return static_cast<size_t>(outer * length_ + index) * width_;
  }

  Shape slice_;
  int64_t length_;
  int64_t outer_ = 1;
  size_t width_ = 0;  // bytes of the inner elements
};

// The state of a scan that runs: the arguments of the next call of the body, and the outputs as far
// as they are known. Between calls the last result holds the buffers that the next one is written
// to.
class Scanner {
 public:
  explicit Scanner(EvalArgs& in)
      : in_(in),
        inputs_(in.size() - static_cast<size_t>(in.attrs<ScanAttrs>().num_carries)),
        arguments_(in.size()) {
    const int64_t dimension = in.attrs<ScanAttrs>().dimensions[0];
    for (size_t i = 0; i < inputs_; ++i) read_.emplace_back(in[i].shape(), dimension);
    std::move(in.operands.begin() + static_cast<ptrdiff_t>(inputs_), in.operands.end(),
              arguments_.begin() + static_cast<ptrdiff_t>(inputs_));
    const std::span<const Shape> results = values_of(in.result());
    for (const Shape& result : results.first(results.size() - (in.size() - inputs_))) {
      write_.emplace_back(result, dimension);
      outputs_.push_back(Literal::uninitialised(result));
    }
  }

  // Of inputs and outputs. One of them is there, or the shape rule would have refused.
  [[nodiscard]] int64_t length() const {
    const Literal& one = inputs_ > 0 ? in_[0] : outputs_[0];
    return one.shape().dimension(in_.attrs<ScanAttrs>().dimensions[0]);
  }

  Status step(int64_t index) {
    for (size_t i = 0; i < inputs_; ++i) read_[i].read(in_[i], index, arguments_[i]);
    HEDDLE_RETURN_IF_ERROR(in_.caller.call_and_consume(0, arguments_, result_));
    if (!result_.is_tuple()) {
      take(0, index, result_);
      return {};
    }
    for (size_t i = 0; i < result_.elements().size(); ++i)
      take(i, index, result_.mutable_elements()[i]);
    return {};
  }

  Literal finish() && {
    std::vector<Literal> values = std::move(outputs_);
    std::move(arguments_.begin() + static_cast<ptrdiff_t>(inputs_), arguments_.end(),
              std::back_inserter(values));
    if (!in_.result().is_tuple()) return std::move(values[0]);
    return Literal::tuple(std::move(values));
  }

 private:
  // Leaves a scalar for the next result to be written to; an array's buffer comes from its op.
  void take(size_t i, int64_t index, Literal& value) {
    if (i < outputs_.size()) {
      write_[i].write(outputs_[i], index, value);
    } else {
      std::swap(arguments_[inputs_ + i - outputs_.size()], value);
    }
    if (!value.shape().is_scalar()) value = Literal();
  }

  EvalArgs& in_;
  const size_t inputs_;
  std::vector<Literal> arguments_;
  Literal result_;
  std::vector<Literal> outputs_;
  std::vector<Strips> read_;
  std::vector<Strips> write_;
};

StatusOr<Literal> evaluate_scan(EvalArgs& in) {
  Scanner scanner(in);
  const int64_t length = scanner.length();
  for (int64_t i = 0; i < length; ++i) {
    HEDDLE_RETURN_IF_ERROR(scanner.step(in.attrs<ScanAttrs>().is_reverse ? length - 1 - i : i));
  }
  return std::move(scanner).finish();
}

}  // namespace

const Evaluation kScanEvaluation = {.evaluate = evaluate_scan};

}  // namespace heddle::interpreter
