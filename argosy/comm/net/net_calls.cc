// NetGroup's implementation of each kind of call: the comparison of calls, and reductions. net_moves.cc has the calls
// that only move values.
#include <algorithm>
#include <cstring>
#include <map>

#include "argosy/base/str.h"
#include "argosy/comm/collective_checks.h"
#include "argosy/comm/net/net_disagreement.h"
#include "argosy/comm/net/net_group.h"
#include "argosy/comm/net/net_reduce.h"

namespace argosy {

namespace {

// Returns the properties of a call that must be equal on all tasks, as text. Sizes on one side of a gather or scatter
// may differ.
std::string agreed_text(const CollectiveCall& call) {
  const auto dtypes = [](std::span<const Tensor> tensors) {
    std::vector<std::string_view> names;
    for (const Tensor& t : tensors) names.push_back(dtype_name(t.dtype()));
    return str_join(names);
  };
  const auto arrays = [](std::span<const Tensor> tensors) {
    std::string text;
    for (const Tensor& t : tensors) text += str_cat(dtype_name(t.dtype()), "*", t.elements(), " ");
    return text;
  };
  std::string text = str_cat(kind_name(call.kind), " ", reduces(call.kind) ? reduction_name(call.reduction) : "", " \"",
                             call.name, "\" root ", call.root, " total ", call.total, ": ");
  switch (call.kind) {
    case Collective::kBarrier: return text;
    case Collective::kAllReduceShards: return text + arrays(call.out);
    case Collective::kAllGather: return text + dtypes(call.tensors) + " " + arrays(call.out);
    case Collective::kReduceScatter: return text + arrays(call.tensors) + dtypes(call.out);
    case Collective::kReduceScatterShards: return text + dtypes(call.out);
    case Collective::kAllToAllParts: return text + dtypes(call.tensors) + " " + dtypes(call.out);
    default: return text + arrays(call.tensors) + arrays(call.out);
  }
}

bool overlap(const Tensor& a, const Tensor& b) {
  const std::byte *const x = a.buffer().data(), *const y = b.buffer().data();
  return a.bytes() > 0 && b.bytes() > 0 && x < y + b.bytes() && y < x + a.bytes();
}

// True if a received number is a valid size: the limit keeps sums over all tasks from overflowing.
bool is_size(std::int64_t n) { return n >= 0 && n <= std::int64_t{1} << 46; }

// Checks one task's call by itself.
Status check_own(const CollectiveCall& call, int size) {
  for (const auto list : {call.tensors, call.out}) {
    for (const Tensor& t : list) {
      if (!is_plain(t.dtype())) return wrong(kind_name(call.kind), ": no tensors of ", dtype_name(t.dtype()));
    }
  }
  if (call.root < 0 || call.root >= size) return wrong("broadcast from rank ", call.root, " of ", size);
  if (reduces(call.kind)) {
    for (const Tensor& t : of_shards(call.kind) ? call.out : call.tensors) {
      const DType dtype = component_of(t.dtype(), call.reduction).dtype;
      const auto found = find_combine(dtype, call.reduction, CombineOrder::kTree);
      if (!found.ok()) return wrong(found.status().message());
    }
  }
  if (of_shards(call.kind) && call.total < 1) return wrong(kind_name(call.kind), " of ", call.total, " shards");
  for (const Shard& shard : call.shards) {
    if (shard.index < 0 || shard.index >= call.total) return wrong("shard ", shard.index, " of ", call.total);
    if (call.kind == Collective::kAllReduceShards && !same_arrays(shard.tensors, call.out)) {
      return wrong("shard ", shard.index, " is ", tensor_list(shard.tensors), ", the result ", tensor_list(call.out));
    }
  }
  const auto ranks = static_cast<std::size_t>(size);
  const bool equal_exchange = call.kind == Collective::kAllToAll;
  if (equal_exchange && (call.tensors[0].elements() % size != 0 || !same_arrays(call.tensors, call.out))) {
    return wrong("all_to_all of ", tensor_list(call.tensors), " into ", tensor_list(call.out), ": not ", ranks,
                 " equal parts on both sides");
  }
  if (call.kind == Collective::kAllToAllParts &&
      (call.tensors.size() % ranks != 0 || call.out.size() != call.tensors.size())) {
    return wrong("all_to_all_parts of ", call.tensors.size(), " parts into ", call.out.size(), ": not ", ranks,
                 " for each value on both sides");
  }
  if (equal_exchange || call.kind == Collective::kAllToAllParts) {
    for (const Tensor& in : call.tensors) {
      for (const Tensor& out : call.out) {
        if (overlap(in, out)) return wrong(kind_name(call.kind), ": in and out overlap");
      }
    }
  }
  const bool lists = call.kind == Collective::kAllGather || call.kind == Collective::kReduceScatter;
  if (lists && call.tensors.size() != call.out.size()) {
    return wrong(kind_name(call.kind), ": ", tensor_list(call.tensors), " into ", tensor_list(call.out));
  }
  for (std::size_t i = 0; lists && i < call.out.size(); ++i) {
    if (call.tensors[i].dtype() != call.out[i].dtype()) {
      return wrong(kind_name(call.kind), " of ", tensor_list(call.tensors), " into ", tensor_list(call.out),
                   ": one dtype on both sides");
    }
  }
  return ok_status();
}

}  // namespace

Status NetGroup::agree(const CollectiveCall& call, const Status& own, std::uint32_t tag) {
  const std::string text = agreed_text(call);
  std::uint64_t digest = 0xcbf29ce484222325u;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  BlobWriter brief;
  brief.number(static_cast<std::int64_t>(digest));
  brief.number(own.ok() ? 0 : 1);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, blobs_.gather(brief.bytes(), tag));
  bool same = true, good = true;
  for (const std::string& other : all) {
    BlobReader reader(other);
    const auto theirs = static_cast<std::uint64_t>(reader.number());
    const std::int64_t bad = reader.number();
    same = same && theirs == digest;
    good = good && bad == 0 && reader.at_end();
  }
  if (same && good) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> said,
                          blobs_.gather(good ? call.describe() : own.message(), tag));
  if (!good) {
    for (std::size_t task = 0; task < said.size(); ++task) {
      if (!said[task].empty()) return wrong(said[task], " (on rank ", task, ")");
    }
  }
  std::map<std::string, std::vector<std::size_t>> asked;
  for (std::size_t task = 0; task < said.size(); ++task) asked[said[task]].push_back(task);
  std::vector<std::string> texts;
  for (const auto& [what, ranks] : asked) {
    texts.push_back(str_cat(ranks.size() == 1 ? "rank " : "ranks ", str_join(ranks), ": ", what));
  }
  return wrong("ranks disagree on a collective: ", str_join(texts, "; "))
      .with_hint("every rank must make the same collectives in the same order, on tensors of the same size and dtype");
}

