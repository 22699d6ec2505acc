// Products with the Q of a QR factorisation, from its reflectors.
#include "heddle/transform/lapack/internal/problem.h"
#include "heddle/transform/lapack/internal/reflectors.h"

namespace heddle::transform::lapack {

StatusOr<hlo::Module> ormqr_module(const Problem& problem) {
  Writer writer;
  Scope main(writer);
  const Array a = main.parameter(problem.operands[0]), tau = main.parameter(problem.operands[1]),
              c = main.parameter(problem.operands[2]);
  const int64_t batch = a.size(0), m = a.size(1), k = tau.size(1);
  if (k == 0) return std::move(writer).finish(std::move(main).finish({c}));
  const Array packed = slice(a, 2, 0, k);
  const Array row = main.iota({1, m, k}, 1), column = main.iota({1, m, k}, 2);
  const Array below = select(row > column, packed, 0.0);
  const Array reflectors = select(row == column, packed.number(1), below);
  const Array taus = reshape(tau, {batch, 1, k});
  const bool left = problem.flag("left"), transposed = problem.flag("transpose");
  const Array given = left ? c : adjoint(c);  // c Q = (Q^H c^H)^H
  const Array product = times(reflectors, taus, left == transposed, given);
  return std::move(writer).finish(std::move(main).finish({left ? product : adjoint(product)}));
}

}  // namespace heddle::transform::lapack
