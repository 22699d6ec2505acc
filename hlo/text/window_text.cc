// Windows, {size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=2x2 rhs_dilate=1x2 rhs_reversal=1x1}, and
// the labels of a convolution's dimensions, b01f_01io->b01f.
#include <algorithm>

#include "heddle/hlo/text/internal/values.h"

namespace heddle::hlo::text {
namespace {

// A part of a window that is a list of numbers, one a dimension, joined by x.
struct Part {
  std::string_view name;
  int64_t WindowDimension::*member;
  int64_t usual;  // left out where all are so
};

// In printed order; pad stands after stride, rhs_reversal last.
constexpr Part kParts[] = {
    {"size", &WindowDimension::size, 0},  // always written: no size is 0
    {"stride", &WindowDimension::stride, 1},
    {"lhs_dilate", &WindowDimension::base_dilation, 1},
    {"rhs_dilate", &WindowDimension::window_dilation, 1},
};

void write_part(std::string& out, const Window& window, const Part& part) {
  if (std::ranges::all_of(window.dimensions,
                          [&](const WindowDimension& d) { return d.*(part.member) == part.usual; }))
    return;
  base::append(out, out.ends_with('{') ? "" : " ", part.name, "=");
  for (size_t i = 0; i < window.dimensions.size(); ++i)
    base::append(out, i > 0 ? "x" : "", window.dimensions[i].*(part.member));
}

void write_padding(std::string& out, const Window& window) {
  auto has_none = [](const WindowDimension& d) {
    return d.padding_low == 0 && d.padding_high == 0;
  };
  if (std::ranges::all_of(window.dimensions, has_none)) return;
  out.append(" pad=");
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    base::append(out, i > 0 ? "x" : "", window.dimensions[i].padding_low, "_",
                 window.dimensions[i].padding_high);
  }
}

void write_reversal(std::string& out, const Window& window) {
  if (std::ranges::none_of(window.dimensions, &WindowDimension::window_reversal)) return;
  out.append(" rhs_reversal=");
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    base::append(out, i > 0 ? "x" : "", window.dimensions[i].window_reversal ? 1 : 0);
  }
}

// The dimension that part number `i` speaks of; the first part read says how many there are.
bool next_dimension(TextCursor& in, Window& window, size_t i, bool first_part) {
  if (first_part) window.dimensions.emplace_back();
  return i < window.dimensions.size() ||
         in.fail("the window has only ", window.dimensions.size(), " dimensions");
}

template <class ReadOne>
bool read_part(TextCursor& in, Window& window, ReadOne read_one) {
  bool first_part = window.dimensions.empty();
  size_t i = 0;
  do {
    if (!next_dimension(in, window, i, first_part) || !read_one(window.dimensions[i++]))
      return false;
  } while (in.raw() == 'x' && in.accept('x'));
  return i == window.dimensions.size() ||
         in.fail("the window has ", window.dimensions.size(), " dimensions, not ", i);
}

bool read_named_part(TextCursor& in, Window& window, std::string_view name) {
  for (const Part& part : kParts) {
    if (part.name == name) {
      return read_part(in, window,
                       [&](WindowDimension& d) { return in.read_int(d.*(part.member)); });
    }
  }
  if (name == "pad") {
    return read_part(in, window, [&](WindowDimension& d) {
      return in.read_int(d.padding_low) && in.expect('_') && in.read_int(d.padding_high);
    });
  }
  if (name != "rhs_reversal") {
    return in.fail("a window has no ", name,
                   "; it has size stride pad lhs_dilate rhs_dilate rhs_reversal");
  }
  return read_part(in, window, [&](WindowDimension& d) {
    int64_t reversed = 0;
    if (!in.read_int(reversed)) return false;
    d.window_reversal = reversed != 0;
    return reversed == 0 || reversed == 1 || in.fail("rhs_reversal is 0 or 1 in each dimension");
  });
}

// What one operand's labels say: the places of its two letters and of the digits.
struct Labels {
  int64_t first = -1;   // b, or i of the kernel
  int64_t second = -1;  // f, or o of the kernel
  Dims spatial;
};

