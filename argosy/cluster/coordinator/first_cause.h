// FirstCause: of the errors that the tasks of a job report, the one that the job ends with.
//
//   own error (an op failed, bad data)       decided at once
//   lost task (its connection or heartbeat)  decided at once; the coordinator has waited before it reports one
//   error that follows (a peer is gone)      waits 100 ms for one of the above, whose consequence it may be
#pragma once

#include <chrono>
#include <cstdint>

#include "argosy/base/status.h"

namespace argosy {

enum class CauseKind : std::uint8_t { kOwn, kLost, kFollows };

// CANCELLED, ABORTED, UNAVAILABLE and DEADLINE_EXCEEDED may follow from the end of another task.
CauseKind kind_of_cause(const Status& cause);

// Used under its owner's lock. Times are those of Clock.
class FirstCause {
 public:
  static constexpr std::chrono::milliseconds kGrace{100};

  // REQUIRES: `cause` is an error.
  void report(CauseKind kind, Status cause, std::int64_t now);
  // True when this call decides.
  bool decide(std::int64_t now);
  const Status& status() const { return decided_; }  // OK until it is decided

 private:
  Status decided_, candidate_;
  std::int64_t due_ = 0;
};

// The cause with its task: where = "task 3 (gpu-b)", or "node 'x' (MatMul) on /device:GPU:0, task 3 (gpu-b)".
Status with_task(const Status& cause, int rank, const std::string& host);

}  // namespace argosy
