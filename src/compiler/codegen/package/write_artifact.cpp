#include <cctype>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compiler/codegen/package/package.h"
#include "compiler/codegen/package/weights_hash.h"
#include "runtime/artifact/embedded.h"
#include "runtime/artifact/weights.h"

namespace lathe::package {
namespace {

namespace fs = std::filesystem;

// The library that runs, not the one that programs are built with: no development package has it.
std::vector<std::string> libc(Isa isa) {
  if (isa == Isa::kX86)
    return {"-L/usr/lib/x86_64-linux-gnu",
            "-L/lib/x86_64-linux-gnu",
            "-L/usr/lib64",
            "--as-needed",
            "-l:libc.so.6",
            "-l:ld-linux-x86-64.so.2"};
  return {"-L/usr/lib/aarch64-linux-gnu",
          "-L/lib/aarch64-linux-gnu",
          "-L/usr/aarch64-linux-gnu/lib",
          "--as-needed",
          "-l:libc.so.6",
          "-l:ld-linux-aarch64.so.1"};
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `target` is the processor's, `runtime` the object of the artifact's runtime.
Result<std::vector<std::byte>> link(const codegen::Object& object, const Target& target,
                                    const codegen::Backend& backend,
                                    std::span<const std::byte> runtime) {
  if (runtime.empty())
    return fail(ErrorKind::kUnsupported,
                "this build of lathe has no runtime for artifacts of {}; build it with a C++ "
                "compiler for that machine "
                "installed (g++-aarch64-linux-gnu)",
                target.text());
  const TemporaryFolder folder;
  if (folder.path().empty()) return std::unexpected(no_temporary_folder());
  const std::string file = folder.path() + "/runtime.o";
  LATHE_TRY_STATUS(write_whole(file, text_of(runtime)));
  std::vector<std::string> extra = libc(target.as_cpu().isa);
  extra.insert(extra.begin(), file);
  return backend.link(object, target, extra);
}

struct MadeLibrary {
  std::vector<std::byte> bytes;
  std::string remark;  // about the code inside; may be empty
};

Result<MadeLibrary> make_library(const codegen::Exported& as, const flat::Program& program,
                                 const Target& target, const codegen::Backend& backend,
                                 const Host* host) {
  const DeviceKind kind = target.kind();
  const codegen::Object object = LATHE_TRY(backend.generate(program, target, as));
  if (kind == DeviceKind::kCpu) {
    const auto runtime = artifact::runtime_object(kind, target.as_cpu().isa);
    return MadeLibrary{LATHE_TRY(link(object, target, backend, runtime)), {}};
  }
  if (host == nullptr || host->backend.carry == nullptr)
    return fail(ErrorKind::kUnsupported,
                "no artifact can be made for {}, as no processor is known whose programs call it",
                target.text());
  const codegen::Object carrier =
      LATHE_TRY(host->backend.carry(object, kind, program, host->target, as.name));
  const auto runtime = artifact::runtime_object(kind, host->target.as_cpu().isa);
  return MadeLibrary{LATHE_TRY(link(carrier, host->target, host->backend, runtime)),
                     carrier.remark};
}

std::string header_of(const std::string& path) {
  return fs::path(path).replace_extension(".h").string();
}

// "" if `name` can be part of a C identifier, else what is wrong with it.
std::string fault_of_name(const std::string& name) {
  if (name.empty()) return "it is empty";
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      return fmt::format("\"{}\" is neither a letter nor a digit nor _", c);
  // lathe_parallel is a type of every header, lathe_artifact_run a function of every library.
  if (name == "parallel" || name == "artifact")
    return fmt::format("lathe_{} has a meaning of its own; give another name", name);
  return "";
}

std::vector<std::byte> file_of(std::span<const std::byte> constants, std::uint64_t hash) {
  artifact::WeightsHead head{{}, std::ssize(constants), hash};
  std::memcpy(head.magic, artifact::kWeightsMagic, sizeof head.magic);
  std::vector<std::byte> file(artifact::kWeightsHead);
  std::memcpy(file.data(), &head, sizeof head);
  file.insert(file.end(), constants.begin(), constants.end());
  return file;
}

std::string beside(const std::string& library, const std::string& file) {
  return (fs::path(library).parent_path() / file).string();
}

}  // namespace

Status check_names(const std::string& name, const std::string& path) {
  if (const std::string fault = fault_of_name(name); !fault.empty())
    return fail(ErrorKind::kInvalidArgument, "\"{}\" cannot name an artifact: {}", name, fault);
  if (path == header_of(path))
    return fail(ErrorKind::kInvalidArgument,
                "the library {} would be overwritten by its header; call it .so", path);
  return {};
}

Result<Artifact> write_artifact(const std::string& name, const flat::Program& program,
                                const Target& target, const codegen::Backend& backend,
                                const std::string& path, const std::vector<std::string>& remarks,
                                const Host* host, const Weights* weights) {
  LATHE_TRY_STATUS(check_names(name, path));
  Artifact artifact{path, header_of(path)};
  codegen::Exported as{.name = name};
  if (weights != nullptr) {
    LATHE_CHECK(program.prepare.empty() && std::ssize(weights->bytes) == program.constant_bytes,
                "{} bytes of weights for {} of constants", weights->bytes.size(),
                program.constant_bytes);
    as.weights = weights->file;
    as.weights_hash = weights_hash(weights->bytes);
  }
  const MadeLibrary library = LATHE_TRY(make_library(as, program, target, backend, host));
  std::vector<std::string> said = remarks;
  if (!library.remark.empty()) said.push_back(library.remark);
  const std::string text = header_text(name, program, target, said, as.weights);
  const PendingFile library_file(artifact.library), header_file(artifact.header);
  std::optional<PendingFile> weights_file;
  LATHE_TRY_STATUS(library_file.write(library.bytes));
  LATHE_TRY_STATUS(header_file.write(std::as_bytes(std::span(text))));
  if (weights != nullptr) {
    weights_file.emplace(beside(path, weights->file));
    LATHE_TRY_STATUS(weights_file->write(file_of(weights->bytes, as.weights_hash)));
    LATHE_TRY_STATUS(weights_file->move_to_place());
  }
  LATHE_TRY_STATUS(library_file.move_to_place());
  LATHE_TRY_STATUS(header_file.move_to_place());
  return artifact;
}

}  // namespace lathe::package
