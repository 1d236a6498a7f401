#include "argosy/comm/collective_checks.h"

#include <algorithm>
#include <map>

#include "argosy/base/str.h"
#include "argosy/comm/collective_job.h"

namespace argosy {

std::string_view kind_name(Collective kind) {
  constexpr std::string_view kNames[] = {"all_reduce",
                                         "all_reduce_shards",
                                         "reduce_scatter",
                                         "reduce_scatter_shards",
                                         "all_gather",
                                         "broadcast",
                                         "all_to_all",
                                         "all_to_all_parts",
                                         "barrier",
                                         "send",
                                         "recv"};
  return kNames[static_cast<int>(kind)];
}

bool of_shards(Collective kind) {
  return kind == Collective::kAllReduceShards || kind == Collective::kReduceScatterShards;
}

bool reduces(Collective kind) {
  return kind == Collective::kAllReduce || kind == Collective::kReduceScatter || of_shards(kind);
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

namespace {

// True if two ranks' calls agree. On one side of gathers and scatters sizes may differ.
bool same_call(const CollectiveCall& a, const CollectiveCall& b) {
  if (a.kind != b.kind || a.reduction != b.reduction || a.root != b.root || a.total != b.total || a.name != b.name) {
    return false;
  }
  const auto same_dtypes = [](std::span<const Tensor> x, std::span<const Tensor> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Tensor& s, const Tensor& t) { return s.dtype() == t.dtype(); });
  };
  switch (a.kind) {
    case Collective::kBarrier: return true;
    case Collective::kAllToAll: return same_arrays(a.tensors, b.tensors) && same_arrays(a.out, b.out);
    case Collective::kAllReduceShards: return same_arrays(a.out, b.out);
    case Collective::kAllGather: return same_arrays(a.out, b.out) && same_dtypes(a.tensors, b.tensors);
    case Collective::kReduceScatter: return same_arrays(a.tensors, b.tensors) && same_dtypes(a.out, b.out);
    case Collective::kReduceScatterShards: return same_dtypes(a.out, b.out);
    case Collective::kAllToAllParts: return same_dtypes(a.tensors, b.tensors) && same_dtypes(a.out, b.out);
    default: return same_arrays(a.tensors, b.tensors);
  }
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
  const auto brought = [](const CollectiveCall& call) { return of_shards(call.kind) ? call.out : call.tensors; };
  const auto fits = [&](const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.shape().rank() != b.shape().rank()) return false;
    const auto x = a.shape().sizes(), y = b.shape().sizes();
    const std::ptrdiff_t first = calls[0].any_rows && !x.empty() ? 1 : 0;
    return std::equal(x.begin() + first, x.end(), y.begin() + first);
  };
  const std::span<const Tensor> theirs = brought(calls[0]);
  for (std::size_t rank = 1; rank < calls.size(); ++rank) {
    const std::span<const Tensor> ours = brought(calls[rank]);
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
      if (i < ours.size() && i < theirs.size() && fits(ours[i], theirs[i])) continue;
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

}  // namespace

std::string CollectiveCall::describe() const {
  std::string text(kind_name(kind));
  if (reduces(kind)) text += str_cat("(", reduction_name(reduction), ")");
  if (!name.empty()) text += str_cat(" \"", name, "\"");
  if (kind == Collective::kBroadcast) text += str_cat(" from rank ", root);
  if (kind == Collective::kSend) text += str_cat(" to rank ", peer);
  if (kind == Collective::kRecv) text += str_cat(" from rank ", peer);
  if (of_shards(kind)) {
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

}  // namespace argosy
