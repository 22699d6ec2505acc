#include "heddle/tests/laws/public_functions.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace heddle::laws {
namespace {

std::string replaced(const std::string& text, const char* pattern, const char* with) {
  return std::regex_replace(text, std::regex(pattern), with);
}

std::string trimmed(const std::string& text) { return replaced(text, "^\\s+|\\s+$", ""); }

// Up to the end of the first sentence, or to the first of a docstring's headings. Dots of ".." end
// none.
std::string first_sentence(const std::string& comment) {
  static const std::regex kHeading("(^|\\s)(source|errors|cost|returns): ");
  static const std::regex kEnd("[^.]\\.\\s");
  std::smatch m;
  std::string text = trimmed(comment);
  if (std::regex_search(text, m, kHeading)) text.resize(static_cast<size_t>(m.position()));
  text = trimmed(text) + " ";
  if (std::regex_search(text, m, kEnd)) text.resize(static_cast<size_t>(m.position()) + 1);
  return replaced(trimmed(text), "[.:;]+$", "");
}

// The text behind "template <..>", if it begins so.
std::string without_template(const std::string& text) {
  if (!text.starts_with("template <")) return text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && --depth == 0) return trimmed(text.substr(i + 1));
  }
  return text;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Walks over the lines of a header.
class Parser {
 public:
  Parser(const std::string& path, const std::string& text) : header_{.path = path} {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  PublicHeader run() && {
    while (at_ < lines_.size()) step();
    return std::move(header_);
  }

 private:
  void step() {
    const std::string& line = lines_[at_];
    std::smatch m;
    if (trimmed(line).empty()) {
      if (!comment_.empty() && header_.summary.empty()) header_.summary = first_sentence(comment_);
      forget_comment();
      ++at_;
    } else if (line.starts_with("//")) {
      add_comment(line);
    } else if (line.starts_with("#")) {
      if (!comment_.empty() && header_.summary.empty()) header_.summary = first_sentence(comment_);
      forget_comment();
      skip_directive();
    } else if (std::regex_match(line, m, std::regex("namespace (\\S+) \\{.*"))) {
      spaces_.push_back(m[1]);
      ++at_;
    } else if (line.starts_with("}  // namespace")) {
      spaces_.pop_back();
      ++at_;
    } else {
      declaration();
    }
  }

  // A block of comments ends with the first line of code.
  void add_comment(const std::string& line) {
    if (!owner_.empty()) forget_comment();
    std::string text = trimmed(line.substr(2));
    if (text.empty())  // a paragraph ends a sentence
      comment_ += comment_.ends_with('.') ? " " : ". ";
    else
      comment_ += (comment_.empty() ? "" : " ") + text;
    ++at_;
  }

  void forget_comment() {
    comment_.clear();
    owner_.clear();
  }

  void skip_directive() {
    while (lines_[at_].ends_with("\\")) ++at_;
    ++at_;
  }

  // Joins the lines up to the ; or { that ends a declaration, and skips the body.
  void declaration() {
    const size_t first = at_;
    std::string text, behind, inside;
    int round = 0, curly = 0;
    bool body = false, done = false;
    while (at_ < lines_.size() && !done) {
      std::string line = lines_[at_++];
      if (size_t slashes = line.find("//"); slashes != std::string::npos) {
        behind = trimmed(line.substr(slashes + 2));
        line.resize(slashes);
      }
      for (char c : line) {
        if (c == '(') ++round;
        if (c == ')') --round;
        if (c == '{' && round == 0 && curly++ == 0) body = true;
        (body ? inside : text) += c;
        if (c == '}' && round == 0 && --curly == 0 && !is_type(text)) done = true;
        if (c == ';' && round == 0 && curly == 0) done = true;
      }
      text += ' ';
    }
    const bool one_line = at_ == first + 1;
    static const std::regex kContinued("^ {8,}//.*");
    for (; at_ < lines_.size() && std::regex_match(lines_[at_], kContinued); ++at_)
      behind += " " + trimmed(lines_[at_].substr(lines_[at_].find("//") + 2));
    const bool says_only = inside.find("static_assert(!sizeof(") != inside.npos;  // what to write
    if (!says_only)
      add_function(trimmed(replaced(text, "\\s+", " ")), body && !one_line ? "" : behind);
    if (owner_.empty()) owner_ = "no function";
  }

  static bool is_type(const std::string& text) {
    return std::regex_search(text,
                             std::regex("^\\s*(template <.*>\\s*)?(struct|class|enum|union)\\b"));
  }

  void add_function(std::string text, const std::string& behind) {
    if (!is_public() || is_type(text)) return;
    if (std::regex_search(text, std::regex("^(using|constexpr|extern|friend|concept)\\b|concept ")))
      return;
    for (std::string_view says_what_to_write : {"SizesApart", "MisplacedShape"})
      if (text.find(says_what_to_write) != std::string::npos) return;
    text = without_template(text);
    if (std::regex_search(text, std::regex("^\\w+\\(.*\\) ?-> ?"))) return;  // a deduction guide
    // Which they are to who calls.
    text = replaced(text, "\\bbase::Int\\b", "int64_t");
    text = replaced(text, "\\bconst base::Ints&", "Ints");
    text = replaced(text, "\\bbase::Flag\\b", "bool");
    text = replaced(text, "\\bKeep keep_dims\\b", "bool keep_dims");
    static const std::string kTerm = R"((\([^()]*\)|[\w:]+<[^<>]*>|\S+))";
    text = replaced(text, ("^requires ?" + kTerm + "( (&&|\\|\\|) " + kTerm + ")* ").c_str(), "");
    text = replaced(text, "^(\\[\\[nodiscard\\]\\] |inline |constexpr )+", "");
    text = replaced(text, ";$", "");
    text = replaced(text, ",? ?SourceLocation (at|location)( = SourceLocation::here\\(\\))?(?=\\))",
                    "");
    std::smatch m;
    if (!std::regex_search(text, m, std::regex("([\\w:]+)\\("))) return;
    std::string name = m[1];
    if (name.find("::") != std::string::npos || name == "operator") return;  // of a class
    if (owner_.empty()) owner_ = name;
    // A definition after its declaration.
    std::string bare = replaced(text, " = [^,()]+(\\(\\))?(?=[,)])", "");
    if (!seen_.insert(bare).second) return;
    std::string summary = first_sentence(!behind.empty() ? behind : owner_ == name ? comment_ : "");
    header_.functions.push_back({space() + name, trimmed(text), summary});
  }

  // "special::" in heddle::special.
  [[nodiscard]] std::string space() const {
    return spaces_.front() == "heddle" ? "" : spaces_.front().substr(8) + "::";
  }
  [[nodiscard]] bool is_public() const {
    return spaces_.size() == 1 && spaces_[0].find("internal") == std::string::npos;
  }

  PublicHeader header_;
  std::vector<std::string> lines_;
  size_t at_ = 0;
  std::vector<std::string> spaces_;
  std::string comment_;
  std::string owner_;  // the name of the declaration that followed comment_; empty before it
  std::set<std::string> seen_;
};

}  // namespace

PublicHeader parse_header(const std::string& path, const std::string& text) {
  return Parser(path, text).run();
}

std::vector<PublicHeader> public_headers(const std::vector<std::string>& folders) {
  std::vector<PublicHeader> headers;
  std::istringstream in(read_file("heddle.h"));
  std::smatch m;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, m, std::regex("#include \"heddle/((\\w+)/.*)\""))) continue;
    if (std::ranges::find(folders, m[2].str()) == folders.end()) continue;
    headers.push_back(parse_header(m[1], read_file(m[1])));
  }
  return headers;
}

}  // namespace heddle::laws