void write_labels(std::string& out, int64_t first, int64_t second, const Dims& spatial,
                  std::string_view letters) {
  int64_t rank = std::max(first, second) + 1;
  for (int64_t place : spatial) rank = std::max(rank, place + 1);
  std::string labels(static_cast<size_t>(std::clamp<int64_t>(rank, 0, Shape::kMaxRank)), '?');
  auto put = [&](int64_t place, char label) {
    if (place >= 0 && place < static_cast<int64_t>(labels.size()))
      labels[static_cast<size_t>(place)] = label;
  };
  put(first, letters[0]);
  put(second, letters[1]);
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
  out.append(labels);
}

bool set_once(TextCursor& in, int64_t& place, int64_t value, char label) {
  if (place >= 0) return in.fail("dim_labels has '", label, "' twice in one part");
  place = value;
  return true;
}

bool read_labels(TextCursor& in, std::string_view letters, Labels& labels) {
  for (int64_t place = 0;; ++place) {
    char c = in.raw();
    bool digit = c >= '0' && c <= '9';
    if (!digit && c != '?' && (c == '\0' || letters.find(c) == std::string_view::npos)) break;
    in.accept(c);
    if (c == '?') continue;
    size_t which = digit ? static_cast<size_t>(c - '0') : 0;
    if (digit && labels.spatial.size() <= which) labels.spatial.resize(which + 1, -1);
    int64_t& at = digit ? labels.spatial[which] : c == letters[0] ? labels.first : labels.second;
    if (!set_once(in, at, place, c)) return false;
  }
  bool complete =
      labels.first >= 0 && labels.second >= 0 && std::ranges::count(labels.spatial, -1) == 0;
  return complete || in.fail("dim_labels needs '", letters.substr(0, 1), "', '",
                             letters.substr(1, 1), "' and the digits from 0 up in each part");
}

}  // namespace

void Codec<Window>::write(std::string& out, const Window& value) {
  out.push_back('{');
  write_part(out, value, kParts[0]);
  write_part(out, value, kParts[1]);
  write_padding(out, value);
  write_part(out, value, kParts[2]);
  write_part(out, value, kParts[3]);
  write_reversal(out, value);
  out.push_back('}');
}

bool Codec<Window>::read(TextCursor& in, Window& value) {
  value.dimensions.clear();
  return read_pairs(in, [&](std::string_view name) { return read_named_part(in, value, name); });
}

void Codec<ConvolutionDims>::write(std::string& out, const ConvolutionDims& value) {
  write_labels(out, value.input_batch, value.input_feature, value.input_spatial, "bf");
  out.push_back('_');
  write_labels(out, value.kernel_input_feature, value.kernel_output_feature, value.kernel_spatial,
               "io");
  out.append("->");
  write_labels(out, value.output_batch, value.output_feature, value.output_spatial, "bf");
}

bool Codec<ConvolutionDims>::read(TextCursor& in, ConvolutionDims& value) {
  Labels input, kernel, output;
  in.peek();
  if (!read_labels(in, "bf", input) || !in.expect('_') || !read_labels(in, "io", kernel))
    return false;
  if (!in.expect("->") || !read_labels(in, "bf", output)) return false;
  size_t spatial = input.spatial.size();
  if (kernel.spatial.size() != spatial || output.spatial.size() != spatial) {
    return in.fail("dim_labels has ", spatial, ", ", kernel.spatial.size(), " and ",
                   output.spatial.size(), " spatial dimensions in its parts; they must be as many");
  }
  value = {.input_batch = input.first,
           .input_feature = input.second,
           .input_spatial = std::move(input.spatial),
           .kernel_input_feature = kernel.first,
           .kernel_output_feature = kernel.second,
           .kernel_spatial = std::move(kernel.spatial),
           .output_batch = output.first,
           .output_feature = output.second,
           .output_spatial = std::move(output.spatial)};
  return true;
}

}  // namespace heddle::hlo::text
