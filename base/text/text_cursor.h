// TextCursor: reads text token by token, without copies.
//
// It skips blanks and comments (`/* .. */`, and `//` to the end of the line) before every token. It
// keeps the first error with its place. From then on every reading function returns false or moves
// nothing, so that callers chain them:
//
//   bool read_pair(TextCursor& in, Pair& pair) {
//     return in.expect('(') && in.read_int(pair.first) && in.expect(',') &&
//     in.read_int(pair.second) && in.expect(')');
//   }
//
// It counts lines and columns only for an error's message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle {

class TextCursor {
 public:
  // `text` must outlive the cursor and the views it returns.
  explicit TextCursor(std::string_view text) : text_(text) {}

  // The next character outside of blanks and comments; '\0' at the end and after an error.
  char peek() {
    if (at_ < text_.size() && text_[at_] > '/') return text_[at_];
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  [[nodiscard]] bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  // The character right at the cursor, blanks included; and the one `ahead` of it. '\0' past the
  // end.
  [[nodiscard]] char raw(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // Reads over the token if it comes next.
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view token);      // punctuation: "->", "<="
  bool accept_word(std::string_view word);  // a whole word
  // The same, or an error that says what is here instead.
  bool expect(char c) { return accept(c) || fail_expected(std::string_view(&c, 1)); }
  bool expect(std::string_view token) { return accept(token) || fail_expected(token); }

  // A letter or `_`, then letters, digits and `_ . -`, up to a "->". Empty, without an error, if
  // there is none.
  std::string_view word();
  [[nodiscard]] std::string_view peek_word();
  // The characters of a number: letters, digits and `_ . + -`, not beginning with a letter. Empty
  // if there is none.
  std::string_view number();

  bool read_int(int64_t& value);
  bool read_bool(bool& value);
  // Reads text in single or double quotes and undoes C escapes.
  bool read_string(std::string& value);
  // Reads a group in braces with everything in it, unchanged. Braces inside double quotes do not
  // count.
  bool read_braces(std::string_view& value);

  // The place of the next token, for rewind() or for an error.
  [[nodiscard]] size_t position() {
    skip_blanks();
    return at_;
  }
  [[nodiscard]] size_t raw_position() const { return at_; }  // blanks are not skipped
  void rewind(size_t position) {
    if (!failed()) at_ = position;
  }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view between(size_t from, size_t to) const {
    return text_.substr(from, to - from);
  }
  [[nodiscard]] size_t remaining() const { return text_.size() - at_; }

  // Keeps the first error, which points at the next token or at `position`, and ends reading.
  // Returns false.
  template <class... Parts>
  bool fail(const Parts&... parts) {
    return fail_at(position(), base::invalid_argument(parts...));
  }
  bool fail_at(size_t position, const Status& status);
  // "expected ',' but found 'x'".
  bool fail_expected(std::string_view what);

  [[nodiscard]] bool failed() const { return !status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  void skip_blanks();
  bool skip_comment();
  bool read_escape(std::string& value);

  std::string_view text_;
  size_t at_ = 0;
  Status status_;
};

// "12:7: message", the line, and a caret under column 7. Of a long line it shows the part around
// the place.
std::string point_at(std::string_view text, size_t position, std::string_view message);

// `text` in double quotes, escaped so that read_string() undoes it: \n \r \t \" \' \\, other
// unprintable bytes in octal.
void append_quoted(std::string& out, std::string_view text);

// True if word() would read all of `text`.
bool is_word(std::string_view text);

// True if read_braces() at its start would read all of `text`.
bool is_brace_group(std::string_view text);

}  // namespace heddle
