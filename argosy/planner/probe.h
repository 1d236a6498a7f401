// Probe: a few real steps of the subject on single devices, at the batch sizes that a plan's devices would see. Shapes,
// passes and kernels are those of the training itself, so what is measured needs no model of a kernel.
//
//   one device ── batch/N, batch, batch/2N ──► seconds of every op by its cost, and what no op took
//   all devices at once, one step each ──────► how much slower they are beside each other
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "argosy/planner/op_times.h"
#include "argosy/planner/plan_subject.h"

namespace argosy {

// What the steps of one kind of device said.
struct Probed {
  OpTimes ops;
  double overhead = 0;  // seconds of a step on one device that no op took
  double spread = 0;    // of the rounds: half of (90th - 10th percentile) / median, at the worst batch size
};

// What is probed. All of it is borrowed.
struct ProbeRequest {
  PlanSubject& subject;
  const std::vector<DeviceSpec>& devices;  // that a plan may use
};

class Probes {
 public:
  // Takes about `seconds`, longer where a single step does. Devices of equal kind, cores and speed are measured once.
  // RESOURCE_EXHAUSTED ARG-MEM-002: not one example fits a device.
  static Result<Probes> run(const ProbeRequest& request, double seconds);
  const Probed& of(const DeviceSpec& spec) const;
  double slowdown(int devices) const;                      // of so many that run at once
  double spread() const;                                   // the worst
  double input_seconds() const { return input_seconds_; }  // in which the loader makes a global batch

 private:
  std::map<std::string, Probed> by_kind_;
  double slowdown_ = 1;  // of `at_once_` devices
  int at_once_ = 1;
  double input_seconds_ = 0;
  int devices_ = 1;
};

}  // namespace argosy
