// RankLaunches: launches of the combining kernels on one rank's communication stream, many arrays in one launch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "argosy/comm/collective_job.h"
#include "argosy/comm/native_gpu/combine_table.h"
#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/device_core.h"

namespace argosy::cuda {

// The operation of a combining kernel.
struct CombineHow {
  DType dtype = DType::kInvalid;
  Reduction reduction = Reduction::kSum;
  CombineOrder order = CombineOrder::kChain;
  double divisor = 1;
  bool operator==(const CombineHow&) const = default;
};

class RankLaunches {
 public:
  // `device` must be alive at every launch.
  RankLaunches(CudaDevice& device, CuStream stream) : device_(&device), stream_(stream) {}

  // Adds elements [begin, end) of these arrays to the pending launch. A launch is made when the table is full, when the
  // next operation differs, or at flush(). UNIMPLEMENTED: more arrays than one launch can take.
  Status combine(const CombineHow& how, std::span<const std::byte* const> in, std::span<std::byte* const> out,
                 std::int64_t begin, std::int64_t end);
  Status flush();

 private:
  CudaDevice* device_;
  CuStream stream_;
  CombineHow how_;
  int parts_ = 0, pointers_ = 0;
  std::int64_t longest_ = 0;
  std::unique_ptr<CombineTable> table_ = std::make_unique<CombineTable>();
};

// RankMemory: maps a pointer into a tensor of the calls to the rank that owns the tensor.
class RankMemory {
 public:
  explicit RankMemory(std::span<const CollectiveCall> calls);
  // REQUIRES: the pointer is inside one of the tensors.
  int rank_of(const void* pointer) const;

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
    int rank;
  };
  std::vector<Range> ranges_;  // by begin
};

}  // namespace argosy::cuda
