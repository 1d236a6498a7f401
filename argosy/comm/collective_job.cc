#include "argosy/comm/collective_job.h"

#include <algorithm>

#include "argosy/base/str.h"
#include "argosy/comm/collective_checks.h"
#include "argosy/device/copy.h"

namespace argosy {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLeastBlock = std::size_t{8} << 10;
constexpr std::size_t kMostBlock = std::size_t{128} << 10;
constexpr std::size_t kPastCaches = std::size_t{4} << 20;  // as in copy_memory

}  // namespace

Status CollectiveJob::add(const Tensor& like, std::size_t elements, int inputs, int outputs,
                          const CollectiveCall& call) {
  Part part;
  part.begin = bytes_;
  part.bytes = elements * element_bytes(like.dtype());
  part.element_bytes = element_bytes(like.dtype());
  part.inputs = inputs;
  part.outputs = outputs;
  part.pointers = inputs_.size() - static_cast<std::size_t>(inputs);
  part.targets = outputs_.size() - static_cast<std::size_t>(outputs);
  if (reduces(call.kind)) {
    const Component component = component_of(like.dtype(), call.reduction);
    part.element_bytes /= component.per_element;
    part.dtype = component.dtype;
    part.order = of_shards(call.kind) ? CombineOrder::kTree : CombineOrder::kChain;
    ARGOSY_ASSIGN_OR_RETURN(part.combine, find_combine(part.dtype, call.reduction, part.order));
  } else if (!is_plain(like.dtype())) {
    return unsupported_dtype(kind_name(call.kind), like.dtype());
  }
  bytes_ += (part.bytes + kLine - 1) / kLine * kLine;
  parts_.push_back(part);
  return {};
}

Status CollectiveJob::plan_parts(std::span<const CollectiveCall> calls) {
  const CollectiveCall& first = calls[0];
  const std::size_t ranks = calls.size();
  const int n = static_cast<int>(ranks);
  switch (first.kind) {
    case Collective::kBarrier: return {};
    case Collective::kSend:
    case Collective::kRecv: {
      const Tensor &from = calls[0].tensors[0], &to = calls[1].tensors[0];
      inputs_.push_back(at(from, 0));
      outputs_.push_back(at(to, 0));
      return add(from, static_cast<std::size_t>(from.elements()), 1, 1, first);
    }
    case Collective::kAllReduceShards:
    case Collective::kReduceScatterShards: return plan_shards(calls);
    case Collective::kAllReduce:
    case Collective::kBroadcast:
      if (first.root < 0 || first.root >= n) {
        return invalid_argument("broadcast from rank ", first.root, " of ", n).with_id("ARG-COMM-001");
      }
      for (std::size_t i = 0; i < first.tensors.size(); ++i) {
        const auto elements = static_cast<std::size_t>(first.tensors[i].elements());
        const bool reduce = first.kind == Collective::kAllReduce;
        for (std::size_t r = 0; r < ranks; ++r) {
          const bool root = r == static_cast<std::size_t>(first.root);
          if (reduce || root) inputs_.push_back(at(calls[r].tensors[i], 0));
          if (reduce || !root) outputs_.push_back(at(calls[r].tensors[i], 0));
        }
        ARGOSY_RETURN_IF_ERROR(add(first.tensors[i], elements, reduce ? n : 1, reduce ? n : n - 1, first));
      }
      return {};
    case Collective::kReduceScatter:
    case Collective::kAllGather: return plan_all_gather(calls);
    case Collective::kAllToAllParts: return plan_exchange(calls);
    case Collective::kAllToAll: return plan_equal_exchange(calls);
  }
  return internal_error("collective of an unknown kind");
}

Status CollectiveJob::plan(std::span<const CollectiveCall> calls) {
  parts_.clear();
  inputs_.clear();
  outputs_.clear();
  bytes_ = blocks_ = 0;
  ARGOSY_RETURN_IF_ERROR(check(calls));
  const CollectiveCall& first = calls[0];
  divisor_ = of_shards(first.kind) ? first.total : static_cast<double>(calls.size());
  ARGOSY_RETURN_IF_ERROR(plan_parts(calls));
  // Several blocks a rank, so that one that comes late leaves its share to the others.
  const std::size_t share = bytes_ / (4 * calls.size());
  block_bytes_ = std::clamp(share / kLine * kLine, kLeastBlock, kMostBlock);
  blocks_ = (bytes_ + block_bytes_ - 1) / block_bytes_;
  return {};
}

void CollectiveJob::run_block(std::size_t block) const {
  const std::size_t begin = block * block_bytes_;
  const std::size_t end = std::min(begin + block_bytes_, bytes_);
  auto part =
      std::upper_bound(parts_.begin(), parts_.end(), begin, [](std::size_t at, const Part& p) { return at < p.begin; });
  for (--part; part != parts_.end() && part->begin < end; ++part) {
    const std::size_t from = std::max(begin, part->begin) - part->begin;
    const std::size_t to = std::min(end - part->begin, part->bytes);
    if (from >= to) continue;
    const std::byte* const* in = inputs_.data() + part->pointers;
    std::byte* const* out = outputs_.data() + part->targets;
    if (part->combine != nullptr) {
      part->combine({in, out, part->inputs, part->outputs, divisor_}, from / part->element_bytes,
                    to / part->element_bytes);
      continue;
    }
    for (int k = 0; k < part->outputs; ++k) {
      if (out[k] == in[0]) continue;
      if (bytes_ >= kPastCaches) {
        stream_memory(out[k] + from, in[0] + from, to - from);
      } else {
        copy_memory(out[k] + from, in[0] + from, to - from);
      }
    }
  }
}

}  // namespace argosy