Status NetGroup::perform(const CollectiveCall& call, std::uint32_t tag) {
  if (call.kind == Collective::kSend || call.kind == Collective::kRecv) return message(call, tag);
  ARGOSY_RETURN_IF_ERROR(agree(call, check_own(call, size()), tag));
  return serve(std::span(&call, 1), tag, false);
}

Status NetGroup::serve(std::span<const CollectiveCall> calls, std::uint32_t tag, bool spanning) {
  const CollectiveCall& first = calls[0];
  switch (first.kind) {
    case Collective::kAllReduceShards: {
      std::vector<std::span<const Tensor>> outs;
      for (const CollectiveCall& call : calls) outs.push_back(call.out);
      return reduce_shards(calls, outs, tag, spanning);
    }
    case Collective::kReduceScatterShards: return scatter_sums(calls, tag, spanning);
    case Collective::kAllGather: return gather(calls, tag);
    default: break;
  }
  if (spanning) {
    return unimplemented(kind_name(first.kind), " over ranks of several tasks")
        .with_id("ARG-COMM-027")
        .with_hint("train on one host, or report the model: the strategy of this step needs it");
  }
  switch (first.kind) {
    case Collective::kBarrier: return ok_status();  // agree() was one
    case Collective::kAllReduce: return all_reduce_ranks(first, first.tensors, tag);
    case Collective::kReduceScatter: return scatter_sums(calls, tag, false);
    case Collective::kBroadcast:
      for (const Tensor& t : first.tensors) {
        ARGOSY_RETURN_IF_ERROR(engine_->broadcast(at(t, 0), t.bytes(), first.root, tag));
      }
      return ok_status();
    case Collective::kAllToAll:
    case Collective::kAllToAllParts: return exchange_all(first, tag);
    default: return internal_error("collective of an unknown kind");
  }
}

