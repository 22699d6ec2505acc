// What the calls of the mock share: its state, its faults, and how a call begins.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "heddle/pjrt/mock/mock.h"
#include "heddle/pjrt/mock/objects.h"

namespace heddle::pjrt::mock {

Seen& seen();
const Settings& settings();

abi::Error* fail(Fault fault);
abi::Error* fail_if(const std::optional<Fault>& fault);
abi::Event* event_of(std::shared_ptr<Moment> moment);
size_t width_of(abi::BufferType type);  // bytes of an element

// The calls of extras.cc, in the table; and its extensions, in front of `next`.
void add_extra_rows(abi::Table& table);
abi::Extension* add_extra_extensions(abi::Extension* next);

// Frees a handle.
bool is_destroyer(abi::Slot slot);

// Undoes what a call gave, for one that is to give nothing.
template <class Args>
void take_back(Args& /*args*/) {}

// Tells the test that a call is in the mock.
struct Crossing {
  Crossing() {
    if (settings().crossing) settings().crossing(true);
  }
  ~Crossing() {
    if (settings().crossing) settings().crossing(false);
  }
};

// A call: counted, and with the faults that the test asked for.
template <class Args>
abi::Error* enter(Args* args, abi::Error* (*answer)(Args&),
                  void (*undo)(Args&) = &take_back<Args>) {
  const Crossing crossing;
  ++seen().calls[static_cast<size_t>(Args::kSlot)];
  const size_t wanted = sizeof(Args) + settings().longer_by;
  if (args->head.struct_size < wanted) {
    return fail({.code = 3,
                 .message = "Unexpected size: expected " + std::to_string(wanted) + ", got " +
                            std::to_string(args->head.struct_size)});
  }
  const auto fault = settings().failing.find(Args::kSlot);
  if (fault != settings().failing.end()) {
    const bool destroys = is_destroyer(Args::kSlot);
    if (destroys) (void)answer(*args);  // goes and complains
    return fail(fault->second);
  }
  abi::Error* error = answer(*args);
  if (error == nullptr && settings().empty_handed.contains(Args::kSlot)) undo(*args);
  return error;
}

}  // namespace heddle::pjrt::mock
