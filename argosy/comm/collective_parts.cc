// The parts of collectives that deal values out to ranks, or gather them.
#include <algorithm>

#include "argosy/base/str.h"
#include "argosy/comm/collective_checks.h"
#include "argosy/comm/collective_job.h"

namespace argosy {

namespace {

bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

Status overlapping(Collective kind, std::size_t rank) {
  return invalid_argument(kind_name(kind), ": in and out overlap on rank ", rank).with_id("ARG-COMM-001");
}

// The one array that a rank's smaller tensor may share with its larger one is its own part of that, which begins at byte
// `begin`.
Status check_own_part(Collective kind, std::size_t rank, const Tensor& part, const Tensor& whole, std::size_t begin) {
  const std::byte *const mine = part.buffer().data(), *const all = whole.buffer().data();
  if (mine == all + begin || !overlap(mine, part.bytes(), all, whole.bytes())) return {};
  return overlapping(kind, rank);
}

// No input of a rank shares memory with an output of its.
Status check_apart(std::span<const CollectiveCall> calls) {
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    for (const Tensor& in : calls[rank].tensors) {
      for (const Tensor& out : calls[rank].out) {
        if (overlap(in.buffer().data(), in.bytes(), out.buffer().data(), out.bytes())) {
          return overlapping(calls[0].kind, rank);
        }
      }
    }
  }
  return {};
}

template <typename Part>
Status not_the_whole(Collective kind, std::size_t ranks, std::size_t whole, const Part& part) {
  std::vector<std::int64_t> parts;
  for (std::size_t r = 0; r < ranks; ++r) parts.push_back(part(r).elements());
  return invalid_argument(kind_name(kind), ": the ranks' parts of ", str_join(parts),
                          " elements do not make up the whole of ", whole)
      .with_id("ARG-COMM-001");
}

}  // namespace

Status CollectiveJob::plan_shards(std::span<const CollectiveCall> calls) {
  const std::string_view kind = kind_name(calls[0].kind);
  const int total = calls[0].total;
  if (total < 1) return invalid_argument(kind, " of ", total, " shards").with_id("ARG-COMM-001");
  std::vector<std::span<const Tensor>> shards(static_cast<std::size_t>(total));
  std::vector<std::size_t> holder(shards.size(), calls.size());
  const auto bad = [&](const auto&... why) {
    return invalid_argument(kind, " of ", total, " shards: ", str_cat(why...)).with_id("ARG-COMM-001");
  };
  // What each shard must look like: the result of an all-reduce; of a reduce-scatter, whose results are parts, any shard.
  const bool scatter = calls[0].kind == Collective::kReduceScatterShards;
  std::span<const Tensor> like = calls[0].out;
  for (std::size_t rank = calls.size(); scatter && rank-- > 0;) {
    if (!calls[rank].shards.empty()) like = calls[rank].shards[0].tensors;
  }
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    for (const Shard& shard : calls[rank].shards) {
      if (shard.index < 0 || shard.index >= total) return bad("rank ", rank, " holds shard ", shard.index);
      const auto index = static_cast<std::size_t>(shard.index);
      if (holder[index] < calls.size()) {
        return bad("shard ", index, " is held by ranks ", holder[index], " and ", rank);
      }
      if (!same_arrays(shard.tensors, like)) {
        return bad("shard ", index, " on rank ", rank, " is ", tensor_list(shard.tensors),
                   scatter ? ", another " : ", the result ", tensor_list(like));
      }
      holder[index] = rank;
      shards[index] = shard.tensors;
    }
  }
  for (std::size_t index = 0; index < shards.size(); ++index) {
    if (holder[index] == calls.size()) return bad("no rank holds shard ", index);
  }
  if (scatter) return plan_parts_of_shards(calls, shards);
  for (std::size_t i = 0; i < calls[0].out.size(); ++i) {
    for (const auto& shard : shards) inputs_.push_back(at(shard[i], 0));
    for (const CollectiveCall& call : calls) outputs_.push_back(at(call.out[i], 0));
    const Tensor& result = calls[0].out[i];
    ARGOSY_RETURN_IF_ERROR(
        add(result, static_cast<std::size_t>(result.elements()), total, static_cast<int>(calls.size()), calls[0]));
  }
  return {};
}

Status CollectiveJob::plan_parts_of_shards(std::span<const CollectiveCall> calls,
                                           std::span<const std::span<const Tensor>> shards) {
  const CollectiveCall& first = calls[0];
  if (first.out.size() != shards[0].size()) {
    return invalid_argument(kind_name(first.kind), ": ", shards[0].size(), " values into ", first.out.size(), " parts")
        .with_id("ARG-COMM-001");
  }
  for (std::size_t i = 0; i < first.out.size(); ++i) {
    const auto part = [&](std::size_t rank) -> const Tensor& { return calls[rank].out[i]; };
    if (part(0).dtype() != shards[0][i].dtype()) {
      return invalid_argument(kind_name(first.kind), ": value ", i, " is ", dtype_name(shards[0][i].dtype()),
                              ", its part ", dtype_name(part(0).dtype()))
          .with_id("ARG-COMM-001");
    }
    const auto whole = static_cast<std::size_t>(shards[0][i].elements());
    std::size_t begin = 0;
    for (std::size_t r = 0; r < calls.size(); ++r) {
      const auto elements = static_cast<std::size_t>(part(r).elements());
      if (elements > whole - begin) return not_the_whole(first.kind, calls.size(), whole, part);
      for (const Shard& own : calls[r].shards) {
        const std::size_t begin_byte = begin * element_bytes(part(r).dtype());
        ARGOSY_RETURN_IF_ERROR(check_own_part(first.kind, r, part(r), own.tensors[i], begin_byte));
      }
      for (const auto& shard : shards) inputs_.push_back(at(shard[i], begin));
      outputs_.push_back(at(part(r), 0));
      ARGOSY_RETURN_IF_ERROR(add(part(r), elements, static_cast<int>(shards.size()), 1, first));
      begin += elements;
    }
    if (begin != whole) return not_the_whole(first.kind, calls.size(), whole, part);
  }
  return {};
}

