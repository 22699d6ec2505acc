// TransferGuard: makes a transfer between host and device an error, or a line of a log, while it
// lives.
//
//   TransferGuard guard(TransferGuard::Policy::kForbid);
//   train_step(state, batch);  // on tensors that are on the device: moves nothing, so it passes
//   loss.item<float>();        // FailedPrecondition: direction, type, who asked, the repair
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/base/status.h"
#include "heddle/hlo/shape.h"

namespace heddle::runtime {

// Guards nest: the innermost one decides, per direction. They hold for the thread that made them,
// and end in reverse order. What a device does on threads of its own is no transfer between host
// and device, so the thread that asks is the one that counts.
class TransferGuard {
 public:
  enum class Policy : uint8_t { kAllow, kLog, kForbid };
  enum class Direction : uint8_t { kBoth, kHostToDevice, kDeviceToHost };

  // kLog writes a line per transfer to the standard error stream.
  [[nodiscard]] explicit TransferGuard(Policy policy, Direction direction = Direction::kBoth,
                                       SourceLocation where = SourceLocation::here());

  // Policy kLog into `log`, which must outlive the guard.
  [[nodiscard]] explicit TransferGuard(std::vector<std::string>& log,
                                       Direction direction = Direction::kBoth,
                                       SourceLocation where = SourceLocation::here());
  ~TransferGuard();
  TransferGuard(const TransferGuard&) = delete;
  TransferGuard& operator=(const TransferGuard&) = delete;

  // What the guards in force on this thread say to one transfer, which goes one way. For
  // runtime/transfer.cc.
  //
  // errors   FailedPrecondition that names direction, type, `what` asked, the repair and the
  //          guard's line
  [[nodiscard]] static Status check(Direction direction, const Shape& shape, std::string_view what);

 private:
  [[nodiscard]] static const TransferGuard* in_force(Direction direction);

  Policy policy_;
  Direction direction_;
  SourceLocation where_;
  std::vector<std::string>* log_ = nullptr;
  const TransferGuard* outer_;
};

}  // namespace heddle::runtime

namespace heddle {
using runtime::TransferGuard;
}
