#include "argosy/comm/native_gpu/combine_launches.h"

#include <algorithm>

#include "argosy/device/cuda/cuda_launch_queue.h"
#include "argosy/device/cuda/kernels/launch.h"

namespace argosy::cuda {

namespace {

constexpr unsigned kThreads = kBlock;
constexpr std::int64_t kPerThread = 4;  // elements, before there is another block

}  // namespace

Status RankLaunches::combine(const CombineHow& how, std::span<const std::byte* const> in,
                             std::span<std::byte* const> out, std::int64_t begin, std::int64_t end) {
  const auto pointers = static_cast<int>(in.size() + out.size());
  if (pointers > CombineTable::kMostPointers) {
    return unimplemented("a collective of ", in.size(), " inputs and ", out.size(), " outputs on ",
                         device_->spec().name.short_string(), "; GPUs take ", CombineTable::kMostPointers, " together")
        .with_id("ARG-COMM-005")
        .with_hint("fewer logical shards");
  }
  if (parts_ > 0 &&
      (how != how_ || parts_ == CombineTable::kMostParts || pointers_ + pointers > CombineTable::kMostPointers)) {
    ARGOSY_RETURN_IF_ERROR(flush());
  }
  how_ = how;
  CombineTable& table = *table_;
  table.parts[parts_++] = {.begin = begin,
                           .end = end,
                           .inputs = static_cast<int>(in.size()),
                           .outputs = static_cast<int>(out.size()),
                           .first = pointers_,
                           .unused = 0};
  for (const std::byte* const p : in) table.pointers[pointers_++] = const_cast<std::byte*>(p);
  for (std::byte* const p : out) table.pointers[pointers_++] = p;
  longest_ = std::max(longest_, end - begin);
  return {};
}

Status RankLaunches::flush() {
  if (parts_ == 0) return {};
  CombineTable& table = *table_;
  table.reduction = static_cast<int>(how_.reduction);
  table.tree = how_.order == CombineOrder::kTree ? 1 : 0;
  table.divisor = how_.divisor;
  const auto parts = static_cast<unsigned>(std::exchange(parts_, 0));
  const std::int64_t longest = std::exchange(longest_, 0);
  pointers_ = 0;
  const std::string_view type = type_suffix(how_.dtype);
  if (type.empty()) return unsupported_dtype("collective on a GPU", how_.dtype);
  ARGOSY_ASSIGN_OR_RETURN(const CuFunction function, device_->function("combine", str_cat("combine_", type)));
  // A few blocks per multiprocessor fill a link; what computes beside it keeps the rest.
  const std::int64_t most = std::max(1, device_->gpu().multiprocessors * 4);
  const std::int64_t blocks = std::clamp<std::int64_t>(longest / (kThreads * kPerThread) + 1, 1, most);
  void* arguments[] = {&table, nullptr};
  DeviceCore& core = *core_of(*device_);
  ARGOSY_RETURN_IF_ERROR(core.open());
  return core.check(core.driver()->cuLaunchKernel(function, static_cast<unsigned>(blocks), parts, 1, kThreads, 1, 1, 0,
                                                  stream_, arguments, nullptr),
                    "cuLaunchKernel");
}

RankMemory::RankMemory(std::span<const CollectiveCall> calls) {
  for (const CollectiveCall& call : calls) {
    const auto add = [&](std::span<const Tensor> tensors) {
      for (const Tensor& t : tensors) {
        const auto* const data = static_cast<const std::byte*>(t.raw());
        if (t.bytes() > 0) ranges_.push_back({data, data + t.bytes(), call.rank});
      }
    };
    add(call.tensors);
    add(call.out);
    for (const Shard& shard : call.shards) add(shard.tensors);
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

int RankMemory::rank_of(const void* pointer) const {
  const auto* const p = static_cast<const std::byte*>(pointer);
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), p,
                                [](const std::byte* at, const Range& range) { return at < range.begin; });
  // A rank's own part of a larger tensor of its lies within that.
  while (after != ranges_.begin()) {
    --after;
    if (p < after->end) return after->rank;
  }
  ARGOSY_CHECK(false);
}

}  // namespace argosy::cuda
