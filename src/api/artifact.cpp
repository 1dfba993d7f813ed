#include "api/artifact.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/ranges.h>
#include <unistd.h>

#include "api/views.h"
#include "compiler/codegen/package/package.h"

namespace lathe::api {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = R"(/* Calls {library}: fills the inputs, runs once, prints the first numbers of each output.
 *   cc {name}_example.c -I. ./{library} -o {name}_example && ./{name}_example */
#include "{header}"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DLTensor tensor(size_t bytes, int code, int bits, int64_t* shape, int dimensions) {{
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (t.data == NULL) exit(1);
  memset(t.data, 0, bytes);
  t.device.device_type = kDLCPU;
  t.ndim = dimensions;
  t.dtype.code = (uint8_t)code;
  t.dtype.bits = (uint8_t)bits;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}}
)";

constexpr const char* kFill = R"(
static void fill(float* data, size_t count) {
  for (size_t i = 0; i < count; ++i) data[i] = (float)(i % 17) / 16.0f - 0.5f;
}
)";

constexpr const char* kStop = R"(
static int stop(const char* what, const lathe_{name}* handle) {{
  fprintf(stderr, "%s: %s\n", what, lathe_{name}_message(handle));
  return 1;
}}

int main(void) {{
)";

constexpr const char* kCalls = R"(
  lathe_{name}* handle;
  if (lathe_{name}_create(NULL, &handle) != LATHE_OK) return stop("create", NULL);
  if (lathe_{name}_prepare(handle, inputs) != LATHE_OK) return stop("prepare", handle);
  if (lathe_{name}_run(handle, inputs, outputs) != LATHE_OK) return stop("run", handle);
  lathe_{name}_destroy(handle);
)";

struct TypeCode {
  const char* code;
  int bits;
};
TypeCode type_code(Dtype dtype) {
  const int bits = size_of(dtype) * 8;
  if (dtype == Dtype::kBF16) return {"kDLBfloat", bits};
  if (is_float(dtype)) return {"kDLFloat", bits};
  return {dtype == Dtype::kU8 || dtype == Dtype::kBool ? "kDLUInt" : "kDLInt", bits};
}

std::string declare(const char* kind, std::size_t i, const flat::Border& border) {
  const auto [code, bits] = type_code(border.dtype);
  return fmt::format("  int64_t {0}{1}_shape[] = {{{2}}};\n"
                     "  DLTensor {0}{1} = tensor({3}, {4}, {5}, {0}{1}_shape, {6});  /* {7} */\n",
                     kind, i, fmt::join(border.shape, ", "), border.size * size_of(border.dtype), code, bits,
                     border.shape.size(), border.name);
}

std::string list(const char* kind, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("&{}{}", kind, i));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string default_name(const fs::path& path) {
  std::string name = path.stem().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

Status write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return fail_at(path.string(), ErrorKind::kIo, "the file cannot be written; check the folder and the space on the disk");
  return {};
}

// Files are moved to their places when they are complete, over what is there: that must be a file, too.
Status check_place(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || path.ends_with('/') || fs::is_directory(path, ignored))
    return fail_at(path, ErrorKind::kInvalidArgument, "this is no file name for the library; give one, as in -o {}matmul.so",
                   path.empty() || path.ends_with('/') ? path : path + "/");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return fail_at(path, ErrorKind::kNotFound, "the folder {} does not exist; make it, or give another file", folder.string());
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return fail_at(path, ErrorKind::kIo, "this is a device or the like, which a library must not replace; give another file");
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    return fail_at(path, ErrorKind::kIo, "files cannot be written in its folder ({}); give another one", std::strerror(errno));
  return {};
}

}  // namespace

std::string example_text(const flat::Program& program, const std::string& name, const std::string& library) {
  bool fills = false;
  for (const auto& border : program.inputs) fills |= border.dtype == Dtype::kF32;
  const std::string header = fs::path(library).replace_extension(".h").string();
  std::string text = fmt::format(kHead, fmt::arg("name", name), fmt::arg("library", library), fmt::arg("header", header));
  if (fills) text += kFill;
  text += fmt::format(kStop, fmt::arg("name", name));
  for (std::size_t i = 0; i < program.inputs.size(); ++i) text += declare("in", i, program.inputs[i]);
  for (std::size_t i = 0; i < program.outputs.size(); ++i) text += declare("out", i, program.outputs[i]);
  text += fmt::format("  const DLTensor* inputs[] = {{{}}};\n", list("in", program.inputs.size()));
  text += fmt::format("  DLTensor* outputs[] = {{{}}};\n", list("out", program.outputs.size()));
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    if (program.inputs[i].dtype == Dtype::kF32)
      text += fmt::format("  fill((float*)in{}.data, {});\n", i, program.inputs[i].size);
  text += fmt::format(kCalls, fmt::arg("name", name));
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    if (program.outputs[i].dtype == Dtype::kF32)
      text += fmt::format("  for (int i = 0; i < {1}; ++i) printf(\"{2}[%d] = %g\\n\", i, ((float*)out{0}.data)[i]);\n", i,
                          std::min<std::int64_t>(8, program.outputs[i].size), program.outputs[i].name);
  return text + "  return 0;\n}\n";
}

Result<ArtifactFiles> write_artifact(const te::Program& program, const schedule::Trace& trace, const Target& target,
                                     const std::string& given, const std::string& name) {
  // The linker would take it for a flag.
  const std::string path = given.starts_with('-') ? "./" + given : given;
  ArtifactFiles files;
  files.name = name.empty() ? default_name(path) : name;
  LATHE_TRY_STATUS(check_place(path));
  const flat::Program flat = LATHE_TRY(flat_program(program, trace, target));
  const auto written = LATHE_TRY(package::write_artifact(files.name, flat, target, path));
  files.library = written.library;
  files.header = written.header;
  const fs::path example = fs::path(path).parent_path() / (files.name + "_example.c");
  LATHE_TRY_STATUS(write_text(example, example_text(flat, files.name, fs::path(path).filename().string())));
  files.example = example.string();
  return files;
}

}  // namespace lathe::api
