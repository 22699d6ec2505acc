// Calls of LAPACK's syevd and gesdd that ask small real matrices for their values without vectors.
// LAPACK's cost for one is most of all its calls and checks; spectra.h has a lane for each matrix.
#include <algorithm>
#include <numeric>
#include <utility>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/spectra/internal/small_matrices.h"
#include "heddle/cpu/kernels/spectra/spectra.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::cpu {
namespace {

struct SpectrumCall {
  bool is_symmetric = false;  // eigenvalues, else singular values
  bool lower = false;
  int64_t batch = 0, rows = 0, columns = 0;
  std::vector<int64_t> unused;  // elements of each array of vectors
};

// Buffers: a; what LAPACK leaves of it, and values in the order that the routine has them; unused
// vectors; info.
template <class T>
class SpectrumKernel final : public Kernel {
 public:
  SpectrumKernel(SpectrumCall call, std::unique_ptr<Kernel> rule)
      : call_(std::move(call)), rule_(std::move(rule)) {}

  Status run(std::span<void* const> pointers) const override {
    const int64_t size = call_.rows * call_.columns, count = std::min(call_.rows, call_.columns);
    const T* const a = static_cast<const T*>(pointers[0]);
    T* const values = static_cast<T*>(pointers[2]);
    const SpectrumLoops<T>& loops = spectrum_loops<T>();
    const bool is_usual = for_matrices(call_.batch, [&](int64_t first, int64_t matrices) {
      const T* from = a + first * size;
      T* const to = values + first * count;
      return call_.is_symmetric
                 ? loops.eigenvalues(from, matrices, call_.rows, call_.lower, to)
                 : loops.singular_values(from, matrices, call_.rows, call_.columns, to);
    });
    if (!is_usual) return rule_->run(pointers);
    if (pointers[1] != a) std::copy_n(a, call_.batch * size, static_cast<T*>(pointers[1]));
    for (size_t i = 0; i < call_.unused.size(); ++i)
      std::fill_n(static_cast<T*>(pointers[3 + i]), call_.unused[i], T(0));
    std::fill_n(static_cast<int32_t*>(pointers.back()), call_.batch, 0);
    return {};
  }

 private:
  SpectrumCall call_;
  std::unique_ptr<Kernel> rule_;
};

}  // namespace

std::unique_ptr<Kernel> make_spectrum_kernel(const hlo::Instruction& call, const Shape& a,
                                             std::unique_ptr<Kernel> rule) {
  const Shape* const operands[] = {&a};
  const std::string_view routine = hlo::lapack_routine(call, operands);
  if (routine != "syevd" && routine != "gesdd") return rule;
  const std::string& config = call.extras.get().backend_config;
  const std::span<const int64_t> sizes = a.dimensions();
  SpectrumCall spectrum{.is_symmetric = routine == "syevd",
                        .lower = hlo::lapack_option(config, "uplo") == "76",
                        .rows = sizes[sizes.size() - 2],
                        .columns = sizes.back()};
  const int64_t least = std::min(spectrum.rows, spectrum.columns),
                most = std::max(spectrum.rows, spectrum.columns);
  if (least < 1 || most > kMostSpectrumRows || hlo::lapack_option(config, "mode") != "78")
    return rule;
  spectrum.batch = a.element_count() / (spectrum.rows * spectrum.columns);
  for (size_t i = 2; i + 1 < call.shape.elements().size(); ++i)
    spectrum.unused.push_back(call.shape.elements()[i].element_count());
  if (a.dtype() == f32)
    return std::make_unique<SpectrumKernel<float>>(std::move(spectrum), std::move(rule));
  if (a.dtype() == f64)
    return std::make_unique<SpectrumKernel<double>>(std::move(spectrum), std::move(rule));
  return rule;
}

}  // namespace heddle::cpu
