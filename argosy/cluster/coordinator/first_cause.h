// FirstCause: selects the error that a job ends with, among the errors that its tasks report.
//
//   own error (an op failed, bad data)       decided at once
//   lost task (its connection or heartbeat)  decided at once; the coordinator has waited before it reports one
//   error that follows (a peer is gone)      waits 100 ms for one of the above, of which it may be a consequence
#pragma once

#include <chrono>
#include <cstdint>

#include "argosy/base/status.h"

namespace argosy {

enum class CauseKind : std::uint8_t { kOwn, kLost, kFollows };

// kFollows for CANCELLED, ABORTED, UNAVAILABLE and DEADLINE_EXCEEDED, which another task's end may have caused; else
// kOwn.
CauseKind kind_of_cause(const Status& cause);

// Not synchronised: guarded by its owner's lock. Times are of Clock::now_nanos().
class FirstCause {
 public:
  static constexpr std::chrono::milliseconds kGrace{100};

  // REQUIRES: `cause` is an error.
  void report(CauseKind kind, Status cause, std::int64_t now);
  // Decides if it is time. Returns true if this call decided.
  bool decide(std::int64_t now);
  const Status& status() const { return decided_; }  // OK until it is decided

 private:
  Status decided_, candidate_;
  std::int64_t due_ = 0;
};

// Returns the cause with its task in where(): "task 3 (gpu-b)", or "node 'x' (MatMul) on /device:GPU:0, task 3
// (gpu-b)".
Status with_task(const Status& cause, int rank, const std::string& host);

}  // namespace argosy
