#include "tuner/measure/reproducer.h"

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "compiler/te/parse.h"

namespace lathe::measure {
namespace {

std::string index_text(const te::Program& program, int output, std::int64_t index) {
  const te::Tensor& tensor = program.tensors[program.outputs().at(static_cast<std::size_t>(output))];
  std::string text;
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    text = std::to_string(index % tensor.shape[d]) + (text.empty() ? "" : ",") + text;
    index /= tensor.shape[d];
  }
  return tensor.name + "[" + text + "]";
}

// As one word of a shell.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<std::string> save_reproducer(const std::string& where, const te::Program& program, const Target& target,
                                    const Candidate& candidate, const Built& built, std::uint64_t seed,
                                    const runner::Loaded& finding) {
  std::error_code code;
  const auto parent = where.empty() ? std::filesystem::temp_directory_path(code) : std::filesystem::path(where);
  const std::string trace = schedule::to_json(candidate.trace).dump(1);
  const std::string name = "lathe-wrong-answer-" + hex(Hasher().add(te::print_program(program)).add(trace).value());
  const auto folder = parent / name;
  std::filesystem::create_directories(folder, code);
  std::ofstream(folder / "workload.te") << te::print_program(program) << '\n';
  std::ofstream(folder / "trace.json") << trace << '\n';
  std::ofstream(folder / "candidate.so", std::ios::binary)
      .write(reinterpret_cast<const char*>(built.library.data()), static_cast<std::streamsize>(built.library.size()));
  std::ofstream readme(folder / "README");
  readme << fmt::format(
      "A program that Lathe generated computed a wrong answer: a bug of its compiler.\n\n"
      "target   {}\nseed     {}\nelement  {}\ngot      {:.9g}\nwant     {:.9g}\nbound    {:.3g}\n"
      "error    {:.3g} of the largest output\n\n"
      "To see it again: lathe reproduce {}\n",
      target.text(), seed, index_text(program, finding.output, finding.index), finding.got, finding.want, finding.bound,
      finding.max_error, quoted(folder.string()));
  std::ofstream(folder / "case.json") << Json{{"target", target.text()},
                                              {"seed", seed},
                                              {"free_layout", program.contract.free_layout},
                                              {"max_error", program.contract.max_error},
                                              {"output", finding.output},
                                              {"index", finding.index},
                                              {"got", finding.got},
                                              {"want", finding.want}}
                                             .dump(1)
                                      << '\n';
  if (!readme.flush()) return fail_at(folder.string(), ErrorKind::kIo, "cannot write the reproducer");
  return folder.string();
}

}  // namespace lathe::measure
