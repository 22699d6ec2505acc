// Names as text can carry them: words, each once. Missing names are made.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/hlo/internal/name_table.h"

namespace heddle::hlo::text {

class Names {
 public:
  // `reserved_words`: XLA's lexer does not take its keywords and element types for names unless a %
  // stands before them.
  explicit Names(bool reserved_words) : reserved_words_(reserved_words) {}

  // First give every wanted name (which must outlive this), then make those that add() refused;
  // name() answers in the order of add().
  void add(std::string_view wanted);
  // True if entry `i` still needs a name.
  [[nodiscard]] bool is_missing(size_t i) const { return names_[i].empty(); }
  // Gives entry `i` a name like `wanted`, with a number behind it if that is taken.
  void make(size_t i, std::string_view wanted);

  // All entries at once, where nobody wants a name: PREFIX0, PREFIX1, ..
  void number(std::string_view prefix, size_t count);

  [[nodiscard]] std::string_view name(size_t i) const { return names_[i]; }
  [[nodiscard]] size_t size() const { return names_.size(); }

 private:
  [[nodiscard]] bool is_printable(std::string_view name) const;

  bool reserved_words_;
  std::vector<std::string_view> names_;
  UniqueNames unique_;
  std::deque<std::string> numbered_;
};

}  // namespace heddle::hlo::text
