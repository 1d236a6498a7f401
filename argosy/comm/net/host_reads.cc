#include "argosy/comm/net/host_reads.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "argosy/base/str.h"
#include "argosy/comm/net/host_mail.h"
#include "argosy/comm/net/net_blobs.h"
#include "argosy/comm/net/net_disagreement.h"

namespace argosy {

namespace {

constexpr std::uint32_t kTag = 0;  // of the calls before all others

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

// All tasks' values, by task. Every task calls it.
template <typename T>
Result<std::vector<T>> gathered(NetEngine& engine, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(engine.size()));
  all[static_cast<std::size_t>(engine.rank())] = own;
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  ARGOSY_RETURN_IF_ERROR(gather_in_place(engine, reinterpret_cast<std::byte*>(all.data()), bytes, kTag));
  return all;
}

// How pairs of tasks exchange; the same on both sides.
struct Pairs {
  std::vector<std::int64_t> processes;  // by task; 0: its memory is not read
  // The same on all tasks: whether all pairs have mailboxes, and read.
  bool all_mail = true, all_read = true;
};

struct Place {  // of a piece that is read
  std::uint64_t address = 0, bytes = 0;
};

class HostReads final : public NetEngine {
 public:
  HostReads(std::unique_ptr<NetEngine> engine, std::unique_ptr<HostMail> mail, Pairs pairs)
      : engine_(std::move(engine)), mail_(std::move(mail)), pairs_(std::move(pairs)) {}

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
  Status broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) override;
  Status barrier(std::uint32_t tag) override;
  void abort() override {
    mail_->abort();
    engine_->abort();
  }

  Status exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag) override {
    return ended_together(carry(sent, received, tag, /*another_follows=*/false));
  }
  Status exchange_before_another(std::span<const Piece> sent, std::span<const Piece> received,
                                 std::uint32_t tag) override {
    return ended_together(carry(sent, received, tag, /*another_follows=*/true));
  }
  // Reading takes no time that sums could use.
  std::size_t chunk_bytes() const override { return (pairs_.all_read ? 4 : 1) * engine_->chunk_bytes(); }

 private:
  enum class Way : char { kNone, kMail, kRead, kSocket };
  // The same on both sides.
  Way way_of(const Piece& piece) const {
    if (piece.bytes == 0) return Way::kNone;
    if (!mail_->is_open(piece.peer)) return Way::kSocket;
    if (piece.bytes <= Mailbox::kMostBytes) return Way::kMail;
    return process_of(piece) != 0 ? Way::kRead : Way::kSocket;
  }
  std::int64_t process_of(const Piece& piece) const { return pairs_.processes[static_cast<std::size_t>(piece.peer)]; }
  // Before a caller gets an error, and its memory back: the others are not to read there any more.
  Status ended_together(Status status) {
    if (!status.ok()) abort();
    return status;
  }
  Status carry(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag, bool another_follows);
  Status read(const Piece& piece, std::uint32_t tag);

  const std::unique_ptr<NetEngine> engine_;
  const std::unique_ptr<HostMail> mail_;
  const Pairs pairs_;
};

Status HostReads::read(const Piece& piece, std::uint32_t tag) {
  Place place;
  ARGOSY_RETURN_IF_ERROR(mail_->receive(piece.peer, tag, Mailbox::Kind::kAddress, &place, sizeof place));
  if (place.bytes != piece.bytes) {
    return unreadable("task ", piece.peer, " sends ", place.bytes, " bytes, not ", piece.bytes);
  }
  if (!read_memory(process_of(piece), place.address, piece.data, piece.bytes)) {
    return unavailable("exchange: the memory of task ", piece.peer, " cannot be read: ", std::strerror(errno))
        .with_id("ARG-COMM-025")
        .with_hint("the first cause is in the log of the task that ended first; if there is none: ARGOSY_HOST_READS=0");
  }
  return mail_->lives(piece.peer);
}

