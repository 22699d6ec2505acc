// Random vectors and matrices whose elements depend on each other. Names, algorithms and values are
// those of jax.random; docs/functions.md has the differences.
//
// key      u32[2] (random/keys.h)
// shape    of the batch: the sample's without the axes that the function adds
// errors   all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
//          and the caller's line
#pragma once

#include <optional>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/random/keys.h"
#include "heddle/random/parameter.h"

namespace heddle::random {

// A square root of the covariance: Cholesky's factor, which is NaN for a singular covariance; or
// one of eigenvectors or singular vectors, which allow that. Their signs, and so the sample, depend
// on the backend.
enum class CovarianceRoot : uint8_t { kCholesky, kEigh, kSvd };

// Normal vectors [shape.., n] of a mean [.., n] and covariance [.., n, n], symmetric, of one dtype,
// f32 or f64, which is the sample's. An empty shape is the one that their batches broadcast to.
Tensor multivariate_normal(Operand key, Operand mean, Operand covariance,
                           const base::Ints& shape = {}, const Options& options = {},
                           CovarianceRoot root = CovarianceRoot::kCholesky);

// Matrices [shape.., n, m], drawn uniformly from those whose rows (n <= m) or columns (n >= m) are
// orthonormal; m is n unless given. dtype: f32, f64, c64 (unitary ones) or c128. source: F.
// Mezzadri, How to generate random matrices from the classical compact groups, Notices of the AMS
// 54 (2007)
Tensor orthogonal(Operand key, base::Int n, const base::Ints& shape = {}, DType dtype = f32,
                  std::optional<base::Int> m = {}, const Options& options = {});

// How often each of k outcomes occurs in n trials, as floats [.., k] of p's dtype: p[.., k] their
// probabilities, n a number or [..] of that dtype. `shape` is the whole sample's, [.., k], to which
// p and n broadcast; empty: p's. source: binomial counts of what is left, L. Devroye (1986),
// section XI.1.4. cost: a scan over the outcomes of what binomial costs
Tensor multinomial(Operand key, Parameter n, Operand p, const base::Ints& shape = {},
                   const Options& options = {});

}  // namespace heddle::random
