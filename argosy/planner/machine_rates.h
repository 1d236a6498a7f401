// MachineRates: how long devices take to move bytes: copies between the host and a device, and all-reduces of a group.
// Measured on the machine, in a few steps of tiny graphs; links of emulated GPUs are in what is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/planner/curve.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// What a collective does, as far as its time goes.
enum class Travel : char {
  kAllReduce,      // sums, on every device
  kReduceScatter,  // each device gets a part of the sums: half of what an all-reduce moves
  kAllGather,      // the parts together, on every device: the other half
};

class MachineRates {
 public:
  // The collectives of so many devices.
  struct Group {
    int devices = 2;   // their number
    double start = 0;  // seconds that a step takes to start on them, beyond one device
    Curve all_reduce;  // from the last device's arrival to the end, by bytes of the global value
    Curve work;        // the part that takes cores: links of emulated GPUs only make it wait
  };

  MachineRates() = default;  // nothing takes time
  // `groups`: by number of devices, rising.
  MachineRates(Curve copies, std::vector<Group> groups) : copies_(std::move(copies)), groups_(std::move(groups)) {}
  // Of the first 2, 4, … and all of `devices`, which are in `device_set`. Takes some 0.1 s, more with slow links.
  static Result<MachineRates> measure(const std::shared_ptr<DeviceSet>& device_set,
                                      const std::vector<DeviceSpec>& devices);

  // Between the host and a device, one way.
  double copy_seconds(double bytes) const { return copies_.seconds(bytes); }
  // `bytes`: the global value.
  double collective_seconds(Travel travel, int devices, double bytes) const;
  double collective_work_seconds(Travel travel, int devices, double bytes) const;  // the part that takes cores
  double start_seconds(int devices) const;  // that a step takes to start on them, beyond one device

 private:
  const Group* group_of(int devices) const;

  Curve copies_;
  std::vector<Group> groups_;
};

}  // namespace argosy
