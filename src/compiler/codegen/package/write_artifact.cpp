#include <cctype>
#include <filesystem>
#include <span>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compiler/codegen/package/package.h"
#include "runtime/artifact/embedded.h"

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
  LATHE_TRY_STATUS(
      write_whole(file, {reinterpret_cast<const char*>(runtime.data()), runtime.size()}));
  std::vector<std::string> extra = libc(target.as_cpu().isa);
  extra.insert(extra.begin(), file);
  return backend.link(object, target, extra);
}

Result<std::vector<std::byte>> make_library(const std::string& name, const flat::Program& program,
                                            const Target& target, const codegen::Backend& backend,
                                            const Host* host) {
  if (target.kind() != DeviceKind::kCpu && target.kind() != DeviceKind::kOpenCl)
    return fail(ErrorKind::kUnsupported,
                "libraries for {} cannot be made yet; lathe show --what ptx prints the code",
                target.text());
  const codegen::Object object = LATHE_TRY(backend.generate(program, target, name));
  if (target.kind() == DeviceKind::kCpu)
    return link(object, target, backend, artifact::runtime_object(target.as_cpu().isa));
  if (host == nullptr || host->backend.carry == nullptr)
    return fail(ErrorKind::kUnsupported,
                "no artifact can be made for {}, as no processor is known whose programs call it",
                target.text());
  const codegen::Object carrier =
      LATHE_TRY(host->backend.carry(object, program, host->target, name));
  return link(carrier, host->target, host->backend,
              artifact::opencl_runtime_object(host->target.as_cpu().isa));
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
                                const Host* host) {
  LATHE_TRY_STATUS(check_names(name, path));
  Artifact artifact{path, header_of(path)};
  const std::vector<std::byte> library =
      LATHE_TRY(make_library(name, program, target, backend, host));
  const std::string text = header_text(name, program, target, remarks);
  const PendingFile library_file(artifact.library), header_file(artifact.header);
  LATHE_TRY_STATUS(library_file.write(library));
  LATHE_TRY_STATUS(header_file.write(std::as_bytes(std::span(text))));
  LATHE_TRY_STATUS(library_file.move_to_place());
  LATHE_TRY_STATUS(header_file.move_to_place());
  return artifact;
}

}  // namespace lathe::package
