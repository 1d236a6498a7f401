// MachineRates: the time that copies between host and device take, and all-reduces of a group, by their bytes. Measured
// on the machine by a few runs of tiny graphs. The links of emulated GPUs are part of what is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/planner/curve.h"
#include "argosy/runtime/device_set/device_set.h"

namespace argosy {

// The kinds of collectives that differ in time.
enum class Travel : char {
  kAllReduce,      // sums, on every device
  kReduceScatter,  // each device gets a part of the sums: half of what an all-reduce moves
  kAllGather,      // the parts together, on every device: the other half
};

class MachineRates {
 public:
  // The rates of collectives of so many devices.
  struct Group {
    int devices = 2;   // in the group
    double start = 0;  // seconds that a step takes to start on them, beyond one device
    Curve all_reduce;  // from the last device's arrival to the end, by bytes of the global value
    Curve work;        // the part of it that uses cores; it only waits for the links of emulated GPUs
  };

  MachineRates() = default;  // nothing takes time
  // `groups`: by number of devices, rising.
  MachineRates(Curve copies, std::vector<Group> groups) : copies_(std::move(copies)), groups_(std::move(groups)) {}
  // Measures copies to the first GPU, and groups of the first 2, 4, … and all `devices`, which are in `device_set`.
  // Takes some 0.1 s, more with slow links.
  static Result<MachineRates> measure(const std::shared_ptr<DeviceSet>& device_set,
                                      const std::vector<DeviceSpec>& devices);

  // A copy between the host and a device, in one direction.
  double copy_seconds(double bytes) const { return copies_.seconds(bytes); }
  // A collective of a group of so many devices; 0 for one device. `bytes`: of the global value.
  double collective_seconds(Travel travel, int devices, double bytes) const;
  double collective_work_seconds(Travel travel, int devices, double bytes) const;  // the part that uses cores
  double start_seconds(int devices) const;                                         // Group::start

 private:
  const Group* group_of(int devices) const;

  Curve copies_;
  std::vector<Group> groups_;
};

}  // namespace argosy
