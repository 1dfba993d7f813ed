#include "compiler/codegen/nvptx/assembler.h"

#include <fmt/ranges.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/helper_path.h"
#include "base/subprocess.h"
#include "base/temporary_folder.h"
#include "base/trust.h"
#include "compiler/codegen/nvptx/cards.h"

namespace lathe::codegen {
namespace {

constexpr const char* kVariable = "LATHE_PTXAS";
constexpr const char* kTranslated =
    "The driver translates the PTX when create is called, which takes some tenths of a second or "
    "more where it has not kept what it made before.";

// Empty: there is none.
Result<std::string> find_assembler() {
  const std::string named = environment(kVariable);
  if (named.empty()) return find_on_path("ptxas").value_or("");
  Result<std::string> found = named;
  if (!named.contains('/')) found = find_on_path(named);
  else if (const Status own = check_unshared(named); !own) found = std::unexpected(own.error());
  if (found) return found;
  return fail_at(kVariable, found.error().kind, "{}; name an assembler, or unset it to do without",
                 found.error().text());
}

// Empty: the assembler does not make any.
Result<std::vector<std::byte>> code_for(const std::string& assembler, const std::string& folder,
                                        int architecture) {
  const std::string made = fmt::format("{}/sm_{}.cubin", folder, architecture);
  const auto done = LATHE_TRY(run_to_end(
      {assembler, fmt::format("-arch=sm_{}", architecture), folder + "/program.ptx", "-o", made},
      folder + "/report"));
  if (done.status != 0) return std::vector<std::byte>{};
  const std::string text = LATHE_TRY(read_file(made));
  const auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

std::string remark_of(const std::string& assembler, const std::vector<MachineCode>& codes,
                      int architecture) {
  const std::string ptx =
      fmt::format("The library has PTX for cards of sm_{} and later", architecture);
  if (assembler.empty())
    return fmt::format(
        "{}, and no machine code, as NVIDIA's assembler was not found: ptxas was "
        "neither on the PATH nor named by {}. {}",
        ptx, kVariable, kTranslated);
  if (codes.empty())
    return fmt::format("{}, and no machine code, as the assembler {} makes none of it. {}", ptx,
                       assembler, kTranslated);
  std::vector<std::string> names;
  for (const MachineCode& code : codes) names.push_back(fmt::format("sm_{}", code.architecture));
  return fmt::format("{}, and machine code for {}.", ptx, fmt::join(names, ", "));
}

}  // namespace

Result<Assembled> assemble_ptx(const std::string& ptx, int architecture) {
  const std::string assembler = LATHE_TRY(find_assembler());
  Assembled out;
  if (!assembler.empty()) {
    const TemporaryFolder folder;
    if (folder.path().empty()) return std::unexpected(no_temporary_folder());
    LATHE_TRY_STATUS(write_whole(folder.path() + "/program.ptx", ptx));
    for (const int each : known_architectures()) {
      if (each < architecture) continue;
      auto code = LATHE_TRY(code_for(assembler, folder.path(), each));
      if (!code.empty()) out.codes.push_back({each, std::move(code)});
    }
  }
  out.remark = remark_of(assembler, out.codes, architecture);
  return out;
}

}  // namespace lathe::codegen
