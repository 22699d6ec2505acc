#include "heddle/base/text/text_cursor.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace heddle {
namespace {

// kPlain: stands in quotes as it is.
enum CharClass : uint8_t {
  kBlank = 1,
  kWordStart = 2,
  kWordPart = 4,
  kNumberPart = 8,
  kPlain = 16
};

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (unsigned char c : {' ', '\t', '\n', '\r', '\v', '\f'}) classes[c] = kBlank;
  for (unsigned c = 'a'; c <= 'z'; ++c) classes[c] = kWordStart | kWordPart | kNumberPart;
  for (unsigned c = 'A'; c <= 'Z'; ++c) classes[c] = kWordStart | kWordPart | kNumberPart;
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = kWordPart | kNumberPart;
  classes['_'] = kWordStart | kWordPart;
  classes['.'] = classes['-'] = kWordPart | kNumberPart;
  classes['+'] = kNumberPart;
  for (unsigned c = ' '; c <= '~'; ++c) {
    if (c != '"' && c != '\'' && c != '\\') classes[c] |= kPlain;
  }
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, CharClass of) { return (kClasses[static_cast<unsigned char>(c)] & of) != 0; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

size_t word_end(std::string_view text, size_t at) {
  if (at >= text.size() || !is(text[at], kWordStart)) return at;
  while (at < text.size() && is(text[at], kWordPart)) {
    if (text[at] == '-' && at + 1 < text.size() && text[at + 1] == '>') break;
    ++at;
  }
  return at;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The index after the group's last brace, or npos if it is not closed.
size_t braces_end(std::string_view text, size_t at) {
  bool quoted = false;
  for (size_t depth = 0; at < text.size(); ++at) {
    char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

void TextCursor::skip_blanks() {
  while (at_ < text_.size()) {
    if (is(text_[at_], kBlank)) {
      ++at_;
    } else if (text_[at_] != '/' || !skip_comment()) {
      return;
    }
  }
}

bool TextCursor::skip_comment() {
  if (raw(1) == '/') {
    at_ = std::min(text_.find('\n', at_), text_.size());
    return true;
  }
  if (raw(1) != '*') return false;
  size_t end = text_.find("*/", at_ + 2);
  if (end == std::string_view::npos) {
    fail_at(at_, base::invalid_argument("the comment that starts here is not closed"));
    return true;
  }
  at_ = end + 2;
  return true;
}

bool TextCursor::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

bool TextCursor::accept_word(std::string_view word) {
  if (peek() != word[0] || peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string_view TextCursor::peek_word() {
  skip_blanks();
  return text_.substr(at_, word_end(text_, at_) - at_);
}

std::string_view TextCursor::word() {
  std::string_view found = peek_word();
  at_ += found.size();
  return found;
}

std::string_view TextCursor::number() {
  skip_blanks();
  size_t end = at_;
  if (end < text_.size() && is(text_[end], kWordStart)) return {};
  while (end < text_.size() && is(text_[end], kNumberPart)) ++end;
  std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

bool TextCursor::read_int(int64_t& value) {
  skip_blanks();
  const char* begin = text_.data() + at_;
  auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) return fail("the number does not fit 64 bits");
  if (error != std::errc()) return fail_expected("a whole number");
  at_ += static_cast<size_t>(end - begin);
  return true;
}

bool TextCursor::read_bool(bool& value) {
  if (accept_word("true")) {
    value = true;
  } else if (accept_word("false")) {
    value = false;
  } else {
    return fail_expected("true or false");
  }
  return true;
}

bool TextCursor::read_string(std::string& value) {
  value.clear();
  char quote = peek();
  size_t start = at_;
  if (quote != '"' && quote != '\'') return fail_expected("a string in quotes");
  for (++at_; at_ < text_.size(); ++at_) {
    size_t plain = at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\') ++at_;
    value.append(text_, plain, at_ - plain);
    if (at_ == text_.size()) break;
    if (text_[at_] == quote) {
      ++at_;
      return true;
    }
    if (!read_escape(value)) return false;
  }
  return fail_at(start, base::invalid_argument("the string that starts here is not closed"));
}

// Begins at the backslash, and leaves the cursor on the escape's last character.
bool TextCursor::read_escape(std::string& value) {
  static constexpr std::string_view kLetters = "abfnrtv\\'\"?`",
                                    kMeanings = "\a\b\f\n\r\t\v\\'\"?`";
  size_t start = at_++;
  char c = raw();
  if (size_t which = kLetters.find(c); c != '\0' && which != std::string_view::npos) {
    value.push_back(kMeanings[which]);
    return true;
  }
  int code = 0;
  int digits = 0;
  if (c == 'x' || c == 'X') {
    for (; digits < 2 && hex_digit(raw(1)) >= 0; ++digits, ++at_)
      code = code * 16 + hex_digit(raw(1));
  } else {
    for (--at_; digits < 3 && raw(1) >= '0' && raw(1) <= '7'; ++digits, ++at_)
      code = code * 8 + raw(1) - '0';
  }
  if (digits == 0 || code > 255)
    return fail_at(start, base::invalid_argument("the escape is none of C's"));
  value.push_back(static_cast<char>(code));
  return true;
}

bool TextCursor::read_braces(std::string_view& value) {
  if (peek() != '{') return fail_expected("'{'");
  size_t end = braces_end(text_, at_);
  if (end == std::string_view::npos) return fail("the brace that opens here is not closed");
  value = text_.substr(at_, end - at_);
  at_ = end;
  return true;
}

bool TextCursor::fail_at(size_t position, const Status& status) {
  if (status_.ok()) {
    status_ = base::make_error(status.code(), point_at(text_, position, base::message_of(status)));
    at_ = text_.size();
  }
  return false;
}

bool TextCursor::fail_expected(std::string_view what) {
  if (failed()) return false;
  std::string quoted = what.size() <= 2 ? base::cat("'", what, "'") : std::string(what);
  if (at_end()) return fail("expected ", quoted, " but the text ends");
  std::string_view found = peek_word();
  if (found.empty()) found = text_.substr(at_, 1);
  return fail("expected ", quoted, " but found '", found.substr(0, 40), "'");
}

std::string point_at(std::string_view text, size_t position, std::string_view message) {
  constexpr size_t kBefore = 60, kAfter = 40;
  position = std::min(position, text.size());
  size_t line = 1 + static_cast<size_t>(std::count(
                        text.begin(), text.begin() + static_cast<ptrdiff_t>(position), '\n'));
  size_t begin = position == 0 ? 0 : text.rfind('\n', position - 1) + 1;  // npos + 1 is 0
  size_t end = std::min(text.find('\n', position), text.size());
  size_t from = position - begin > kBefore ? position - kBefore : begin;
  size_t to = end - position > kAfter ? position + kAfter : end;
  std::string out =
      base::cat(line, ":", position - begin + 1, ": ", message, "\n", from > begin ? "..." : "");
  for (char c : text.substr(from, to - from))
    out.push_back(is_printable(c) ? c : (c == '\t' ? ' ' : '?'));
  base::append(out, to < end ? "...\n" : "\n",
               std::string(position - from + (from > begin ? 3 : 0), ' '), "^");
  return out;
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view kSpecial = "\n\r\t\"'\\", kLetters = "nrt\"'\\";
  out.push_back('"');
  size_t plain = 0;  // where characters start that need no escape
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is(c, kPlain)) continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    if (size_t which = kSpecial.find(c); which != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(kLetters[which]);
    } else {
      unsigned code = static_cast<unsigned char>(c);
      for (char digit :
           {'\\', static_cast<char>('0' + (code >> 6)), static_cast<char>('0' + ((code >> 3) & 7)),
            static_cast<char>('0' + (code & 7))}) {
        out.push_back(digit);
      }
    }
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

bool is_word(std::string_view text) { return !text.empty() && word_end(text, 0) == text.size(); }

bool is_brace_group(std::string_view text) {
  return !text.empty() && text[0] == '{' && braces_end(text, 0) == text.size();
}

}  // namespace heddle
