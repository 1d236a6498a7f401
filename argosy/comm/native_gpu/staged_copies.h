// StagedCopies: collectives between GPUs without peer access. Pieces pass through pinned host memory, in stream order.
// The next pieces are copied while one is combined.
#pragma once

#include <memory>
#include <vector>

#include "argosy/comm/native_gpu/combine_launches.h"
#include "argosy/comm/native_gpu/rank_streams.h"

namespace argosy::cuda {

class StagedCopies {
 public:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;

  // Both outlive this.
  StagedCopies(RankStreams& streams, std::vector<RankLaunches>& launches) : streams_(streams), launches_(launches) {}
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // Enqueues one part of a collective, or a message.
  Status add(const CollectiveJob& job, const CollectiveJob::Part& part, Reduction reduction, const RankMemory& memory);

 private:
  // Pinned memory for one piece of every input and of the result, and scratch of that size on the GPU that combines.
  struct Slot {
    std::byte* pinned = nullptr;
    std::size_t bytes = 0;
    std::vector<Buffer> scratch;  // by rank; empty: the rank has not combined a piece in this slot
    Event combined;               // reached once the inputs have been read
    std::vector<Event> readers;   // each is reached once a rank has read the result
  };
  struct Piece {
    CombineHow how;  // dtype kInvalid: one input is copied
    std::size_t element_bytes = 1;
    std::vector<std::pair<int, const std::byte*>> in;  // (rank, address)
    std::vector<std::pair<int, std::byte*>> out;
    std::size_t bytes = 0;
  };

  Status run(int owner, const Piece& piece);
  Result<Slot*> next_slot(int owner, std::size_t bytes);
  Status to_host(int rank, std::byte* to, const std::byte* from, std::size_t bytes);
  Status from_host(int rank, std::byte* to, const std::byte* from, std::size_t bytes);

  RankStreams& streams_;
  std::vector<RankLaunches>& launches_;
  Slot slots_[3];
  std::size_t next_ = 0;
  int next_owner_ = 0;
};

}  // namespace argosy::cuda
