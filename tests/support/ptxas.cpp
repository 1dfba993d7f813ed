#include "support/ptxas.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/split.h"
#include "base/subprocess.h"
#include "support/temporary_folder.h"

namespace lathe::testing {
namespace {

// The number before `unit` in "0 bytes stack frame, 8 bytes spill stores".
int number_before(std::string_view line, std::string_view unit) {
  const auto at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  auto begin = line.find_last_not_of("0123456789", at - 1) + 1;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

std::vector<AssembledKernel> kernels_in(const std::string& report) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<AssembledKernel> out;
  for (const std::string& line : split(report, '\n')) {
    if (const auto at = line.find(kEntry); at != std::string::npos) {
      const auto begin = at + kEntry.size();
      out.push_back({.name = line.substr(begin, line.find('\'', begin) - begin)});
    }
    if (out.empty()) continue;
    out.back().stack_bytes += number_before(line, " bytes stack frame");
    out.back().spilled_bytes +=
        number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    out.back().shared_bytes += number_before(line, " bytes smem");
    out.back().registers += number_before(line, " registers");
  }
  return out;
}

}  // namespace

std::string assembler_path() { return LATHE_PTXAS; }

Result<std::vector<AssembledKernel>> assemble(const std::string& ptx,
                                              const std::string& architecture) {
  const std::string assembler = assembler_path();
  if (assembler.empty())
    return fail(ErrorKind::kNotFound,
                "ptxas was not there when CMake looked, so no PTX is assembled; scripts/install "
                "--ptxas brings it, and scripts/test --without-ptxas leaves out what needs it");
  const test::TemporaryFolder folder;
  std::ofstream(folder.at("in.ptx")) << ptx;
  const auto done = LATHE_TRY(run_to_end(
      {assembler, "-v", "-arch=" + architecture, folder.at("in.ptx"), "-o", folder.at("out.cubin")},
      folder.at("report")));
  if (done.status != 0) return fail(ErrorKind::kBuild, "ptxas refuses the PTX:\n{}", done.errors);
  return kernels_in(done.errors);
}

}  // namespace lathe::testing
