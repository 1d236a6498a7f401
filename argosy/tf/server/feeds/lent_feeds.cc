#include "argosy/tf/server/feeds/lent_feeds.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <vector>

#include "argosy/base/checked.h"
#include "argosy/base/str.h"
#include "argosy/base/system/file.h"

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

std::string path_of(std::int64_t process, std::int64_t file) { return str_cat("/proc/", process, "/fd/", file); }

// False, too, if the numbers mean another file: the client may be in another namespace of processes.
bool is_there(const std::string& path, std::string_view name) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length >= 0 &&
         std::string_view(target, static_cast<std::size_t>(length)) == str_cat("/memfd:", name, " (deleted)");
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
    const std::string path = path_of(token.process, token.file);
    if (!token.name.starts_with(kNames) || !is_there(path, token.name)) return unusable(path, " is not its file");
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return unusable(path, " cannot be opened (", errno, ")");
    if (!is_there(path_of(::getpid(), file), token.name)) {  // the client may have closed it and opened another one
      ::close(file);
      return unusable(path, " is another file now");
    }
    struct stat about = {};
    const int seals = ::fcntl(file, F_GET_SEALS);
    const bool sealed = ::fstat(file, &about) == 0 && seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    const auto size = static_cast<std::size_t>(about.st_size);
    void* at = MAP_FAILED;
    if (sealed && size >= kElementsAt && size <= kMostOfFile) {
      at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    }
    ::close(file);
    if (!sealed) return unusable(path, " is not sealed against shrinking");
    if (at == MAP_FAILED) return unusable(path, " cannot be mapped");
    return std::shared_ptr<Memory>(new Memory(at, size));
  }

  ~Memory() { ::munmap(at_, size_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::size_t size() const { return size_; }
  std::size_t room() const { return size_ - kElementsAt; }
  // A tensor over the memory, counted until its last copy is gone.
  static Tensor lend(const std::shared_ptr<Memory>& memory, const Token& token) {
    memory->users().fetch_add(1);
    std::shared_ptr<void> owner(memory->elements(), [memory](void*) { memory->users().fetch_sub(1); });
    return Tensor(token.dtype, token.shape, Buffer(std::move(owner), memory->elements(), token.bytes));
  }

 private:
  Memory(void* at, std::size_t size) : at_(at), size_(size) {}
  std::atomic_ref<std::int32_t> users() const { return std::atomic_ref(*static_cast<std::int32_t*>(at_)); }
  std::byte* elements() const { return static_cast<std::byte*>(at_) + kElementsAt; }

  void* const at_;
  const std::size_t size_;
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
  known_[token.name] = Known{memory, path_of(token.process, token.file), ++uses_};
  return memory;
}

void LentFeeds::sweep() {
  std::vector<Known> gone;  // unmapped without the lock
  MutexLock lock(mutex_);
  for (auto at = known_.begin(); at != known_.end();) {
    const auto known = at++;
    if (is_there(known->second.path, known->first)) continue;
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
