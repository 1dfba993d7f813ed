#include "base/in_parts.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace lathe {

void in_parts(std::size_t count, int jobs, std::size_t smallest,
              const std::function<void(std::size_t begin, std::size_t items)>& work) {
  if (count == 0) return;
  const std::size_t most = std::max<std::size_t>(1, count / std::max<std::size_t>(1, smallest));
  const std::size_t parts = std::min(most, static_cast<std::size_t>(std::max(1, jobs)));
  const auto start = [&](std::size_t part) { return part * count / parts; };
  std::vector<std::jthread> others;
  for (std::size_t part = 1; part < parts; ++part)
    others.emplace_back(work, start(part), start(part + 1) - start(part));
  work(0, start(1));
}

}  // namespace lathe