// One contribution a task, in the order of the tasks.
Status NetGroup::all_reduce_ranks(const CollectiveCall& call, std::span<const Tensor> out, std::uint32_t tag) {
  ReduceLayout layout{.total = size()};
  for (int task = 0; task < size(); ++task) layout.tasks.push_back({{task, 0}});
  const Shard own{rank(), call.tensors};
  return reduce_over_tasks(*engine_, scratch_,
                           {.shards = std::span(&own, 1),
                            .outs = std::span(&out, 1),
                            .reduction = call.reduction,
                            .order = CombineOrder::kChain,
                            .layout = &layout},
                           tag);
}

Result<ReduceLayout> NetGroup::layout_of(const std::vector<int>& own, int total, std::uint32_t tag, bool spanning) {
  const auto self = static_cast<std::size_t>(rank());
  if (spanning) {
    MutexLock lock(mutex_);
    const auto known = layouts_.find(tag);
    if (known != layouts_.end()) return known->second;
  }
  ReduceLayout layout{.total = total};
  BlobWriter mine;
  for (const int shard : own) mine.number(shard);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, blobs_.gather(mine.bytes(), tag));
  for (std::size_t task = 0; task < all.size(); ++task) {
    std::vector<int> shards;
    for (BlobReader reader(all[task]); !reader.at_end();) {
      const std::int64_t shard = reader.number();
      if (!reader.ok()) return unreadable("the shards of task ", task);
      if (shard < 0 || shard >= total) return wrong("task ", task, " holds shard ", shard, " of ", total);
      shards.push_back(static_cast<int>(shard));
    }
    layout.tasks.push_back(subtrees_of(shards));
  }
  ARGOSY_CHECK(layout.tasks[self] == subtrees_of(own));
  ARGOSY_RETURN_IF_ERROR(layout.check());
  if (spanning) {
    MutexLock lock(mutex_);
    layouts_[tag] = layout;
  }
  return layout;
}

Status NetGroup::reduce_shards(std::span<const CollectiveCall> calls, std::span<const std::span<const Tensor>> outs,
                               std::uint32_t tag, bool spanning) {
  std::vector<Shard> shards;
  for (const CollectiveCall& call : calls) shards.insert(shards.end(), call.shards.begin(), call.shards.end());
  std::sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) { return a.index < b.index; });
  std::vector<int> own;
  for (const Shard& shard : shards) own.push_back(shard.index);
  ARGOSY_ASSIGN_OR_RETURN(const ReduceLayout layout, layout_of(own, calls[0].total, tag, spanning));
  return reduce_over_tasks(*engine_, scratch_,
                           {.shards = shards,
                            .outs = outs,
                            .reduction = calls[0].reduction,
                            .order = CombineOrder::kTree,
                            .layout = &layout},
                           tag);
}

