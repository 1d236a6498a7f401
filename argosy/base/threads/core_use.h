// CoreUseMeter: measures who uses the cores of this process. ContentionDetector: decides from it whether other programs
// want them too.
#pragma once

#include <chrono>
#include <cstdint>

namespace argosy {

// The use of cores over an interval: 1 is one core all the time.
struct CoreUse {
  double own = 0;      // by this process
  double others = 0;   // by other processes, on the cores of this process's affinity mask
  double delayed = 0;  // runnable threads of this process that waited for a core
};

// The CPU time of this process.
std::chrono::nanoseconds process_time();

// Measures the time since the last call of read(), or since its construction. The kernel counts the time of others in
// hundredths of a second: use intervals of several of those. A call costs some microseconds for every core and thread.
// Without /proc all values are 0; without its schedstat, `delayed` is 0.
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

// Decides whether other programs want the cores that this process computes on. A client that computes while this
// process waits for it, and the other way round, does not contend. So use by others counts only after our threads had
// to wait.
class ContentionDetector {
 public:
  // `spare`: cores beyond those that this process computes on.
  explicit ContentionDetector(double spare) : spare_(spare) {}
  // Takes the next interval; returns whether the cores are contended now.
  bool detect(const CoreUse& use);

 private:
  const double spare_;
  bool contended_ = false;
  int since_ = 0;  // intervals
};

}  // namespace argosy
