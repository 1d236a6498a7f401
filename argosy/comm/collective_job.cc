#include "argosy/comm/collective_job.h"

#include <algorithm>
#include <map>

#include "argosy/base/str.h"
#include "argosy/device/copy.h"

namespace argosy {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLeastBlock = std::size_t{8} << 10;
constexpr std::size_t kMostBlock = std::size_t{128} << 10;
constexpr std::size_t kPastCaches = std::size_t{4} << 20;  // as in copy_memory

std::string_view kind_name(Collective kind) {
  constexpr std::string_view kNames[] = {"all_reduce", "all_reduce_shards", "reduce_scatter", "all_gather", "broadcast",
                                         "all_to_all", "barrier",           "send",           "recv"};
  return kNames[static_cast<int>(kind)];
}

bool reduces(Collective kind) {
  return kind == Collective::kAllReduce || kind == Collective::kAllReduceShards || kind == Collective::kReduceScatter;
}

std::string tensor_list(std::span<const Tensor> tensors) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kShown, tensors.size()); ++i) {
    texts.push_back(str_cat(dtype_name(tensors[i].dtype()), tensors[i].shape()));
  }
  if (tensors.size() > kShown) texts.push_back(str_cat("… ", tensors.size(), " tensors"));
  return texts.empty() ? std::string("nothing") : str_join(texts);
}

bool same_arrays(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.elements() == y.elements();
  });
}

// What must be equal on all ranks. Gathers and scatters may have parts of their own size on one side.
bool same_call(const CollectiveCall& a, const CollectiveCall& b) {
  if (a.kind != b.kind || a.reduction != b.reduction || a.root != b.root || a.total != b.total || a.name != b.name) {
    return false;
  }
  const auto same_dtype = [](std::span<const Tensor> x, std::span<const Tensor> y) {
    return x[0].dtype() == y[0].dtype();
  };
  switch (a.kind) {
    case Collective::kBarrier: return true;
    case Collective::kAllToAll: return same_arrays(a.tensors, b.tensors) && same_arrays(a.out, b.out);
    case Collective::kAllReduceShards: return same_arrays(a.out, b.out);
    case Collective::kAllGather: return same_arrays(a.out, b.out) && same_dtype(a.tensors, b.tensors);
    case Collective::kReduceScatter: return same_arrays(a.tensors, b.tensors) && same_dtype(a.out, b.out);
    default: return same_arrays(a.tensors, b.tensors);
  }
}

bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

// The one array that a rank's smaller tensor may share with its larger one is its own part of that.
Status check_parts_apart(std::span<const CollectiveCall> calls) {
  const bool gather = calls[0].kind == Collective::kAllGather;
  const bool scatter = calls[0].kind == Collective::kReduceScatter;
  std::size_t begin = 0;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    const Tensor& in = calls[rank].tensors[0];
    const Tensor& out = calls[rank].out[0];
    const Tensor& part = gather ? in : out;
    const Tensor& whole = gather ? out : in;
    const bool own = (gather || scatter) && part.buffer().data() == whole.buffer().data() + begin;
    if (!own && overlap(in.buffer().data(), in.bytes(), out.buffer().data(), out.bytes())) {
      return invalid_argument(kind_name(calls[0].kind), ": in and out overlap on rank ", rank).with_id("ARG-COMM-001");
    }
    begin += part.bytes();
  }
  return {};
}

Status check_agreement(std::span<const CollectiveCall> calls) {
  bool agree = true;
  for (const CollectiveCall& call : calls.subspan(1)) agree = agree && same_call(calls[0], call);
  if (agree) return {};
  std::map<std::string, std::vector<std::size_t>> asked;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) asked[calls[rank].describe()].push_back(rank);
  std::vector<std::string> texts;
  for (const auto& [what, ranks] : asked) {
    texts.push_back(str_cat(ranks.size() == 1 ? "rank " : "ranks ", str_join(ranks), ": ", what));
  }
  return invalid_argument("ranks disagree on a collective: ", str_join(texts, "; "))
      .with_id("ARG-COMM-001")
      .with_hint("every rank must make the same collectives in the same order, on tensors of the same size and dtype");
}

