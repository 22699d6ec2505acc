#include "heddle/tests/plugins/differential.h"

#include <algorithm>

#include "heddle/base/system/subnormals.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tools/conformance/against.h"
#include "heddle/tools/conformance/compare.h"

namespace heddle::differential {
namespace {

using runtime::BufferPtr;
using runtime::Device;

class Pair final : public runtime::Buffer {
 public:
  Pair(Device& device, BufferPtr first, BufferPtr second)
      : Buffer(device, first->shape(), 0), first_(std::move(first)), second_(std::move(second)) {}
  ValueState state() const override { return first_->state(); }
  Status await() override {
    HEDDLE_RETURN_IF_ERROR(first_->await());
    return second_->await();
  }
  void release() override {
    first_->release();
    second_->release();
  }
  [[nodiscard]] const BufferPtr& first() const { return first_; }
  [[nodiscard]] const BufferPtr& second() const { return second_; }

 private:
  BufferPtr first_;
  BufferPtr second_;
};

class Both final : public runtime::Executable {
 public:
  Both(const hlo::Module& module, Device& device, std::shared_ptr<Executable> first,
       std::shared_ptr<Executable> second, Findings& findings)
      : Executable(module, device),
        module_(module),
        first_(std::move(first)),
        second_(std::move(second)),
        findings_(findings) {}

 protected:
  StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr> arguments,
                                       const runtime::ExecuteOptions& options) override {
    const FlushSubnormals as_xla_does;
    std::vector<BufferPtr> firsts, seconds;
    for (const BufferPtr& argument : arguments) {
      firsts.push_back(static_cast<const Pair&>(*argument).first());
      seconds.push_back(static_cast<const Pair&>(*argument).second());
    }
    HEDDLE_ASSIGN_OR_RETURN(firsts, first_->execute(firsts, options));
    HEDDLE_ASSIGN_OR_RETURN(seconds, second_->execute(seconds, options));
    std::vector<BufferPtr> results;
    for (size_t i = 0; i < firsts.size(); ++i) {
      HEDDLE_RETURN_IF_ERROR(compare(*firsts[i], *seconds[i]));
      results.push_back(std::make_shared<Pair>(device(), firsts[i], seconds[i]));
    }
    return results;
  }

 private:
  Status compare(runtime::Buffer& first, runtime::Buffer& second) {
    HEDDLE_ASSIGN_OR_RETURN(const Literal want, runtime::to_host(first));
    HEDDLE_ASSIGN_OR_RETURN(const Literal got, runtime::to_host(second));
    ++findings_.results;
    conformance::Tolerance allowed = conformance::tolerance_of(module_, want);
    if (is_floating(real_part(want.shape().dtype())))
      allowed.rtol = std::max(allowed.rtol, findings_.relative);
    if (findings_.cancelling.contains(name()) && want.shape().dtype() == f64)
      allowed.atol = std::max(allowed.atol, findings_.left);
    const std::string found = conformance::difference(got, want, {&allowed, 1});
    if (!found.empty())
      findings_.differences.push_back(base::cat(name(), ": ", found, "\n", hlo::print(module_)));
    return {};
  }

  hlo::Module module_;
  std::shared_ptr<Executable> first_;
  std::shared_ptr<Executable> second_;
  Findings& findings_;
};

class Differential final : public runtime::Backend {
 public:
  Differential(Device& first, Device& second, Findings& findings)
      : Backend("differential"), first_(first), second_(second), findings_(findings) {
    add_device("two devices");
  }
  std::string version() const override { return base::cat(first_.name(), " and ", second_.name()); }

 private:
  StatusOr<std::shared_ptr<runtime::Executable>> compile_module(
      const runtime::ModulePtr& module, const runtime::CompileOptions& options,
      Device& device) override {
    HEDDLE_ASSIGN_OR_RETURN(auto first, first_.backend().compile(module, options, first_));
    HEDDLE_ASSIGN_OR_RETURN(auto second, second_.backend().compile(module, options, second_));
    ++findings_.programs;
    return std::make_shared<Both>(*module, device, std::move(first), std::move(second), findings_);
  }
  StatusOr<BufferPtr> copy_to_device(Device& device, const void* data,
                                     const Shape& shape) override {
    const Literal literal = Literal::borrowed(shape, data, nullptr);
    HEDDLE_ASSIGN_OR_RETURN(BufferPtr first, runtime::to_device(first_, literal));
    HEDDLE_ASSIGN_OR_RETURN(BufferPtr second, runtime::to_device(second_, literal));
    return std::make_shared<Pair>(device, std::move(first), std::move(second));
  }
  StatusOr<BufferPtr> borrow(Device&, const void*, const Shape&,
                             std::shared_ptr<const void>) override {
    return nullptr;
  }
  Status copy_to_host(runtime::Buffer& buffer, void* data) override {
    HEDDLE_ASSIGN_OR_RETURN(const Literal value,
                            runtime::to_host(*static_cast<Pair&>(buffer).first()));
    std::copy_n(value.bytes(), value.byte_size(), static_cast<std::byte*>(data));
    return {};
  }

  Device& first_;
  Device& second_;
  Findings& findings_;
};

}  // namespace

std::unique_ptr<runtime::Backend> make_backend(Device& first, Device& second, Findings& findings) {
  return std::make_unique<Differential>(first, second, findings);
}

}  // namespace heddle::differential
