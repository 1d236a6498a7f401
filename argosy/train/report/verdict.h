// The scaling verdict: the speed-up of many devices over one, where a step's time goes, and what to change.
//
//   verdict  2 devices: 1184 samples/s
//     in turn 1 device 640 (631 to 644), 2 devices 1190 (1181 to 1202) in 7 rounds: 1.86x (1.84x to 1.89x)
//             of 2.00x, efficiency 93 %
//     bound   compute 89 %  all-reduce 4 %  input 1 %  copies 2 %  overhead 4 %
//     try     --batch 256 (predicted 1.91x)
//
// With several hosts, one device alone is not measured, but waiting on the network is:
//
//   verdict  8 devices: 3106 samples/s
//     hosts   2 tasks: 11 % of a step waits for sums; 4 tasks would give 1.63x, 1 task 0.56x (predicted)
//     waits   for task 1, which is on the network 4 % of the time, the others 19 %
//
// A measurement without a result gives no advice:
//
//   verdict  2 devices: 1184 samples/s
//     not measured: other programs took 1.3 of 2 cores
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "argosy/runtime/device_set/stats.h"
#include "argosy/train/report/interleaved_rates.h"

namespace argosy {

// Where the time of a step goes, as fractions of 1, averaged over the devices that compute.
struct TimeBreakdown {
  double compute = 0;     // kernels run
  double all_reduce = 0;  // in collectives
  double input = 0;       // waiting for the next batch
  double copies = 0;      // waiting for copies and other devices
  double overhead = 0;    // launches, synchronisation and all else
};

// Adds up sampled steps. Used by one thread.
class TimeBreakdownMeter {
 public:
  // `devices`: only their time lines count.
  explicit TimeBreakdownMeter(std::vector<DeviceName> devices) : devices_(std::move(devices)) {}
  // Adds one step. `input_seconds`: the wait for its batch.
  void add(const StepStats& stats, double input_seconds);
  int steps() const { return steps_; }  // that were added
  TimeBreakdown breakdown() const;      // of all steps so far; zeros before the first

 private:
  const std::vector<DeviceName> devices_;
  double compute_ = 0, collective_ = 0, copies_ = 0, input_ = 0, total_ = 0;
  int steps_ = 0;
};

// The gain of several devices over one, and the reasons.
struct ScalingVerdict {
  int devices = 1;                        // that trained
  int tasks = 1;                          // the processes that have them, one a host
  bool emulated = false;                  // they share the machine's cores
  std::int64_t batch = 0;                 // global batch of the run
  double samples_per_second = 0;          // of the run
  std::optional<Comparison> interleaved;  // one device and all, measured after the run
  double ideal = 1;                       // total speed of the devices over the first device's
  TimeBreakdown breakdown;                // of the run
  CoreUse use = {};                       // during the run, of `cores` cores over `seconds`
  double cores = 1, seconds = 0;          // of the machine; length of the run
  // By task: the fraction of the counted time in calls on the network, waiting for other tasks included. Empty: there
  // is one task, or the run was too short.
  std::vector<double> on_network = {};
  // Why there is no speed-up; "" if there is one, and for one device. The caller gives it if there is no comparison.
  std::string not_measured;

  // The largest part of the breakdown: "compute", "all-reduce", "input", "copies", "overhead". "unknown": no step was
  // sampled, or other programs took the cores.
  std::string bound;
  std::string advice;         // one change, or why none is needed; "": the measurement says nothing
  double predicted_gain = 1;  // of the advice: samples/s over now

  // Predicts, from the breakdown, the speed on `other` tasks with as many devices each, over the speed now. The global
  // batch stays. The time of compute, input and copies is divided by the number of tasks N. Collectives grow with (N -
  // 1) / N. Overhead stays. NaN: no step was sampled.
  double on_tasks(int other) const;
  static constexpr double kWaits = 0.1;  // a fraction of the time
  // Returns the task that the others wait for: the one with the least time on the network, if the mean of the others is
  // more than kWaits larger. -1: none.
  int straggler() const;
  // 1 for one device; NaN if not measured.
  double speedup() const;
  double efficiency() const { return speedup() / ideal; }  // of 1; NaN when not measured
  std::string to_string() const;                           // the lines above
};

// Fills in not_measured (from the comparison), bound and advice. There is no advice if other programs took the cores,
// if the comparison has no result, or if it contradicts the run. `largest_batch`: the largest that fits in memory; 0:
// not known. `input_threads`: the loader's.
void conclude(ScalingVerdict& verdict, std::int64_t largest_batch, int input_threads);

}  // namespace argosy
