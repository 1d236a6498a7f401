// Probes: measurements of a few real steps of the subject on single devices, at the batch sizes that a device would get
// in a plan. Shapes, passes and kernels are those of the training itself. So no model of a kernel's time is needed.
//
//   one device ── batch/N, batch, batch/2N ──► seconds of every op by its cost, and the overhead
//   all devices at once, one step each ──────► how much slower they are while all run
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "argosy/planner/op_times.h"
#include "argosy/planner/plan_subject.h"

namespace argosy {

// The measurements on one kind of device.
struct Probed {
  OpTimes ops;
  double overhead = 0;  // seconds of a step beyond those of its simulated ops
  double spread = 0;    // of the rounds: half of (90th - 10th percentile) / median, at the worst batch size
};

// The subject and the devices to probe. Both are borrowed.
struct ProbeRequest {
  PlanSubject& subject;
  const std::vector<DeviceSpec>& devices;  // the devices that a plan may use
};

class Probes {
 public:
  // Takes about `seconds`, longer where a single step does. Devices of equal kind, cores and speed are measured once.
  // RESOURCE_EXHAUSTED ARG-MEM-002: not one example fits a device.
  static Result<Probes> run(const ProbeRequest& request, double seconds);
  const Probed& of(const DeviceSpec& spec) const;
  double slowdown(int devices) const;                      // factor on the time of ops while so many devices run
  double spread() const;                                   // the largest of all kinds
  double input_seconds() const { return input_seconds_; }  // that the loader takes to make a global batch

 private:
  std::map<std::string, Probed> by_kind_;
  double slowdown_ = 1;  // while `at_once_` devices run
  int at_once_ = 1;
  double input_seconds_ = 0;
  int devices_ = 1;
};

}  // namespace argosy
