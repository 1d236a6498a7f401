#include "argosy/graph/name_pool.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/memory/huge_pages.h"

namespace argosy {

namespace {
constexpr std::size_t kLargestBlock = std::size_t{4} << 20;
}  // namespace

Name NamePool::add(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > left_) {
    const std::size_t size = std::max(next_, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    free_ = blocks_.back().get();
    left_ = size;
    next_ = std::min(2 * size, kLargestBlock);
    prefer_huge_pages(free_, size);
  }
  std::memcpy(free_, text.data(), text.size());
  const Name name(std::string_view(free_, text.size()));
  free_ += text.size();
  left_ -= text.size();
  return name;
}

// Nearly always there: nodes are copied from few graphs, one after the other.
void NamePool::retain(const std::shared_ptr<const NamePool>& other) {
  if (std::find(kept_.begin(), kept_.end(), other) == kept_.end()) kept_.push_back(other);
}

}  // namespace argosy
