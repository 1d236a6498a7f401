#include "argosy/comm/net/net_reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "argosy/base/str.h"
#include "argosy/comm/collective_checks.h"

namespace argosy {

namespace {

// Up to here everyone gathers everything: one message to each instead of two.
constexpr std::size_t kFewBytes = std::size_t{16} << 10;
constexpr std::size_t kLine = 64;

// A contribution of some task, or the sum of several.
struct Term {
  Subtree tree;
  std::byte* data = nullptr;
};

bool is_16_bit(DType dtype) { return dtype == DType::kBfloat16 || dtype == DType::kFloat16; }

template <typename Fn>
void with_16_bit(DType dtype, const Fn& fn) {
  if (dtype == DType::kBfloat16) {
    fn.template operator()<bfloat16>();
  } else {
    fn.template operator()<float16>();
  }
}

// Tensors [begin, end) of one dtype, as one array.
class RunOfTensors {
 public:
  RunOfTensors(NetEngine& engine, NetScratch& scratch, const NetReduction& r, std::uint32_t tag, std::size_t begin,
               std::size_t end)
      : engine_(engine), scratch_(scratch), r_(r), tag_(tag), begin_(begin), end_(end) {}

  Status run();

 private:
  const Tensor& result(std::size_t out, std::size_t t) const { return r_.outs[out][t]; }
  std::size_t count(std::size_t t) const {
    return static_cast<std::size_t>(result(0, t).elements()) * component_.per_element;
  }
  Status find_functions();
  Status add_own_shards();
  void add_subtree(const Subtree& tree, std::byte* to);
  Status gather();
  Status halve();
  Status own_slices();
  enum class Algorithm : char { kAlone, kGathered, kHalving, kOwners };
  Algorithm algorithm() const;
  // Of elements [begin, end) of every term, which it may overwrite. Ends with the mean.
  void combine_terms(std::vector<Term> terms, std::byte* out, std::size_t elements);
  void combine_unequal(const std::vector<Term>& terms, std::byte* out, std::size_t elements);
  void divide(std::byte* data, std::size_t elements);
  void spread();

