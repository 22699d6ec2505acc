// Tables of names for modules of 10^5 instructions and more: one array, no node and no copy a name.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/text/strings.h"

namespace heddle::hlo {

// A number for each name. Names are views, and must outlive the table.
class NameTable {
 public:
  // Gives `name` the number; false, and nothing changes, where the name has one.
  bool insert(std::string_view name, uint32_t number) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    const uint32_t hash = hash_of(name);
    Entry& entry = entries_[slot_of(hash, name)];
    if (entry.hash != 0) return false;
    entry = {name, number, hash};
    ++size_;
    return true;
  }

  // The name's number, to be read or changed before the next insert(); null where there is none.
  [[nodiscard]] uint32_t* find(std::string_view name) {
    if (size_ == 0) return nullptr;
    Entry& entry = entries_[slot_of(hash_of(name), name)];
    return entry.hash == 0 ? nullptr : &entry.number;
  }
  [[nodiscard]] bool contains(std::string_view name) { return find(name) != nullptr; }

 private:
  struct Entry {
    std::string_view name;
    uint32_t number = 0;
    uint32_t hash = 0;  // 0: empty
  };

  static uint32_t hash_of(std::string_view name) {
    const uint64_t hash = std::hash<std::string_view>()(name);
    return static_cast<uint32_t>(hash ^ (hash >> 32)) | 1;
  }

  // Where the name is, or would go. The table is never full, so the search ends.
  [[nodiscard]] size_t slot_of(uint32_t hash, std::string_view name) const {
    const size_t mask = entries_.size() - 1;
    size_t slot = (hash >> 1) & mask;
    while (entries_[slot].hash != 0 &&
           (entries_[slot].hash != hash || entries_[slot].name != name)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void grow() {
    std::vector<Entry> old =
        std::exchange(entries_, std::vector<Entry>(entries_.empty() ? 16 : 4 * entries_.size()));
    for (const Entry& entry : old) {
      if (entry.hash != 0) entries_[slot_of(entry.hash, entry.name)] = entry;
    }
  }

  std::vector<Entry> entries_;  // a power of two, at most half of them used
  size_t size_ = 0;
};

// Names of which no two are equal.
class UniqueNames {
 public:
  // Takes the name as it is, a view that must outlive this; false where it is taken.
  bool take(std::string_view name) { return taken_.insert(name, 0); }

  // Takes the name, with a number behind it where it is taken: x.1. The view lives as long as this.
  std::string_view make(std::string wanted) {
    std::string& name = made_.emplace_back(std::move(wanted));
    if (uint32_t* number = taken_.find(name)) {
      const size_t length = name.size();
      do {
        name.resize(length);
        base::append(name, ".", ++*number);
      } while (taken_.contains(name));
    }
    taken_.insert(name, 0);
    return name;
  }

 private:
  NameTable taken_;  // the number last put behind the name
  std::deque<std::string> made_;
};

}  // namespace heddle::hlo
