// The collectives of one set of cards, whoever does them. Kept by the first of the devices, from step to step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/native_gpu/collective_choice.h"
#include "argosy/comm/native_gpu/gpu_collectives.h"
#include "argosy/comm/native_gpu/rank_streams.h"
#include "argosy/comm/nccl/nccl.h"

namespace argosy::cuda {

class CardGroup {
 public:
  // By rank. The devices are alive whenever the group is used.
  static std::shared_ptr<CardGroup> of(const std::vector<CudaDevice*>& devices);
  // What choose_collectives() says for these devices; a null device is none of a card's.
  static CollectiveChoice choose(const std::vector<CudaDevice*>& devices, bool fixed_order);
  // The same for people: "our own (the order of the sum is fixed)".
  static std::string describe(const std::vector<CudaDevice*>& devices, bool fixed_order);

  explicit CardGroup(std::vector<CudaDevice*> devices) : devices_(std::move(devices)) {}
  // As CardCollectives::start(). `fixed_order`: in the order of argosy/comm/combine.h. `alarm` is raised where what was
  // started does not end. Where NCCL cannot connect these cards our own do it, from then on.
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls, std::span<const Event> ready,
                                   bool fixed_order, std::shared_ptr<Alarm> alarm = nullptr);

 private:
  const std::vector<CudaDevice*> devices_;
  Mutex mutex_;
  std::shared_ptr<CardCollectives> own_ ARGOSY_GUARDED_BY(mutex_);
  std::shared_ptr<NcclCollectives> nccl_ ARGOSY_GUARDED_BY(mutex_);
  bool without_nccl_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::cuda