  NetEngine& engine_;
  NetScratch& scratch_;
  const NetReduction& r_;
  const std::uint32_t tag_;
  const std::size_t begin_, end_;  // of the tensors
  Component component_{DType::kInvalid, 1};
  DType wire_ = DType::kInvalid;  // of what travels
  bool widened_ = false;          // 16-bit values travel as float32
  std::size_t elements_ = 0, bytes_ = 0, element_bytes_ = 1;
  CombineFn all_ = nullptr, pair_ = nullptr, mean_ = nullptr, tree_ = nullptr;
  double divisor_ = 1;
  bool is_direct_ = false;  // result_ is the only result's own memory
  std::byte* result_ = nullptr;
  NetScratch::Block result_block_, own_block_;
  std::vector<std::byte*> own_;  // by own subtree; a shard's own memory where `borrows_`, which nobody writes then
  bool borrows_ = false;
};

Status RunOfTensors::find_functions() {
  const DType dtype = result(0, begin_).dtype();
  component_ = component_of(dtype, r_.reduction);
  widened_ = is_16_bit(component_.dtype) && r_.layout->has_sums();
  wire_ = widened_ ? DType::kFloat32 : component_.dtype;
  element_bytes_ = element_bytes(wire_);
  const Reduction sum = r_.reduction == Reduction::kMean ? Reduction::kSum : r_.reduction;
  ARGOSY_ASSIGN_OR_RETURN(all_, find_combine(wire_, r_.reduction, r_.order));
  ARGOSY_ASSIGN_OR_RETURN(tree_, find_combine(wire_, sum, CombineOrder::kTree));
  ARGOSY_ASSIGN_OR_RETURN(pair_, find_combine(wire_, sum, CombineOrder::kChain));
  ARGOSY_ASSIGN_OR_RETURN(mean_, find_combine(wire_, Reduction::kMean, CombineOrder::kChain));
  divisor_ = r_.layout->total;
  for (std::size_t t = begin_; t < end_; ++t) elements_ += count(t);
  bytes_ = elements_ * element_bytes_;
  return ok_status();
}

// The sum of the shards of one subtree, tensor after tensor.
void RunOfTensors::add_subtree(const Subtree& tree, std::byte* to) {
  const auto first =
      std::find_if(r_.shards.begin(), r_.shards.end(), [&](const Shard& s) { return s.index == tree.first; });
  const auto shards = std::span(first, static_cast<std::size_t>(tree.shards()));
  std::vector<const std::byte*> in(shards.size());
  for (std::size_t t = begin_; t < end_; ++t) {
    const std::size_t n = count(t);
    if (n == 0) continue;
    NetScratch::Block wide;
    if (widened_) {
      wide = scratch_.take(shards.size() * n * sizeof(float));
      auto* floats = reinterpret_cast<float*>(wide.data());
      for (std::size_t s = 0; s < shards.size(); ++s, floats += n) {
        with_16_bit(component_.dtype, [&]<typename T>() {
          const auto* const from = reinterpret_cast<const T*>(at(shards[s].tensors[t], 0));
          for (std::size_t i = 0; i < n; ++i) floats[i] = static_cast<float>(from[i]);
        });
        in[s] = reinterpret_cast<const std::byte*>(floats);
      }
    } else {
      for (std::size_t s = 0; s < shards.size(); ++s) in[s] = at(shards[s].tensors[t], 0);
    }
    std::byte* const out[] = {to};
    if (shards.size() > 1) {
      tree_({.in = in.data(), .out = out, .inputs = tree.shards(), .outputs = 1}, 0, n);
    } else if (in[0] != to) {
      std::memcpy(to, in[0], n * element_bytes_);
    }
    to += n * element_bytes_;
  }
}

Status RunOfTensors::add_own_shards() {
  const std::vector<Subtree>& trees = r_.layout->tasks[static_cast<std::size_t>(engine_.rank())];
  is_direct_ = end_ - begin_ == 1 && r_.outs.size() == 1 && !widened_;
  if (is_direct_) {
    result_ = at(result(0, begin_), 0);
  } else {
    result_block_ = scratch_.take(bytes_);
    result_ = result_block_.data();
  }
  // Single shards of one array travel from where they are.
  if (borrows_) {
    for (const Subtree& tree : trees) {
      const auto shard =
          std::find_if(r_.shards.begin(), r_.shards.end(), [&](const Shard& one) { return one.index == tree.first; });
      own_.push_back(at(shard->tensors[begin_], 0));
    }
    return ok_status();
  }
  // The first goes where the result will be; a shard's memory may be there, too, and only its own subtree reads it then.
  std::size_t in_place = 0;
  if (is_direct_) {
    for (std::size_t k = 0; k < trees.size(); ++k) {
      for (const Shard& shard : r_.shards) {
        const bool inside = shard.index >= trees[k].first && shard.index < trees[k].first + trees[k].shards();
        if (inside && at(shard.tensors[begin_], 0) == result_) in_place = k;
      }
    }
  }
  if (trees.size() > 1) own_block_ = scratch_.take((trees.size() - 1) * bytes_);
  std::byte* next = own_block_.data();
  own_.resize(trees.size());
  for (std::size_t k = 0; k < trees.size(); ++k) {
    own_[k] = k == in_place ? result_ : next;
    if (k != in_place) next += bytes_;
  }
  // That one last: the others' shards are elsewhere.
  for (std::size_t k = 0; k < trees.size(); ++k) {
    if (k != in_place) add_subtree(trees[k], own_[k]);
  }
  if (!trees.empty()) add_subtree(trees[in_place], own_[in_place]);
  return ok_status();
}

void RunOfTensors::divide(std::byte* data, std::size_t elements) {
  if (r_.reduction != Reduction::kMean) return;
  const std::byte* const in[] = {data};
  std::byte* const out[] = {data};
  mean_({.in = in, .out = out, .inputs = 1, .outputs = 1, .divisor = divisor_}, 0, elements);
}

void RunOfTensors::combine_terms(std::vector<Term> terms, std::byte* out, std::size_t elements) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.tree.first < b.tree.first; });
  const bool equal =
      std::all_of(terms.begin(), terms.end(), [&](const Term& term) { return term.tree.level == terms[0].tree.level; });
  if (!equal) return combine_unequal(terms, out, elements);
  std::vector<const std::byte*> in;
  for (const Term& term : terms) in.push_back(term.data);
  std::byte* const to[] = {out};
  all_({.in = in.data(), .out = to, .inputs = static_cast<int>(in.size()), .outputs = 1, .divisor = divisor_}, 0,
       elements);
}

