// MachineRates: how long devices take to move bytes: copies between the host and a device, and all-reduces of a group.
// Measured on the machine, in a few steps of tiny graphs; links of emulated GPUs are in what is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "argosy/planner/curve.h"
#include "argosy/runtime/machine/device_set.h"

namespace argosy {

// What a collective does, as far as its time goes.
enum class Travel : char {
  kAllReduce,      // sums, on every device
  kReduceScatter,  // each device gets a part of the sums: half of what an all-reduce moves
  kAllGather,      // the parts together, on every device: the other half
};

class MachineRates {
 public:
  // Of the first 2, 4, … and all of `devices`, which are in `device_set`. Takes some 0.1 s, more with slow links.
  static Result<MachineRates> measure(const std::shared_ptr<DeviceSet>& device_set,
                                      const std::vector<DeviceSpec>& devices);

  // Between the host and a device, one way.
  double copy_seconds(double bytes) const { return copies_.seconds(bytes); }
  // From the last device's arrival to the end. `bytes`: the global value.
  double collective_seconds(Travel travel, int devices, double bytes) const;
  // A step's start on so many devices, beyond that on one.
  double start_seconds(int devices) const;

 private:
  struct Group {
    int devices = 2;
    double start = 0;  // seconds of a step with nothing but one small collective
    Curve all_reduce;
  };
  const Group* group_of(int devices) const;

  Curve copies_;
  std::vector<Group> groups_;  // by number of devices, rising
};

}  // namespace argosy
