// Derivatives of factors of matrices, eigenvalues and singular values: against differences, and
// along batches.
#include <functional>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

// A loss that weighs each element, of numbers that no phase of the vectors changes.
Tensor weighed(const Tensor& x) { return sum(x * some(x.shape().dimensions(), 3)); }
Tensor weighed_sizes(const Tensor& x) { return weighed(square(abs(x))); }

using Loss = std::function<Tensor(const Tensor&)>;

void check(const Loss& loss, const Tensor& at) {
  check_grads([&](const Tensor& x) { return loss(x); }, std::tuple(at));
}
// The same of a complex matrix, of its two parts.
void check_complex(const Loss& loss, const std::vector<int64_t>& sizes) {
  check_grads([&](const Tensor& re, const Tensor& im) { return loss(complex(re, im)); },
              std::tuple(some(sizes), some(sizes, 1)));
}
void check_both(const Loss& loss, const std::vector<int64_t>& sizes) {
  check(loss, some(sizes));
  check_complex(loss, sizes);
}
std::string error_of_grad(const Loss& loss, const Tensor& at) {
  return error_of([&] { return grad([&](const Tensor& x) { return loss(x); })(at); });
}

TEST(DerivativesOfFactors, Lu) {
  const Loss packed = [](const Tensor& x) { return weighed_sizes(linalg::lu(x).lu); };
  for (const auto& sizes : {std::vector<int64_t>{3, 3}, {4, 2}, {2, 4}, {2, 3, 3}})
    check_both(packed, sizes);
  check_both([](const Tensor& x) { return weighed_sizes(linalg::inv(x)); }, {3, 3});
  check_both(
      [](const Tensor& x) {
        return weighed_sizes(linalg::solve(x, some({3, 2}).astype(x.dtype())));
      },
      {3, 3});
  check_both([](const Tensor& x) { return linalg::slogdet(x).logabsdet; }, {4, 4});
}

TEST(DerivativesOfFactors, Qr) {
  const Loss both = [](const Tensor& x) {
    const auto [q, r] = linalg::qr(x);
    return weighed_sizes(q) + weighed_sizes(r);
  };
  for (const auto& sizes : {std::vector<int64_t>{3, 3}, {4, 2}, {2, 4}, {2, 3, 2}})
    check_both(both, sizes);
  check([](const Tensor& x) { return weighed(linalg::qr(x).q) + weighed(linalg::qr(x).r); },
        some({4, 3}));
  check_both([](const Tensor& x) { return weighed_sizes(linalg::qr(x, true).r); }, {2, 4, 2});
  EXPECT_THAT(
      error_of_grad([](const Tensor& x) { return sum(linalg::qr(x, true).q); }, some({3, 2})),
      HasSubstr("full_matrices adds to q are not determined by the matrix; pass "
                "full_matrices = false"));
}