// Tensors of equally many elements might still not belong together.
Status check_shapes(std::span<const CollectiveCall> calls) {
  const auto brought = [](const CollectiveCall& call) {
    return call.kind == Collective::kAllReduceShards ? call.out : call.tensors;
  };
  const std::span<const Tensor> theirs = brought(calls[0]);
  for (std::size_t rank = 1; rank < calls.size(); ++rank) {
    const std::span<const Tensor> ours = brought(calls[rank]);
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      if (i < ours.size() && i < theirs.size() && ours[i].shape() == theirs[i].shape() &&
          ours[i].dtype() == theirs[i].dtype()) {
        continue;
      }
      const auto text = [i](std::span<const Tensor> t) {
        return i < t.size() ? str_cat(dtype_name(t[i].dtype()), t[i].shape()) : std::string("nothing");
      };
      return invalid_argument("group '", calls[0].name, "': rank ", rank, " (", calls[rank].member, ") brings ",
                              text(ours), " as value ", i, ", rank 0 (", calls[0].member, ") ", text(theirs))
          .with_id("ARG-COMM-001")
          .with_hint("every member of a group must bring tensors of the same shapes and dtypes");
    }
  }
  return {};
}

Status check_message(const CollectiveCall& send, const CollectiveCall& recv) {
  const Tensor &from = send.tensors[0], &to = recv.tensors[0];
  if (from.dtype() == to.dtype() && from.elements() == to.elements() && send.name == recv.name) return {};
  return invalid_argument("rank ", recv.peer, " sends \"", send.name, "\" ", dtype_name(from.dtype()), from.shape(),
                          ", rank ", send.peer, " receives \"", recv.name, "\" ", dtype_name(to.dtype()), to.shape())
      .with_id("ARG-COMM-001");
}

std::byte* at(const Tensor& t, std::size_t elements) { return t.buffer().data() + elements * element_bytes(t.dtype()); }

}  // namespace

std::string CollectiveCall::describe() const {
  std::string text(kind_name(kind));
  if (reduces(kind)) text += str_cat("(", reduction_name(reduction), ")");
  if (!name.empty()) text += str_cat(" \"", name, "\"");
  if (kind == Collective::kBroadcast) text += str_cat(" from rank ", root);
  if (kind == Collective::kSend) text += str_cat(" to rank ", peer);
  if (kind == Collective::kRecv) text += str_cat(" from rank ", peer);
  if (kind == Collective::kAllReduceShards) {
    std::vector<int> indices;
    for (const Shard& shard : shards) indices.push_back(shard.index);
    return text + str_cat(" of shards ", indices.empty() ? std::string("none") : str_join(indices), " of ", total,
                          " into ", tensor_list(out));
  }
  if (kind != Collective::kBarrier) text += str_cat(" of ", tensor_list(tensors));
  if (!out.empty()) text += str_cat(" into ", tensor_list(out));
  return text;
}

Status CollectiveJob::check(std::span<const CollectiveCall> calls) {
  if (calls[0].kind == Collective::kSend) return check_message(calls[0], calls[1]);
  if (calls[0].same_shapes) ARGOSY_RETURN_IF_ERROR(check_shapes(calls));
  return check_agreement(calls);
}

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
    part.order = call.kind == Collective::kAllReduceShards ? CombineOrder::kTree : CombineOrder::kChain;
    ARGOSY_ASSIGN_OR_RETURN(part.combine, find_combine(part.dtype, call.reduction, part.order));
  } else if (!is_plain(like.dtype())) {
    return unsupported_dtype(kind_name(call.kind), like.dtype());
  }
  bytes_ += (part.bytes + kLine - 1) / kLine * kLine;
  parts_.push_back(part);
  return {};
}

