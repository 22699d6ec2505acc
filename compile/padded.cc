#include "heddle/compile/internal/padded.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "heddle/base/text/strings.h"
#include "heddle/compile/internal/mixed_rows.h"
#include "heddle/hlo/module.h"
#include "heddle/trace/rows.h"

namespace heddle::compile_internal {
namespace {

struct Traced {
  Program program;
  bool asks;  // which rows are the caller's
};

Traced trace_for(const Call& call, int64_t size, const std::string& name) {
  std::vector<TreeSpec> structure = call.structure();
  structure.emplace_back();  // the number of rows
  std::vector<Tensor> leaves(call.leaves.begin(), call.leaves.end());
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (call.rows.leaves->have[i]) leaves[i] = placeholder(of_rows(leaves[i].shape(), size));
  }
  leaves.push_back(placeholder(Shape(s32, {})));
  bool asks = false;
  Program program = trace_internal::make_program(
      name, std::move(structure), leaves,
      [&](std::span<const Tensor> traced, TreeSpec& out) {
        trace_internal::RowScope scope(size, traced.back());
        std::vector<Tensor> results = call.run(traced.first(traced.size() - 1), out);
        asks = scope.was_asked();
        return results;
      },
      call.at);
  return {std::move(program), asks};
}

// The same; an error says for what it was traced.
template <class... Parts>
Traced trace_for(const Call& call, int64_t size, const std::string& name, const Parts&... context) {
  try {
    return trace_for(call, size, name);
  } catch (const Error& e) {
    const auto users = trace_internal::PublicCall::users_code();  // the line stays the op's
    throw Error(base::annotate(e.status(), context...), e.where());
  }
}

// How much sums of other lengths may differ, relative to the largest element.
double rounding(DType dtype) {
  switch (dtype) {
    case f64:
    case c128: return 1e-9;
    case f32:
    case c64: return 1e-4;
    default: return is_integer(dtype) || dtype == pred ? 0 : 2e-2;
  }
}

// A number; for complex numbers the real and imaginary parts in turn.
double part(const Literal& of, int64_t j) {
  const auto either = [j](const auto& z) -> double { return j % 2 == 0 ? z.real() : z.imag(); };
  const auto at = static_cast<size_t>(j / 2);
  switch (of.shape().dtype()) {
    case c64: return either(of.values<std::complex<float>>()[at]);
    case c128: return either(of.values<std::complex<double>>()[at]);
    default: return of.to_double(j);
  }
}

}  // namespace

std::string padding_shows(const Signature& signature, const std::vector<Tensor>& padded,
                          const std::vector<Tensor>& without) {
  for (size_t i = 0; i < padded.size(); ++i) {
    const Literal have = padded[i].to_literal(), want = without[i].to_literal();
    const int64_t parts = is_complex(want.shape().dtype()) ? 2 : 1;
    double largest = 0;
    for (int64_t j = 0; j < parts * want.element_count(); ++j) {
      if (std::isfinite(part(want, j))) largest = std::max(largest, std::abs(part(want, j)));
    }
    for (int64_t j = 0; j < parts * want.element_count(); ++j) {
      const double a = part(have, j), b = part(want, j);
      if (a == b || (std::isnan(a) && std::isnan(b)) ||
          std::abs(a - b) <= rounding(want.shape().dtype()) * largest)
        continue;
      return base::cat(j % parts == 0 ? "" : "the imaginary part of ", signature.results[i].path,
                       " at ", j / parts, " is ", a, ", and ", b, " without padding");
    }
  }
  return "";
}

Program trace_once(const Call& call, const std::string& name) {
  if (call.rows.leaves != nullptr) return trace_for(call, call.rows.size, name).program;
  return trace_internal::make_program(name, call.structure(), call.leaves, call.run, call.at);
}

PaddedProgram trace_padded(const Call& call, const Buckets& buckets, const std::string& name,
                           const std::string& label) {
  // Beside the caller's own number of rows, so that a C++ value or branch of it differs too; but
  // one row would be broadcast, where several are not.
  const int64_t size = call.rows.size, count = call.rows.count;
  const int64_t other = count > 1 && count < size ? count : buckets.beside(size);
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    if (call.rows.leaves->have[i])
      buckets.check_fill(call.leaves[i].dtype(), call.rows.leaves->paths[i]);
  }
  Traced traced = trace_for(call, size, name, label, ": traced for a bucket of ", size, " rows: ");
  const Program beside = trace_for(call, other, name, label, ": traced for ", other,
                                   " rows beside ", size, ", which tells what follows the rows: ")
                             .program;
  const TwoTraces both{traced.program.module(), beside.module(), size, other};
  if (!buckets.options().may_mix_rows) {
    const std::string mixed = traced.asks ? unmasked_rows(both) : mixed_rows(both);
    if (!mixed.empty())
      throw Error(base::invalid_argument(
          label, ": its rows are padded to a bucket of ", both.rows, ", and ", mixed,
          "; ask row_mask(x) or valid_rows(x) which rows are the caller's, or, where "
          "the padding is right for that, set bucket.may_mix_rows"));
  }
  std::vector<bool> cut;
  const auto &results = traced.program.signature().results, &others = beside.signature().results;
  for (size_t i = 0; i < results.size(); ++i) {
    const RowsOf rows =
        i < others.size() ? rows_of(results[i].shape, others[i].shape, both) : RowsOf::kOther;
    if (rows == RowsOf::kOther)
      throw Error(base::invalid_argument(
          label, ": ", results[i].path, " is ", to_string(results[i].shape), " in the bucket of ",
          both.rows, " rows and ", i < others.size() ? to_string(others[i].shape) : "nothing",
          " of ", both.other_rows, " rows; a result has the rows as axis 0, or nothing of them"));
    cut.push_back(rows == RowsOf::kLeading);
  }
  return {std::move(traced.program), std::move(cut)};
}

}  // namespace heddle::compile_internal
