#include "heddle/hlo/calls/lapack.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/backend_config.h"

namespace heddle::hlo {
namespace {

struct Letter {
  char letter;
  DType dtype;
};
constexpr Letter kLetters[] = {{'s', f32}, {'d', f64}, {'c', c64}, {'z', c128}};
constexpr std::string_view kPrefix = "lapack_";
constexpr std::string_view kSuffix = "_ffi";

// A call's operands and results as batches of matrices and vectors: the last dimensions are rows
// and columns, those before count the batch.
class Types {
 public:
  Types(const Instruction& call, std::span<const Shape* const> operands, DType dtype)
      : call_(call), operands_(operands), dtype_(dtype) {}

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] size_t size() const { return operands_.size(); }
  const Shape& operator[](size_t i) const { return *operands_[i]; }
  [[nodiscard]] const Shape& result() const { return call_.shape; }
  [[nodiscard]] int64_t rows(size_t i) const { return from_end(i, 2); }
  [[nodiscard]] int64_t columns(size_t i) const { return from_end(i, 1); }  // a vector's length

  [[nodiscard]] const std::string& target() const {
    return call_.attrs.get<CustomCallAttrs>().custom_call_target;
  }
  template <class... Parts>
  [[nodiscard]] Status error(const Parts&... parts) const {
    return base::invalid_argument("custom-call: ", target(), ": ", parts...);
  }

  [[nodiscard]] Status check_size(size_t operands) const {
    if (size() == operands) return {};
    return error("has ", size(), " operands; takes ", operands);
  }

  // Operand i has elements of `dtype` and `rank` dimensions (2: a matrix, 1: a vector) after those
  // of the batch, which operand 0 gives.
  [[nodiscard]] Status check_operand(size_t i, DType dtype, int64_t rank) {
    const Shape& shape = *operands_[i];
    if (!shape.is_array() || shape.dtype() != dtype || shape.rank() < rank) {
      return error("operand ", i, " is ", shape, "; must be of ", dtype, " and of rank ", rank,
                   " or more");
    }
    if (std::any_of(shape.dimensions().end() - rank, shape.dimensions().end(),
                    [](int64_t size) { return size > std::numeric_limits<int32_t>::max(); }))
      return error("operand ", i, " is ", shape, "; LAPACK counts rows and columns in 32 bits");
    Dims before(shape.dimensions().begin(), shape.dimensions().end() - rank);
    if (i == 0) batch_ = before;
    if (before == batch_) return {};
    return error("operand ", i, " is ", shape, "; its dimensions but for the last ", rank,
                 " must be {", base::join(batch_, ","), "}, as those of operand 0, ",
                 *operands_[0]);
  }

  [[nodiscard]] Status check_square(size_t i) {
    HEDDLE_RETURN_IF_ERROR(check_operand(i, dtype_, 2));
    if (rows(i) == columns(i)) return {};
    return error("operand ", i, " is ", *operands_[i], "; its last two dimensions must be equal");
  }

  // The results are of these element types and, after the batch, of these dimensions.
  [[nodiscard]] Status check_results(const std::vector<Shape>& trailing) const {
    std::vector<Shape> shapes;
    for (const Shape& each : trailing) {
      Dims dimensions = batch_;
      dimensions.insert(dimensions.end(), each.dimensions().begin(), each.dimensions().end());
      shapes.emplace_back(each.dtype(), std::move(dimensions));
    }
    const Shape expected = shapes.size() == 1 ? shapes[0] : Shape::tuple(shapes);
    if (same_type(result(), expected)) return {};
    return error("result is declared as ", result(), "; its operands give ", expected);
  }

  // An option that is a character, as JAX writes it: a number, uplo = 76 : ui8. One of `allowed`.
  [[nodiscard]] StatusOr<char> letter(std::string_view name, std::string_view allowed) const {
    HEDDLE_ASSIGN_OR_RETURN(const int64_t value, integer(name));
    if (value >= 0 && value < 128 &&
        allowed.find(static_cast<char>(value)) != std::string_view::npos)
      return static_cast<char>(value);
    return error("backend_config has ", name, " = ", value,
                 "; must be the number of one of the letters ", allowed);
  }
  [[nodiscard]] Status check_letter(std::string_view name, std::string_view allowed) const {
    return letter(name, allowed).status();
  }
  [[nodiscard]] StatusOr<int64_t> integer(std::string_view name) const {
    return config_integer(call_, name);
  }
  [[nodiscard]] StatusOr<bool> boolean(std::string_view name) const {
    return config_boolean(call_, name);
  }
  [[nodiscard]] const Instruction& call() const { return call_; }

  [[nodiscard]] Shape of(Dims sizes) const { return Shape(dtype_, std::move(sizes)); }
  [[nodiscard]] Shape real(Dims sizes) const { return Shape(real_part(dtype_), std::move(sizes)); }

