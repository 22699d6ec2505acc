#include "heddle/hlo/text/pictures/html.h"

#include <algorithm>
#include <map>

#include "heddle/hlo/text/internal/labels.h"

namespace heddle::hlo {
namespace {

constexpr size_t kMostLetters = 36;     // of a line in a box
constexpr size_t kMostTooltip = 1'000;  // letters
constexpr int kLetter = 7, kLine = 14, kGap = 16, kLayerGap = 34, kMargin = 10;
constexpr int kBoxHeight = 3 * kLine + 8;

constexpr std::string_view kHead = R"(<style>
body { font: 13px sans-serif; margin: 16px; }
summary { font-size: 15px; margin: 8px 0; cursor: pointer; }
.picture { overflow: auto; border: 1px solid #ddd; }
svg text { font: 11px monospace; }
rect { fill: #eef3fb; stroke: #557; }
.parameter rect { fill: #e7f5e7; rx: 12px; }
.constant rect { fill: #f2f2f2; }
.calls rect { fill: #fdeed5; }
.root rect { stroke-width: 3; }
path { fill: none; stroke: #889; }
g:hover rect { fill: #fff6b0; }
a { fill: #0645ad; text-decoration: underline; }
</style>
<script>
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.tagName == "DETAILS") { target.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", unfold);
addEventListener("load", unfold);
</script>
)";

// For text and for attributes in double quotes.
std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < ' ' && c != '\n' ? '?' : c;
    }
  }
  return out;
}

// No letter of more bytes is cut in two.
std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return base::cat(text.substr(0, most), "..");
}

struct Box {
  std::string lines[3];
  int layer = 0, x = 0, width = 0;

  [[nodiscard]] int top() const { return kMargin + layer * (kBoxHeight + kLayerGap); }
  [[nodiscard]] int middle() const { return x + width / 2; }
};

// Where the boxes of a computation stand: below their operands, and as near under them as there is
// room. What has no operands stands above the first that uses it.
class Layout {
 public:
  explicit Layout(const Computation& computation) : computation_(computation) {
    const std::vector<Instruction>& all = computation.instructions;
    boxes_.resize(all.size());
    for (size_t i = 0; i < all.size(); ++i) describe(i);
    for (size_t i = 0; i < all.size(); ++i)
      for (InstructionId operand : all[i].operands)
        boxes_[i].layer = std::max(boxes_[i].layer, boxes_[operand.value].layer + 1);
    std::vector<int> first_use(all.size(), -1);
    for (size_t i = 0; i < all.size(); ++i) {
      for (InstructionId operand : all[i].operands) {
        int& first = first_use[operand.value];
        if (first < 0 || boxes_[i].layer < first) first = boxes_[i].layer;
      }
    }
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].operands.empty() && first_use[i] > 0) boxes_[i].layer = first_use[i] - 1;
    place();
  }

  [[nodiscard]] const Box& at(size_t i) const { return boxes_[i]; }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

 private:
  void describe(size_t i) {
    const Instruction& instruction = computation_.instructions[i];
    const std::string what = what_it_does(instruction, {.max_attribute_length = kMostLetters});
    Box& box = boxes_[i];
    box.lines[0] = shortened(label_of(instruction, i), kMostLetters);
    box.lines[1] = shortened(to_string(instruction.shape), kMostLetters);
    box.lines[2] = shortened(what.substr(0, what.find('\n')), kMostLetters);
    size_t letters = 6;
    for (const std::string& line : box.lines) letters = std::max(letters, line.size());
    size_t links = box.lines[2].size();
    for (size_t slot = 0; slot < instruction.called.size(); ++slot)
      links += 1 + role_of(computation_, instruction, slot).size();
    letters = std::max(letters, links);
    box.width = static_cast<int>(letters) * kLetter + 12;
  }

  void place() {
    std::map<int, std::vector<size_t>> layers;
    for (size_t i = 0; i < boxes_.size(); ++i) layers[boxes_[i].layer].push_back(i);
    for (auto& [layer, members] : layers) {
      std::vector<std::pair<int, size_t>> wanted;
      for (size_t i : members) wanted.emplace_back(wanted_middle(i), i);
      std::ranges::sort(wanted);
      int free = kMargin;
      for (const auto& [middle, i] : wanted) {
        boxes_[i].x = std::max(free, middle - boxes_[i].width / 2);
        free = boxes_[i].x + boxes_[i].width + kGap;
      }
      width_ = std::max(width_, free);
      height_ = std::max(height_, boxes_[members[0]].top() + kBoxHeight + kMargin);
    }
  }

  // Under the middle of its operands, of which some stand in this layer or below it: constants.
  [[nodiscard]] int wanted_middle(size_t i) const {
    int64_t sum = 0, count = 0;
    for (InstructionId operand : computation_.instructions[i].operands) {
      if (boxes_[operand.value].layer >= boxes_[i].layer) continue;
      sum += boxes_[operand.value].middle();
      ++count;
    }
    return count == 0 ? 0 : static_cast<int>(sum / count);
  }

  const Computation& computation_;
  std::vector<Box> boxes_;
  int width_ = 0, height_ = 0;
};

class HtmlWriter {
 public:
  explicit HtmlWriter(const Module& module) : module_(module) {}

  std::string run() && {
    const std::string name = html_escaped(module_.name);
    base::append(out_, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>",
                 name, "</title>\n", kHead, "<h1>", name, "</h1>\n");
    note_callers();
    for (size_t c = module_.computations.size(); c-- > 0;) write_computation(c);
    out_.append("</html>\n");
    return std::move(out_);
  }

 private:
  void note_callers() {
    callers_.resize(module_.computations.size());
    for (const Computation& computation : module_.computations) {
      for (size_t i = 0; i < computation.instructions.size(); ++i) {
        const Instruction& instruction = computation.instructions[i];
        for (size_t slot = 0; slot < instruction.called.size(); ++slot) {
          std::string& callers = callers_[instruction.called[slot].value];
          if (callers.size() > kMostTooltip) continue;
          base::append(callers, callers.empty() ? "" : ", ",
                       role_of(computation, instruction, slot), " of ", label_of(instruction, i));
        }
      }
    }
  }

  void write_computation(size_t c) {
    const Computation& computation = module_.computations[c];
    const size_t count = computation.instructions.size();
    const bool is_entry = module_.entry.value == c;
    base::append(out_, "<details id=\"c", c, "\"", is_entry ? " open" : "", "><summary>",
                 html_escaped(shortened(label_of(computation, c), kMostTooltip)), ": ",
                 is_entry ? "the entry" : html_escaped(shortened(callers_[c], kMostTooltip)), "; ",
                 count, count == 1 ? " instruction" : " instructions", "</summary>\n");
    const Layout layout(computation);
    base::append(out_, "<div class=\"picture\"><svg width=\"", layout.width(), "\" height=\"",
                 layout.height(), "\">\n");
    for (size_t i = 0; i < count; ++i) write_edges(computation, i, layout);
    for (size_t i = 0; i < count; ++i) write_box(computation, i, layout.at(i));
    out_.append("</svg></div></details>\n");
  }

  void write_edges(const Computation& computation, size_t i, const Layout& layout) {
    const Box& to = layout.at(i);
    for (InstructionId operand : computation.instructions[i].operands) {
      const Box& from = layout.at(operand.value);
      const int begin = from.top() + kBoxHeight, bend = kLayerGap / 2;
      base::append(out_, "<path d=\"M", from.middle(), " ", begin, "C", from.middle(), " ",
                   begin + bend, " ", to.middle(), " ", to.top() - bend, " ", to.middle(), " ",
                   to.top(), "\"/>\n");
    }
  }

  void write_box(const Computation& computation, size_t i, const Box& box) {
    const Instruction& instruction = computation.instructions[i];
    std::string kind = !instruction.called.empty()                ? "calls"
                       : instruction.opcode == Opcode::kParameter ? "parameter"
                       : instruction.opcode == Opcode::kConstant  ? "constant"
                                                                  : "";
    if (computation.root.value == i) kind += kind.empty() ? "root" : " root";
    base::append(out_, "<g class=\"", kind, "\"><title>", html_escaped(tooltip(instruction, i)),
                 "</title><rect x=\"", box.x, "\" y=\"", box.top(), "\" width=\"", box.width,
                 "\" height=\"", kBoxHeight, "\"/>");
    for (int line = 0; line < 3; ++line) {
      base::append(out_, "<text x=\"", box.x + 6, "\" y=\"", box.top() + (line + 1) * kLine, "\">",
                   html_escaped(box.lines[line]));
      if (line == 2) write_links(computation, instruction);
      out_.append("</text>");
    }
    out_.append("</g>\n");
  }

  void write_links(const Computation& computation, const Instruction& instruction) {
    for (size_t slot = 0; slot < instruction.called.size(); ++slot) {
      base::append(out_, " <a href=\"#c", instruction.called[slot].value, "\">",
                   role_of(computation, instruction, slot), "</a>");
    }
  }

  static std::string tooltip(const Instruction& instruction, size_t i) {
    std::string text = base::cat(label_of(instruction, i), "\n", to_string(instruction.shape), "\n",
                                 what_it_does(instruction, {}));
    const Metadata& metadata = instruction.extras->metadata;
    if (instruction.at.known()) {
      base::append(text, "\n", instruction.at);
    } else if (!metadata.source_file.empty()) {
      base::append(text, "\n", metadata.source_file, ":", metadata.source_line);
    }
    return shortened(text, kMostTooltip);
  }

  const Module& module_;
  std::vector<std::string> callers_;  // of a computation: "body of while.6"
  std::string out_;
};

}  // namespace

std::string print_html(const Module& module) { return HtmlWriter(module).run(); }

}  // namespace heddle::hlo
