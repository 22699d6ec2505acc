// Lists in HLO's text.
#pragma once

#include "heddle/base/text_cursor.h"

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

}  // namespace heddle::hlo
