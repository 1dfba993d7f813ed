#include "api/artifact.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "api/targets.h"
#include "api/told_times.h"
#include "api/views.h"
#include "api/workload.h"
#include "base/file.h"
#include "compiler/backends/backends.h"
#include "compiler/codegen/package/package.h"

namespace lathe::api {
namespace {

namespace fs = std::filesystem;

std::string default_name(const fs::path& path) {
  std::string name = path.stem().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::string example_of(const fs::path& library) {
  return (library.parent_path() / (library.stem().string() + "_example.c")).string();
}

// What means something else in an #include or a comment of C; ?? begins a trigraph.
bool is_no_character_of_names(char c) {
  return std::string_view("\"\\*?").contains(c) || std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

// Complete files are moved to their places over what is there, so that must be a file, too.
Status check_place(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || path.ends_with('/') || fs::is_directory(path, ignored))
    return fail_at(path, ErrorKind::kInvalidArgument,
                   "this is no file name for the library; give one, as in -o {}matmul.so",
                   path.empty() || path.ends_with('/') ? path : path + "/");
  if (std::ranges::any_of(fs::path(path).filename().string(), is_no_character_of_names))
    return fail_at(path, ErrorKind::kInvalidArgument,
                   "the example in C names its header so, and \", \\, *, ? and control characters "
                   "mean something else there; give another file name");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return fail_at(path, ErrorKind::kNotFound,
                   "the folder {} does not exist; make it, or give another file", folder.string());
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return fail_at(
        path, ErrorKind::kIo,
        "this is a device or the like, which a library must not replace; give another file");
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    return fail_at(path, ErrorKind::kIo,
                   "files cannot be written in its folder ({}); give another one",
                   std::strerror(errno));
  return {};
}

// True if the library that is there has its weights in a file of this name, as its header tells.
bool is_own_weights(const fs::path& header, const std::string& weights) {
  const auto text = read_file(header.string());
  return text && text->contains(package::place_of_weights(weights) + ",");
}

// Where the library finds them: a name alone is beside it, and so must be any other path.
Result<std::string> place_of_weights(const ArtifactFiles& files, const std::string& weights) {
  const fs::path library(files.library), given(weights), folder = library.parent_path();
  const auto refuse = [&](const std::string& why) {
    return fail_at("--weights", ErrorKind::kInvalidArgument, "{}", why);
  };
  std::error_code ignored;
  const fs::path own = folder.empty() ? "." : folder;
  if (given.filename().empty())
    return refuse("this is no name of a file; give one, as in --weights net.weights");
  if (given.has_parent_path() && !fs::equivalent(given.parent_path(), own, ignored))
    return refuse(
        fmt::format("the library looks for its weights in its own folder, and \"{}\" is in another "
                    "one; give \"{}\" alone",
                    weights, given.filename().string()));
  std::string path = (folder / given.filename()).string();
  if (path == files.library || given.filename() == library.filename() ||
      path == fs::path(library).replace_extension(".h") || path == example_of(library))
    return refuse(
        fmt::format("\"{}\" would be written over by another of the files; give another "
                    "name",
                    weights));
  if (fs::is_directory(path, ignored))
    return refuse(fmt::format("\"{}\" is a folder; give another name", weights));
  LATHE_TRY_STATUS(check_place(path));
  if (fs::exists(path, ignored) &&
      !is_own_weights(fs::path(library).replace_extension(".h"), given.filename().string()))
    return refuse(
        fmt::format("\"{}\" is there already, and no weights of {}, whose header would name them; "
                    "give another name, or remove that file if no library needs it",
                    path, library.filename().string()));
  return path;
}

// A processor of this machine's kind, without the instructions that others of it lack: it runs what
// calls a device.
Result<Target> plain_host() {
#if defined(__aarch64__)
  return make_target("cpu:generic;isa=aarch64", 1);
#else
  return make_target("cpu:x86-64", 1);
#endif
}

}  // namespace

Result<ArtifactFiles> write_artifact(const te::Workload& workload, const Chosen& chosen,
                                     const ArtifactRequest& request) {
  const auto& [trace, target, record, note, repacks, exchanged] = chosen;
  const ArtifactFiles files = LATHE_TRY(files_of(request));
  const flat::Program flat = LATHE_TRY(flat_program(workload, trace, target));
  const Checked checked = LATHE_TRY(check_program(workload, trace, target, request.checking));
  std::vector<std::string> remarks = {numerics_sentence(workload, trace),
                                      "The program " + checked.sentence + "."};
  if (const std::string names = names_sentence(workload); !names.empty())
    remarks.insert(remarks.begin(), names);
  if (record) remarks.push_back(timed_sentence(*record));
  return write_program(flat, target, remarks, checked, files);
}

Result<ArtifactFiles> files_of(const ArtifactRequest& request) {
  // The linker would take it for a flag.
  const std::string path = request.path.starts_with('-') ? "./" + request.path : request.path;
  ArtifactFiles files;
  files.library = path;
  files.name = request.name.empty() ? default_name(path) : request.name;
  LATHE_TRY_STATUS(check_place(path));
  LATHE_TRY_STATUS(package::check_names(files.name, path));
  if (!request.weights.empty()) files.weights = LATHE_TRY(place_of_weights(files, request.weights));
  return files;
}

Result<ArtifactFiles> write_program(const flat::Program& program, const Target& target,
                                    const std::vector<std::string>& remarks, const Checked& checked,
                                    ArtifactFiles files, std::span<const std::byte> constants) {
  const codegen::Backend& backend = *LATHE_TRY(driver::backend_for(target, backends()));
  const Target host_target = LATHE_TRY(plain_host());
  const package::Host host{host_target, *LATHE_TRY(driver::backend_for(host_target, backends()))};
  const package::Weights weights{fs::path(files.weights).filename().string(), constants};
  const auto written = LATHE_TRY(
      package::write_artifact(files.name, program, target, backend, files.library, remarks, &host,
                              files.weights.empty() ? nullptr : &weights));
  files.checked = checked;
  files.header = written.header;
  const fs::path library(files.library);
  files.example = example_of(library);
  LATHE_TRY_STATUS(
      write_whole(files.example,
                  example_text(program, files.name, library.filename().string(), target.kind())));
  return files;
}

}  // namespace lathe::api
