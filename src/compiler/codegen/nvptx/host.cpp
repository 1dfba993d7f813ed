#include "compiler/codegen/nvptx/cards.h"

namespace lathe::codegen {

Result<CudaTarget> query_cuda_card(std::string_view name) {
  return fail(ErrorKind::kNotFound,
              "this Lathe has no runner for cards, so that it cannot ask for \"{}\"; write an "
              "architecture such as cuda:sm_80, or a card such as cuda:A100",
              name);
}

}  // namespace lathe::codegen