// Subtrees of different sizes, like a binary counter: equal neighbours are added until none are left, then what remains
// from the small to the large.
void RunOfTensors::combine_unequal(const std::vector<Term>& terms, std::byte* out, std::size_t elements) {
  std::vector<Term> open;
  const auto add = [&](const std::byte* left, std::byte* right) {
    const std::byte* const in[] = {left, right};
    std::byte* const to[] = {right};
    pair_({.in = in, .out = to, .inputs = 2, .outputs = 1}, 0, elements);
  };
  for (Term term : terms) {
    while (!open.empty() && open.back().tree.level == term.tree.level) {
      add(open.back().data, term.data);
      term.tree = {open.back().tree.first, term.tree.level + 1};
      open.pop_back();
    }
    open.push_back(term);
  }
  Term last = open.back();
  for (open.pop_back(); !open.empty(); open.pop_back()) add(open.back().data, last.data);
  divide(last.data, elements);
  if (last.data != out) std::memcpy(out, last.data, elements * element_bytes_);
}

Status RunOfTensors::gather() {
  const auto& tasks = r_.layout->tasks;
  const auto self = static_cast<std::size_t>(engine_.rank());
  std::vector<std::size_t> sizes;
  std::size_t total = 0;
  for (const auto& trees : tasks) total += sizes.emplace_back(trees.size() * bytes_);
  const NetScratch::Block all = scratch_.take(total);
  std::vector<Term> terms;
  std::vector<NetEngine::Piece> sent, received;
  std::size_t at_byte = 0, mine = 0;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (task == self) mine = at_byte;
    for (std::size_t k = 0; k < tasks[task].size(); ++k, at_byte += bytes_) {
      std::byte* const place = all.data() + at_byte;
      terms.push_back({tasks[task][k], place});
      if (task == self) {
        std::memcpy(place, own_[k], bytes_);
      } else {
        received.push_back({static_cast<int>(task), place, bytes_});
      }
    }
  }
  if (engine_.all_pairs()) {
    for (int peer = 0; peer < engine_.size(); ++peer) {
      for (std::size_t k = 0; k < own_.size() && peer != engine_.rank(); ++k) sent.push_back({peer, own_[k], bytes_});
    }
    ARGOSY_RETURN_IF_ERROR(engine_.exchange(sent, received, tag_));
  } else {
    ARGOSY_RETURN_IF_ERROR(engine_.all_gather(all.data() + mine, all.data(), sizes, tag_));
  }
  combine_terms(std::move(terms), result_, elements_);
  return ok_status();
}

Status RunOfTensors::halve() {
  const NetEngine::Combine add = [this](std::byte* out, const std::byte* a, const std::byte* b, std::size_t n) {
    const std::byte* const in[] = {a, b};
    std::byte* const to[] = {out};
    pair_({.in = in, .out = to, .inputs = 2, .outputs = 1}, 0, n);
  };
  ARGOSY_RETURN_IF_ERROR(engine_.all_reduce(result_, elements_, element_bytes_, add, tag_));
  divide(result_, elements_);
  return ok_status();
}

// Chunk after chunk: each task combines its slice of the chunk. While the slices of one chunk are gathered, the
// contributions to the next one travel.
Status RunOfTensors::own_slices() {
  const auto& tasks = r_.layout->tasks;
  const int self = engine_.rank(), size = engine_.size();
  const std::size_t line = kLine / element_bytes_, lines = (elements_ + line - 1) / line;
  const std::size_t chunks = std::max<std::size_t>(1, bytes_ / engine_.chunk_bytes());
  const auto chunk_edge = [&](std::size_t chunk) { return lines * chunk / chunks; };
  const auto edge = [&](std::size_t chunk, int task) {
    const std::size_t first = chunk_edge(chunk), count = chunk_edge(chunk + 1) - first;
    return std::min(elements_,
                    (first + count * static_cast<std::size_t>(task) / static_cast<std::size_t>(size)) * line);
  };
  const auto slice_bytes = [&](std::size_t chunk, int task) {
    return (edge(chunk, task + 1) - edge(chunk, task)) * element_bytes_;
  };
  std::size_t others = 0, most = 0;
  for (int task = 0; task < size; ++task) others += task == self ? 0 : tasks[static_cast<std::size_t>(task)].size();
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) most = std::max(most, slice_bytes(chunk, self));
  const NetScratch::Block theirs = scratch_.take((chunks > 1 ? 2 : 1) * others * most);
  std::vector<NetEngine::Piece> sent, received;
  std::vector<Term> terms;
  // Contributions to a chunk: from every task to every owner.
  const auto contribute = [&](std::size_t chunk) {
    terms.clear();
    std::byte* next = theirs.data() + chunk % 2 * others * most;
    for (int task = 0; task < size; ++task) {
      for (const Subtree& tree : tasks[static_cast<std::size_t>(task)]) {
        if (task == self) continue;
        terms.push_back({tree, next});
        received.push_back({task, next, slice_bytes(chunk, self)});
        next += slice_bytes(chunk, self);
      }
      for (std::size_t k = 0; k < own_.size() && task != self; ++k) {
        sent.push_back({task, own_[k] + edge(chunk, task) * element_bytes_, slice_bytes(chunk, task)});
      }
    }
    for (std::size_t k = 0; k < own_.size(); ++k) {
      terms.push_back({tasks[static_cast<std::size_t>(self)][k], own_[k] + edge(chunk, self) * element_bytes_});
    }
  };
  contribute(0);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    ARGOSY_RETURN_IF_ERROR(engine_.exchange_before_another(sent, received, tag_));
    sent.clear();
    received.clear();
    std::byte* const mine = result_ + edge(chunk, self) * element_bytes_;
    if (slice_bytes(chunk, self) > 0) combine_terms(terms, mine, slice_bytes(chunk, self) / element_bytes_);
    for (int task = 0; task < size; ++task) {
      if (task == self) continue;
      sent.push_back({task, mine, slice_bytes(chunk, self)});
      received.push_back({task, result_ + edge(chunk, task) * element_bytes_, slice_bytes(chunk, task)});
    }
    if (chunk + 1 < chunks) contribute(chunk + 1);
  }
  return engine_.exchange(sent, received, tag_);
}