// Reduce-scatters and all-gathers: of each value every rank has the whole on one side, its part on the other.
Status CollectiveJob::plan_all_gather(std::span<const CollectiveCall> calls) {
  const CollectiveCall& first = calls[0];
  const bool gather = first.kind == Collective::kAllGather;
  const int n = static_cast<int>(calls.size());
  if (first.tensors.size() != first.out.size()) {
    return invalid_argument(kind_name(first.kind), ": ", tensor_list(first.tensors), " into ", tensor_list(first.out))
        .with_id("ARG-COMM-001");
  }
  for (std::size_t i = 0; i < first.out.size(); ++i) {
    const auto part = [&](std::size_t rank) -> const Tensor& {
      return gather ? calls[rank].tensors[i] : calls[rank].out[i];
    };
    const auto global = [&](std::size_t rank) -> const Tensor& {
      return gather ? calls[rank].out[i] : calls[rank].tensors[i];
    };
    if (part(0).dtype() != global(0).dtype()) {
      return invalid_argument(kind_name(first.kind), " of ", tensor_list(first.tensors), " into ",
                              tensor_list(first.out), ": one dtype on both sides")
          .with_id("ARG-COMM-001");
    }
    const auto whole = static_cast<std::size_t>(global(0).elements());
    std::size_t begin = 0;
    for (std::size_t r = 0; r < calls.size(); ++r) {
      const auto elements = static_cast<std::size_t>(part(r).elements());
      if (elements > whole - begin) return not_the_whole(first.kind, calls.size(), whole, part);
      ARGOSY_RETURN_IF_ERROR(check_own_part(first.kind, r, part(r), global(r), begin * element_bytes(part(r).dtype())));
      (gather ? inputs_.emplace_back() = at(part(r), 0) : outputs_.emplace_back() = at(part(r), 0));
      for (std::size_t k = 0; k < calls.size(); ++k) {
        if (gather) {
          outputs_.push_back(at(global(k), begin));
        } else {
          inputs_.push_back(at(global(k), begin));
        }
      }
      ARGOSY_RETURN_IF_ERROR(add(part(r), elements, gather ? 1 : n, gather ? n : 1, first));
      begin += elements;
    }
    if (begin != whole) return not_the_whole(first.kind, calls.size(), whole, part);
  }
  return {};
}

Status CollectiveJob::plan_equal_exchange(std::span<const CollectiveCall> calls) {
  const CollectiveCall& first = calls[0];
  const std::size_t ranks = calls.size();
  ARGOSY_RETURN_IF_ERROR(check_apart(calls));
  const auto whole = static_cast<std::size_t>(first.tensors[0].elements());
  if (whole % ranks != 0 || !same_arrays(first.tensors, first.out)) {
    return invalid_argument("all_to_all of ", tensor_list(first.tensors), " into ", tensor_list(first.out), ": not ",
                            ranks, " equal parts on both sides")
        .with_id("ARG-COMM-001");
  }
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      inputs_.push_back(at(calls[from].tensors[0], to * (whole / ranks)));
      outputs_.push_back(at(calls[to].out[0], from * (whole / ranks)));
      ARGOSY_RETURN_IF_ERROR(add(first.tensors[0], whole / ranks, 1, 1, first));
    }
  }
  return {};
}

// Every rank has a part for each rank, and gets one of each.
Status CollectiveJob::plan_exchange(std::span<const CollectiveCall> calls) {
  const std::size_t ranks = calls.size(), parts = calls[0].tensors.size();
  if (parts % ranks != 0 || calls[0].out.size() != parts) {
    return invalid_argument("all_to_all_parts of ", parts, " parts into ", calls[0].out.size(), ": not ", ranks,
                            " for each value on both sides")
        .with_id("ARG-COMM-001");
  }
  ARGOSY_RETURN_IF_ERROR(check_apart(calls));
  for (std::size_t value = 0; value < parts; value += ranks) {
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        const Tensor &sent = calls[from].tensors[value + to], &got = calls[to].out[value + from];
        if (!same_arrays({&sent, 1}, {&got, 1})) {
          return invalid_argument("all_to_all_parts: rank ", from, " has ", tensor_list({&sent, 1}), " for rank ", to,
                                  ", which awaits ", tensor_list({&got, 1}))
              .with_id("ARG-COMM-001");
        }
        inputs_.push_back(at(sent, 0));
        outputs_.push_back(at(got, 0));
        ARGOSY_RETURN_IF_ERROR(add(sent, static_cast<std::size_t>(sent.elements()), 1, 1, calls[0]));
      }
    }
  }
  return {};
}

}  // namespace argosy
