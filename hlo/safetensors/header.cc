#include "heddle/hlo/safetensors/internal/header.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "heddle/base/text/strings.h"
#include "heddle/base/text/utf8.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

void append_utf8(std::string& out, uint32_t c) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto rest = [&](int shift) { put(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    rest(6);
  } else {
    put(0xf0 | c >> 18);
    rest(12);
    rest(6);
  }
  rest(0);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  StatusOr<SafetensorsHeader> run() {
    HEDDLE_RETURN_IF_ERROR(
        object([&](const std::string& key) { return key == kMetadata ? metadata() : entry(key); }));
    peek();
    if (at_ < text_.size()) return malformed("goes on after its end");
    return std::move(out_);
  }

 private:
  [[nodiscard]] Status malformed(std::string_view how) const {
    return base::invalid_argument("the header ", how, ", at its byte ", at_);
  }

  char peek() {
    while (at_ < text_.size() && std::string_view(" \n\r\t").find(text_[at_]) != text_.npos) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  // Calls value(key), which reads a value, for each key; once for each.
  template <class Value>
  Status object(const Value& value) {
    if (!accept('{')) return malformed("has something else where { has to be");
    std::set<std::string> seen;
    if (accept('}')) return {};
    do {
      HEDDLE_ASSIGN_OR_RETURN(const std::string key, string());
      if (!seen.insert(key).second)
        return base::invalid_argument("the header has the key '",
                                      base::has_control_characters(key) ? "?" : key.substr(0, 80),
                                      "' twice");
      if (!accept(':')) return malformed("has no : after a key");
      HEDDLE_RETURN_IF_ERROR(value(key));
    } while (accept(','));
    return accept('}') ? Status() : malformed("has no , or } after a value");
  }

  StatusOr<std::vector<uint64_t>> numbers() {
    if (!accept('[')) return malformed("has something else where [ has to be");
    std::vector<uint64_t> out;
    if (accept(']')) return out;
    do {
      HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(), number());
    } while (accept(','));
    if (!accept(']')) return malformed("has a list that is not of whole numbers, or does not end");
    return out;
  }

  StatusOr<uint64_t> number() {
    peek();
    uint64_t out = 0;
    const char* begin = text_.data() + at_;
    const auto [next, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc() || (*begin == '0' && next - begin > 1))
      return malformed("has no whole number where one has to be, or one past 2^64");
    at_ += static_cast<size_t>(next - begin);
    return out;
  }

  StatusOr<std::string> string() {
    if (!accept('"')) return malformed("has something else where text has to be");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < 0x20) return malformed("has a control character in text");
      if (c == '\\') {
        HEDDLE_RETURN_IF_ERROR(escape(out));
      } else {
        out.push_back(c);
      }
    }
    if (!accept('"')) return malformed("ends inside a text");
    return out;
  }

  Status escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char name = at_ < text_.size() ? text_[at_] : '\0';
    if (name == 'u') {
      ++at_;
      return unicode(out);
    }
    const size_t found = kNames.find(name);
    if (found == kNames.npos) return malformed("has \\ before what JSON has none before");
    ++at_;
    out.push_back(kMeanings[found]);
    return {};
  }

  StatusOr<uint32_t> four_digits() {
    uint32_t out = 0;
    const char* begin = text_.data() + at_;
    const size_t left = std::min<size_t>(4, text_.size() - at_);
    const auto [next, error] = std::from_chars(begin, begin + left, out, 16);
    if (error != std::errc() || next - begin != 4)
      return malformed("has \\u without 4 digits behind it");
    at_ += 4;
    return out;
  }

  Status unicode(std::string& out) {
    HEDDLE_ASSIGN_OR_RETURN(uint32_t c, four_digits());
    if (c >= 0xd800 && c < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      HEDDLE_ASSIGN_OR_RETURN(const uint32_t low, four_digits());
      if (low < 0xdc00 || low > 0xdfff) return malformed("has half of a character");
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xd800 && c <= 0xdfff) {
      return malformed("has half of a character");
    }
    append_utf8(out, c);
    return {};
  }

  Status metadata() {
    if (peek() == 'n' && text_.substr(at_).starts_with("null")) {
      at_ += 4;
      return {};
    }
    return object([&](const std::string& key) -> Status {
      HEDDLE_ASSIGN_OR_RETURN(out_.metadata[key], string());
      return {};
    });
  }

  Status entry(const std::string& name) {
    if (base::has_control_characters(name)) return malformed("has a name with control characters");
    HeaderEntry out{.name = name};
    int found = 0;
    HEDDLE_RETURN_IF_ERROR(object([&](const std::string& key) {
      ++found;
      return member(key, out);
    }));
    if (found != 3) return malformed("has an array without dtype, shape or data_offsets");
    out_.entries.push_back(std::move(out));
    return {};
  }

  Status member(const std::string& key, HeaderEntry& out) {
    if (key == "dtype") {
      HEDDLE_ASSIGN_OR_RETURN(out.type, string());
      return {};
    }
    if (key != "shape" && key != "data_offsets")
      return malformed("says more of an array than dtype, shape and data_offsets");
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<uint64_t> list, numbers());
    if (key == "data_offsets") {
      if (list.size() != 2) return malformed("has data_offsets that are not two");
      out.begin = list[0];
      out.end = list[1];
      return {};
    }
    if (std::ranges::any_of(list, [](uint64_t size) { return size > INT64_MAX; }))
      return malformed("has a shape past 2^63");
    out.sizes.assign(list.begin(), list.end());
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  SafetensorsHeader out_;
};

}  // namespace

StatusOr<SafetensorsHeader> parse_safetensors_header(std::string_view json) {
  if (!base::is_valid_utf8(json)) return base::invalid_argument("the header is not UTF-8");
  if (!json.starts_with('{')) return base::invalid_argument("the header does not begin with {");
  return Parser(json).run();
}

}  // namespace heddle::hlo
