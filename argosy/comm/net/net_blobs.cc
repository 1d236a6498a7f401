#include "argosy/comm/net/net_blobs.h"

#include "argosy/comm/net/net_disagreement.h"

namespace argosy {

namespace {

constexpr std::size_t kFirst = 512;                      // bytes of the first message, whatever there is to say
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // bytes of one task

}  // namespace

Status gather_in_place(NetEngine& engine, std::byte* out, std::span<const std::size_t> bytes, std::uint32_t tag) {
  std::size_t begin = 0;
  for (int task = 0; task < engine.rank(); ++task) begin += bytes[static_cast<std::size_t>(task)];
  if (!engine.all_pairs()) return engine.all_gather(out + begin, out, bytes, tag);
  std::vector<NetEngine::Piece> sent, received;
  std::byte* next = out;
  for (int task = 0; task < engine.size(); next += bytes[static_cast<std::size_t>(task)], ++task) {
    if (task == engine.rank()) continue;
    sent.push_back({task, out + begin, bytes[static_cast<std::size_t>(engine.rank())]});
    received.push_back({task, next, bytes[static_cast<std::size_t>(task)]});
  }
  return engine.exchange(sent, received, tag);
}

Result<std::vector<std::string>> NetBlobs::gather(std::string_view own, std::uint32_t tag) {
  const auto tasks = static_cast<std::size_t>(engine_.size()), self = static_cast<std::size_t>(engine_.rank());
  constexpr std::size_t kRoom = kFirst - sizeof(std::uint64_t);
  std::string all(tasks * kFirst, '\0');
  const std::uint64_t size = own.size();
  std::memcpy(all.data() + self * kFirst, &size, sizeof size);
  const std::size_t inline_bytes = own.size() <= kRoom ? own.size() : 0;
  if (inline_bytes > 0) std::memcpy(all.data() + self * kFirst + sizeof size, own.data(), inline_bytes);
  const std::vector<std::size_t> firsts(tasks, kFirst);
  ARGOSY_RETURN_IF_ERROR(gather_in_place(engine_, reinterpret_cast<std::byte*>(all.data()), firsts, tag));
  std::vector<std::string> blobs(tasks);
  std::vector<std::size_t> rest(tasks, 0);
  std::size_t total = 0, mine = 0;
  for (std::size_t task = 0; task < tasks; ++task) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, all.data() + task * kFirst, sizeof bytes);
    if (task == self) mine = total;
    if (bytes > kMost) return unreadable("task ", task, " has ", bytes, " bytes for each other one; at most ", kMost);
    if (bytes <= kRoom) {
      blobs[task] = all.substr(task * kFirst + sizeof bytes, bytes);
    } else {
      total += rest[task] = bytes;
    }
  }
  if (total == 0) return blobs;
  // Not touched before it arrives: a task may say more than it sends.
  const auto long_ones = std::make_unique_for_overwrite<char[]>(total);
  if (rest[self] > 0) std::memcpy(long_ones.get() + mine, own.data(), own.size());
  ARGOSY_RETURN_IF_ERROR(gather_in_place(engine_, reinterpret_cast<std::byte*>(long_ones.get()), rest, tag));
  std::size_t at = 0;
  for (std::size_t task = 0; task < tasks; ++task) {
    if (rest[task] > 0) blobs[task].assign(long_ones.get() + at, rest[task]);
    at += rest[task];
  }
  return blobs;
}

}  // namespace argosy
