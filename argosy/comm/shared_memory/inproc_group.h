// A group whose ranks are devices of one process: they read each other's memory, so a collective is one pass over it.
//
// The last rank to come works out what is to do; every rank that is awake then takes blocks of it, its own share first,
// and those of ranks that are late. The result never depends on who did what. A rank waits awake for about the cost of
// a wake-up, then sleeps; where there are more ranks than cores it gives way to the others while it waits.
#pragma once

#include <memory>

#include "argosy/comm/communicator.h"

namespace argosy {

struct InprocOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of calls that give none
  // Emulated devices: collectives take at least as long as a ring over links of this speed would
  // (2(n-1)/n S/B for all_reduce of S bytes on n ranks); 0 = as fast as memory.
  double link_bytes_per_second = 0;
};

class InprocGroup {
 public:
  // REQUIRES: size >= 1.
  explicit InprocGroup(int size, const InprocOptions& options = {});
  // No rank may be inside a call.
  ~InprocGroup();

  int size() const;
  Communicator& rank(int rank);  // owned by the group

  // As Communicator::abort, from outside.
  void abort(Status cause);
  // Makes an aborted group usable again. FAILED_PRECONDITION while a rank is still inside a call.
  Status reset();

 private:
  class State;
  class Rank;
  std::unique_ptr<State> state_;
};

}  // namespace argosy