// Sender and receiver list the pieces of their pair in one order, so messages need no names.
Status HostReads::carry(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag,
                        bool another_follows) {
  std::vector<Piece> by_socket, from_socket;
  for (const Piece& piece : sent) {
    const Place place{reinterpret_cast<std::uintptr_t>(piece.data), piece.bytes};
    const Way way = way_of(piece);
    if (way == Way::kSocket) by_socket.push_back(piece);
    if (way == Way::kMail) {
      ARGOSY_RETURN_IF_ERROR(mail_->send(piece.peer, tag, Mailbox::Kind::kPiece, piece.data, piece.bytes));
    }
    if (way == Way::kRead) {
      ARGOSY_RETURN_IF_ERROR(mail_->send(piece.peer, tag, Mailbox::Kind::kAddress, &place, sizeof place));
    }
  }
  for (const Piece& piece : received) {
    const Way way = way_of(piece);
    if (way == Way::kSocket) from_socket.push_back(piece);
    if (way == Way::kMail) {
      ARGOSY_RETURN_IF_ERROR(mail_->receive(piece.peer, tag, Mailbox::Kind::kPiece, piece.data, piece.bytes));
    }
    if (way == Way::kRead) ARGOSY_RETURN_IF_ERROR(read(piece, tag));
  }
  // The sender may use its memory again when each of its pieces was read. A message of another exchange says so too:
  // who sends it has read.
  for (const Piece& piece : received) {
    if (another_follows || way_of(piece) != Way::kRead) continue;
    ARGOSY_RETURN_IF_ERROR(mail_->send(piece.peer, tag, Mailbox::Kind::kWasRead, nullptr, 0));
  }
  if (!by_socket.empty() || !from_socket.empty()) {
    ARGOSY_RETURN_IF_ERROR(engine_->exchange(by_socket, from_socket, tag));
  }
  for (const Piece& piece : sent) {
    if (another_follows || way_of(piece) != Way::kRead) continue;
    ARGOSY_RETURN_IF_ERROR(mail_->receive(piece.peer, tag, Mailbox::Kind::kWasRead, nullptr, 0));
  }
  return ok_status();
}

Status HostReads::broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) {
  const bool by_mail = bytes <= Mailbox::kMostBytes && pairs_.all_mail;
  if (!by_mail && !pairs_.all_read) return engine_->broadcast(data, bytes, root, tag);
  std::vector<Piece> sent, received;
  for (int task = 0; task < size() && rank() == root; ++task) {
    if (task != root) sent.push_back({task, data, bytes});
  }
  if (rank() != root) received.push_back({root, data, bytes});
  return exchange(sent, received, tag);
}

Status HostReads::barrier(std::uint32_t tag) {
  if (!pairs_.all_mail) return engine_->barrier(tag);
  std::byte here{1};
  std::vector<std::byte> there(static_cast<std::size_t>(size()));
  std::vector<Piece> sent, received;
  for (int task = 0; task < size(); ++task) {
    if (task == rank()) continue;
    sent.push_back({task, &here, 1});
    received.push_back({task, &there[static_cast<std::size_t>(task)], 1});
  }
  return exchange(sent, received, tag);
}

}  // namespace

HostReadsOptions host_reads_options() {
  const char* const asked = std::getenv("ARGOSY_HOST_READS");
  return {.wanted = asked == nullptr || std::string_view(asked) != "0"};
}

Result<std::unique_ptr<NetEngine>> with_host_reads(std::unique_ptr<NetEngine> engine, const HostReadsOptions& options) {
  constexpr std::size_t kMostTasks = 64;
  const auto size = static_cast<std::size_t>(engine->size()), rank = static_cast<std::size_t>(engine->rank());
  if (size == 1 || size > kMostTasks || !engine->all_pairs()) return engine;
  std::unique_ptr<HostMail> mail;
  Mailbox::Address self;
  if (options.wanted) {
    auto made = HostMail::make(engine->rank(), engine->size(), engine->timeout());
    if (made.ok()) {
      mail = *std::move(made);
      self = mail->address();
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Mailbox::Address> tasks, gathered(*engine, self));
  constexpr std::uint8_t kMail = 1, kReads = 2;
  std::array<std::uint8_t, kMostTasks> ways{};
  for (std::size_t t = 0; t < size && mail != nullptr; ++t) {
    const Mailbox::Address& other = tasks[t];
    const int task = static_cast<int>(t);
    if (t == rank || other.secret == self.secret || (options.opens != nullptr && !options.opens(task)) ||
        !mail->open(task, other))
      continue;
    Mailbox::Secret found{};
    const bool reads =
        (options.reads == nullptr || options.reads(task)) &&
        read_memory(other.process, other.secret_at, reinterpret_cast<std::byte*>(found.data()), sizeof found) &&
        found == other.secret;
    ways[t] = static_cast<std::uint8_t>(kMail | (reads ? kReads : 0));
  }
  // Also says that all have opened what they can.
  ARGOSY_ASSIGN_OR_RETURN(const auto all, gathered(*engine, ways));
  Pairs pairs{.processes = std::vector<std::int64_t>(size, 0)};
  bool any = false;
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      if (a == b) continue;
      const int both = all[a][b] & all[b][a];
      pairs.all_mail &= (both & kMail) != 0;
      pairs.all_read &= (both & kReads) != 0;
      if (a != rank || mail == nullptr) continue;
      if ((both & kReads) != 0) pairs.processes[b] = tasks[b].process;
      if ((both & kMail) == 0) mail->close(static_cast<int>(b));
      any |= (both & kMail) != 0;
    }
  }
  if (!any) return engine;
  mail->close_file();
  return std::unique_ptr<NetEngine>(std::make_unique<HostReads>(std::move(engine), std::move(mail), std::move(pairs)));
}

}  // namespace argosy
