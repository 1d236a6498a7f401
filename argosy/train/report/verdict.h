// The scaling verdict: what many devices brought over one, where a step's time goes, and what to change.
//
//   verdict  2 devices: 1184 samples/s
//     in turn 1 device 640 (631 to 644), 2 devices 1190 (1181 to 1202) in 7 rounds: 1.86x (1.84x to 1.89x) of 2.00x, …
//     bound   compute 89 %  all-reduce 4 %  input 1 %  copies 2 %  overhead 4 %
//     try     --batch 256 (predicted 1.91x)
//
// Emulated GPUs share the machine's cores. Their speed-up is not compared with the number of devices:
//
//     in turn 1 device 66 (65 to 67), 2 devices 70 (69 to 71) in 7 rounds: 1.06x (1.03x to 1.09x)
//     cores   emulated GPUs share this machine's 2 cores: 1.06x is what the cores gave, and says nothing of GPUs
//
// A measurement that says nothing is no verdict, and there is no advice then:
//
//   verdict  2 devices: 1184 samples/s
//     not measured: other programs took 1.3 of 2 cores
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "argosy/runtime/machine/stats.h"
#include "argosy/train/report/interleaved_rates.h"

namespace argosy {

// Where the time of a step goes, in parts of 1, averaged over the devices that compute.
struct TimeBreakdown {
  double compute = 0;     // kernels run
  double all_reduce = 0;  // waiting for gradients that nothing hid
  double input = 0;       // waiting for the next batch
  double copies = 0;      // waiting for copies and for other devices
  double overhead = 0;    // launching, synchronising, everything else
};

// Adds up sampled steps. Used by one thread.
class TimeBreakdownMeter {
 public:
  // `devices`: whose time lines count.
  explicit TimeBreakdownMeter(std::vector<DeviceName> devices) : devices_(std::move(devices)) {}
  // One step, and how long its batch was waited for before.
  void add(const StepStats& stats, double input_seconds);
  int steps() const { return steps_; }  // that were added
  TimeBreakdown breakdown() const;      // of all steps so far; zeros before the first

 private:
  const std::vector<DeviceName> devices_;
  double compute_ = 0, collective_ = 0, copies_ = 0, input_ = 0, total_ = 0;
  int steps_ = 0;
};

// What several devices gained over one.
struct ScalingVerdict {
  int devices = 1;                        // that trained
  bool emulated = false;                  // they share the machine's cores
  std::int64_t batch = 0;                 // global batch of the run
  double samples_per_second = 0;          // of the run
  std::optional<Comparison> interleaved;  // one device and all, after the run
  double ideal = 1;                       // the devices' speeds together over that of the first
  TimeBreakdown breakdown;                // of the run
  CoreUse use = {};                       // during the run, of `cores` cores in `seconds`
  double cores = 1, seconds = 0;          // of the machine; length of the run
  // Why nothing is said of the speed-up; "" when something is, and of one device. Given where there is no comparison.
  std::string not_measured;

  std::string bound;   // the largest share: "compute", "all-reduce", "input", "copies", "overhead"; "unknown" when
                       // no step was looked at, or others took the cores
  std::string advice;  // one concrete change, or why none is needed; "" where what was measured says nothing
  double predicted_gain = 1;  // of the advice, in samples/s over now

  // 1 of one device; NaN when not measured.
  double speedup() const;
  double efficiency() const { return speedup() / ideal; }  // of 1; NaN when not measured
  std::string to_string() const;                           // the lines above
};

// Fills in not_measured (of a comparison), bound and advice. Nothing is said where other programs took the cores, where
// the comparison says nothing, or where it and the run contradict each other. `largest_batch`: what fits in memory, 0
// when not known. `input_threads`: the loader's.
void conclude(ScalingVerdict& verdict, std::int64_t largest_batch, int input_threads);

}  // namespace argosy
