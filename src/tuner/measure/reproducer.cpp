#include "tuner/measure/reproducer.h"

#include <filesystem>

#include "base/hash.h"
#include "base/json.h"
#include "base/private_folder.h"
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

std::string readme_text(const std::string& folder, const te::Workload& workload,
                        const Target& target, std::uint64_t seed, const Finding& finding) {
  return fmt::format(
      "{}: a bug of its compiler.\n\n"
      "target   {}\nseed     {}\nelement  {}\ngot      {:.9g}\nwant     {:.9g}\nbound    {:.3g}\n\n"
      "To see it again: lathe reproduce {}\n",
      finding.what, target.text(), seed, element_text(workload, finding.output, finding.index),
      finding.got, finding.want, finding.bound, shell_word(folder));
}

std::string case_text(const te::Workload& workload, const Target& target, std::uint64_t seed,
                      const Finding& finding) {
  return Json{{"target", target.text()},
              {"seed", seed},
              {"free_layout", workload.contract.free_layout},
              {"max_error", workload.contract.max_error},
              {"output", finding.output},
              {"index", finding.index},
              {"got", finding.got},
              {"want", finding.want}}
             .dump(1) +
         "\n";
}

Result<PrivateFolder> save(const std::string& where, const te::Workload& workload,
                           const Target& target, const std::string& trace, const Built& built,
                           std::uint64_t seed, const Finding& finding) {
  std::error_code code;
  const auto parent =
      where.empty() ? std::filesystem::temp_directory_path(code) : std::filesystem::path(where);
  std::filesystem::create_directories(parent, code);
  const std::string name =
      "lathe-wrong-answer-" + hex(Hasher().add(te::print_workload(workload)).add(trace).value());
  PrivateFolder folder = LATHE_TRY(PrivateFolder::make((parent / name).string()));
  const std::string_view library(reinterpret_cast<const char*>(built.library.data()),
                                 built.library.size());
  LATHE_TRY_STATUS(folder.write("workload.te", te::print_workload(workload) + "\n"));
  LATHE_TRY_STATUS(folder.write("trace.json", trace + "\n"));
  LATHE_TRY_STATUS(folder.write("candidate.so", library));
  LATHE_TRY_STATUS(
      folder.write("README", readme_text(folder.path(), workload, target, seed, finding)));
  LATHE_TRY_STATUS(folder.write("case.json", case_text(workload, target, seed, finding)));
  return folder;
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
  const PrivateFolder folder = LATHE_TRY(
      save(where, workload, target, schedule::to_json(candidate.trace).dump(1), built, seed,
           {"A program that Lathe generated computed a wrong answer", finding.output, finding.index,
            finding.got, finding.want, finding.bound}));
  return folder.path();
}

Result<std::string> save_reference_reproducer(const std::string& where,
                                              const te::Workload& workload, const Target& target,
                                              const te::Workload& reference, const Built& built,
                                              std::uint64_t seed, const Disagreement& finding) {
  const PrivateFolder folder =
      LATHE_TRY(save(where, workload, target, "[]", built, seed,
                     {"The program that Lathe generated to compare others with (reference.te) does "
                      "not compute what the expression says",
                      finding.output, finding.index, finding.got, finding.want, finding.bound}));
  LATHE_TRY_STATUS(folder.write("reference.te", te::print_workload(reference) + "\n"));
  return folder.path();
}

}  // namespace lathe::measure
