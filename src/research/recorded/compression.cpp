#include "research/recorded/compression.h"

#include <memory>
#include <new>

#include <zstd.h>

namespace lathe::recorded {
namespace {

constexpr int kLevel = 19;  // files are written once

struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

std::string compress(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  LATHE_CHECK(!ZSTD_isError(size), "{}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

Result<std::string> decompress(std::string_view bytes, std::size_t most) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    return fail(ErrorKind::kDataLoss, "this is not a file that Lathe compressed");
  if (size > most)
    return fail(ErrorKind::kDataLoss, "the file would become {} bytes, {} at most are expected",
                size, most);
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) || got != size)
    return fail(ErrorKind::kDataLoss, "the file is damaged or cut short ({})",
                ZSTD_isError(got) ? ZSTD_getErrorName(got) : "its size");
  return out;
}

}  // namespace lathe::recorded
