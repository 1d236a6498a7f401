// Adds all-reduces for sums over devices, in buckets. The members of a bucket depend on equally long chains of sums, so
// none of them depends on another.
#include <algorithm>
#include <map>
#include <set>

#include "argosy/ops/collective/collective.h"
#include "argosy/sharding/lower/local_statistics.h"
#include "argosy/sharding/lower/lower_state.h"
#include "argosy/sharding/lower/turns.h"

namespace argosy {

namespace {

// A shard's own part of a sum stays where it is.
bool is_sum(const Reshard& r) { return r.from == Placement::partial(Combine::kSum) && !r.to.is_local(); }

// The longest chain of sums that each node depends on, found by iterating to a fixpoint. All nodes of a loop depend on
// every value that enters it.
class Depths {
 public:
  explicit Depths(const LowerState& s) : depth_(static_cast<std::size_t>(s.base.size()), 0) {
    for (std::size_t i = 0; i < s.assignment.reshards.size(); ++i) {
      if (!is_sum(s.assignment.reshards[i])) continue;
      for (const Graph::Use& use : s.assignment.reshards[i].users) sums_.insert({use.node, use.input});
    }
    std::vector<int> entered(s.regions.frames.size(), 0);
    for (bool again = true; again;) {
      again = false;
      for (const NodeId id : s.sizes.order()) {
        const Node& n = s.base.node(id);
        int deepest = depth_[static_cast<std::size_t>(id.index)];
        for (std::size_t i = 0; i < n.inputs.size(); ++i) {
          const NodeId from = n.inputs[i].node;
          // Sums in loops have buckets of their own. Counting them would never end.
          const bool counts = sums_.contains({id, static_cast<int>(i)}) && !s.in_loop(from);
          deepest = std::max(deepest, depth_[static_cast<std::size_t>(from.index)] + (counts ? 1 : 0));
        }
        for (const NodeId c : n.controls) deepest = std::max(deepest, depth_[static_cast<std::size_t>(c.index)]);
        int& loop = entered[static_cast<std::size_t>(s.regions.frame[static_cast<std::size_t>(id.index)])];
        if (s.in_loop(id)) {
          if (n.op->flow == Flow::kEnter && deepest > loop) loop = deepest, again = true;
          deepest = std::max(deepest, loop);
        }
        if (deepest == depth_[static_cast<std::size_t>(id.index)]) continue;
        depth_[static_cast<std::size_t>(id.index)] = deepest;
        again = true;
        if (deepest <= std::ssize(s.assignment.reshards)) continue;
        status_ =
            unimplemented("'", n.name, "' (", n.op->name, "): what leaves a loop is summed over devices and enters it")
                .with_id("ARG-DP-003")
                .with_where(str_cat("node '", n.name, "'"))
                .with_hint("run this step on one device");
        return;
      }
    }
  }
  const Status& status() const { return status_; }
  int of(NodeId id) const { return depth_[static_cast<std::size_t>(id.index)]; }

 private:
  std::vector<int> depth_;
  std::set<std::pair<NodeId, int>> sums_;
  Status status_;
};

// Returns flags by node: not 0 for ancestors of the nodes that a step runs; for all nodes, if it runs none.
std::vector<char> needed_by_run(const LowerState& s) {
  std::vector<char> needed(static_cast<std::size_t>(s.base.size()), s.request.run.empty() ? 1 : 0);
  std::vector<NodeId> open = s.request.run;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    char& seen = needed[static_cast<std::size_t>(id.index)];
    if (seen != 0) continue;
    seen = 1;
    for (const Endpoint e : s.base.node(id).inputs) open.push_back(e.node);
    for (const NodeId c : s.base.node(id).controls) open.push_back(c);
  }
  return needed;
}

class Buckets {
 public:
  explicit Buckets(LowerState& s)
      : s_(s), times_statistics_(sums_times_statistics(s)), limit_(s.request.first_bucket_bytes) {}

  // Adds the sum to a bucket. `run`: a step needs it. Sums for fetches alone are not put into buckets: every step would
  // compute them.
  void add(std::size_t reshard, int depth, bool run) {
    const Reshard& r = s_.assignment.reshards[reshard];
    const DType dtype = s_.base.dtype(r.value);
    if (!run || !always(r.value.node)) return close({reshard}, bytes_of(r.value), run);
    Bucket& open = open_[{depth, dtype}];
    open.members.push_back(reshard);
    open.bytes += bytes_of(r.value);
    if (open.bytes < limit_) return;
    close(open.members, open.bytes);
    open = {};
    limit_ = s_.request.bucket_bytes;
  }
  void close_all() {
    for (auto& [key, open] : open_) {
      if (!open.members.empty()) close(open.members, open.bytes);
    }
  }