Result<std::vector<std::int64_t>> NetGroup::parts_of(const std::vector<std::int64_t>& own, std::uint32_t tag) {
  BlobWriter mine;
  for (const std::int64_t n : own) mine.number(n);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, blobs_.gather(mine.bytes(), tag));
  std::vector<std::int64_t> parts;
  for (std::size_t task = 0; task < all.size(); ++task) {
    if (all[task].size() != mine.bytes().size()) {
      return wrong("task ", task, " has a list of ", all[task].size() / sizeof(std::int64_t), " sizes, this one of ",
                   own.size());
    }
    BlobReader reader(all[task]);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!is_size(parts.emplace_back(reader.number())))
        return unreadable("task ", task, " has ", parts.back(), " of it");
    }
  }
  return parts;
}

// Everyone has the whole result, and keeps its part.
Status NetGroup::scatter_sums(std::span<const CollectiveCall> calls, std::uint32_t tag, bool spanning) {
  const CollectiveCall& first = calls[0];
  const std::size_t values = first.out.size();
  std::vector<std::int64_t> own;
  for (const CollectiveCall& call : calls) {
    for (const Tensor& part : call.out) own.push_back(part.elements());
  }
  own.push_back(first.rank);  // of the first of this task's ranks
  own.push_back(static_cast<std::int64_t>(calls.size()));
  // Each task: its parts, its first rank, how many ranks.
  BlobWriter mine;
  for (const std::int64_t n : own) mine.number(n);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, blobs_.gather(mine.bytes(), tag));
  std::vector<std::int64_t> whole(values, 0), before(values, 0);
  for (std::size_t task = 0; task < all.size(); ++task) {
    BlobReader reader(all[task]);
    const std::size_t numbers = all[task].size() / sizeof(std::int64_t);
    if (numbers < 2 || (values == 0 ? numbers != 2 : (numbers - 2) % values != 0)) {
      return wrong(kind_name(first.kind), ": rank ", task, " has another number of values");
    }
    for (std::size_t k = 0; k + 2 < numbers; ++k) {
      const std::int64_t n = reader.number();
      if (!is_size(n) || !is_size(whole[k % values] += n)) {
        return unreadable(kind_name(first.kind), ": rank ", task, " has a part of ", n);
      }
      if (task < static_cast<std::size_t>(rank())) before[k % values] += n;
    }
  }
  const auto fits = [&](std::span<const Tensor> tensors) {
    if (tensors.size() != values) return false;
    for (std::size_t i = 0; i < values; ++i) {
      if (tensors[i].dtype() != first.out[i].dtype() || tensors[i].elements() != whole[i]) return false;
    }
    return true;
  };
  bool whole_fits = true;
  for (const CollectiveCall& call : calls) {
    if (call.kind == Collective::kReduceScatter) whole_fits = whole_fits && fits(call.tensors);
    for (const Shard& shard : call.shards) whole_fits = whole_fits && fits(shard.tensors);
  }
  // A task whose arrays do not fit would send others what they do not expect.
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> fit, parts_of({whole_fits ? 1 : 0}, tag));
  if (const auto bad = std::find(fit.begin(), fit.end(), 0); bad != fit.end()) {
    return wrong(kind_name(first.kind), ": the ranks' parts of ", str_join(whole),
                 " elements do not make up the whole on rank ", bad - fit.begin());
  }
  std::vector<Tensor> sums;
  for (std::size_t i = 0; i < values; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(sums.emplace_back(), Tensor::allocate(first.out[i].dtype(), {whole[i]}, host_allocator()));
  }
  const std::span<const Tensor> out = sums;
  if (first.kind == Collective::kReduceScatter) {
    ARGOSY_RETURN_IF_ERROR(all_reduce_ranks(first, out, tag));
  } else {
    ARGOSY_RETURN_IF_ERROR(reduce_shards(calls, std::span(&out, 1), tag, spanning));
  }
  for (const CollectiveCall& call : calls) {
    for (std::size_t i = 0; i < values; ++i) {
      const Tensor& part = call.out[i];
      if (part.bytes() > 0) std::memcpy(at(part, 0), at(sums[i], static_cast<std::size_t>(before[i])), part.bytes());
      before[i] += part.elements();
    }
  }
  return ok_status();
}

}  // namespace argosy
