#include "argosy/runtime/session/step_cache.h"

#include <set>

#include "argosy/base/guard.h"
#include "argosy/runtime/session/active_runs.h"

namespace argosy {

namespace {
constexpr std::size_t kMaxShapeVariants = 16;
constexpr std::int64_t kBytesOfNode = 2048;  // in all of a step's arrays
}  // namespace

// --- signatures ------------------------------------------------------------------------------------------------------

Result<StepSignature> StepCache::signature(std::span<const Value> feeds, const std::vector<Value>& fetches,
                                           const std::vector<Value>& targets, const Connections& connections,
                                           const std::vector<Value>& ran) const {
  InterruptibleLock lock(graph_mutex_);
  ARGOSY_RETURN_IF_ERROR(Status(graph_.status()));
  StepSignature s;
  std::set<Endpoint> seen;
  for (const Value& v : feeds) {
    if (!v.valid() || v.index() < 0) return invalid_argument("a feed is no value").with_id("ARG-RUN-001");
    if (!seen.insert(v.endpoint()).second)
      return invalid_argument("'", v.name(), "' is fed twice").with_id("ARG-FEED-003");
    s.feeds.push_back(v.endpoint());
  }
  for (const Value& v : fetches) {
    if (!v.valid()) return invalid_argument("a fetch is no value").with_id("ARG-RUN-001");
    s.fetches.push_back(v.endpoint());
  }
  for (const Value& v : targets) {
    if (!v.valid()) return invalid_argument("a target is no value").with_id("ARG-RUN-001");
    s.targets.push_back(v.node());
  }
  for (const auto& [to, from] : connections) {
    if (!to.valid() || !from.valid() || to.index() < 0 || from.index() < 0)
      return invalid_argument("what is connected is no value").with_id("ARG-RUN-001");
    if (!seen.insert(to.endpoint()).second)
      return invalid_argument("'", to.name(), "' is connected, and fed or connected before").with_id("ARG-FEED-003");
    const Endpoint both[] = {to.endpoint(), from.endpoint()};
    ARGOSY_RETURN_IF_ERROR(check(both));
    s.connections.push_back({both[0], both[1]});
  }
  for (const Value& v : ran) s.ran.push_back(v.node());
  ARGOSY_RETURN_IF_ERROR(check(s.feeds));
  ARGOSY_RETURN_IF_ERROR(check(s.fetches));
  return s;
}

Status StepCache::check(std::span<const Endpoint> endpoints) const {
  for (const Endpoint e : endpoints) {
    if (e.node.index < 0 || e.node.index >= graph_.size() ||
        e.index >= static_cast<int>(graph_.node(e.node).output_dtypes.size())) {
      return invalid_argument("a feed or fetch is no value of this graph").with_id("ARG-RUN-001");
    }
  }
  return ok_status();
}

Status StepCache::check_feeds(const StepSignature& asked, std::span<const Tensor> feeds) const {
  if (feeds.empty()) return ok_status();
  InterruptibleLock lock(graph_mutex_);
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Endpoint e = asked.feeds[i];
    const Tensor& t = feeds[i];
    if (t.dtype() == graph_.dtype(e)) continue;
    return invalid_argument("'", graph_.node(e.node).name, ":", e.index, "' takes ", dtype_name(graph_.dtype(e)),
                            ", was fed ", dtype_name(t.dtype()), t.shape())
        .with_id("ARG-FEED-004")
        .with_hint("feed a tensor of that dtype");
  }
  return ok_status();
}

// --- compiled steps --------------------------------------------------------------------------------------------------

Result<std::shared_ptr<ExecutableStep>> StepCache::find_or_compile(const StepSignature& asked,
                                                                   std::span<const Tensor> feeds) {
  StepSignature wanted = asked;
  std::string key;
  wanted.feed_shapes.clear();
  for (const Tensor& t : feeds) key += wanted.feed_shapes.emplace_back(t.shape()).to_string();
  ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableStep> step, find(wanted, key));
  if (step != nullptr) return step;
  InterruptibleLock lock(graph_mutex_);
  // Another thread may have compiled it meanwhile.
  ARGOSY_ASSIGN_OR_RETURN(step, find(wanted, key));
  if (step != nullptr) return step;
  ARGOSY_ASSIGN_OR_RETURN(auto fresh, compiler_.make(wanted));
  const auto& graph = fresh.step->info.graph;
  const std::int64_t nodes = graph != nullptr ? graph->graph.size() : 0;
  ARGOSY_ASSIGN_OR_RETURN(auto reserved, host_budget().reserve(HostUse::kGraphs, nodes * kBytesOfNode,
                                                               str_cat("a compiled step of ", nodes, " nodes")));
  step = std::make_shared<ExecutableStep>(std::move(fresh.step), std::move(reserved), std::move(fresh.remote),
                                          fresh.collective_key);
  MutexLock steps(mutex_);
  if (closed_) return session_closed();
  wanted.feed_shapes.clear();  // they are no part of the outer key
  steps_[std::move(wanted)][key] = step;
  return step;
}

Result<std::shared_ptr<ExecutableStep>> StepCache::find(StepSignature& wanted, std::string& key) {
  MutexLock lock(mutex_);
  if (closed_) return session_closed();
  const auto variants = steps_.find(wanted);
  if (variants == steps_.end()) return std::shared_ptr<ExecutableStep>();
  const auto found = variants->second.find(key);
  if (found != variants->second.end()) return found->second;
  if (variants->second.size() >= kMaxShapeVariants) {
    const auto general = variants->second.find("");
    if (general != variants->second.end()) return general->second;
    key.clear();
    for (PartialShape& s : wanted.feed_shapes) s = PartialShape::unknown();
  }
  return std::shared_ptr<ExecutableStep>();
}

Result<std::shared_ptr<const Step>> StepCache::compile_for_inspection(const StepSignature& asked) const {
  InterruptibleLock lock(graph_mutex_);
  ARGOSY_ASSIGN_OR_RETURN(auto compiled, compiler_.make(asked, false));
  return std::move(compiled.step);
}

Status StepCache::mutate_graph(const std::function<Status()>& change) {
  return guarded([&] {
    InterruptibleLock lock(graph_mutex_);
    return change();
  });
}

void StepCache::close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

void StepCache::clear() {
  MutexLock lock(mutex_);
  steps_.clear();
}

}  // namespace argosy