 private:
  [[nodiscard]] int64_t from_end(size_t i, int64_t back) const {
    return operands_[i]->dimension(operands_[i]->rank() - back);
  }

  const Instruction& call_;
  std::span<const Shape* const> operands_;
  DType dtype_;
  Dims batch_;
};

Shape info() { return Shape::scalar(s32); }

// Operand 0 is all that there is: a batch of matrices, or of square ones.
Status check_one_matrix(Types& t) {
  HEDDLE_RETURN_IF_ERROR(t.check_size(1));
  return t.check_operand(0, t.dtype(), 2);
}
Status check_one_square(Types& t) {
  HEDDLE_RETURN_IF_ERROR(t.check_size(1));
  return t.check_square(0);
}

Status potrf(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_square(t));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("uplo", "LU"));
  return t.check_results({t.of({t.rows(0), t.rows(0)}), info()});
}

Status getrf(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_matrix(t));
  const int64_t m = t.rows(0), n = t.columns(0);
  return t.check_results({t.of({m, n}), Shape(s32, {std::min(m, n)}), info()});
}

Status geqrf(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_matrix(t));
  const int64_t m = t.rows(0), n = t.columns(0);
  return t.check_results({t.of({m, n}), t.of({std::min(m, n)})});
}

Status geqp3(Types& t) {
  HEDDLE_RETURN_IF_ERROR(t.check_size(2));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(0, t.dtype(), 2));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(1, s32, 1));
  const int64_t m = t.rows(0), n = t.columns(0);
  if (t.columns(1) != n)
    return t.error("jpvt is ", t[1], "; must have ", n, " elements, one a column");
  return t.check_results({t.of({m, n}), Shape(s32, {n}), t.of({std::min(m, n)})});
}

Status orgqr(Types& t) {
  HEDDLE_RETURN_IF_ERROR(t.check_size(2));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(0, t.dtype(), 2));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(1, t.dtype(), 1));
  const int64_t m = t.rows(0), n = t.columns(0), k = t.columns(1);
  if (m < n || n < k) {
    return t.error(
        "operands are ", t[0], " and ", t[1],
        "; must have at least as many rows as columns, and as many columns as reflectors");
  }
  return t.check_results({t.of({m, n})});
}

Status ormqr(Types& t) {
  HEDDLE_RETURN_IF_ERROR(t.check_size(3));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(0, t.dtype(), 2));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(1, t.dtype(), 1));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(2, t.dtype(), 2));
  HEDDLE_ASSIGN_OR_RETURN(const bool left, t.boolean("left"));
  HEDDLE_RETURN_IF_ERROR(t.boolean("transpose").status());
  const int64_t m = t.rows(2), n = t.columns(2), k = t.columns(1);
  if (t.rows(0) != (left ? m : n) || t.columns(0) < k || t.rows(0) < k) {
    return t.error("operands are ", t[0], ", ", t[1], " and ", t[2],
                   "; a must have as many rows as c has ", left ? "rows" : "columns",
                   ", and no fewer columns than tau has elements");
  }
  return t.check_results({t.of({m, n})});
}

Status trsm(Types& t) {
  if (t.size() != 3) HEDDLE_RETURN_IF_ERROR(t.check_size(2));
  HEDDLE_RETURN_IF_ERROR(t.check_square(0));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(1, t.dtype(), 2));
  HEDDLE_ASSIGN_OR_RETURN(const char side, t.letter("side", "LR"));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("uplo", "LU"));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("trans_x", "NTC"));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("diag", "NU"));
  const int64_t m = t.rows(1), n = t.columns(1);
  if ((side == 'L' ? m : n) != t.rows(0)) {
    return t.error("b is ", t[1], "; its ", side == 'L' ? "rows" : "columns",
                   " must be as many as those of a, ", t[0]);
  }
  if (t.size() == 3 && !t[2].is_scalar(t.dtype()))
    return t.error("alpha is ", t[2], "; must be ", t.dtype(), "[]");
  return t.check_results({t.of({m, n})});
}

// dl, d, du and b of a tridiagonal system.
Status check_tridiagonal(Types& t) {
  HEDDLE_RETURN_IF_ERROR(t.check_size(4));
  for (size_t i = 0; i < 3; ++i) HEDDLE_RETURN_IF_ERROR(t.check_operand(i, t.dtype(), 1));
  HEDDLE_RETURN_IF_ERROR(t.check_operand(3, t.dtype(), 2));
  const int64_t n = t.columns(1);
  if (t.columns(0) == n && t.columns(2) == n && t.rows(3) == n) return {};
  return t.error("operands are ", t[0], ", ", t[1], ", ", t[2], " and ", t[3],
                 "; all must have the length of d, and b as many rows");
}