Status CollectiveJob::plan_shards(std::span<const CollectiveCall> calls) {
  const int total = calls[0].total;
  if (total < 1) return invalid_argument("all_reduce_shards of ", total, " shards").with_id("ARG-COMM-001");
  std::vector<std::span<const Tensor>> shards(static_cast<std::size_t>(total));
  std::vector<std::size_t> holder(shards.size(), calls.size());
  const auto bad = [&](const auto&... why) {
    return invalid_argument("all_reduce_shards of ", total, " shards: ", str_cat(why...)).with_id("ARG-COMM-001");
  };
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    for (const Shard& shard : calls[rank].shards) {
      if (shard.index < 0 || shard.index >= total) return bad("rank ", rank, " holds shard ", shard.index);
      const auto index = static_cast<std::size_t>(shard.index);
      if (holder[index] < calls.size()) {
        return bad("shard ", index, " is held by ranks ", holder[index], " and ", rank);
      }
      if (!same_arrays(shard.tensors, calls[0].out)) {
        return bad("shard ", index, " on rank ", rank, " is ", tensor_list(shard.tensors), ", the result ",
                   tensor_list(calls[0].out));
      }
      holder[index] = rank;
      shards[index] = shard.tensors;
    }
  }
  for (std::size_t index = 0; index < shards.size(); ++index) {
    if (holder[index] == calls.size()) return bad("no rank holds shard ", index);
  }
  for (std::size_t i = 0; i < calls[0].out.size(); ++i) {
    for (const auto& shard : shards) inputs_.push_back(at(shard[i], 0));
    for (const CollectiveCall& call : calls) outputs_.push_back(at(call.out[i], 0));
    const Tensor& like = calls[0].out[i];
    ARGOSY_RETURN_IF_ERROR(
        add(like, static_cast<std::size_t>(like.elements()), total, static_cast<int>(calls.size()), calls[0]));
  }
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
    case Collective::kAllReduceShards: return plan_shards(calls);
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
    case Collective::kAllGather: {
      ARGOSY_RETURN_IF_ERROR(check_parts_apart(calls));
      const bool gather = first.kind == Collective::kAllGather;
      const auto whole = static_cast<std::size_t>((gather ? first.out[0] : first.tensors[0]).elements());
      std::size_t begin = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        const Tensor& part = gather ? calls[r].tensors[0] : calls[r].out[0];
        const auto elements = static_cast<std::size_t>(part.elements());
        if (elements <= whole - begin) {
          (gather ? inputs_.emplace_back() = at(part, 0) : outputs_.emplace_back() = at(part, 0));
          for (const CollectiveCall& call : calls) {
            if (gather) {
              outputs_.push_back(at(call.out[0], begin));
            } else {
              inputs_.push_back(at(call.tensors[0], begin));
            }
          }
          ARGOSY_RETURN_IF_ERROR(add(part, elements, gather ? 1 : n, gather ? n : 1, first));
        }
        begin += elements;
        if (begin > whole) break;
      }
      if (begin == whole) return {};
      std::vector<std::int64_t> parts;
      for (const CollectiveCall& call : calls) parts.push_back((gather ? call.tensors[0] : call.out[0]).elements());
      return invalid_argument(kind_name(first.kind), ": the ranks' parts of ", str_join(parts),
                              " elements do not make up the whole of ", whole)
          .with_id("ARG-COMM-001");
    }
    case Collective::kAllToAll: {
      ARGOSY_RETURN_IF_ERROR(check_parts_apart(calls));
      const auto whole = static_cast<std::size_t>(first.tensors[0].elements());
      if (whole % ranks != 0 || !same_arrays(first.tensors, first.out)) {
        return invalid_argument("all_to_all of ", tensor_list(first.tensors), " into ", tensor_list(first.out),
                                ": not ", ranks, " equal parts on both sides")
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
  divisor_ = first.kind == Collective::kAllReduceShards ? first.total : static_cast<double>(calls.size());
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