 private:
  struct Bucket {
    std::vector<std::size_t> members;
    std::size_t bytes = 0;
  };

  // True if the node's values are never dead. A dead member would make all sums of its bucket dead. Outputs of a Switch
  // are dead in the branch that is not taken.
  bool always(NodeId id) const { return s_.regions.always(id) && s_.base.node(id).op->flow != Flow::kSwitch; }

  // 0: the size depends on the batch.
  std::size_t bytes_of(Endpoint e) const {
    const double bytes = s_.sizes.bytes(e, 1);
    return s_.sizes.bytes(e, 2) == bytes ? static_cast<std::size_t>(bytes) : 0;
  }

  void close(const std::vector<std::size_t>& members, std::size_t bytes, bool run = true) {
    const std::string group = s_.graph.unique_name("data_parallel/all_reduce");
    for (const std::size_t m : members) s_.summed[m].resize(s_.devices.size());
    const int block = shards_per_sum(s_, s_.base.dtype(s_.assignment.reshards[members[0]].value));
    const int total = (s_.size() + block - 1) / block;
    int rank = 0;
    for (int d = 0; d < s_.size(); ++d) {
      if (!s_.starts_device(d)) continue;
      int end = d + 1;
      while (end < s_.size() && !s_.starts_device(end)) ++end;
      std::vector<Value> sums = brought(members, d, end, block);
      std::vector<std::int64_t> blocks;
      for (int k = d / block; k * block < end; ++k) blocks.push_back(k);
      if (total > 1) {
        const auto on = s_.graph.device(s_.devices[static_cast<std::size_t>(d)]);
        sums = all_reduce(
            sums, {.group = group, .rank = rank, .size = s_.device_count(), .shards = blocks, .total = total}, group);
      }
      for (std::size_t m = 0; m < members.size() && m < sums.size(); ++m) {
        for (int k = d; k < end; ++k) s_.summed[members[m]][static_cast<std::size_t>(k)] = sums[m].endpoint();
      }
      ++rank;
    }
    if (!run) return;
    s_.sums.push_back({.reshards = members, .sums = {}, .bytes = bytes, .travel = total > 1});
    for (const std::size_t m : members) s_.sums.back().sums.push_back(s_.summed[m]);
  }

  // Returns the inputs of the all-reduce on the device with the shards [first, end): for each block, one sum per
  // member.
  std::vector<Value> brought(const std::vector<std::size_t>& members, int first, int end, int block) {
    std::vector<Value> values;
    for (int k = first; k < end; k += block) {
      for (const std::size_t m : members) {
        const Endpoint e = s_.assignment.reshards[m].value;
        std::vector<Value> parts(s_.devices.size());
        const bool check = times_statistics_[static_cast<std::size_t>(e.node.index)] != 0;
        for (int d = k; d < std::min(k + block, end); ++d) {
          const Value term = s_.graph.value(s_.before(m, d));
          parts[static_cast<std::size_t>(d)] = check ? nonempty_term(s_, term, e.node, d) : term;
        }
        values.push_back(
            sum_of_turns(s_, k, std::min(k + block, end), parts, str_cat(s_.base.node(e.node).name, "/turns")));
      }
    }
    return values;
  }

  LowerState& s_;
  const std::vector<char> times_statistics_;
  std::size_t limit_;
  std::map<std::pair<int, DType>, Bucket> open_;
};

}  // namespace

Status add_all_reduces(LowerState& s) {
  if (s.size() == 1) return ok_status();
  const Depths depths(s);
  ARGOSY_RETURN_IF_ERROR(Status(depths.status()));
  const std::vector<char> runs = needed_by_run(s);
  Buckets buckets(s);
  for (std::size_t i = 0; i < s.assignment.reshards.size(); ++i) {
    const Reshard& r = s.assignment.reshards[i];
    if (!is_sum(r) || s.in_step[static_cast<std::size_t>(r.value.node.index)] == 0) continue;
    const bool run = std::any_of(r.users.begin(), r.users.end(), [&](const Graph::Use& use) {
      return use.node == kFetch || runs[static_cast<std::size_t>(use.node.index)] != 0;
    });
    buckets.add(i, depths.of(r.value.node), run);
  }
  buckets.close_all();
  return s.graph.status();
}

}  // namespace argosy
