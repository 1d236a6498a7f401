#include "argosy/comm/net/host_reads.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "argosy/base/str.h"
#include "argosy/base/system/random_source.h"
#include "argosy/comm/net/net_blobs.h"

namespace argosy {

namespace {

constexpr std::size_t kLeast = 2 << 20;  // bytes of a piece; with less, two meetings take longer than a socket's copies
constexpr std::uint32_t kTag = 0;        // of the calls before all others

using Secret = std::array<std::uint64_t, 2>;

// Reads memory of a process. False: not all of it, and errno says why.
bool read_memory(std::int64_t process, std::uint64_t address, std::byte* to, std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // of one call
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kMost);
    const iovec here{to, part};
    const iovec there{reinterpret_cast<void*>(address), part};  // NOLINT: another process' address
    const ssize_t got = ::process_vm_readv(static_cast<pid_t>(process), &here, 1, &there, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// What a task tells the others: where they find its secret, if they can read it. A number of a process means another
// one on another host; its secret is then another.
struct Self {
  std::int64_t process = 0;  // 0: its memory is not to be read
  std::uint64_t address = 0;
  Secret secret{};
};

// All tasks' values, by task. Every task calls it.
template <typename T>
Result<std::vector<T>> gathered(NetEngine& engine, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(engine.size()));
  all[static_cast<std::size_t>(engine.rank())] = own;
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  ARGOSY_RETURN_IF_ERROR(gather_in_place(engine, reinterpret_cast<std::byte*>(all.data()), bytes, kTag));
  return all;
}

class HostReads final : public NetEngine {
 public:
  // `processes`: by task; 0: sockets carry all to it and from it.
  HostReads(std::unique_ptr<NetEngine> engine, std::vector<std::int64_t> processes)
      : engine_(std::move(engine)), processes_(std::move(processes)) {}

  int rank() const override { return engine_->rank(); }
  int size() const override { return engine_->size(); }
  bool all_pairs() const override { return true; }
  std::chrono::milliseconds timeout() const override { return engine_->timeout(); }
  Status all_reduce(std::byte* data, std::size_t elements, std::size_t element_bytes, const Combine& combine,
                    std::uint32_t tag) override {
    return engine_->all_reduce(data, elements, element_bytes, combine, tag);
  }
  Status all_gather(const std::byte* in, std::byte* out, std::span<const std::size_t> bytes,
                    std::uint32_t tag) override {
    return engine_->all_gather(in, out, bytes, tag);
  }
  Status broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) override {
    return engine_->broadcast(data, bytes, root, tag);
  }
  Status barrier(std::uint32_t tag) override { return engine_->barrier(tag); }
  void abort() override { engine_->abort(); }

  Status exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag) override {
    return carry(sent, received, tag, /*another_follows=*/false);
  }
  Status exchange_before_another(std::span<const Piece> sent, std::span<const Piece> received,
                                 std::uint32_t tag) override {
    return carry(sent, received, tag, /*another_follows=*/true);
  }
  // Reading takes no time that sums could use, and each exchange is two meetings.
  std::size_t chunk_bytes() const override { return all_read() ? std::size_t{64} << 20 : engine_->chunk_bytes(); }

 private:
  Status carry(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag, bool another_follows);
  bool all_read() const {
    return std::ranges::count(processes_, 0) == 1;  // this task
  }
  std::int64_t process_of(const Piece& piece) const { return processes_[static_cast<std::size_t>(piece.peer)]; }
  // The same on both sides.
  bool is_read(const Piece& piece) const { return piece.bytes >= kLeast && process_of(piece) != 0; }

  const std::unique_ptr<NetEngine> engine_;
  const std::vector<std::int64_t> processes_;
};

// Sender and receiver list the pieces of their pair in one order. So addresses, and what sockets carry, come in order.
Status HostReads::carry(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag,
                        bool another_follows) {
  std::vector<std::uint64_t> own(sent.size()), theirs(received.size());
  std::vector<std::byte> done(sent.size() + received.size());
  std::vector<Piece> sent_first, received_first, sent_then, received_then;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (!is_read(sent[i])) {
      sent_then.push_back(sent[i]);
      continue;
    }
    own[i] = reinterpret_cast<std::uintptr_t>(sent[i].data);
    sent_first.push_back({sent[i].peer, reinterpret_cast<std::byte*>(&own[i]), sizeof own[i]});
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    if (!is_read(received[i])) {
      received_then.push_back(received[i]);
      continue;
    }
    received_first.push_back({received[i].peer, reinterpret_cast<std::byte*>(&theirs[i]), sizeof theirs[i]});
  }
  if (sent_first.empty() && received_first.empty()) return engine_->exchange(sent, received, tag);
  ARGOSY_RETURN_IF_ERROR(engine_->exchange(sent_first, received_first, tag));
  for (std::size_t i = 0; i < received.size(); ++i) {
    const Piece& piece = received[i];
    if (!is_read(piece) || read_memory(process_of(piece), theirs[i], piece.data, piece.bytes)) continue;
    return unavailable("exchange: the memory of task ", piece.peer, " cannot be read: ", std::strerror(errno))
        .with_id("ARG-COMM-025")
        .with_hint("the first cause is in the log of the task that ended first");
  }
  // The sender may use its memory again when each of its pieces was read. The addresses of another exchange say so too:
  // who gives them has read.
  std::byte* flag = done.data();
  if (!another_follows) {
    for (const Piece& piece : received_first) sent_then.push_back({piece.peer, flag++, 1});
    for (const Piece& piece : sent_first) received_then.push_back({piece.peer, flag++, 1});
  }
  if (sent_then.empty() && received_then.empty()) return ok_status();
  return engine_->exchange(sent_then, received_then, tag);
}

}  // namespace

bool host_reads_wanted() {
  const char* const asked = std::getenv("ARGOSY_HOST_READS");
  return asked == nullptr || std::string_view(asked) != "0";
}

Result<std::unique_ptr<NetEngine>> with_host_reads(std::unique_ptr<NetEngine> engine, bool wanted) {
  constexpr std::size_t kMostTasks = 64;
  const auto size = static_cast<std::size_t>(engine->size()), rank = static_cast<std::size_t>(engine->rank());
  if (size == 1 || size > kMostTasks || !engine->all_pairs()) return engine;
  Secret secret{};
  Self self;
  if (wanted) {
    for (std::uint64_t& word : secret) word = system_random_source().next();
    self = {::getpid(), reinterpret_cast<std::uintptr_t>(secret.data()), secret};
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Self> tasks, gathered(*engine, self));
  std::array<std::uint8_t, kMostTasks> reads{};
  for (std::size_t task = 0; task < size && self.process != 0; ++task) {
    Secret found{};
    reads[task] = task != rank && tasks[task].process > 0 &&
                  read_memory(tasks[task].process, tasks[task].address, reinterpret_cast<std::byte*>(found.data()),
                              sizeof found) &&
                  found == tasks[task].secret;
  }
  // Also says that all have read: `secret` is in use until here.
  ARGOSY_ASSIGN_OR_RETURN(const auto all, gathered(*engine, reads));
  std::vector<std::int64_t> processes(size, 0);
  for (std::size_t task = 0; task < size; ++task) {
    if (reads[task] != 0 && all[task][rank] != 0) processes[task] = tasks[task].process;
  }
  if (std::ranges::all_of(processes, [](std::int64_t process) { return process == 0; })) return engine;
  return std::unique_ptr<NetEngine>(std::make_unique<HostReads>(std::move(engine), std::move(processes)));
}

}  // namespace argosy