Status gtsv(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_tridiagonal(t));
  const Shape diagonal = t.of({t.columns(1)});
  return t.check_results({diagonal, diagonal, diagonal, t.of({t.rows(3), t.columns(3)}), info()});
}

Status perturbed(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_tridiagonal(t));
  return t.check_results({t.of({t.rows(3), t.columns(3)})});
}

Status gehrd(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_square(t));
  HEDDLE_ASSIGN_OR_RETURN(const int64_t low, t.integer("low"));
  HEDDLE_ASSIGN_OR_RETURN(const int64_t high, t.integer("high"));
  const int64_t n = t.rows(0);
  if (low < 1 || high > n || (n > 0 ? low > high : low != 1 || high != 0)) {
    return t.error("low is ", low, " and high ", high, "; must be ",
                   n > 0 ? base::cat("in [1, ", n, "], low not above high") : "1 and 0");
  }
  return t.check_results({t.of({n, n}), t.of({std::max<int64_t>(n - 1, 0)}), info()});
}

Status sytrd(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_square(t));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("uplo", "LU"));
  const int64_t n = t.rows(0), couplings = std::max<int64_t>(n - 1, 0);
  return t.check_results(
      {t.of({n, n}), t.real({n}), t.real({couplings}), t.of({couplings}), info()});
}

// Without vectors, programs declare either size for them: `full` where both that are declared are
// square (one of them is in any case).
bool declares_full(const Shape& result, int64_t rows, int64_t columns) {
  if (!result.is_tuple() || result.element_shapes() != 5) return false;
  const Shape &u = result.element(2), &vh = result.element(3);
  if (!u.is_array() || u.rank() < 2 || !vh.is_array() || vh.rank() < 2) return false;
  return u.dimension(u.rank() - 1) == rows && vh.dimension(vh.rank() - 2) == columns;
}

Status gesdd(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_matrix(t));
  HEDDLE_ASSIGN_OR_RETURN(const char mode, t.letter("mode", "ASN"));
  const int64_t m = t.rows(0), n = t.columns(0), size = std::min(m, n);
  const bool full = mode == 'A' || (mode == 'N' && declares_full(t.result(), m, n));
  return t.check_results({t.of({m, n}), t.real({size}), t.of({m, full ? m : size}),
                          t.of({full ? n : size, n}), info()});
}

Status syevd(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_square(t));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("uplo", "LU"));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("mode", "VN"));
  const int64_t n = t.rows(0);
  return t.check_results({t.of({n, n}), t.real({n}), info()});
}

Status eigh(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_matrix(t));
  HEDDLE_RETURN_IF_ERROR(eigh_options(t.call()).status());
  HEDDLE_RETURN_IF_ERROR(t.check_square(0));
  return t.check_results({t.of({t.rows(0), t.rows(0)}), t.real({t.rows(0)})});
}

// Eigenvalues are one result of a complex matrix, and two, their parts, of a real one.
void add_values(const Types& t, std::vector<Shape>& results) {
  results.insert(results.end(), is_complex(t.dtype()) ? 1 : 2, t.of({t.rows(0)}));
}

Status geev(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_square(t));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("compute_left", "VN"));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("compute_right", "VN"));
  const Shape vectors(real_part(t.dtype()) == f32 ? c64 : c128, {t.rows(0), t.rows(0)});
  std::vector<Shape> results;
  add_values(t, results);
  results.insert(results.end(), {vectors, vectors, info()});
  return t.check_results(results);
}

Status gees(Types& t) {
  HEDDLE_RETURN_IF_ERROR(check_one_square(t));
  HEDDLE_RETURN_IF_ERROR(t.check_letter("mode", "VN"));
  HEDDLE_ASSIGN_OR_RETURN(const char sort, t.letter("sort", "NS"));
  if (sort == 'S')
    return base::unimplemented("custom-call: ", t.target(), ": backend_config has sort = S, ",
                               "and the call does not say which eigenvalues come first; must be N "
                               "(jaxlib refuses S too)");
  const Shape square = t.of({t.rows(0), t.rows(0)});
  std::vector<Shape> results = {square, square};
  add_values(t, results);
  results.insert(results.end(), {info(), info()});
  return t.check_results(results);
}

