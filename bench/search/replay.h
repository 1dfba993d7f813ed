// bench_search --replay tells how many trials each search needs on recorded spaces.
#pragma once

#include <string>
#include <vector>

namespace lathe::bench {

// Takes the words after --replay; returns an exit code.
int replay(const std::vector<std::string>& words);

}  // namespace lathe::bench