TEST(DerivativesOfFactors, Eigh) {
  const Loss both = [](const Tensor& x) {
    const auto [w, v] = linalg::eigh(x);
    return weighed(w) + weighed_sizes(v);
  };
  for (const auto& sizes : {std::vector<int64_t>{3, 3}, {1, 1}, {2, 3, 3}}) check_both(both, sizes);
  check_both([](const Tensor& x) { return weighed(linalg::eigvalsh(x)); }, {3, 3});
  // Of the triangle that is read alone.
  for (const bool lower : {false, true}) {
    check_both(
        [lower](const Tensor& x) {
          const auto [w, v] = linalg::eigh(x, {.lower = lower, .symmetrize_input = false});
          return weighed(w) + weighed_sizes(v);
        },
        {3, 3});
  }
  // Equal eigenvalues: those have derivatives, in sum, though their vectors have none.
  const Tensor g = grad([](const Tensor& x) { return sum(linalg::eigvalsh(x)); })(eye(3, f64));
  EXPECT_THAT(g.to_vector<double>(), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
}

TEST(DerivativesOfFactors, Svd) {
  const Loss all = [](const Tensor& x) {
    const auto [u, s, vh] = linalg::svd(x, false);
    return weighed_sizes(u) + weighed(s) + weighed_sizes(vh);
  };
  for (const auto& sizes : {std::vector<int64_t>{3, 3}, {4, 2}, {2, 4}, {2, 3, 2}})
    check_both(all, sizes);
  const Loss product = [](const Tensor& x) {
    const auto [u, s, vh] = linalg::svd(x, false);
    return weighed_sizes(matmul(u, vh));
  };
  check_both(product, {3, 2});
  check_both([](const Tensor& x) { return weighed(linalg::svdvals(x)); }, {3, 2});
  check_both([](const Tensor& x) { return weighed(linalg::svd(x).s); }, {3, 3});
  // full_matrices adds columns to u (rows to vh), which have no derivative. All else has the first.
  for (const auto& sizes : {std::vector<int64_t>{3, 2}, {2, 4}, {2, 3, 2}}) {
    const auto rest = [&](const Tensor& x) {
      const auto [u, s, vh] = linalg::svd(x);
      return weighed(s) + weighed(sizes == std::vector<int64_t>{2, 4} ? u : vh);
    };
    check_grads(rest, std::tuple(some(sizes)), {.order = 1});
  }
  EXPECT_THAT(error_of_grad([](const Tensor& x) { return sum(linalg::svd(x).u); }, some({3, 2})),
              HasSubstr("pass full_matrices = false"));
}

TEST(DerivativesOfFactors, Eig) {
  const Loss values = [](const Tensor& x) {
    const Tensor w = linalg::eigvals(x);
    return sum(square(real(w)) * real(w)) + sum(square(imag(w)));
  };
  const Loss vectors = [](const Tensor& x) {
    const auto [w, v] = linalg::eig(x);
    return sum(square(abs(w))) + weighed(real(v)) + weighed(imag(v));
  };
  check_both(values, {3, 3});
  check_both(vectors, {3, 3});
  check(vectors, some({2, 4, 4}, 5));
}

// LAPACK's routine leaves the other triangle as it was.
TEST(DerivativesOfFactors, CholeskyAsTheCallsOfLapack) {
  for (const bool lower : {true, false}) {
    check(
        [lower](const Tensor& x) {
          const Tensor a = matmul(x, transpose(x)) + 2.0 * eye(3, f64) + triu(x, 1) * 0.1;
          const Tensor factor =
              custom_call("lapack_dpotrf_ffi", {a}, {a.shape(), Shape(s32, {})},
                          {.backend_config = lower ? "{uplo = 76 : ui8}" : "{uplo = 85 : ui8}",
                           .typed = true})[0];
          return weighed(lower ? tril(factor) : triu(factor)) + weighed(factor);
        },
        some({3, 3}));
  }
}

TEST(DerivativesOfFactors, DeterminantOfSingularMatrices) {
  check_both([](const Tensor& x) { return square(abs(linalg::det(x))); }, {3, 3});
  check([](const Tensor& x) { return weighed(linalg::det(x)); }, some({2, 4, 4}));
  check([](const Tensor& x) { return linalg::det(x); }, some({1, 1}));
  EXPECT_EQ(grad([](const Tensor& x) { return sum(linalg::det(x)); })(zeros({2, 0, 0}, f64)).size(),
            0);
  const Tensor singular = array<double>({{1, 2}, {2, 4}});
  const Tensor g = grad([](const Tensor& x) { return linalg::det(x); })(singular);
  EXPECT_THAT(g.to_vector<double>(), ElementsAre(4, -2, -2, 1));
  // Of 2 and 3 rows the second derivatives too, of any rank.
  for (const Tensor& x : {singular, zeros({2, 2}, f64), zeros({3, 3}, f64), ones({2, 3, 3}, f64),
                          array<double>({{0, 1, 2}, {0, 3, 5}, {0, 7, 1}})})
    check([](const Tensor& a) { return weighed(linalg::det(a)); }, x);
  const Tensor h = hessian([](const Tensor& x) { return linalg::det(x); })(zeros({2, 2}, f64));
  EXPECT_THAT(h.to_vector<double>(), ElementsAre(0, 0, 0, 1, 0, 0, -1, 0, 0, -1, 0, 0, 1, 0, 0, 0));
  const Tensor third = jacfwd(hessian([](const Tensor& x) { return linalg::det(x); }))(eye(3, f64));
  EXPECT_EQ(sum(abs(third)).item<double>(), 36);  // 6 products, each in 6 orders
}

TEST(DerivativesOfFactors, PseudoInverse) {
  for (const auto& sizes : {std::vector<int64_t>{3, 3}, {4, 2}, {2, 4}, {2, 3, 2}})
    check_both([](const Tensor& x) { return weighed_sizes(linalg::pinv(x)); }, sizes);
  // Equal singular values do not matter.
  check([](const Tensor& x) { return weighed(linalg::pinv(x)); }, eye(3, f64));
}

TEST(DerivativesOfFactors, InLanesAndLoops) {
  const auto loss = [](const Tensor& x) {
    const auto [q, r] = linalg::qr(x);
    return weighed(linalg::eigvalsh(matmul(transpose(r), r))) + linalg::det(matmul(x, q));
  };
  const Tensor xs = some({4, 3, 3});
  const Tensor g = vmap(grad(loss))(xs);
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(
        allclose(g[i], grad(loss)(xs[i]), {.relative = 1e-9, .absolute = 1e-9}).item<bool>());
  check(
      [](const Tensor& x) {
        const auto step = [](const Tensor& h, None) {
          return std::pair(linalg::qr(h + 0.1 * transpose(h)).q, None{});
        };
        return weighed(scan(step, x, None{}, {.length = 3}).first);
      },
      some({3, 3}));
}

}  // namespace
}  // namespace heddle
