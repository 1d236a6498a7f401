// Sums over cards.
#include "argosy/comm/cards/group.h"
#include "argosy/op/step_context.h"
#include "argosy/ops/collective/meeting.h"

namespace argosy {

namespace {

using cuda::CardGroup;
using cuda::CudaDevice;

CudaDevice* card_of(Device* device) {
  return device == nullptr ? nullptr : dynamic_cast<CudaDevice*>(&device->physical());
}

// What the watcher of collectives that may hang has of a step: gone with it.
class StepAlarm final : public Resource {
 public:
  explicit StepAlarm(Cancellation& step) : alarm(std::make_shared<cuda::Alarm>(step)) {}
  ~StepAlarm() override { alarm->disarm(); }
  std::string describe() const override { return "alarm of a step"; }
  const std::shared_ptr<cuda::Alarm> alarm;
};

// Some ranks are CPUs: everything passes through the host's memory, on this thread.
Status sum_on_host(std::vector<SumCall>& calls) {
  std::vector<SumCall> here;
  for (const SumCall& call : calls) {
    SumCall copy{.rank = call.rank, .size = call.size, .total = call.total, .shards = call.shards};
    CudaDevice* const card = call.exchange != nullptr ? card_of(call.context->device()) : nullptr;
    for (const Tensor& value : call.values) {
      copy.values.push_back(value);
      if (card == nullptr) continue;
      ARGOSY_ASSIGN_OR_RETURN(copy.values.back(), Tensor::allocate(value.dtype(), value.shape(), host_allocator()));
      ARGOSY_RETURN_IF_ERROR(
          cuda::bring_to_host(*card, copy.values.back().raw(), value.raw(), value.bytes(), call.ready));
    }
    for (const Tensor& sum : call.sums) {
      copy.sums.push_back(sum);
      if (card == nullptr) continue;
      ARGOSY_ASSIGN_OR_RETURN(copy.sums.back(), Tensor::allocate(sum.dtype(), sum.shape(), host_allocator()));
    }
    here.push_back(std::move(copy));
  }
  ARGOSY_RETURN_IF_ERROR(sum_here(here));
  for (std::size_t r = 0; r < calls.size(); ++r) {
    if (calls[r].exchange == nullptr) continue;
    for (std::size_t i = 0; i < here[r].sums.size(); ++i) {
      const Tensor &to = calls[r].sums[i], &from = here[r].sums[i];
      ARGOSY_RETURN_IF_ERROR(
          cuda::bring_to_card(*card_of(calls[r].context->device()), to.raw(), from.raw(), to.bytes(), calls[r].ready));
    }
  }
  return ok_status();
}

Result<std::vector<Event>> start_sum(std::vector<SumCall>& calls, const std::string& group) {
  std::vector<CudaDevice*> devices;
  for (const SumCall& call : calls) {
    devices.push_back(call.exchange != nullptr ? card_of(call.context->device()) : nullptr);
    if (devices.back() != nullptr) continue;
    ARGOSY_RETURN_IF_ERROR(sum_on_host(calls));
    return std::vector<Event>(calls.size());
  }
  std::vector<CollectiveCall> asked(calls.size());
  std::vector<std::vector<Shard>> shards(calls.size());
  std::vector<Event> ready;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const SumCall& call = calls[r];
    const std::size_t tensors = call.sums.size();
    for (std::size_t s = 0; s < call.shards.size(); ++s) {
      shards[r].push_back({static_cast<int>(call.shards[s]), std::span(call.values).subspan(s * tensors, tensors)});
    }
    asked[r] = {.kind = Collective::kAllReduceShards,
                .total = call.total,
                .name = group,
                .out = call.sums,
                .shards = shards[r]};
    ready.push_back(call.ready);
  }
  std::shared_ptr<cuda::Alarm> alarm;
  if (StepContext* const step = calls[0].context->step(); step != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const auto held,
                            step->step_resources().find_or_make<StepAlarm>("_collective", "alarm of cards", [&] {
                              return std::make_shared<StepAlarm>(step->cancellation());
                            }));
    alarm = held->alarm;
  }
  return CardGroup::of(devices)->start(asked, ready, calls[0].fixed_order, std::move(alarm));
}

void exchange_on_cards(std::vector<SumCall> calls, const std::string& group) {
  Result<std::vector<Event>> ends = start_sum(calls, group);
  for (std::size_t r = 0; r < calls.size(); ++r) {
    SumCall& call = calls[r];
    call.values.clear();
    call.sums.clear();
    if (!ends.ok()) {
      call.give_up(ends.status());
    } else if (call.started) {
      call.started(std::move((*ends)[r]));
    } else {
      call.done(ok_status());
    }
  }
}

class AllReduceOnCard final : public StartingKernel {
 public:
  explicit AllReduceOnCard(const KernelInit& init) : node_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<AllReduceOnCard>(init));
  }

  void start(KernelContext& c, Started started) override {
    Result<SumCall> call = node_.call(c);
    if (!call.ok()) return started(call.status());
    Result<Event> ready = c.device()->launches()->record();
    if (!ready.ok()) return started(ready.status());
    call->ready = *std::move(ready);
    call->started = std::move(started);
    call->exchange = exchange_on_cards;
    node_.arrive(*std::move(call));
  }

  std::string describe(std::span<Device* const> group) const override {
    std::vector<CudaDevice*> devices;
    std::vector<std::string> names;
    for (Device* const device : group) {
      devices.push_back(card_of(device));
      names.push_back(device->spec().name.short_string());
    }
    return str_cat("collectives of ", str_join(names), ": ", CardGroup::describe(devices, node_.fixed_order()));
  }

 private:
  const AllReduceNode node_;
};

}  // namespace

void add_kernels_cuda_all_reduce(KernelRegistry& kernels) {
  using enum DType;
  // Sums of int32 lie in the host's memory: the CPU's.
  kernels.add("_AllReduce", "cuda", AllReduceOnCard::make,
              {{"T",
                {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16, kInt64, kUint8, kUint16, kUint32, kUint64,
                 kComplex64, kComplex128}}});
}

}  // namespace argosy
