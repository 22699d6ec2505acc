// LruMap: a bounded map by hash and full equality; the least recently used entry goes first. Not
// thread-safe: guard it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

namespace heddle {

// find() compares keys by a predicate, so that a lookup need not build a Key. Hash64 values may
// collide.
template <class Key, class Value>
class LruMap {
  struct Entry {
    uint64_t hash;
    Key key;
    Value value;
  };

 public:
  explicit LruMap(size_t capacity) : capacity_(capacity) {}

  // The value of an entry with this hash for which equals(key) holds, made the most recent; or
  // null.
  template <class Equals>
  Value* find(uint64_t hash, Equals&& equals) {
    auto [from, to] = by_hash_.equal_range(hash);
    for (; from != to; ++from) {
      if (!equals(from->second->key)) continue;
      entries_.splice(entries_.begin(), entries_, from->second);
      return &from->second->value;
    }
    return nullptr;
  }

  // Makes the entry whose value this is the most recent, where it is still there.
  template <class Is>
  void refresh(uint64_t hash, Is&& is) {
    auto [from, to] = by_hash_.equal_range(hash);
    for (; from != to; ++from) {
      if (is(from->second->value)) entries_.splice(entries_.begin(), entries_, from->second);
    }
  }

  // Entries that the caller destroys after it opens its lock: values may run a user's code at their
  // end.
  class Dropped {
    friend LruMap;
    std::list<Entry> entries_;
  };

  // Adds an entry and drops those over capacity. The caller made sure that there is no such entry.
  Value& insert(uint64_t hash, Key key, Value value, Dropped& dropped) {
    entries_.push_front({hash, std::move(key), std::move(value)});
    by_hash_.emplace(hash, entries_.begin());
    shrink(dropped);
    return entries_.front().value;
  }

  // Drops the entry whose value this is, where it is still there.
  template <class Is>
  void erase(uint64_t hash, Is&& is, Dropped& dropped) {
    auto [from, to] = by_hash_.equal_range(hash);
    for (; from != to; ++from) {
      if (is(from->second->value)) return drop(from, dropped);
    }
  }

  void set_capacity(size_t capacity, Dropped& dropped) {
    capacity_ = capacity;
    shrink(dropped);
  }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  [[nodiscard]] size_t size() const { return entries_.size(); }
  void clear(Dropped& dropped) {
    by_hash_.clear();
    dropped.entries_.splice(dropped.entries_.end(), entries_);
  }

 private:
  using Entries = std::list<Entry>;
  using Index = std::unordered_multimap<uint64_t, typename Entries::iterator>;

  void shrink(Dropped& dropped) {
    while (entries_.size() > capacity_ && entries_.size() > 1) {
      auto last = std::prev(entries_.end());
      auto [from, to] = by_hash_.equal_range(last->hash);
      drop(std::find_if(from, to, [&](const auto& item) { return item.second == last; }), dropped);
    }
  }

  void drop(typename Index::iterator item, Dropped& dropped) {
    dropped.entries_.splice(dropped.entries_.end(), entries_, item->second);
    by_hash_.erase(item);
  }

  size_t capacity_;
  Entries entries_;
  Index by_hash_;
};

}  // namespace heddle
