// Linking: of an object that stands alone here (link_alone.cpp), else by the system's linker, in a
// temporary folder.
#include <regex>
#include <span>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/temporary_folder.h"
#include "compiler/codegen/llvm/codegen.h"

namespace lathe::codegen {
namespace {

bool runs_here(Isa isa) {
#if defined(__aarch64__)
  return isa == Isa::kAArch64;
#else
  return isa == Isa::kX86;
#endif
}

// "undefined reference to `fmaf'" (ld), "undefined symbol: fmaf" (ld.lld).
std::string undefined_symbol(const std::string& errors) {
  std::smatch match;
  static const std::regex pattern(
      "undefined (?:reference to|symbol:?|hidden symbol) [`']?([A-Za-z0-9_.$]+)");
  return std::regex_search(errors, match, pattern) ? match[1].str() : "";
}

Error link_error(const std::string& linker, const std::string& errors) {
  if (const std::string symbol = undefined_symbol(errors); !symbol.empty())
    return undefined_symbol_error(symbol);
  return {ErrorKind::kBuild, fmt::format("{} failed: {}", linker, errors), "link"};
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

Error undefined_symbol_error(const std::string& symbol) {
  return {ErrorKind::kBuild,
          fmt::format("generated code calls \"{}\", which no machine instruction of the target "
                      "does; lowering must expand it",
                      symbol),
          "link"};
}

Result<std::vector<std::byte>> link_shared(const Object& object, const Target& target,
                                           const std::vector<std::string>& extra) {
  if (extra.empty() && target.as_cpu().isa == Isa::kX86) return link_alone(object);
  return link_by_linker(object, target, extra);
}

Result<std::vector<std::byte>> link_by_linker(const Object& object, const Target& target,
                                              const std::vector<std::string>& extra) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return std::unexpected(no_temporary_folder());
  const std::string in = folder.path() + "/code.o", out = folder.path() + "/code.so";
  LATHE_TRY_STATUS(write_whole(in, text_of(object.bytes)));
  std::vector<std::string> linkers = {"ld.lld", "ld.lld-19"};
  if (runs_here(target.as_cpu().isa)) linkers.insert(linkers.begin(), "ld");
  for (const std::string& linker : linkers) {
    std::vector<std::string> command = {linker,
                                        "-shared",
                                        "-z",
                                        "defs",
                                        "-z",
                                        "now",
                                        "-z",
                                        "noexecstack",
                                        "--hash-style=gnu",
                                        "--build-id=none",
                                        "-o",
                                        out,
                                        in};
    command.insert(command.end(), extra.begin(), extra.end());
    const auto finished = run_to_end(command, folder.path() + "/errors");
    if (!finished && finished.error().kind == ErrorKind::kNotFound) continue;
    if (!finished) return std::unexpected(finished.error());
    if (finished->status != 0) return std::unexpected(link_error(linker, finished->errors));
    return bytes_of(LATHE_TRY(read_file(out)));
  }
  return fail(ErrorKind::kNotFound,
              "no linker for {} found; install binutils (for this machine) or lld-19 (for others)",
              target.text());
}

}  // namespace lathe::codegen
