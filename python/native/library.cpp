#include "library.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/trust.h"

namespace lathe::python {
namespace {

std::unexpected<Failure> fail(std::string kind, std::string message, const std::string& place) {
  return std::unexpected(Failure{std::move(kind), std::move(message), place});
}

struct Type {
  std::int64_t code, bits;
};
Type type_of(const std::string& name) {
  constexpr int kBool = 6;  // of newer versions of DLPack
  if (name == "bool") return {kBool, 8};
  if (name == "bf16") return {kDLBfloat, 16};
  const DLDataTypeCode code = name[0] == 'f' ? kDLFloat : name[0] == 'i' ? kDLInt : kDLUInt;
  return {code, std::stoi(name.substr(1))};
}

template <class Function>
bool find(const module::LoadedCode& code, const std::string& name, Function*& out) {
  out = reinterpret_cast<Function*>(code.find(name.c_str()));
  return out != nullptr;
}

}  // namespace

Expected<std::shared_ptr<Library>> Library::open(const std::string& path) {
  std::error_code unknown;
  const bool regular = std::filesystem::is_regular_file(path, unknown);
  if (const Status own = check_unshared(path); regular && !own)
    return fail(std::string(name_of(own.error().kind)), own.error().message, own.error().place);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text;
  if (regular) text.assign(std::istreambuf_iterator<char>(file), {});
  if (text.empty() || file.bad())
    return fail("not-found", "this file cannot be read; give a library of lathe compile", path);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return open(std::move(bytes), path);
}

Expected<std::shared_ptr<Library>> Library::open(std::vector<std::byte> bytes,
                                                 const std::string& place) {
  std::shared_ptr<Library> made(new Library);
  made->bytes_ = std::move(bytes);
  if (auto loaded = made->load(place); !loaded) return std::unexpected(std::move(loaded.error()));
  if (auto found = made->find_library(place); !found)
    return std::unexpected(std::move(found.error()));
  return made;
}

Expected<std::shared_ptr<Library>> Library::of_module(std::vector<std::byte> bytes,
                                                      const std::vector<TensorInfo>& inputs,
                                                      const std::vector<TensorInfo>& outputs,
                                                      int threads) {
  std::shared_ptr<Library> made(new Library);
  made->bytes_ = std::move(bytes);
  if (auto loaded = made->load(""); !loaded) return std::unexpected(std::move(loaded.error()));
  if (auto found = made->find_module(); !found) return std::unexpected(std::move(found.error()));
  made->describe(inputs, outputs, threads);
  return made;
}

Expected<void> Library::find_module() {
  table_ = static_cast<const lathe_module*>(code_->find(LATHE_MODULE_SYMBOL));
  if (table_ == nullptr || table_->abi != LATHE_MODULE_ABI)
    return fail("data-loss", "the program was made by another version of Lathe; make it again", "");
  return {};
}

void Library::describe(const std::vector<TensorInfo>& inputs,
                       const std::vector<TensorInfo>& outputs, int threads) {
  infos_ = inputs;
  infos_.insert(infos_.end(), outputs.begin(), outputs.end());
  for (const TensorInfo& info : infos_) {
    const auto [code, bits] = type_of(info.dtype);
    std::int64_t bytes = bits / 8;
    for (const std::int64_t extent : info.shape) bytes *= extent;
    tensors_.push_back({info.name.c_str(), info.shape.data(),
                        static_cast<std::int64_t>(info.shape.size()), code, bits, bytes,
                        info.constant, 1});
  }
  own_ = {"kernel", table_, tensors_.data(), threads, 0, nullptr, nullptr, 0, nullptr};
  artifact_ = &own_;
  functions_ = {.prepare = lathe_artifact_prepare,
                .run = lathe_artifact_run,
                .destroy = lathe_artifact_destroy,
                .message = lathe_artifact_message,
                .prepare_on = nullptr,
                .run_on = nullptr};
}

std::int32_t Library::prepare(lathe_handle* handle, const DLTensor* const* inputs,
                              void* stream) const {
  return is_for_card() ? functions_.prepare_on(handle, inputs, stream)
                       : functions_.prepare(handle, inputs);
}

std::int32_t Library::run(lathe_handle* handle, const DLTensor* const* inputs,
                          DLTensor* const* outputs, void* stream) const {
  return is_for_card() ? functions_.run_on(handle, inputs, outputs, stream)
                       : functions_.run(handle, inputs, outputs);
}

std::int32_t Library::create(lathe_handle** handle) const {
  if (is_module()) return lathe_artifact_create(artifact_, nullptr, handle);
  return create_from_ != nullptr ? create_from_(weights_.c_str(), nullptr, handle)
                                 : create_(nullptr, handle);
}

std::int32_t Library::create_on(const lathe_runtime& runtime, lathe_handle** handle) const {
  return lathe_artifact_create_on(artifact_, &runtime, handle);
}

Expected<void> Library::load(const std::string& place) {
  auto code = module::LoadedCode::of_bytes(bytes_);
  if (code) {
    code_ = std::move(*code);
    return {};
  }
  if (code.error().kind != ErrorKind::kDataLoss)
    return fail(std::string(name_of(code.error().kind)), code.error().message, place);
  return fail("data-loss",
              "this is no library that can be loaded here, or only the beginning of one; give "
              "one that lathe compile made for this kind of machine",
              place);
}

Expected<void> Library::find_library(const std::string& place) {
  const auto* library = static_cast<const lathe_library*>(code_->find(LATHE_LIBRARY_SYMBOL));
  if (library == nullptr)
    return fail("data-loss",
                "the library was not made by lathe compile, or by one before it listed what is "
                "inside; make it again",
                place);
  const bool for_card = library->abi == LATHE_CARD_ABI;
  if ((library->abi != LATHE_ARTIFACT_ABI && !for_card) || library->count < 1)
    return fail("data-loss", "the library was made by another version of Lathe; make it again",
                place);
  artifact_ = library->artifacts[0];
  if (!find_functions(for_card)) return fail("data-loss", "the library lacks a function", place);
  return find_weights(place);
}

// Beside the library, or beside the file that a link in its place leads to.
Expected<void> Library::find_weights(const std::string& place) {
  namespace fs = std::filesystem;
  if (!find(*code_, std::string("lathe_") + artifact_->name + "_create_from", create_from_))
    return {};
  if (place.empty())
    return fail("unsupported", "the library's weights are beside its file; load that", place);
  std::error_code unknown;
  const fs::path library = fs::absolute(place, unknown), name = artifact_->weights->file;
  fs::path file = library.parent_path() / name;
  if (!fs::exists(file, unknown)) {
    const fs::path behind = fs::canonical(library, unknown).parent_path() / name;
    if (fs::exists(behind, unknown)) file = behind;
  }
  weights_ = file.string();
  if (!fs::exists(file, unknown)) return {};  // which create says
  if (const Status own = check_unshared(weights_); !own)
    return fail(std::string(name_of(own.error().kind)), own.error().message, own.error().place);
  return {};
}

bool Library::find_functions(bool for_card) {
  const std::string prefix = std::string("lathe_") + artifact_->name + "_";
  const bool calls = for_card ? find(*code_, prefix + "prepare", functions_.prepare_on) &&
                                    find(*code_, prefix + "run", functions_.run_on)
                              : find(*code_, prefix + "prepare", functions_.prepare) &&
                                    find(*code_, prefix + "run", functions_.run);
  return calls && find(*code_, prefix + "create", create_) &&
         find(*code_, prefix + "destroy", functions_.destroy) &&
         find(*code_, prefix + "message", functions_.message);
}

}  // namespace lathe::python
