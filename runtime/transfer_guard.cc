#include "heddle/runtime/transfer_guard.h"

#include <cstdio>

#include "heddle/base/text/strings.h"

namespace heddle::runtime {
namespace {

using Direction = TransferGuard::Direction;

thread_local const TransferGuard* innermost = nullptr;

// "upload of f32[2,3] from host to device, asked for by array"
std::string describe(Direction direction, const Shape& shape, std::string_view what) {
  const bool up = direction == Direction::kHostToDevice;
  return base::cat(up ? "upload" : "download", ": ", shape, " goes from ",
                   up ? "host to device" : "device to host", what.empty() ? "" : ", asked for by ",
                   what);
}

std::string line_of(const SourceLocation& where) {
  return where.known() ? base::cat(" [", where, "]") : std::string();
}

}  // namespace

TransferGuard::TransferGuard(Policy policy, Direction direction, SourceLocation where)
    : policy_(policy), direction_(direction), where_(where), outer_(innermost) {
  innermost = this;
}

TransferGuard::TransferGuard(std::vector<std::string>& log, Direction direction,
                             SourceLocation where)
    : TransferGuard(Policy::kLog, direction, where) {
  log_ = &log;
}

TransferGuard::~TransferGuard() { innermost = outer_; }

const TransferGuard* TransferGuard::in_force(Direction direction) {
  const TransferGuard* guard = innermost;
  while (guard != nullptr && guard->direction_ != Direction::kBoth &&
         guard->direction_ != direction) {
    guard = guard->outer_;
  }
  return guard;
}

Status TransferGuard::check(Direction direction, const Shape& shape, std::string_view what) {
  const TransferGuard* guard = in_force(direction);
  if (guard == nullptr || guard->policy_ == Policy::kAllow) return {};
  std::string transfer = describe(direction, shape, what);
  if (guard->policy_ == Policy::kForbid) {
    return base::failed_precondition(
        transfer, ", and a TransferGuard",
        guard->where_.known() ? base::cat(" at ", guard->where_) : std::string(),
        " forbids it; move it out of the guarded block, or allow it with an inner "
        "TransferGuard(Policy::kAllow)");
  }
  if (guard->log_ != nullptr) {
    guard->log_->push_back(std::move(transfer));
  } else {
    std::fprintf(stderr, "heddle: %s%s\n", transfer.c_str(), line_of(guard->where_).c_str());
  }
  return {};
}

}  // namespace heddle::runtime
