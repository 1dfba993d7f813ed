#include "research/paper/picture.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/file.h"
#include "base/helper_path.h"
#include "base/subprocess.h"

namespace lathe::paper {
namespace {

// Okabe and Ito's colours, which colour-blind people tell apart, and dashes for those who see none.
struct Stroke {
  const char* colour;
  int dash;
};
constexpr Stroke kStrokes[] = {{"#0072B2", 1}, {"#D55E00", 1}, {"#009E73", 2}, {"#CC79A7", 4},
                               {"#E69F00", 2}, {"#56B4E9", 4}, {"#000000", 5}};
constexpr int kPanelWidth = 420, kPanelHeight = 320, kTitleHeight = 40;

const Stroke& stroke(std::size_t number) { return kStrokes[number % std::size(kStrokes)]; }

// Puts a text in gnuplot's double quotes. The text is not "enhanced", so that nothing else in it
// has a meaning.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + '"';
}

std::vector<std::string> labels_of(const Picture& picture) {
  std::vector<std::string> labels;
  for (const DrawnPanel& panel : picture.panels)
    for (const DrawnCurve& curve : panel.curves)
      if (std::ranges::count(labels, curve.label) == 0) labels.push_back(curve.label);
  return labels;
}

// "set xtics", with so few that their numbers do not touch.
std::string ticks_of(const DrawnPanel& panel) {
  double largest = 0;
  for (const DrawnCurve& curve : panel.curves)
    for (const CurvePoint& point : curve.points) largest = std::max(largest, point.x);
  if (!(largest > 0)) return "autofreq";
  const double least = largest / 5, power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1, 2, 5})
    if (digit * power >= least) return fmt::format("{:g}", digit * power);
  return fmt::format("{:g}", 10 * power);
}

class Script {
 public:
  Script(const Picture& picture, ImageFormat format, const std::string& output)
      : picture_(picture), labels_(labels_of(picture)) {
    const auto cells = picture.panels.size() + 1;
    columns_ = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(cells))));
    rows_ = (static_cast<int>(cells) + columns_ - 1) / columns_;
    head(format, output);
    for (std::size_t panel = 0; panel < picture.panels.size(); ++panel) data(panel);
    text_ += fmt::format("set multiplot layout {},{} title {} font ',16'\n", rows_, columns_,
                         quoted(picture.title));
    for (std::size_t panel = 0; panel < picture.panels.size(); ++panel) plot(panel);
    legend();
    text_ += "unset multiplot\n";
  }
  std::string text() && { return std::move(text_); }

 private:
  void head(ImageFormat format, const std::string& output) {
    text_ += fmt::format(
        "set terminal {} noenhanced size {},{} font 'DejaVu Sans,13' background '#ffffff'\nset "
        "output {}\n",
        format == ImageFormat::kSvg ? "svg" : "pngcairo", columns_ * kPanelWidth,
        rows_ * kPanelHeight + kTitleHeight, quoted(output));
    text_ += fmt::format(
        "set encoding utf8\nset grid lc rgb '#dddddd' lt 1 lw 1\nset border 3\nset tics "
        "nomirror\nunset key\n"
        "set xlabel {}\nset ylabel {}\n",
        quoted(picture_.x_axis), quoted(picture_.y_axis));
  }
  void data(std::size_t panel) {
    const auto& curves = picture_.panels[panel].curves;
    for (std::size_t curve = 0; curve < curves.size(); ++curve) {
      text_ += fmt::format("$p{}c{} << END\n", panel, curve);
      for (const CurvePoint& point : curves[curve].points)
        text_ += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g}\n", point.x, point.low, point.middle,
                             point.high);
      text_ += "END\n";
    }
  }
  const Stroke& stroke_of(const std::string& label) const {
    return stroke(static_cast<std::size_t>(std::ranges::find(labels_, label) - labels_.begin()));
  }
  // Plots the bands first, so that no curve is under one.
  void plot(std::size_t panel) {
    const auto& curves = picture_.panels[panel].curves;
    text_ += fmt::format("set title {}\nset xrange [0:*]\nset yrange [0:*]\nset xtics {}\n",
                         quoted(picture_.panels[panel].title), ticks_of(picture_.panels[panel]));
    std::string parts;
    for (const char* what : {"band", "line"})
      for (std::size_t curve = 0; curve < curves.size(); ++curve) {
        if (curves[curve].points.empty()) continue;
        const Stroke& own = stroke_of(curves[curve].label);
        parts += parts.empty() ? "" : ", \\\n  ";
        parts += *what == 'b' ? fmt::format(
                                    "$p{}c{} using 1:2:4 with filledcurves fs transparent solid "
                                    "0.15 noborder lc rgb '{}'",
                                    panel, curve, own.colour)
                              : fmt::format("$p{}c{} using 1:3 with steps lw 2 dt {} lc rgb '{}'",
                                            panel, curve, own.dash, own.colour);
      }
    text_ += parts.empty() ? "set multiplot next\n" : "plot " + parts + "\n";
  }
  void legend() {
    text_ +=
        "unset title\nunset xlabel\nunset ylabel\nunset border\nunset tics\nunset grid\nset xrange "
        "[0:1]\nset yrange [0:1]\n"
        "set key center center Left reverse samplen 3 spacing 1.3\nplot ";
    for (std::size_t i = 0; i < labels_.size(); ++i)
      text_ +=
          fmt::format("{}NaN with lines lw 2 dt {} lc rgb '{}' title {}", i == 0 ? "" : ", \\\n  ",
                      stroke(i).dash, stroke(i).colour, quoted(labels_[i]));
    text_ += labels_.empty() ? "NaN notitle\n" : "\n";
  }

  const Picture& picture_;
  const std::vector<std::string> labels_;
  int columns_ = 1, rows_ = 1;
  std::string text_;
};

// Runs gnuplot. If it fails, the error has what it said.
Status run_gnuplot(const std::string& gnuplot, const std::string& script, const std::string& said) {
  const Finished finished = LATHE_TRY(run_to_end({gnuplot, script}, said));
  if (finished.status == 0) return {};
  std::string why = finished.errors;
  std::ranges::replace(why, '\n', ' ');
  return fail_at(script, ErrorKind::kIo, "gnuplot could not draw this: {}", why);
}

}  // namespace

std::string gnuplot_script(const Picture& picture, ImageFormat format, const std::string& output) {
  return Script(picture, format, output).text();
}

Result<std::string> find_gnuplot() {
  auto path = find_on_path("gnuplot");
  if (path || path.error().kind != ErrorKind::kNotFound) return path;
  return fail(ErrorKind::kNotFound,
              "gnuplot is not in PATH, so no pictures are drawn; install Debian's gnuplot-nox, as "
              "scripts/install --paper does");
}

Status draw(const Picture& picture, const std::string& gnuplot, const std::string& stem) {
  for (const auto& [format, ending] :
       {std::pair{ImageFormat::kSvg, ".svg"}, {ImageFormat::kPng, ".png"}}) {
    // The image is moved to its place when it is whole; script and messages go with their names.
    const PendingFile image(stem + ending), script(stem + ".gnuplot"), said(stem + ".said");
    const std::string text = gnuplot_script(picture, format, image.path());
    LATHE_TRY_STATUS(script.write(std::as_bytes(std::span(text))));
    LATHE_TRY_STATUS(run_gnuplot(gnuplot, script.path(), said.path()));
    LATHE_TRY_STATUS(image.move_to_place());
  }
  return {};
}

}  // namespace lathe::paper
