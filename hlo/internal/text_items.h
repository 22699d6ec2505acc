// Lists in HLO's text.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/text/text_cursor.h"

namespace heddle::hlo {

// Items separated by commas up to `close`, which is read too; read_item() reads one and returns
// false on an error.
template <class ReadItem>
bool read_items(TextCursor& in, char close, ReadItem read_item) {
  for (bool first = true; !in.accept(close); first = false) {
    if (!first && !in.expect(',')) return false;
    if (!read_item()) return false;
  }
  return true;
}

// Integers up to `close`.
inline bool read_integers(TextCursor& in, char close, std::vector<int64_t>& values) {
  values.clear();
  return read_items(in, close, [&] { return in.read_int(values.emplace_back()); });
}

}  // namespace heddle::hlo
