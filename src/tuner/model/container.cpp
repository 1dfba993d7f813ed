#include "tuner/model/container.h"

#include "base/hash.h"
#include "tuner/feature/version.h"

namespace lathe::model {
namespace {

constexpr std::string_view kMagic = "LATHEMDL";
constexpr std::uint32_t kFormat = 1;

}  // namespace

std::string pack(std::string_view kind, std::string_view payload) {
  std::string bytes(kMagic);
  append_value(bytes, kFormat);
  append_value(bytes, static_cast<std::uint32_t>(feature::kVersion));
  append_value(bytes, static_cast<std::uint32_t>(kind.size()));
  bytes += kind;
  append_value(bytes, static_cast<std::uint64_t>(payload.size()));
  bytes += payload;
  append_value(bytes, hash_of(bytes));
  return bytes;
}

Result<std::string> unpack(std::string_view bytes, std::string_view kind) {
  std::string_view rest = bytes;
  if (!rest.starts_with(kMagic))
    return fail(ErrorKind::kDataLoss, "this is not a saved cost model");
  rest.remove_prefix(kMagic.size());
  const auto cut_short = [&] {
    return fail(ErrorKind::kDataLoss,
                "the saved cost model is cut short at {} bytes: train it again", bytes.size());
  };
  std::uint32_t format = 0, version = 0, kind_size = 0;
  if (!take_value(rest, format)) return cut_short();
  if (format != kFormat)
    return fail(ErrorKind::kDataLoss,
                "the cost model was saved in format {}, this Lathe reads format {}", format,
                kFormat);
  if (!take_value(rest, version) || !take_value(rest, kind_size) || rest.size() < kind_size)
    return cut_short();
  const std::string_view saved_kind = rest.substr(0, kind_size);
  rest.remove_prefix(kind_size);
  std::uint64_t size = 0, checksum = 0;
  if (!take_value(rest, size) || rest.size() < sizeof checksum ||
      rest.size() - sizeof checksum < size)
    return cut_short();
  std::string payload(rest.substr(0, size));
  rest.remove_prefix(size);
  const std::size_t signed_bytes = bytes.size() - rest.size();
  take_value(rest, checksum);
  if (checksum != hash_of(bytes.substr(0, signed_bytes)) || !rest.empty())
    return fail(ErrorKind::kDataLoss,
                "the saved cost model is damaged (its checksum does not match): train it again");
  if (version != feature::kVersion)
    return fail(
        ErrorKind::kDataLoss,
        "the cost model was trained on version {} of the features, this Lathe has version {}: "
        "train it again",
        version, feature::kVersion);
  if (saved_kind != kind)
    return fail(ErrorKind::kInvalidArgument, "the saved cost model is of kind {}, not {}",
                saved_kind, kind);
  return payload;
}

}  // namespace lathe::model
