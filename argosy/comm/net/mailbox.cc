#include "argosy/comm/net/mailbox.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>

#include "argosy/base/system/random_source.h"
#include "argosy/base/threads/spin.h"
#include "argosy/comm/net/net_disagreement.h"

namespace argosy {

namespace {

constexpr std::size_t kRingBytes = 64 << 10;  // a power of two
constexpr std::size_t kRingsAt = 4096;
constexpr char kName[] = "argosy-mail";

struct Letter {  // before the bytes of a message, which fill whole words
  std::uint32_t tag = 0;
  std::uint16_t kind = 0, bytes = 0;
  std::size_t room() const { return sizeof(Letter) + (bytes + 7) / 8 * 8; }
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

// 0: the system does not say.
std::uint64_t network_namespace() {
  struct stat about = {};
  return ::stat("/proc/self/ns/net", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

struct Mailbox::Header {
  std::atomic<std::uint32_t> bell, sleepers, over;
  Secret secret;
};

// Positions count bytes since the beginning. Each side writes one of them.
struct Mailbox::Ring {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
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

std::size_t Mailbox::size_for(std::size_t tasks) { return kRingsAt + tasks * sizeof(Ring); }

Mailbox::Header& Mailbox::header() const { return *reinterpret_cast<Header*>(memory_.data()); }

Mailbox::Ring& Mailbox::ring_of(int sender) const {
  return *reinterpret_cast<Ring*>(memory_.data() + kRingsAt + static_cast<std::size_t>(sender) * sizeof(Ring));
}

Result<std::unique_ptr<Mailbox>> Mailbox::make(std::size_t tasks) {
  ARGOSY_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::make(kName, size_for(tasks)));
  std::unique_ptr<Mailbox> box(new Mailbox(std::move(memory), -1));
  for (std::uint64_t& word : box->header().secret) word = system_random_source().next();
  return box;
}

std::unique_ptr<Mailbox> Mailbox::open(const Address& address, std::size_t tasks) {
  if (address.process <= 0 || address.network == 0 || address.network != network_namespace()) return nullptr;
  const std::size_t bytes = size_for(tasks);
  auto memory = SharedMemory::open(address.process, address.file, kName, bytes, bytes);
  if (!memory.ok()) return nullptr;
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(address.process), 0));
  std::unique_ptr<Mailbox> box(new Mailbox(*std::move(memory), process));
  if (process < 0 || box->header().secret != address.secret) return nullptr;
  return box;
}

Mailbox::~Mailbox() {
  if (process_ >= 0) ::close(process_);
}

Mailbox::Address Mailbox::address() const {
  const Secret& secret = header().secret;
  return {::getpid(), network_namespace(), memory_.file(), reinterpret_cast<std::uintptr_t>(&secret), secret};
}

bool Mailbox::put(int sender, std::uint32_t tag, Kind kind, const void* message, std::size_t bytes) {
  Ring& ring = ring_of(sender);
  const Letter letter{tag, static_cast<std::uint16_t>(kind), static_cast<std::uint16_t>(bytes)};
  const std::uint64_t at = ring.written.load(std::memory_order_relaxed);
  if (at + letter.room() - ring.taken.load(std::memory_order_acquire) > kRingBytes) return false;
  ring.put(at, &letter, sizeof letter);
  if (bytes > 0) ring.put(at + sizeof letter, message, bytes);
  ring.written.store(at + letter.room(), std::memory_order_release);
  return true;
}

Status Mailbox::take(int sender, const std::function<void(std::uint32_t tag, Kind kind, std::string message)>& each) {
  Ring& ring = ring_of(sender);
  std::uint64_t at = ring.taken.load(std::memory_order_relaxed);
  const std::uint64_t end = ring.written.load(std::memory_order_acquire);
  while (at != end) {
    Letter letter;
    const std::uint64_t there = end - at;
    if (there >= sizeof letter) ring.get(at, &letter, sizeof letter);
    if (there > kRingBytes || there < sizeof letter || letter.bytes > kMostBytes || letter.room() > there ||
        letter.kind > static_cast<std::uint16_t>(Kind::kWasRead)) {
      return unreadable("task ", sender, " wrote what is no message");
    }
    std::string message(letter.bytes, '\0');
    ring.get(at + sizeof letter, message.data(), letter.bytes);
    each(letter.tag, static_cast<Kind>(letter.kind), std::move(message));
    at += letter.room();
    ring.taken.store(at, std::memory_order_release);
  }
  return ok_status();
}

void Mailbox::ring() {
  Header& h = header();
  h.bell.fetch_add(1);
  if (h.sleepers.load() > 0) ::syscall(SYS_futex, &h.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t Mailbox::bell() const { return header().bell.load(); }

void Mailbox::wait(std::uint32_t bell, std::int64_t nanos) {
  Header& h = header();
  if (spin_until([&] { return h.bell.load(std::memory_order_relaxed) != bell; })) return;
  const timespec at_most{nanos / 1'000'000'000, nanos % 1'000'000'000};
  h.sleepers.fetch_add(1);
  ::syscall(SYS_futex, &h.bell, FUTEX_WAIT, bell, &at_most, nullptr, 0);
  h.sleepers.fetch_sub(1);
}

void Mailbox::end(Over how) {
  auto no = static_cast<std::uint32_t>(Over::kNo);
  header().over.compare_exchange_strong(no, static_cast<std::uint32_t>(how));
}

// A read-modify-write: no earlier read of the owner's memory is made later than this.
Mailbox::Over Mailbox::over() const { return static_cast<Over>(header().over.fetch_or(0)); }

bool Mailbox::process_ended() const {
  pollfd look{process_, POLLIN, 0};
  return process_ >= 0 && ::poll(&look, 1, 0) > 0;
}

}  // namespace argosy
