#include "heddle/tests/laws/batches.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/batching.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/laws/derivative_checks.h"

namespace heddle::laws {
namespace {

// Another value for a lane: elements turned round; of a scalar another number.
Literal in_lane(const Literal& x, int64_t lane) {
  const DType dtype = x.shape().dtype();
  if (lane == 0 || x.element_count() == 0) return x;
  if (x.element_count() == 1) {
    Literal out = is_integer(dtype) ? Literal::scalar(dtype, x.to_int64(0) + lane)
                  : dtype == pred   ? Literal::scalar(dtype, (x.to_int64(0) + lane) % 2)
                                    : Literal::scalar(dtype, lane == 1 ? 0.5 : 2.0);
    return std::move(out).reshaped(x.shape());
  }
  Literal out = Literal::uninitialised(x.shape());
  const auto width = static_cast<size_t>(storage_bytes(dtype));
  const auto size = static_cast<size_t>(x.byte_size()), turn = width * static_cast<size_t>(lane);
  for (size_t at = 0; at < size; at += width)
    std::memcpy(out.mutable_bytes() + at, x.bytes() + (at + turn) % size, width);
  return out;
}

Literal assembled(const Shape& shape, const std::vector<Literal>& leaves, size_t& next) {
  if (!shape.is_tuple()) return leaves[next++];
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements())
    elements.push_back(assembled(element, leaves, next));
  return Literal::tuple(std::move(elements));
}

// Each non-empty set of the arrays, of up to four; of more each alone, and all of them.
std::vector<std::vector<bool>> masks_of(const std::vector<Literal>& leaves) {
  std::vector<size_t> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].shape().is_array()) arrays.push_back(i);
  }
  std::vector<std::vector<bool>> out;
  const size_t sets = size_t{1} << arrays.size();
  for (size_t set = 1; set < sets; ++set) {
    if (arrays.size() > 4 && !std::has_single_bit(set) && set != sets - 1) continue;
    out.emplace_back(leaves.size());
    for (size_t k = 0; k < arrays.size(); ++k) out.back()[arrays[k]] = ((set >> k) & 1) != 0;
  }
  return out;
}

template <class T>
std::string far_apart_numbers(const Literal& have, const Literal& want, double share) {
  const auto count = static_cast<size_t>(want.byte_size()) / sizeof(T);
  const std::span a(reinterpret_cast<const T*>(have.bytes()), count);
  const std::span b(reinterpret_cast<const T*>(want.bytes()), count);
  double largest = 0;
  for (T each : b) {
    if (std::isfinite(each)) largest = std::max(largest, std::abs(static_cast<double>(each)));
  }
  for (size_t i = 0; i < count; ++i) {
    if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) continue;
    if (std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) <= share * largest)
      continue;
    return base::cat("element ", i, " of ", to_string(want.shape()), " is ", a[i], "; it must be ",
                     b[i]);
  }
  return "";
}

}  // namespace

Literal stacked(const std::vector<Literal>& lanes) {
  Literal out =
      Literal::uninitialised(hlo::with_lanes(lanes[0].shape(), static_cast<int64_t>(lanes.size())));
  const auto size = static_cast<size_t>(lanes[0].byte_size());
  for (size_t i = 0; i < lanes.size() && size > 0; ++i)
    std::memcpy(out.mutable_bytes() + i * size, lanes[i].bytes(), size);
  return out;
}

std::string far_apart(const Literal& have, const Literal& want, double share) {
  if (!same_type(have.shape(), want.shape()))
    return base::cat("is ", to_string(have.shape()), "; it must be ", to_string(want.shape()));
  if (have == want) return "";
  switch (real_part(want.shape().dtype())) {
    case f32: return far_apart_numbers<float>(have, want, share);
    case f64: return far_apart_numbers<double>(have, want, share);
    default: break;
  }
  const DType dtype = want.shape().dtype();
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double a = have.to_double(i), b = want.to_double(i);
    if ((std::isnan(a) && std::isnan(b)) || (is_floating(dtype) && a == b)) continue;
    if (is_floating(dtype) && std::abs(a - b) <= share * std::abs(b)) continue;
    if (!is_floating(dtype) && have.to_int64(i) == want.to_int64(i)) continue;
    return base::cat("element ", i, " of ", to_string(want.shape()), " is ", a, "; it must be ", b);
  }
  return "";
}

std::vector<InLanes> mixes_of(const std::vector<Literal>& arguments) {
  const std::vector<Literal> leaves = leaves_of(arguments);
  std::vector<InLanes> out;
  for (const std::vector<bool>& mask : masks_of(leaves)) {
    InLanes mix{.batched = mask, .all = leaves, .lanes = {}};
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      mix.lanes.push_back(leaves);
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (mask[i]) mix.lanes.back()[i] = in_lane(leaves[i], lane);
      }
    }
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (mask[i]) mix.all[i] = stacked({mix.lanes[0][i], mix.lanes[1][i], mix.lanes[2][i]});
    }
    out.push_back(std::move(mix));
  }
  return out;
}

std::vector<Literal> as_arguments(const hlo::Module& module, const std::vector<Literal>& leaves) {
  const hlo::Computation& entry = module.entry_computation();
  std::vector<Literal> out;
  size_t next = 0;
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    out.push_back(assembled(entry.parameter_shape(i), leaves, next));
  return out;
}

std::string difference_by_lane(const hlo::Module& module, const transform::Batch& batch,
                               const InLanes& mix, Same same) {
  std::vector<std::vector<Literal>> want;
  for (const std::vector<Literal>& lane : mix.lanes) {
    auto value = interpreter::evaluate(module, as_arguments(module, lane));
    if (!value.ok())
      return value.status().code() == StatusCode::kUnimplemented
                 ? ""
                 : base::cat("one lane: ", base::message_of(value.status()));
    want.push_back(leaves_of({*value}));
  }
  auto value = interpreter::evaluate(batch.module, mix.all);
  if (!value.ok()) return base::cat("all lanes: ", base::message_of(value.status()));
  const std::vector<Literal> have = leaves_of({*value});
  for (size_t i = 0; i < have.size(); ++i) {
    if (!have[i].shape().is_array()) continue;
    std::vector<Literal> lanes;
    for (const std::vector<Literal>& lane : want) lanes.push_back(lane[i]);
    const std::string wrong =
        same(batch.results[i] ? have[i] : stacked({have[i], have[i], have[i]}), stacked(lanes));
    if (!wrong.empty()) return base::cat("result ", i, ": ", wrong);
  }
  return "";
}

}  // namespace heddle::laws
