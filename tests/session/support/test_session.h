// TestSession: the Session of tests that run on several platforms. Such tests are compiled once and linked with one
// definition of make_test_platform() each:
//
//   tests ─► TestSession ─► make_test_platform()  ┬ support/plain_platform.cc: as the test says
//                                                 ├ tests/cluster: devices of two or three tasks
//                                                 └ tests/fake_gpu: fake GPUs with all our kernels
//
// A test says TestSession where it would say Session, and expects the same values and errors on each platform.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/runtime/session/session.h"

namespace argosy {

// What one session of a test runs on. Made before the session and gone after it; one thread at a time.
class TestPlatform {
 public:
  virtual ~TestPlatform() = default;
  virtual bool places_nodes() const { return false; }
  // Places the nodes of `graph` from `next` on. Called before each step, while the graph may change.
  virtual void place_new(Graph& /*graph*/, std::int32_t /*next*/) {}
};

// May change the devices of `options`. Null: the session is as the test says.
std::unique_ptr<TestPlatform> make_test_platform(SessionOptions& options);

struct PlatformOfSession {
  explicit PlatformOfSession(SessionOptions& options) : platform(make_test_platform(options)) {}
  std::unique_ptr<TestPlatform> platform;
};

// One thread at a time where the platform places nodes.
class TestSession final : private PlatformOfSession, public Session {
 public:
  explicit TestSession(const Graph& graph, SessionOptions options = {})
      : PlatformOfSession(options), Session(graph, std::move(options)), graph_(const_cast<Graph&>(graph)) {}
  ~TestSession() {
    if (platform != nullptr) (void)close();  // its platform goes next
  }

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

 private:
  void place() {
    if (platform == nullptr || !platform->places_nodes() || !graph_.status().ok()) return;
    const Status changed = mutate_graph([&] {
      platform->place_new(graph_, next_);
      next_ = graph_.size();
      return ok_status();
    });
    EXPECT_TRUE(changed.ok()) << changed.to_string();
  }

  Graph& graph_;
  std::int32_t next_ = 0;
};

}  // namespace argosy