// The result, rounded, to every local rank.
void RunOfTensors::spread() {
  if (is_direct_) return;
  const std::byte* from = result_;
  for (std::size_t t = begin_; t < end_; ++t) {
    const std::size_t n = count(t);
    for (std::size_t out = 0; out < r_.outs.size() && n > 0; ++out) {
      std::byte* const to = at(result(out, t), 0);
      if (out > 0 || !widened_) {
        std::memcpy(to, out > 0 ? at(result(0, t), 0) : from, result(out, t).bytes());
        continue;
      }
      with_16_bit(component_.dtype, [&]<typename T>() {
        const auto* const wide = reinterpret_cast<const float*>(from);
        for (std::size_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = static_cast<T>(wide[i]);
      });
    }
    from += n * element_bytes_;
  }
}

RunOfTensors::Algorithm RunOfTensors::algorithm() const {
  std::size_t most = 0;
  for (const auto& trees : r_.layout->tasks) most = std::max(most, trees.size());
  if (engine_.size() == 1) return Algorithm::kAlone;
  if (most * bytes_ <= kFewBytes) return Algorithm::kGathered;
  if (engine_.all_pairs()) return Algorithm::kOwners;
  // Of whole numbers every order gives the same bits.
  const bool any_order = r_.order == CombineOrder::kTree || !is_floating(wire_);
  return any_order && r_.layout->is_aligned() && !is_16_bit(wire_) ? Algorithm::kHalving : Algorithm::kGathered;
}

Status RunOfTensors::run() {
  ARGOSY_RETURN_IF_ERROR(find_functions());
  if (elements_ == 0) return ok_status();
  const Algorithm taken = algorithm();
  borrows_ = end_ - begin_ == 1 && !r_.layout->has_sums() && taken != Algorithm::kHalving;
  ARGOSY_RETURN_IF_ERROR(add_own_shards());
  switch (taken) {
    case Algorithm::kAlone: {
      std::vector<Term> terms;
      for (std::size_t k = 0; k < own_.size(); ++k) terms.push_back({r_.layout->tasks[0][k], own_[k]});
      combine_terms(std::move(terms), result_, elements_);
      break;
    }
    case Algorithm::kGathered: ARGOSY_RETURN_IF_ERROR(gather()); break;
    case Algorithm::kHalving: ARGOSY_RETURN_IF_ERROR(halve()); break;
    case Algorithm::kOwners: ARGOSY_RETURN_IF_ERROR(own_slices()); break;
  }
  spread();
  return ok_status();
}

}  // namespace

Status reduce_over_tasks(NetEngine& engine, NetScratch& scratch, const NetReduction& reduction, std::uint32_t tag) {
  const std::span<const Tensor> out = reduction.outs[0];
  for (std::size_t begin = 0; begin < out.size();) {
    std::size_t end = begin + 1;
    while (end < out.size() && out[end].dtype() == out[begin].dtype()) ++end;
    ARGOSY_RETURN_IF_ERROR(RunOfTensors(engine, scratch, reduction, tag, begin, end).run());
    begin = end;
  }
  return ok_status();
}

}  // namespace argosy
