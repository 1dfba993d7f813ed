// What newer versions of DLPack add to Debian's header, as version 1.3 lays it out: tensors with a
// version and flags, and the functions behind a type's __dlpack_c_exchange_api__.
#pragma once

#include <cstdint>

#include <dlpack/dlpack.h>

namespace lathe::python {

struct DlpackVersion {
  std::uint32_t major, minor;
};
inline constexpr std::uint32_t kDlpackMajor = 1;
inline constexpr std::uint64_t kDlpackReadOnly = 1;

struct VersionedTensor {  // DLManagedTensorVersioned
  DlpackVersion version;
  void* manager;
  void (*deleter)(VersionedTensor* self);
  std::uint64_t flags;
  DLTensor tensor;
};

struct ExchangeHeader {
  DlpackVersion version;
  ExchangeHeader* previous;
};
using SetError = void (*)(void* context, const char* kind, const char* message);
// Functions return 0, or -1 with Python's error set. The caller holds the GIL.
struct Exchange {  // DLPackExchangeAPI
  ExchangeHeader header;
  int (*allocate)(DLTensor* prototype, VersionedTensor** out, void* context, SetError set_error);
  int (*managed_of)(void* object, VersionedTensor** out);
  int (*object_of)(VersionedTensor* tensor, void** out);  // takes the tensor
  int (*view_of)(void* object, DLTensor* out);            // may be null
  int (*stream_of)(int device, std::int32_t id, void** out);
};

}  // namespace lathe::python
