// What was made of modules that were asked for. Keys have a module by its identity: equal traces
// are one fragment (the combine cache), so that what comes again is found and not made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "heddle/base/containers/lru.h"

namespace heddle::grad_internal {

template <class Key, class Made>
class MadeOf {
 public:
  using Ptr = std::shared_ptr<const Made>;

  // The one of these types; never destroyed: threads may outlive main.
  static MadeOf& all() {
    static MadeOf* const kAll = new MadeOf;
    return *kAll;
  }

  // make(key) runs without the lock; what it throws is kept nowhere.
  template <class Make>
  Ptr find_or_make(uint64_t hash, Key key, const Make& make) {
    {
      std::lock_guard lock(mutex_);
      if (Ptr* found = made_.find(hash, [&](const Key& other) { return other == key; }))
        return *found;
    }
    auto out = std::make_shared<const Made>(make(key));
    typename LruMap<Key, Ptr>::Dropped dropped;
    std::lock_guard lock(mutex_);
    made_.insert(hash, std::move(key), out, dropped);
    return out;
  }

 private:
  static constexpr size_t kCapacity = 1024;
  std::mutex mutex_;
  LruMap<Key, Ptr> made_{kCapacity};
};

}  // namespace heddle::grad_internal
