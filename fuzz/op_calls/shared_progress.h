// What the process that makes calls writes where the one that watches it reads, also after a crash: the call under way,
// and what became of those before, by op. In memory that the two share.
#pragma once

#include <atomic>
#include <cstdint>

#include "fuzz/op_calls/run_call.h"

namespace argosy::op_calls {

inline constexpr int kMostOps = 2048;
inline constexpr int kMostMessages = 1 << 18;

struct OpCounts {
  std::uint64_t calls = 0;
  std::uint64_t stages[kStages] = {};
};

struct SharedProgress {
  // The call under way.
  std::atomic<int> op{-1};
  std::atomic<std::uint64_t> seed{0};
  std::atomic<bool> in_session{false};
  std::atomic<std::int64_t> started_ns{0};  // 0: none
  std::atomic<std::uint64_t> done{0};       // calls of this campaign
  std::atomic<std::uint64_t> sessions{0};   // of them, in a session
  std::atomic<std::int64_t> longest_ns{0};
  OpCounts counts[kMostOps];
  // Errors told apart by their words, numbers and names left out: how many error branches were reached.
  std::atomic<std::uint64_t> messages[kMostMessages];
  std::atomic<int> distinct{0};

  void note_message(int op, const std::string& message);
};

// Shared with processes forked later. Never freed.
SharedProgress& new_shared_progress();

}  // namespace argosy::op_calls
