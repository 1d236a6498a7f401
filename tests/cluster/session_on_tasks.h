// SessionOnTasks: what a Session that stands in a test's place needs, whose devices are those of several tasks
// (argosy/testing/fake_cluster.h). Before each call that looks at the graph, place() puts the new nodes onto tasks.
//
//   test's Session ─► SpreadSession (spread_session.h): nodes anywhere
//                  └► ReplicatedSession (replicated_session.h): GPUs of a test are those of tasks
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/testing/fake_cluster.h"

namespace argosy {

// The tasks of a session. Made before it, and gone after it.
struct TasksOfSession {
  // The session's own task is the first. Where they cannot be made the session stays as it is, and says why.
  void start(const std::vector<FakeTask>& tasks, SessionOptions& options) {
    auto made = FakeCluster::make(tasks);
    if (!made.ok()) return;
    cluster = *std::move(made);
    const SessionOptions of_cluster = cluster->options(0);
    options.device_set = of_cluster.device_set;
    options.tasks = of_cluster.tasks;
  }
  std::shared_ptr<FakeCluster> cluster;  // null: the session has one task
};

// One thread at a time.
class SessionOnTasks : public Session {
 public:
  Result<std::vector<Tensor>> run(const Feeds& feeds, const std::vector<Value>& fetches,
                                  const std::vector<Value>& targets = {}, const RunOptions& options = {}) {
    place();
    return Session::run(feeds, fetches, targets, options);
  }
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches) { return run({}, fetches); }
  Status run_targets(const std::vector<Value>& targets) { return run({}, {}, targets).status(); }
  Result<std::unique_ptr<Callable>> prepare(const std::vector<Value>& feeds, const std::vector<Value>& fetches,
                                            const std::vector<Value>& targets = {}) {
    place();
    return Session::prepare(feeds, fetches, targets);
  }
  Result<PlacementReport> placement(const std::vector<std::pair<Value, Shape>>& feeds,
                                    const std::vector<Value>& fetches, const std::vector<Value>& targets) {
    place();
    return Session::placement(feeds, fetches, targets);
  }

 protected:
  SessionOnTasks(const Graph& graph, SessionOptions options, const TasksOfSession& tasks)
      : Session(graph, std::move(options)), graph_(const_cast<Graph&>(graph)), tasks_(tasks) {}
  ~SessionOnTasks() { (void)close(); }

  // Nodes of `graph` from `next` on are new. Called while the graph may change.
  virtual void place_new(Graph& graph, std::int32_t next) = 0;

 private:
  void place() {
    if (tasks_.cluster == nullptr || !graph_.status().ok()) return;
    const Status changed = mutate_graph([&] {
      place_new(graph_, next_);
      next_ = graph_.size();
      return ok_status();
    });
    EXPECT_TRUE(changed.ok()) << changed.to_string();
  }

  Graph& graph_;
  const TasksOfSession& tasks_;
  std::int32_t next_ = 0;
};

}  // namespace argosy
