#include "heddle/pjrt/internal/key_values.h"

#include <cstring>
#include <string_view>

namespace heddle::pjrt {
namespace {

using std::chrono::milliseconds;

const KeyValueStore& store_of(void* user_arg) {
  return *static_cast<const KeyValueStore*>(user_arg);
}

abi::Error* failed(const Status& status, abi::CallbackError make_error) {
  const std::string text = base::message_of(status);
  return make_error(static_cast<int>(status.code()), text.data(), text.size());  // numbered alike
}

// The plugin gives the bytes back by the deleter.
template <class Args>
abi::Error* answer(const StatusOr<std::string>& value, Args& args) {
  if (!value.ok()) return failed(value.status(), *args.callback_error);
  args.value = new char[value->size()];
  std::memcpy(args.value, value->data(), value->size());
  args.value_size = value->size();
  args.value_deleter = [](char* bytes) { delete[] bytes; };
  return nullptr;
}

// No exception may leave for a plugin: those that there are come of too little memory.
template <class Args, class Work>
abi::Error* guarded(const Args& args, const Work& work) {
  try {
    return work();
  } catch (...) {
    constexpr std::string_view kText = "key-value store: the key needs more memory than there is";
    return (*args.callback_error)(static_cast<int>(StatusCode::kResourceExhausted), kText.data(),
                                  kText.size());
  }
}

abi::Error* get(abi::KeyValueGetArgs* args) {
  return guarded(*args, [&] {
    return answer(store_of(args->user_arg)
                      .get({args->key, args->key_size}, milliseconds(args->timeout_in_ms)),
                  *args);
  });
}

abi::Error* try_get(abi::KeyValueTryGetArgs* args) {
  return guarded(*args, [&] {
    return answer(store_of(args->user_arg).try_get({args->key, args->key_size}), *args);
  });
}

abi::Error* put(abi::KeyValuePutArgs* args) {
  return guarded(*args, [&]() -> abi::Error* {
    const Status status =
        store_of(args->user_arg).put({args->key, args->key_size}, {args->value, args->value_size});
    return status.ok() ? nullptr : failed(status, *args->callback_error);
  });
}

}  // namespace

void set_key_values(const KeyValueStore& store, abi::ClientCreateArgs& args) {
  auto* user_arg = const_cast<KeyValueStore*>(&store);  // the interface takes it without const
  args.kv_get_callback = get;
  args.kv_get_user_arg = user_arg;
  args.kv_put_callback = put;
  args.kv_put_user_arg = user_arg;
  args.kv_try_get_callback = try_get;
  args.kv_try_get_user_arg = user_arg;
}

}  // namespace heddle::pjrt
