#include "runtime/module/module.h"

#include <utility>

namespace lathe::module {
namespace {

Status check(const lathe_module* table) {
  if (!table)
    return fail(ErrorKind::kDataLoss, "the library has no symbol \"{}\"; it was not made by lathe",
                LATHE_MODULE_SYMBOL);
  if (table->abi != LATHE_MODULE_ABI)
    return fail(ErrorKind::kDataLoss,
                "the library has interface version {}, this program version {}; build it again",
                table->abi, LATHE_MODULE_ABI);
  if (!table->run || table->inputs < 0 || table->outputs < 0 || table->constant_bytes < 0 ||
      table->workspace_bytes < 0 || table->worker_bytes < 0)
    return fail(ErrorKind::kDataLoss, "the library's table is damaged; build it again");
  return {};
}

Result<std::unique_ptr<Module>> from(std::unique_ptr<LoadedCode> code) {
  const auto* table = static_cast<const lathe_module*>(code->find(LATHE_MODULE_SYMBOL));
  LATHE_TRY_STATUS(check(table));
  return std::make_unique<Module>(std::move(code), table);
}

}  // namespace

Result<std::unique_ptr<Module>> open_module(int file) {
  return from(LATHE_TRY(LoadedCode::of_file(file)));
}

Result<std::unique_ptr<Module>> load_module(std::span<const std::byte> shared_object) {
  return from(LATHE_TRY(LoadedCode::of_bytes(shared_object)));
}

}  // namespace lathe::module
