// Silent data corruption (SDC): a device that computes wrongly and does not say so.
//
// Mirrors of a variable get the same sums and do the same arithmetic, so on devices of one kind they are the same bits
// for ever; where they are not, a device's memory or arithmetic has failed. What went wrong before the gradients were
// summed is in every mirror and not seen here.
#pragma once

#include <map>
#include <vector>

#include "argosy/train/loop/compiled_model.h"

namespace argosy {

class SdcCheck {
 public:
  // `devices`: those of the program. Both outlive this.
  SdcCheck(CompiledModel& program, const std::vector<DeviceSpec>& devices, const DeviceRequest& request);

  // Nothing can be told of one device, or of devices that are not alike.
  bool possible() const { return possible_; }
  // DATA_LOSS: ARG-TRAIN-003 a mirror differs; the message names the variable and the devices that the others outvote,
  // or both of two, and GPUs whose memory has met errors. ARG-DEV-006 a GPU has met bit errors since the last call
  // that it could not mend, though all mirrors are equal.
  Status check();

 private:
  // GPUs whose count of errors that could not be mended has grown, by their names in the session.
  std::vector<std::string> broken_gpus();

  CompiledModel& program_;
  const std::vector<DeviceSpec>& devices_;
  std::shared_ptr<GpuBackend> backend_;  // where there are GPUs to ask about
  bool possible_ = false;
  std::map<int, std::int64_t> errors_;  // by GPU
};

// 64 bits of a tensor's bytes: two that differ in one bit have different ones.
std::uint64_t content_hash(const Tensor& tensor);

}  // namespace argosy
