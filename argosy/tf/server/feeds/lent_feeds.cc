#include "argosy/tf/server/feeds/lent_feeds.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <vector>

#include "argosy/base/checked.h"
#include "argosy/base/str.h"
#include "argosy/base/system/file.h"
#include "argosy/base/system/shared_memory.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kElementsAt = 4096;
constexpr std::size_t kMostFiles = 64;  // and their bytes, mapped at one time
constexpr std::size_t kMostBytes = std::size_t{8} << 30;
constexpr std::size_t kMostOfFile = std::size_t{2} << 30;  // more than a client shares
constexpr std::string_view kNames = "argosy-feed-";        // other programs share memory, too

// The client knows it by its first words.
Status unusable(const auto&... what) {
  return failed_precondition("a lent feed cannot be used: ", what...).with_id("ARG-FEED-005");
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

struct LentFeeds::Token {
  std::int64_t process = 0, file = 0;
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  std::size_t bytes = 0;

  static Result<Token> read(std::string_view text) {
    Token token;
    std::vector<std::int64_t> sizes;
    std::int64_t dtype = 0;
    int word = 0;
    for (const std::string& part : str_split(text, ' ')) {
      if (word == 2) {
        token.name = part;
      } else {
        const auto value = number(part);
        if (!value) return unusable("its token is damaged");
        if (word == 0) token.process = *value;
        if (word == 1) token.file = *value;
        if (word == 3) dtype = *value;
        if (word > 3) sizes.push_back(*value);
      }
      ++word;
    }
    if (word < 4 || dtype > static_cast<std::int64_t>(DType::kUint64)) return unusable("its token is damaged");
    token.dtype = DType(dtype);
    // A bool of another process could be neither 0 nor 1.
    if (!is_plain(token.dtype) || token.dtype == DType::kBool) return unusable("type number ", dtype);
    auto shape = Shape::make(sizes);
    if (!shape.ok()) return unusable(shape.status().message());
    token.shape = *std::move(shape);
    const auto bytes = checked_mul(token.shape.elements(), static_cast<std::int64_t>(element_bytes(token.dtype)));
    if (!bytes) return unusable("its size overflows");
    token.bytes = static_cast<std::size_t>(*bytes);
    return token;
  }
};

class LentFeeds::Memory {
 public:
  static Result<std::shared_ptr<Memory>> map(const Token& token) {
    if (!token.name.starts_with(kNames)) return unusable("\"", token.name, "\" is of another program");
    auto file = SharedMemory::open(token.process, token.file, token.name, kElementsAt, kMostOfFile);
    if (!file.ok()) return unusable(file.status().message());
    return std::make_shared<Memory>(*std::move(file));
  }

  explicit Memory(SharedMemory file) : file_(std::move(file)) {}

  std::size_t size() const { return file_.size(); }
  std::size_t room() const { return size() - kElementsAt; }
  // A tensor over the memory, counted until its last copy is gone.
  static Tensor lend(const std::shared_ptr<Memory>& memory, const Token& token) {
    memory->users().fetch_add(1);
    std::shared_ptr<void> owner(memory->elements(), [memory](void*) { memory->users().fetch_sub(1); });
    return Tensor(token.dtype, token.shape, Buffer(std::move(owner), memory->elements(), token.bytes));
  }

 private:
  std::atomic_ref<std::int32_t> users() const {
    return std::atomic_ref(*reinterpret_cast<std::int32_t*>(file_.data()));
  }
  std::byte* elements() const { return file_.data() + kElementsAt; }

  const SharedMemory file_;
};

std::shared_ptr<LentFeeds> LentFeeds::of_folder(const std::string& folder) {
  const auto secret = read_file(join_path(folder, "secret"), 1024);
  return secret.ok() && !secret->empty() ? std::make_shared<LentFeeds>(*secret) : nullptr;
}

std::optional<Result<Tensor>> LentFeeds::find(std::string_view text) {
  if (!text.starts_with(prefix_)) return std::nullopt;
  return [&]() -> Result<Tensor> {
    ARGOSY_ASSIGN_OR_RETURN(const Token token, Token::read(text.substr(prefix_.size())));
    ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Memory> memory, this->memory(token));
    if (token.bytes > memory->room()) return unusable(token.bytes, " bytes in a file of ", memory->room());
    return Memory::lend(memory, token);
  }();
}

Result<std::shared_ptr<LentFeeds::Memory>> LentFeeds::memory(const Token& token) {
  {
    MutexLock lock(mutex_);
    if (const auto found = known_.find(token.name); found != known_.end()) {
      found->second.last_use = ++uses_;
      return found->second.memory;
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<Memory> memory, Memory::map(token));
  sweep();
  MutexLock lock(mutex_);
  if (const auto found = known_.find(token.name); found != known_.end()) return found->second.memory;
  make_room(memory->size());
  known_[token.name] = Known{memory, token.process, token.file, ++uses_};
  return memory;
}

void LentFeeds::sweep() {
  std::vector<Known> gone;  // unmapped without the lock
  MutexLock lock(mutex_);
  for (auto at = known_.begin(); at != known_.end();) {
    const auto known = at++;
    if (SharedMemory::is_there(known->second.process, known->second.file, known->first)) continue;
    gone.push_back(std::move(known->second));
    known_.erase(known);
  }
}

void LentFeeds::make_room(std::size_t bytes) {
  for (const auto& [name, known] : known_) bytes += known.memory->size();
  while (!known_.empty() && (known_.size() >= kMostFiles || bytes > kMostBytes)) {
    const auto oldest = std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second.last_use; });
    bytes -= oldest->second.memory->size();
    known_.erase(oldest);
  }
}

}  // namespace argosy::tf
