#include "compiler/ops/index_texts.h"

#include <algorithm>

#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

std::string listed_parts(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace

bool IndexTexts::reduced(std::size_t dimension) const {
  return std::ranges::find(over_, dimension) != over_.end();
}

std::string IndexTexts::whole() const {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape_.size(); ++d) out.push_back(fmt::format("i{}", d));
  return listed_parts(out);
}

std::string IndexTexts::term() const {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape_.size(); ++d)
    out.push_back(fmt::format("{}{}", reduced(d) ? 'k' : 'i', d));
  return listed_parts(out);
}

std::string IndexTexts::first() const {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape_.size(); ++d)
    out.push_back(reduced(d) ? "0" : fmt::format("i{}", d));
  return listed_parts(out);
}

std::string IndexTexts::over() const {
  std::vector<std::string> out;
  for (const std::size_t d : over_) out.push_back(fmt::format("k{}", d));
  return listed_parts(out);
}

std::string IndexTexts::kept() const {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape_.size(); ++d)
    if (!reduced(d)) out.push_back(fmt::format("i{}", d));
  return out.empty() ? "0" : listed_parts(out);
}

std::string IndexTexts::kept_iters(bool keep) const {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape_.size(); ++d)
    if (!reduced(d)) out.push_back(fmt::format("i{}", d));
    else if (keep) out.push_back(fmt::format("i{}:1", d));
  return out.empty() ? "one:1" : listed_parts(out);
}

std::vector<std::int64_t> IndexTexts::kept_shape(bool keep) const {
  std::vector<std::int64_t> out;
  for (std::size_t d = 0; d < shape_.size(); ++d)
    if (!reduced(d) || keep) out.push_back(reduced(d) ? 1 : shape_[d]);
  if (out.empty()) out.push_back(1);
  return out;
}

std::string IndexTexts::along() const {
  std::vector<std::string> out;
  for (const std::size_t d : over_) out.push_back(fmt::format("i{}", d));
  return listed_parts(out);
}

std::vector<std::int64_t> IndexTexts::along_shape() const {
  std::vector<std::int64_t> out;
  for (const std::size_t d : over_) out.push_back(shape_[d]);
  return out;
}

std::string IndexTexts::place() const {
  std::vector<std::string> out;
  std::int64_t step = 1;
  for (std::size_t o = over_.size(); o-- > 0;) {
    out.insert(out.begin(),
               step == 1 ? fmt::format("k{}", over_[o]) : fmt::format("{}*k{}", step, over_[o]));
    step = elements_of({step, shape_[over_[o]]});
  }
  return fmt::format("{}", fmt::join(out, " + "));
}

std::int64_t IndexTexts::terms() const { return elements_of(along_shape()); }

}  // namespace lathe::ops
