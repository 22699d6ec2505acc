// A plot as one SVG file: points, names, lines and bands over two linear axes. For the examples; no
// dependency.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

class Plot {
 public:
  Plot(std::string title, std::string x_label, std::string y_label)
      : title_(std::move(title)), x_label_(std::move(x_label)), y_label_(std::move(y_label)) {}

  void points(std::vector<double> x, std::vector<double> y, std::string label) {
    add({'p', std::move(x), std::move(y), {}, std::move(label)});
  }
  void line(std::vector<double> x, std::vector<double> y, std::string label) {
    add({'l', std::move(x), std::move(y), {}, std::move(label)});
  }
  // A word at each point.
  void names(std::vector<double> x, std::vector<double> y, std::vector<std::string> words) {
    Series s{'n', std::move(x), std::move(y), {}, ""};
    s.words = std::move(words);
    add(std::move(s));
  }
  void band(std::vector<double> x, std::vector<double> low, std::vector<double> high,
            std::string label) {
    add({'b', std::move(x), std::move(low), std::move(high), std::move(label)});
  }

  void write(const std::string& path) const {
    std::ofstream out(path);
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 440\" "
           "font-family=\"sans-serif\" font-size=\"12\">\n"
        << "<rect width=\"800\" height=\"440\" fill=\"#fff\"/>\n"
        << text(400, 24, title_, "middle\" font-size=\"15") << text(400, 432, x_label_, "middle")
        << "<g transform=\"rotate(-90 16 220)\">" << text(16, 220, y_label_, "middle") << "</g>\n";
    axes(out);
    for (size_t i = 0; i < series_.size(); ++i) draw(out, series_[i], i);
    out << "</svg>\n";
  }

 private:
  struct Series {
    char kind;
    std::vector<double> x, y, high;
    std::string label;
    std::vector<std::string> words = {};
    std::string color = {};  // of a line
  };

  void add(Series s) {
    for (double x : s.x) x_.take(x);
    for (double y : s.y) y_.take(y);
    for (double y : s.high) y_.take(y);
    constexpr const char* kColors[] = {"#c0392b", "#2471a3", "#229954", "#7d3c98"};
    if (s.kind == 'l') s.color = kColors[lines_++ % 4];
    series_.push_back(std::move(s));
  }

  struct Range {
    double low = INFINITY, high = -INFINITY;
    void take(double v) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
    // A step of 1, 2 or 5 times a power of ten that gives about six marks.
    [[nodiscard]] double step() const {
      double raw = (high - low) / 6, ten = std::pow(10, std::floor(std::log10(raw)));
      return (raw < 1.5 * ten ? 1 : raw < 3.5 * ten ? 2 : raw < 7.5 * ten ? 5 : 10) * ten;
    }
  };

  static std::string text(double x, double y, const std::string& words, const std::string& anchor) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" +
           words + "</text>\n";
  }
  static std::string number(double v) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, std::end(buffer), v, std::chars_format::general, 6).ptr};
  }
  [[nodiscard]] double px(double x) const { return 70 + 700 * (x - x_.low) / (x_.high - x_.low); }
  [[nodiscard]] double py(double y) const { return 390 - 340 * (y - y_.low) / (y_.high - y_.low); }

  void axes(std::ofstream& out) const {
    for (double x = std::ceil(x_.low / x_.step()) * x_.step(); x <= x_.high; x += x_.step()) {
      out << "<path d=\"M" << number(px(x)) << " 50V394\" stroke=\"#e4e4e4\"/>"
          << text(px(x), 410, number(x), "middle");
    }
    for (double y = std::ceil(y_.low / y_.step()) * y_.step(); y <= y_.high; y += y_.step()) {
      out << "<path d=\"M66 " << number(py(y)) << "H770\" stroke=\"#e4e4e4\"/>"
          << text(62, py(y) + 4, number(y), "end");
    }
  }

  void draw(std::ofstream& out, const Series& s, size_t index) const {
    double y = 62 + 18 * static_cast<double>(index);
    if (s.kind == 'p') {
      for (size_t i = 0; i < s.x.size(); ++i)
        out << "<circle cx=\"" << number(px(s.x[i])) << "\" cy=\"" << number(py(s.y[i]))
            << "\" r=\"2.4\" fill=\"#444\"/>\n";
      out << "<circle cx=\"600\" cy=\"" << y - 4 << "\" r=\"2.4\" fill=\"#444\"/>\n";
    } else if (s.kind == 'n') {
      for (size_t i = 0; i < s.x.size(); ++i)
        out << text(px(s.x[i]), py(s.y[i]) + 4, s.words[i], "middle\" font-size=\"16");
    } else if (s.kind == 'l') {
      const std::string stroke = "\" stroke=\"" + s.color + "\" stroke-width=\"2\"";
      out << "<path d=\"" << path(s.x, s.y, 'M') << stroke << " fill=\"none\"/>\n"
          << "<path d=\"M590 " << y - 4 << "h20" << stroke << "/>\n";
    } else {
      std::vector<double> x(s.x.rbegin(), s.x.rend()), high(s.high.rbegin(), s.high.rend());
      out << "<path fill=\"#2980b9\" fill-opacity=\"0.18\" d=\"" << path(s.x, s.y, 'M')
          << path(x, high, 'L') << "Z\"/>\n"
          << "<path d=\"M590 " << y - 9
          << "h20v10h-20z\" fill=\"#2980b9\" fill-opacity=\"0.3\"/>\n";
    }
    out << text(616, y, s.label, "start");
  }

  [[nodiscard]] std::string path(const std::vector<double>& x, const std::vector<double>& y,
                                 char first) const {
    std::string out;
    for (size_t i = 0; i < x.size(); ++i)
      out += (i == 0 ? first : 'L') + number(px(x[i])) + " " + number(py(y[i]));
    return out;
  }

  std::string title_, x_label_, y_label_;
  std::vector<Series> series_;
  size_t lines_ = 0;
  Range x_, y_;
};
