// What the calls of the mock share: its state, its faults, and how a call begins.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/pjrt/mock/mock.h"
#include "heddle/pjrt/mock/objects.h"

namespace heddle::pjrt::abi {
struct LoadedExecutableExecuteArgs;
}

namespace heddle::pjrt::mock {

Seen& seen();
const Settings& settings();

abi::Error* fail(Fault fault);
abi::Error* fail_if(const std::optional<Fault>& fault);
abi::Event* event_of(std::shared_ptr<Moment> moment);
size_t width_of(abi::BufferType type);  // bytes of an element
bool is_packed(abi::BufferType type);

// The bytes of a field that holds bytes, of a message in the wire format of protocol buffers; empty
// where there is none. Nothing: it is no message.
std::optional<std::string_view> field_of(std::string_view message, uint64_t number);

// The calls of complete.cc and of complete_buffers.cc, where Settings::complete asks for them.
void add_complete_rows(abi::Table& table);
void add_complete_buffer_rows(abi::Table& table);
abi::Extension* add_complete_extensions(abi::Extension* next);
abi::Extension* add_layouts(abi::Extension* next);

abi::Error* execute(abi::LoadedExecutableExecuteArgs& args);
abi::Error* deleted_error();
std::optional<Fault> fault_of(const std::string& message);
abi::Buffer* buffer_of(std::shared_ptr<Memory> memory);
Array array_of(abi::BufferType type, const int64_t* dims, size_t dims_count);
size_t size_of(const Array& array);  // of its bytes, by type and dimensions

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
class Crossing {
 public:
  Crossing() : seen_(mock::seen()) {
    ++seen_.inside;
    if (settings().crossing) settings().crossing(true);
  }
  ~Crossing() {
    if (settings().crossing) settings().crossing(false);
    --seen_.inside;  // from here on the test may reset the mock
  }
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;

 private:
  Seen& seen_;
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

// The error that the test wants of this call; null where it wants none.
inline const Fault* fault_of_call(abi::Slot slot) {
  Seen& seen = mock::seen();
  if (++seen.all_calls == seen.fail_at) {
    seen.failed_slot = static_cast<int>(slot);
    return &settings().fault_there;
  }
  const auto found = settings().failing.find(slot);
  return found == settings().failing.end() ? nullptr : &found->second;
}

// A call: counted, and with the faults that the test asked for.
template <class Args>
abi::Error* enter(Args* args, abi::Error* (*answer)(Args&),
                  void (*undo)(Args&) = &take_back<Args>) {
  const Crossing crossing;
  ++seen().calls[static_cast<size_t>(Args::kSlot)];
  if (abi::Error* error = check_size(args->head, sizeof(Args), settings().longer_by)) return error;
  if (const Fault* fault = fault_of_call(Args::kSlot)) {
    if (is_destroyer(Args::kSlot)) (void)answer(*args);  // goes and complains
    return fail(*fault);
  }
  if (settings().idle.contains(Args::kSlot)) return nullptr;
  abi::Error* error = answer(*args);
  if (error == nullptr && settings().empty_handed.contains(Args::kSlot)) undo(*args);
  return error;
}

template <class Answer, class Args>
abi::Error* answer_of(Args& args) {
  if constexpr (std::is_void_v<decltype(Answer()(args))>) {
    Answer()(args);
    return nullptr;
  } else {
    return Answer()(args);
  }
}

// The slots of a table for these arguments: answer(args), which may be void, and undo(args) of what
// it gave.
template <class... Args, class Answer, class Undo>
void add_rows(abi::Table& table, Answer, Undo) {
  const auto add = [&]<class A>(std::type_identity<A>) {
    const auto row = +[](A* args) {
      return enter<A>(
          args, [](A& args) { return answer_of<Answer>(args); }, [](A& args) { Undo()(args); });
    };
    table.rows[static_cast<size_t>(A::kSlot)] = reinterpret_cast<void*>(row);
  };
  (add(std::type_identity<Args>()), ...);
}

}  // namespace heddle::pjrt::mock
