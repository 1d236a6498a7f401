#include "argosy/comm/net/host_mail.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"
#include "argosy/base/system/random_source.h"
#include "argosy/base/threads/spin.h"
#include "argosy/comm/net/net_disagreement.h"

namespace argosy {

namespace {

constexpr std::size_t kRingBytes = 64 << 10;  // a power of two
constexpr std::size_t kRingsAt = 4096;        // in a mailbox
constexpr char kName[] = "argosy-mail";
constexpr std::int64_t kLookNanos = 50'000'000;  // how often a sleeping task looks whether the other one lives

enum Over : std::uint32_t { kNotOver = 0, kEnded = 1, kAborted = 2 };

struct Header {
  std::atomic<std::uint32_t> doorbell, sleepers, over;
  HostMail::Secret secret;
};
struct Letter {  // of a message; its bytes follow, in whole words
  std::uint32_t tag = 0, bytes = 0;
  std::size_t room() const { return sizeof(Letter) + (bytes + 7) / 8 * 8; }
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

// 0: the system does not say.
std::uint64_t network_namespace() {
  struct stat about = {};
  return ::stat("/proc/self/ns/net", &about) == 0 ? about.st_ino : 0;
}

Status lost(const auto&... why) {
  return unavailable("exchange: a connection to another task is lost: ", why...)
      .with_id("ARG-COMM-025")
      .with_hint("the first cause is in the log of the task that ended first");
}

}  // namespace

// Positions count bytes since the beginning. Each side writes one of them.
struct HostMail::Ring {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  alignas(64) std::byte bytes[kRingBytes];

  void put(std::uint64_t at, const void* from, std::size_t count) {
    const std::size_t begin = at % kRingBytes, first = std::min(count, kRingBytes - begin);
    std::memcpy(bytes + begin, from, first);
    if (count > first) std::memcpy(bytes, static_cast<const std::byte*>(from) + first, count - first);
  }
  void get(std::uint64_t at, void* to, std::size_t count) const {
    const std::size_t begin = at % kRingBytes, first = std::min(count, kRingBytes - begin);
    std::memcpy(to, bytes + begin, first);
    if (count > first) std::memcpy(static_cast<std::byte*>(to) + first, bytes, count - first);
  }
};

struct HostMail::Box {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
  int process = -1;  // a descriptor of the owner's process: readable once it has ended

