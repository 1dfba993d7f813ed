#include "compiler/ops/paper.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace lathe::ops {
namespace {

struct Row {
  int size, in, out, kernel, stride;
};
constexpr std::array<Row, 12> kTable1 = {{{224, 3, 64, 7, 2},
                                          {56, 64, 64, 3, 1},
                                          {56, 64, 64, 1, 1},
                                          {56, 64, 128, 3, 2},
                                          {56, 64, 128, 1, 2},
                                          {28, 128, 128, 3, 1},
                                          {28, 128, 256, 3, 2},
                                          {28, 128, 256, 1, 2},
                                          {14, 256, 256, 3, 1},
                                          {14, 256, 512, 3, 2},
                                          {14, 256, 512, 1, 2},
                                          {7, 512, 512, 3, 1}}};

}  // namespace

std::vector<NamedWorkload> paper_workloads() {
  std::vector<NamedWorkload> out;
  for (const Row& r : kTable1)
    out.push_back({fmt::format("C{}", out.size() + 1),
                   "conv2d",
                   {{"input", fmt::format("1,{},{},{}", r.in, r.size, r.size)},
                    {"weight", fmt::format("{},{},{},{}", r.out, r.in, r.kernel, r.kernel)},
                    {"pad", std::to_string(r.kernel / 2)},
                    {"stride", std::to_string(r.stride)}}});
  out.push_back({"matmul-1024",
                 "matmul",
                 {{"m", "1024"}, {"n", "1024"}, {"k", "1024"}, {"trans-a", "true"}}});
  return out;
}

std::optional<NamedWorkload> paper_workload(std::string_view name) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  for (NamedWorkload& workload : paper_workloads())
    if (std::ranges::equal(workload.name, name, same)) return std::move(workload);
  return std::nullopt;
}

}  // namespace lathe::ops