enum class For : uint8_t { kBoth, kReal, kComplex };
struct Routine {
  std::string_view name;
  Status (*check)(Types& types);
  For types = For::kBoth;
};
constexpr Routine kRoutines[] = {
    {"gees", gees},
    {"geev", geev},
    {"gehrd", gehrd},
    {"geqp3", geqp3},
    {"geqrf", geqrf},
    {"gesdd", gesdd},
    {"gesvd", gesdd},
    {"getrf", getrf},
    {"gtsv", gtsv},
    {"heevd", syevd, For::kComplex},
    {"hetrd", sytrd, For::kComplex},
    {"orgqr", orgqr, For::kReal},
    {"ormqr", ormqr, For::kReal},
    {"potrf", potrf},
    {"syevd", syevd, For::kReal},
    {"sytrd", sytrd, For::kReal},
    {"trsm", trsm},
    {"ungqr", orgqr, For::kComplex},
    {"unmqr", ormqr, For::kComplex},
};

// By their whole target. They compute in the type of operand 0.
constexpr Routine kXlaCalls[] = {
    {"Eigh", eigh},
    {"ProductOfElementaryHouseholderReflectors", orgqr},
    {"Qr", geqrf},
    {"tridiagonal_solve_perturbed_ffi", perturbed},
};

bool is_of(const Routine& routine, DType dtype) {
  return routine.types == For::kBoth ||
         routine.types == (is_complex(dtype) ? For::kComplex : For::kReal);
}

const Routine* find(std::span<const Routine> routines, std::string_view name) {
  const auto found = std::ranges::find(routines, name, &Routine::name);
  return found == routines.end() ? nullptr : &*found;
}

const Routine* find_routine(std::string_view target) {
  const std::optional<LapackName> name = lapack_name(target);
  if (!name) return find(kXlaCalls, target);
  const Routine* found = find(kRoutines, name->routine);
  return found != nullptr && is_of(*found, name->dtype) ? found : nullptr;
}

Status check(const Routine& routine, Types types) {
  if (std::ranges::find(kLetters, types.dtype(), &Letter::dtype) == std::end(kLetters))
    return types.error("operand 0 is ", types[0], "; must be of f32, f64, c64 or c128");
  return routine.check(types);
}

// Takes a number, and the comma after it if there is one.
template <class Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.starts_with(',')) text.remove_prefix(1);
  return error == std::errc();
}

}  // namespace

std::optional<LapackName> lapack_name(std::string_view target) {
  const bool has_room = target.size() > kPrefix.size() + 1 + kSuffix.size();
  if (!has_room || !target.starts_with(kPrefix) || !target.ends_with(kSuffix)) return {};
  target.remove_prefix(kPrefix.size());
  target.remove_suffix(kSuffix.size());
  const auto* letter = std::ranges::find(kLetters, target[0], &Letter::letter);
  if (letter == std::end(kLetters)) return {};
  return LapackName{target.substr(1), letter->dtype};
}

bool is_lapack_target(std::string_view target) { return find_routine(target) != nullptr; }

std::vector<std::string> lapack_targets() {
  std::vector<std::string> out;
  for (const Routine& each : kXlaCalls) out.emplace_back(each.name);
  for (const Routine& routine : kRoutines) {
    for (const auto& [letter, dtype] : kLetters) {
      if (is_of(routine, dtype)) out.push_back(base::cat(kPrefix, letter, routine.name, kSuffix));
    }
  }
  return out;
}

Status check_lapack_call(const Instruction& call, std::span<const Shape* const> operands) {
  const auto& target = call.attrs.get<CustomCallAttrs>().custom_call_target;
  const Routine* routine = find_routine(target);
  if (routine == nullptr) return base::not_found("custom-call: ", target, ": is no LAPACK routine");
  for (const Shape* shape : operands) {
    if (shape->is_dynamic() || !shape->is_array())
      return base::invalid_argument("custom-call: ", target, ": an operand is ", *shape,
                                    "; must be an array of known size");
  }
  const std::optional<LapackName> name = lapack_name(target);
  const DType of_operands = operands.empty() ? f32 : operands[0]->dtype();
  return check(*routine, Types(call, operands, name ? name->dtype : of_operands));
}

std::string_view lapack_routine(const Instruction& call, std::span<const Shape* const> operands) {
  const auto name = lapack_name(call.attrs.get<CustomCallAttrs>().custom_call_target);
  return name && check_lapack_call(call, operands).ok() ? name->routine : "";
}

StatusOr<EighOptions> eigh_options(const Instruction& call) {
  EighOptions out;
  const std::string& config = call.extras->backend_config;
  std::string_view text = config;
  const bool is_read = take_number(text, out.lower) && take_number(text, out.is_sorted) &&
                       take_number(text, out.most_sweeps) && take_number(text, out.tolerance) &&
                       text.empty();
  if (is_read) return out;
  return base::invalid_argument("custom-call: Eigh: backend_config is ", config,
                                "; must be lower,sort,sweeps,tolerance, as in 1,1,100,1e-6");
}

std::string_view lapack_option(std::string_view backend_config, std::string_view name) {
  return find_entry(backend_config, name).value;
}

}  // namespace heddle::hlo
