#include "argosy/comm/native_gpu/staged_copies.h"

#include <algorithm>

namespace argosy::cuda {

namespace {
constexpr std::size_t kLeast = std::size_t{64} << 10;  // below, a piece takes as long as a larger one
}  // namespace

StagedCopies::~StagedCopies() {
  for (int r = 0; r < streams_.size(); ++r) {
    if (!streams_.enter(r).ok()) continue;
    streams_.core(r).driver()->cuStreamSynchronize(streams_.stream(r));
  }
  for (Slot& slot : slots_) {
    if (slot.pinned != nullptr) streams_.core(0).driver()->cuMemFreeHost(slot.pinned);
  }
}

Result<StagedCopies::Slot*> StagedCopies::next_slot(int owner, std::size_t bytes) {
  Slot& slot = slots_[next_++ % std::size(slots_)];
  const auto mine = static_cast<std::size_t>(owner);
  slot.scratch.resize(static_cast<std::size_t>(streams_.size()));
  if (slot.bytes >= bytes && slot.scratch[mine].bytes() >= bytes) return &slot;
  // Rare: larger than any before, or this rank's first.
  if (slot.combined.state() != nullptr) slot.combined.state()->wait();
  for (const Event& event : slot.readers) event.state()->wait();
  ARGOSY_RETURN_IF_ERROR(streams_.enter(owner));
  DeviceCore& core = streams_.core(owner);
  ARGOSY_RETURN_IF_ERROR(core.check(core.driver()->cuStreamSynchronize(streams_.stream(owner)), "cuStreamSynchronize"));
  ARGOSY_ASSIGN_OR_RETURN(slot.scratch[mine], core.memory().allocate(bytes, true));
  if (slot.bytes >= bytes) return &slot;
  if (slot.pinned != nullptr) core.driver()->cuMemFreeHost(std::exchange(slot.pinned, nullptr));
  slot.bytes = 0;
  void* pinned = nullptr;
  ARGOSY_RETURN_IF_ERROR(core.check(core.driver()->cuMemHostAlloc(&pinned, bytes, kCuHostPortable), "cuMemHostAlloc"));
  slot.pinned = static_cast<std::byte*>(pinned);
  slot.bytes = bytes;
  return &slot;
}

Status StagedCopies::to_host(int rank, std::byte* to, const std::byte* from, std::size_t bytes) {
  ARGOSY_RETURN_IF_ERROR(streams_.enter(rank));
  DeviceCore& core = streams_.core(rank);
  return core.check(
      core.driver()->cuMemcpyDtoHAsync_v2(to, reinterpret_cast<CuPointer>(from), bytes, streams_.stream(rank)),
      "cuMemcpyDtoHAsync");
}

Status StagedCopies::from_host(int rank, std::byte* to, const std::byte* from, std::size_t bytes) {
  ARGOSY_RETURN_IF_ERROR(streams_.enter(rank));
  DeviceCore& core = streams_.core(rank);
  return core.check(
      core.driver()->cuMemcpyHtoDAsync_v2(reinterpret_cast<CuPointer>(to), from, bytes, streams_.stream(rank)),
      "cuMemcpyHtoDAsync");
}

Status StagedCopies::run(int owner, const Piece& piece) {
  const std::size_t stride = (piece.bytes + 255) / 256 * 256;
  ARGOSY_ASSIGN_OR_RETURN(Slot* const slot, next_slot(owner, stride * (piece.in.size() + 1)));
  std::byte* const scratch = slot->scratch[static_cast<std::size_t>(owner)].data();
  const bool copied = piece.how.dtype == DType::kInvalid;
  const std::byte* result_here = nullptr;  // on the owner's GPU
  const std::byte* result_on_host = nullptr;

  std::vector<const std::byte*> in;
  for (std::size_t k = 0; k < piece.in.size(); ++k) {
    const auto [rank, from] = piece.in[k];
    if (rank == owner) {
      in.push_back(from);
      continue;
    }
    std::byte* const pinned = slot->pinned + k * stride;
    ARGOSY_RETURN_IF_ERROR(streams_.wait_for(slot->combined, rank));
    ARGOSY_RETURN_IF_ERROR(to_host(rank, pinned, from, piece.bytes));
    ARGOSY_RETURN_IF_ERROR(streams_.order(rank, owner));
    ARGOSY_RETURN_IF_ERROR(from_host(owner, scratch + k * stride, pinned, piece.bytes));
    in.push_back(scratch + k * stride);
  }

  if (copied) {
    result_here = in[0];  // its rank is the owner
  } else {
    std::vector<std::byte*> out;
    for (const auto& [rank, to] : piece.out) {
      if (rank == owner) out.push_back(to);
    }
    if (out.empty()) out.push_back(scratch + piece.in.size() * stride);
    RankLaunches& launches = launches_[static_cast<std::size_t>(owner)];
    ARGOSY_RETURN_IF_ERROR(
        launches.combine(piece.how, in, out, 0, static_cast<std::int64_t>(piece.bytes / piece.element_bytes)));
    ARGOSY_RETURN_IF_ERROR(launches.flush());
    result_here = out[0];
    ARGOSY_ASSIGN_OR_RETURN(slot->combined, streams_.mark(owner));
  }

  for (const auto& [rank, to] : piece.out) {
    if (rank == owner && !copied) continue;
    if (to == piece.in[0].second && copied) continue;
    if (result_on_host == nullptr) {
      std::byte* const pinned = slot->pinned + piece.in.size() * stride;
      for (const Event& event : slot->readers) ARGOSY_RETURN_IF_ERROR(streams_.wait_for(event, owner));
      slot->readers.clear();
      ARGOSY_RETURN_IF_ERROR(to_host(owner, pinned, result_here, piece.bytes));
      result_on_host = pinned;
    }
    if (rank != owner) ARGOSY_RETURN_IF_ERROR(streams_.order(owner, rank));
    ARGOSY_RETURN_IF_ERROR(from_host(rank, to, result_on_host, piece.bytes));
    ARGOSY_ASSIGN_OR_RETURN(slot->readers.emplace_back(), streams_.mark(rank));
  }
  return {};
}

Status StagedCopies::add(const CollectiveJob& job, const CollectiveJob::Part& part, Reduction reduction,
                         const RankMemory& memory) {
  const auto in = job.inputs(part);
  const auto out = job.outputs(part);
  const bool copied = part.combine == nullptr;
  const int only = copied ? memory.rank_of(in[0]) : part.outputs == 1 ? memory.rank_of(out[0]) : -1;
  // Every rank has something to combine, also of an array of one piece.
  const std::size_t share = part.bytes / static_cast<std::size_t>(streams_.size()) / kLeast * kLeast;
  const std::size_t most = only >= 0 ? kPiece : std::clamp(share, kLeast, kPiece);
  for (std::size_t at = 0; at < part.bytes; at += most) {
    Piece piece{.element_bytes = part.element_bytes, .bytes = std::min(most, part.bytes - at)};
    if (!copied) piece.how = {part.dtype, reduction, part.order, job.divisor()};
    for (const std::byte* const p : in) piece.in.emplace_back(memory.rank_of(p), p + at);
    for (std::byte* const p : out) piece.out.emplace_back(memory.rank_of(p), p + at);
    const int owner = only >= 0 ? only : next_owner_++ % streams_.size();
    ARGOSY_RETURN_IF_ERROR(run(owner, piece));
  }
  return {};
}

}  // namespace argosy::cuda
