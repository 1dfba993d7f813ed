// A figure of the paper as gnuplot draws it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::paper {

// A point of a curve: what most runs reached, and the middle half of them.
struct CurvePoint {
  double x = 0, low = 0, middle = 0, high = 0;
};
struct DrawnCurve {
  std::string label;  // equal in all panels
  std::vector<CurvePoint> points;
};
struct DrawnPanel {
  std::string title;
  std::vector<DrawnCurve> curves;
};
struct Picture {
  std::string title, x_axis, y_axis;
  std::vector<DrawnPanel> panels;
};

enum class ImageFormat { kSvg, kPng };

// Puts the panels in rows and the legend in a cell of its own after the last, so that it covers no
// curve. Labels may hold any text.
std::string gnuplot_script(const Picture& picture, ImageFormat format, const std::string& output);

// Where gnuplot is; the error says what is missing.
Result<std::string> find_gnuplot();
// Writes STEM.svg and STEM.png; an error has what gnuplot said.
Status draw(const Picture& picture, const std::string& gnuplot, const std::string& stem);

}  // namespace lathe::paper
