// Who uses the cores that this process may run on: to tell whether other programs want them as well.
#pragma once

#include <chrono>
#include <cstdint>

namespace argosy {

// Over some time, as parts of it: 1 is one core all the time.
struct CoreUse {
  double own = 0;      // this process computed
  double others = 0;   // everybody else did, on the cores of this process's affinity mask
  double delayed = 0;  // this process's threads could have run, and waited for a core
};

// Time on cores that this process has used.
std::chrono::nanoseconds process_time();

// Of the time since the last call, or since it was made. The kernel counts others' time in hundredths of a second: ask
// no more often than some times that; asking costs some microseconds for every core and thread. Where there is no
// /proc, nobody uses anything; where it has no schedstat, nobody waits.
class CoreUseMeter {
 public:
  CoreUseMeter();
  CoreUse read();

 private:
  struct Totals {
    std::chrono::nanoseconds when{}, own{}, all{}, delayed{};
  };
  static Totals totals();
  Totals last_;
};

// Whether other programs want cores that this one computes on. A client that computes while this process waits for it,
// and waits while it computes, does not: so others' use alone says little before our threads have had to wait.
class ContentionDetector {
 public:
  // `spare`: cores beyond those that this process computes on.
  explicit ContentionDetector(double spare) : spare_(spare) {}
  // Of one interval after the other.
  bool detect(const CoreUse& use);

 private:
  const double spare_;
  bool contended_ = false;
  int since_ = 0;  // intervals
};

}  // namespace argosy
