// A key-value store as plugins call it.
#pragma once

#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/key_values/key_value_store.h"

namespace heddle::pjrt {

// Makes a plugin's client use the store, which must outlive it.
void set_key_values(const KeyValueStore& store, abi::ClientCreateArgs& args);

}  // namespace heddle::pjrt