  Box(std::byte* where, std::size_t size, int of_process) : at(where), bytes(size), process(of_process) {}
  ~Box() {
    ::munmap(at, bytes);
    if (process >= 0) ::close(process);
  }
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  static std::size_t size_for(std::size_t tasks) { return kRingsAt + tasks * sizeof(Ring); }
  // Null: it cannot be mapped.
  static std::unique_ptr<Box> map(int file, std::size_t tasks, int process) {
    const std::size_t size = size_for(tasks);
    void* const where = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (where == MAP_FAILED) return nullptr;
    return std::make_unique<Box>(static_cast<std::byte*>(where), size, process);
  }
  Header& header() const { return *reinterpret_cast<Header*>(at); }
  Ring& ring(int sender) const {
    return *reinterpret_cast<Ring*>(at + kRingsAt + static_cast<std::size_t>(sender) * sizeof(Ring));
  }
  bool process_ended() const {
    pollfd look{process, POLLIN, 0};
    return process >= 0 && ::poll(&look, 1, 0) > 0;
  }
};

HostMail::HostMail(int rank, int size, std::chrono::milliseconds timeout)
    : rank_(rank),
      timeout_(timeout),
      boxes_(static_cast<std::size_t>(size)),
      sends_(std::make_unique<Mutex[]>(static_cast<std::size_t>(size))) {}

Result<std::unique_ptr<HostMail>> HostMail::make(int rank, int size, std::chrono::milliseconds timeout) {
  std::unique_ptr<HostMail> mail(new HostMail(rank, size, timeout));
  const auto tasks = static_cast<std::size_t>(size);
  mail->file_ = ::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (mail->file_ >= 0 && ::ftruncate(mail->file_, static_cast<off_t>(Box::size_for(tasks))) == 0 &&
      ::fcntl(mail->file_, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
    mail->own_ = Box::map(mail->file_, tasks, -1);
  }
  if (mail->own_ == nullptr) return unavailable("no memory that tasks can share");
  for (std::uint64_t& word : mail->own_->header().secret) word = system_random_source().next();
  return mail;
}

HostMail::~HostMail() {
  close_file();
  if (own_ == nullptr) return;
  std::uint32_t not_over = kNotOver;
  own_->header().over.compare_exchange_strong(not_over, kEnded);
  for (const auto& box : boxes_) {
    if (box != nullptr) wake(*box);
  }
}

HostMail::Address HostMail::address() const {
  const Header& header = own_->header();
  return {::getpid(), network_namespace(), file_, reinterpret_cast<std::uintptr_t>(&header.secret), header.secret};
}

bool HostMail::open(int task, const Address& address) {
  if (address.process <= 0 || address.network == 0 || address.network != network_namespace()) return false;
  const std::string path = str_cat("/proc/", address.process, "/fd/", address.file);
  char target[64];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  // The numbers may be those of another file here.
  if (length < 0 ||
      std::string_view(target, static_cast<std::size_t>(length)) != str_cat("/memfd:", kName, " (deleted)")) {
    return false;
  }
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(address.process), 0));
  if (process < 0) return false;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat about = {};
  std::unique_ptr<Box> box;
  if (file >= 0 && ::fstat(file, &about) == 0 && (::fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK) != 0 &&
      static_cast<std::size_t>(about.st_size) == Box::size_for(boxes_.size())) {
    box = Box::map(file, boxes_.size(), process);
  }
  if (file >= 0) ::close(file);
  if (box == nullptr) {
    ::close(process);
    return false;
  }
  if (box->header().secret != address.secret) return false;
  boxes_[static_cast<std::size_t>(task)] = std::move(box);
  return true;
}

void HostMail::close(int task) { boxes_[static_cast<std::size_t>(task)].reset(); }

void HostMail::close_file() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void HostMail::wake(Box& box) const {
  Header& header = box.header();
  header.doorbell.fetch_add(1);
  if (header.sleepers.load() > 0) ::syscall(SYS_futex, &header.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status HostMail::trouble(int task, bool slept) const {
  if (aborted_.load()) return lost("this task has given up");
  const Box& box = *boxes_[static_cast<std::size_t>(task)];
  const std::uint32_t over = box.header().over.load();
  if (over == kAborted) return lost("task ", task, " has given up");
  if (over == kEnded || (slept && box.process_ended())) return lost("task ", task, " has ended");
  return ok_status();
}

Status HostMail::sort() {
  for (std::size_t task = 0; task < boxes_.size(); ++task) {
    if (boxes_[task] == nullptr) continue;
    Ring& ring = own_->ring(static_cast<int>(task));
    std::uint64_t at = ring.read.load(std::memory_order_relaxed);
    const std::uint64_t end = ring.written.load(std::memory_order_acquire);
    while (at != end) {
      Letter letter;
      const std::uint64_t there = end - at;
      if (there >= sizeof letter) ring.get(at, &letter, sizeof letter);
      if (there > kRingBytes || there < sizeof letter || letter.bytes > kMostBytes || letter.room() > there) {
        return unreadable("task ", task, " wrote what is no message").with_id("ARG-COMM-029");
      }
      std::string& message = come_[{static_cast<int>(task), letter.tag}].emplace_back(letter.bytes, '\0');
      ring.get(at + sizeof letter, message.data(), letter.bytes);
      at += letter.room();
    }
    ring.read.store(at, std::memory_order_release);
  }
  return ok_status();
}

Status HostMail::send(int task, std::uint32_t tag, const void* message, std::size_t bytes) {
  Box& box = *boxes_[static_cast<std::size_t>(task)];
  Ring& ring = box.ring(rank_);
  const Letter letter{tag, static_cast<std::uint32_t>(bytes)};
  {
    MutexLock one_writer(sends_[static_cast<std::size_t>(task)]);
    const std::uint64_t at = ring.written.load(std::memory_order_relaxed);
    const std::int64_t end = now_nanos() + std::chrono::nanoseconds(timeout_).count();
    while (at + letter.room() - ring.read.load(std::memory_order_acquire) > kRingBytes) {
      {
        MutexLock lock(mutex_);
        ARGOSY_RETURN_IF_ERROR(sort());  // it may wait for room, too
      }
      ARGOSY_RETURN_IF_ERROR(trouble(task, true));
      if (now_nanos() > end)
        return deadline_exceeded("exchange: task ", task, " reads nothing").with_id("ARG-COMM-024");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    ring.put(at, &letter, sizeof letter);
    ring.put(at + sizeof letter, message, bytes);
    ring.written.store(at + letter.room(), std::memory_order_release);
  }
  wake(box);
  return ok_status();
}

Status HostMail::receive(int task, std::uint32_t tag, void* message, std::size_t bytes) {
  const std::pair<int, std::uint32_t> from(task, tag);
  Header& own = own_->header();
  const std::int64_t end = now_nanos() + std::chrono::nanoseconds(timeout_).count();
  Status over;
  for (bool slept = false;;) {
    const std::uint32_t bell = own.doorbell.load();
    {
      MutexLock lock(mutex_);
      ARGOSY_RETURN_IF_ERROR(sort());
      const auto found = come_.find(from);
      if (found != come_.end()) {
        const std::string come = std::move(found->second.front());
        found->second.pop_front();
        if (found->second.empty()) come_.erase(found);
        if (come.size() != bytes) {
          return unreadable("task ", task, " sent ", come.size(), " bytes, not ", bytes).with_id("ARG-COMM-029");
        }
        std::memcpy(message, come.data(), bytes);
        return ok_status();
      }
    }
    // What was written before the end was looked for once more.
    if (!over.ok()) return over;
    over = trouble(task, slept);
    if (!over.ok()) continue;
    const std::int64_t left = end - now_nanos();
    if (left <= 0) {
      return deadline_exceeded("exchange: Timed out waiting for task ", task)
          .with_id("ARG-COMM-024")
          .with_hint("look at what the other tasks do: an earlier error, another program, or just slow work");
    }
    if (spin_until([&] { return own.doorbell.load(std::memory_order_relaxed) != bell; })) continue;
    const std::int64_t nanos = std::min(left, kLookNanos);
    const timespec at_most{nanos / 1'000'000'000, nanos % 1'000'000'000};
    own.sleepers.fetch_add(1);
    const long woken = ::syscall(SYS_futex, &own.doorbell, FUTEX_WAIT, bell, &at_most, nullptr, 0);
    own.sleepers.fetch_sub(1);
    slept = woken != 0;
  }
}

void HostMail::abort() {
  if (aborted_.exchange(true)) return;
  own_->header().over.store(kAborted);
  wake(*own_);
  for (const auto& box : boxes_) {
    if (box != nullptr) wake(*box);
  }
}

}  // namespace argosy
