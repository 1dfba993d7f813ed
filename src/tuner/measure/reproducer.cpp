#include "tuner/measure/reproducer.h"

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/shell.h"
#include "compiler/te/parse.h"

namespace lathe::measure {
namespace {

struct Finding {
  const char* what;
  int output;
  std::int64_t index;
  double got, want, bound;
};

Result<std::string> save(const std::string& where, const te::Workload& workload,
                         const Target& target, const std::string& trace, const Built& built,
                         std::uint64_t seed, const Finding& finding) {
  std::error_code code;
  const auto parent =
      where.empty() ? std::filesystem::temp_directory_path(code) : std::filesystem::path(where);
  const std::string name =
      "lathe-wrong-answer-" + hex(Hasher().add(te::print_workload(workload)).add(trace).value());
  const auto folder = parent / name;
  std::filesystem::create_directories(folder, code);
  std::ofstream(folder / "workload.te") << te::print_workload(workload) << '\n';
  std::ofstream(folder / "trace.json") << trace << '\n';
  std::ofstream(folder / "candidate.so", std::ios::binary)
      .write(reinterpret_cast<const char*>(built.library.data()),
             static_cast<std::streamsize>(built.library.size()));
  std::ofstream readme(folder / "README");
  readme << fmt::format(
      "{}: a bug of its compiler.\n\n"
      "target   {}\nseed     {}\nelement  {}\ngot      {:.9g}\nwant     {:.9g}\nbound    {:.3g}\n\n"
      "To see it again: lathe reproduce {}\n",
      finding.what, target.text(), seed, element_text(workload, finding.output, finding.index),
      finding.got, finding.want, finding.bound, shell_word(folder.string()));
  std::ofstream(folder / "case.json") << Json{{"target", target.text()},
                                              {"seed", seed},
                                              {"free_layout", workload.contract.free_layout},
                                              {"max_error", workload.contract.max_error},
                                              {"output", finding.output},
                                              {"index", finding.index},
                                              {"got", finding.got},
                                              {"want", finding.want}}
                                             .dump(1)
                                      << '\n';
  if (!readme.flush())
    return fail_at(folder.string(), ErrorKind::kIo, "cannot write the reproducer");
  return folder.string();
}

}  // namespace

std::string element_text(const te::Workload& workload, int output, std::int64_t index) {
  const te::Tensor& tensor =
      workload.tensors[workload.outputs().at(static_cast<std::size_t>(output))];
  std::string text;
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    text = std::to_string(index % tensor.shape[d]) + (text.empty() ? "" : ",") + text;
    index /= tensor.shape[d];
  }
  return tensor.name + "[" + text + "]";
}

Result<std::string> save_reproducer(const std::string& where, const te::Workload& workload,
                                    const Target& target, const Candidate& candidate,
                                    const Built& built, std::uint64_t seed,
                                    const runner::Loaded& finding) {
  return save(where, workload, target, schedule::to_json(candidate.trace).dump(1), built, seed,
              {"A program that Lathe generated computed a wrong answer", finding.output,
               finding.index, finding.got, finding.want, finding.bound});
}

Result<std::string> save_reference_reproducer(const std::string& where,
                                              const te::Workload& workload, const Target& target,
                                              const te::Workload& reference, const Built& built,
                                              std::uint64_t seed, const Disagreement& finding) {
  std::string folder =
      LATHE_TRY(save(where, workload, target, "[]", built, seed,
                     {"The program that Lathe generated to compare others with (reference.te) does "
                      "not compute what the expression says",
                      finding.output, finding.index, finding.got, finding.want, finding.bound}));
  std::ofstream text(std::filesystem::path(folder) / "reference.te");
  text << te::print_workload(reference) << '\n';
  if (!text.flush()) return fail_at(folder, ErrorKind::kIo, "cannot write the reproducer");
  return folder;
}

}  // namespace lathe::measure
