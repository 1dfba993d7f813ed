// Images that are read between their elements, at places that are data.
#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// ONNX has had two names for what is between elements.
Made grid_sample(Site& site) {
  const std::string mode = LATHE_TRY(site.text("mode", "linear"));
  if (site.dtype(0) != site.dtype(1))
    return site.unsupported("its image is {}, its grid {}", name_of(site.dtype(0)),
                            name_of(site.dtype(1)));
  const bool corners = LATHE_TRY(site.integer("align_corners", 0)) != 0;
  return site.call("grid_sample",
                   {{"input", fmt::format("{}", fmt::join(at_least_1d(site.shape(0)), ","))},
                    {"grid", fmt::format("{}", fmt::join(at_least_1d(site.shape(1)), ","))},
                    {"mode", mode == "bilinear"  ? "linear"
                             : mode == "bicubic" ? "cubic"
                                                 : mode},
                    {"around", LATHE_TRY(site.text("padding_mode", "zeros"))},
                    {"align-corners", corners ? "true" : "false"},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   {site.input(0), site.input(1)});
}

// Along an axis of an image, for each region, part of it and sample in the part: O is 0 where the
// place is too far outside, T the element before it, F how far it is behind that.
struct RegionAxis {
  char letter;
  std::int64_t size, parts, samples;
  double scale;
  bool half_pixel;

  // `begin`, `end`: where a region has its ends, "R[r,1]".
  std::string stages(const std::string& begin, const std::string& end) const {
    std::string length = fmt::format("({} - {}) * {}", end, begin, number_text(scale));
    if (!half_pixel) length = fmt::format("max({}, 1)", length);
    const std::string sized = fmt::format("[r,p:{},s:{}]", parts, samples);
    const auto stage = [&](char name, const std::string& value) {
      return fmt::format("{}{}{} = {}\n", name, letter, sized, value);
    };
    const std::string at = fmt::format("P{}[r,p,s]", letter),
                      inside = fmt::format("min(max({}, 0), {})", at, size - 1);
    return stage('P',
                 fmt::format("{} * {} - {} + (f32(p) + (f32(s) + 0.5) / {}) * ({} / {})", begin,
                             number_text(scale), half_pixel ? 0.5 : 0, samples, length, parts)) +
           stage('O', fmt::format("select({0} < -1 || {0} > {1}, 0, f32(1))", at, size)) +
           stage('T', fmt::format("i32(floor({}))", inside)) +
           stage('F', fmt::format("{0} - floor({0})", inside));
  }
  std::string tap(const std::string& at, int number) const {
    return fmt::format("min(max(T{}[{}] + {}, 0), {})", letter, at, number, size - 1);
  }
  std::string weight(const std::string& at, int number) const {
    const std::string f = fmt::format("F{}[{}]", letter, at);
    return number == 0 ? fmt::format("(1 - {})", f) : f;
  }
};

// The four elements around a place, each by its weight, as one.
std::string around_place(const RegionAxis& y, const RegionAxis& x, std::int64_t images) {
  const std::string at_y = "r,y,s", at_x = "r,x,u";
  std::vector<std::string> terms;
  for (const int down : {0, 1})
    for (const int right : {0, 1})
      terms.push_back(fmt::format("{} * {} * X[min(max(B[r], 0), {}),c,{},{}]",
                                  y.weight(at_y, down), x.weight(at_x, right), images - 1,
                                  y.tap(at_y, down), x.tap(at_x, right)));
  return fmt::format("Oy[{}] * Ox[{}] * ({})", at_y, at_x, fmt::join(terms, " + "));
}

// How many samples there are in a part must be known.
Made aligned_regions(Site& site) {
  const Shape image = site.shape(0), regions = site.shape(1);
  const std::string mode = LATHE_TRY(site.text("mode", "avg")),
                    how = LATHE_TRY(
                        site.text("coordinate_transformation_mode",
                                  site.version() < 16 ? "output_half_pixel" : "half_pixel"));
  if (image.size() != 4 || regions.size() != 2 || regions[1] != 4 ||
      site.shape(2) != Shape{regions[0]} || is_float(site.dtype(2)))
    return site.wrong("its images are {}, its regions {}, of {}", typed(site.dtype(0), image),
                      typed(site.dtype(1), regions), typed(site.dtype(2), site.shape(2)));
  if (site.dtype(0) != Dtype::kF32 || site.dtype(1) != Dtype::kF32)
    return site.unsupported("its images are {}", name_of(site.dtype(0)));
  if (mode != "avg" || (how != "half_pixel" && how != "output_half_pixel"))
    return site.unsupported("its modes are '{}' and '{}'", mode, how);
  const std::int64_t samples = LATHE_TRY(site.integer("sampling_ratio", 0)),
                     height = LATHE_TRY(site.integer("output_height", 1)),
                     width = LATHE_TRY(site.integer("output_width", 1));
  constexpr std::int64_t kMost = 1 << 20;
  if (samples < 1) return site.unsupported("its samples are as many as regions are large");
  if (samples > kMost || height < 1 || height > kMost || width < 1 || width > kMost)
    return site.wrong("it makes {} x {} parts with {} samples", height, width, samples);
  const double scale = LATHE_TRY(site.real("spatial_scale", 1));
  const RegionAxis y{'y', image[2], height, samples, scale, how == "half_pixel"},
      x{'x', image[3], width, samples, scale, how == "half_pixel"};
  const Shape output{regions[0], image[1], height, width};
  return site.write(
      fmt::format("{}\n{}\n{}\n{}{}output {}\nY[r,c,y,x] = (sum(s:{},u:{}) {}) / {}\n",
                  declared("X", Dtype::kF32, image), declared("R", Dtype::kF32, regions),
                  declared("B", site.dtype(2), site.shape(2)), y.stages("R[r,1]", "R[r,3]"),
                  x.stages("R[r,0]", "R[r,2]"), declared("Y", Dtype::kF32, output), samples,
                  samples, around_place(y, x, image[0]), samples * samples),
      {site.input(0), site.input(1), site.input(2)}, output);
}

}  // namespace

std::vector<Row> sample_rows() {
  return {{"GridSample", 16, 2, grid_sample}, {"RoiAlign", 10, 3, aligned_regions}};
}

}  // namespace lathe::graph
