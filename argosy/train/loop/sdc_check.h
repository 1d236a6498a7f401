// Detects silent data corruption (SDC): a device computes wrong values and reports no error.
//
// All mirrors of a variable get the same sums and do the same arithmetic. On devices of one kind they stay bitwise
// equal. If they differ, memory or arithmetic of a device has failed. An error before the gradients are summed reaches
// all mirrors and is not seen here.
#pragma once

#include <map>
#include <vector>

#include "argosy/train/loop/compiled_model.h"

namespace argosy {

class SdcCheck {
 public:
  // `devices`: those of the program. Both outlive this object.
  SdcCheck(CompiledModel& program, const std::vector<DeviceSpec>& devices, const DeviceRequest& request);

  // False for one device, and for devices of different kinds: their mirrors cannot be compared.
  bool possible() const { return possible_; }
  // Compares all mirrors. With several tasks every task calls it at the same step, and all get the same result.
  // DATA_LOSS:
  // - ARG-TRAIN-003: a mirror differs. The message names the variable and the devices in the minority; without a
  //   majority, all. It also names GPUs whose memory has reported errors.
  // - ARG-DEV-006: all mirrors are equal, but a GPU has reported uncorrectable bit errors since the last call.
  Status check();

 private:
  // The GPUs whose count of uncorrectable errors has grown, by their names in the session.
  std::vector<std::string> broken_gpus();
  // Returns hashes by device (of all tasks) and variable.
  Result<std::vector<std::vector<std::uint64_t>>> hashes_of_mirrors();

  CompiledModel& program_;
  const std::vector<DeviceSpec>& devices_;
  std::shared_ptr<GpuBackend> backend_;  // null: no GPUs
  bool possible_ = false;
  std::map<int, std::int64_t> errors_;  // by GPU
};

// Returns a 64-bit hash of a tensor's bytes. Tensors that differ in exactly one bit have different hashes.
std::uint64_t content_hash(const Tensor& tensor);

}  // namespace argosy
