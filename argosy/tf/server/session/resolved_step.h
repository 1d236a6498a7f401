// ResolvedStep: a client's step whose names are resolved: the values to feed, fetch and run, and the Session::Callable
// that runs them. Made once for each set of names. Internal to the session server.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {

struct StepNames {
  std::vector<std::string> feeds, fetches, targets;
  struct Connection {
    std::string to, from;  // consumers of `to` read `from` instead
  };
  std::vector<Connection> connections = {};
};

struct StepValues {
  std::vector<Value> feeds, fetches, targets;
  Connections connections = {};
  std::vector<Value> ran = {};  // StepSignature::ran
};

// Resolves the names, and converts the nodes that they depend on. Call it inside Session::mutate_graph().
// Errors are TensorFlow's:
//   * NOT_FOUND: there is no such node;
//   * INVALID_ARGUMENT: there is no such output; a value is fed twice, or fed and fetched; there is nothing to do.
//   * INVALID_ARGUMENT: a connection's source does not exist, or it closes a cycle, or changes a dtype. Its target
//     counts as fed.
Result<StepValues> find_values(ImportedGraph& graph, const StepNames& names);

struct StepReplicas;  // argosy/tf/server/replication/replication.h

class ResolvedStep {
 public:
  // Fetches named twice are fetched once.
  static Result<std::shared_ptr<ResolvedStep>> make(Session& session, ImportedGraph& graph, StepNames names);

  const StepNames& names() const { return names_; }
  const StepValues& values() const { return values_; }
  Session::Callable& callable() { return *callable_; }
  std::size_t num_fetches() const { return names_.fetches.size(); }

  // Returns about how long a run keeps its thread busy; negative before the second run has ended (the first compiles).
  std::int64_t typical_nanos() const { return typical_nanos_.load(std::memory_order_relaxed); }
  void ran(std::int64_t nanos);

  // Used by Replication only, under its mutex.
  std::shared_ptr<StepReplicas> replicas;

 private:
  StepNames names_;
  StepValues values_;
  std::unique_ptr<Session::Callable> callable_;
  std::atomic<std::int64_t> typical_nanos_{-1};
  std::atomic<bool> ran_before_{false};
};

}  // namespace argosy::tf
