// NcclTasks: sums of one task's GPUs with those of other tasks, by NCCL. The tasks tell each other what they have, and
// all of them find the same reason against it, or none. NCCL itself finds the network between them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/nccl/nccl_group.h"
#include "argosy/comm/spanning_backend.h"

namespace argosy::cuda {

class NcclTasks final : public SpanningBackend {
 public:
  // `devices`: of this task's ranks. They must be alive at every start(), and at connect().
  // `ordered`: of the sums that it makes (collective_choice.h).
  NcclTasks(std::vector<CudaDevice*> devices, const SpanningRanks& ranks, bool ordered,
            const NcclOptions& options = nccl_options());

  std::string offer() override;
  Status connect(std::span<const std::string> offers) override;
  bool is_of(std::span<const CollectiveCall> calls) const override;
  bool takes(std::span<const CollectiveCall> calls) const override { return NcclCollectives::takes(calls, ranks_); }
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls,
                                   const std::shared_ptr<StepAbort>& step_abort) override {
    return group_->start(calls, step_abort);
  }
  void abort(const Status& cause) override;
  std::string describe() const override { return group_->describe(); }

 private:
  Status connect_all(std::span<const std::string> offers);

  const std::vector<CudaDevice*> devices_;
  const std::vector<std::shared_ptr<DeviceCore>>
      cores_;  // of the devices: one that is gone left its address to another
  const SpanningRanks ranks_;
  const bool ordered_;
  std::shared_ptr<NcclGroup> group_;  // null: there is no NCCL here
  bool wanted_ = false;               // the user, or a default, asks for NCCL
};

}  // namespace argosy::cuda
