// What the calls of the mock share: its state, its faults, and how a call begins.
#pragma once

#include <map>
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
bool is_packed(abi::BufferType type);

// The calls of extras.cc, in the table; and its extensions, in front of `next`.
void add_extra_rows(abi::Table& table);
abi::Extension* add_extra_extensions(abi::Extension* next);
std::map<std::string, abi::FfiHandler>& registered_handlers();

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

// A structure is taken where it has what the plugin wants, and zeros in what Heddle cannot know.
inline abi::Error* check_size(const abi::Head& head, size_t known, size_t longer_by) {
  const auto* bytes = reinterpret_cast<const char*>(&head);
  if (head.struct_size < known + longer_by) {
    return fail({.code = 3,
                 .message = "Unexpected size: expected " + std::to_string(known + longer_by) +
                            ", got " + std::to_string(head.struct_size)});
  }
  for (size_t i = known; i < known + longer_by; ++i) {
    if (bytes[i] != 0) return fail({.code = 3, .message = "a new field is not zero"});
  }
  return nullptr;
}

// A call: counted, and with the faults that the test asked for.
template <class Args>
abi::Error* enter(Args* args, abi::Error* (*answer)(Args&),
                  void (*undo)(Args&) = &take_back<Args>) {
  const Crossing crossing;
  ++seen().calls[static_cast<size_t>(Args::kSlot)];
  if (abi::Error* error = check_size(args->head, sizeof(Args), settings().longer_by)) return error;
  const auto fault = settings().failing.find(Args::kSlot);
  if (fault != settings().failing.end()) {
    const bool destroys = is_destroyer(Args::kSlot);
    if (destroys) (void)answer(*args);  // goes and complains
    return fail(fault->second);
  }
  if (settings().idle.contains(Args::kSlot)) return nullptr;
  abi::Error* error = answer(*args);
  if (error == nullptr && settings().empty_handed.contains(Args::kSlot)) undo(*args);
  return error;
}

}  // namespace heddle::pjrt::mock
