#include "argosy/runtime/session/session.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/compile/step_compiler.h"
#include "argosy/runtime/execute/executable_step.h"
#include "argosy/runtime/machine/deadlines.h"
#include "argosy/runtime/machine/trace.h"
#include "argosy/runtime/machine/watchdog.h"
#include "argosy/runtime/session/session_callable.h"

namespace argosy {

namespace {

struct Signature {
  std::vector<Endpoint> feeds, fetches;
  std::vector<NodeId> targets;
  auto operator<=>(const Signature&) const = default;
};

StepSignature step_signature(const Signature& signature, std::vector<PartialShape> shapes) {
  return {signature.feeds, std::move(shapes), signature.fetches, signature.targets};
}

// Beyond this many feed shapes of one signature, one step that knows no feed shape serves all others.
constexpr std::size_t kMaxShapeVariants = 16;

}  // namespace

class Session::Impl {
 public:
  Impl(const Graph& graph, SessionOptions options)
      : graph_(graph),
        options_(std::move(options)),
        own_(options_.share_op_state_with != nullptr ? options_.share_op_state_with->impl_->own_
                                                     : std::make_shared<ResourceManager>()),
        watchdog_(options_.stuck_after),
        compiler_(graph_, options_, device_set_, own_) {
    if (options_.device_set) {
      device_set_ = options_.device_set;
    } else if (auto made = DeviceSet::make(requested()); made.ok()) {
      device_set_ = *std::move(made);
    } else {
      status_ = std::move(made).status();
      return;
    }
    const char* const env = std::getenv("ARGOSY_TRACE");
    const std::string path = options_.trace_path.value_or(env != nullptr ? env : "");
    if (!path.empty()) {
      auto trace = device_set_->traces().open(path);
      if (trace.ok()) {
        trace_ = *std::move(trace);
      } else {
        status_ = std::move(trace).status();
      }
    }
  }

  const Status& status() const { return status_; }
  DeviceSet& device_set() const { return *device_set_; }
  ResourceManager& op_state() const { return *own_; }

  // --- compiling -----------------------------------------------------------------------------------------------------

  Result<std::shared_ptr<ExecutableStep>> compiled(const Signature& signature, std::span<const PartialShape> shapes) {
    std::string key;
    for (const PartialShape& s : shapes) key += s.to_string();
    std::vector<PartialShape> wanted(shapes.begin(), shapes.end());
    ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableStep> step, find_compiled(signature, key, wanted));
    if (step != nullptr) return step;
    MutexLock lock(graph_mutex_);
    // Somebody else may have compiled it meanwhile.
    ARGOSY_ASSIGN_OR_RETURN(step, find_compiled(signature, key, wanted));
    if (step != nullptr) return step;
    ARGOSY_ASSIGN_OR_RETURN(auto fresh,
                            guarded([&] { return compiler_.make(step_signature(signature, std::move(wanted))); }));
    constexpr std::int64_t kBytesOfNode = 2048;  // in all of a step's arrays
    const std::int64_t nodes = fresh->info.graph != nullptr ? fresh->info.graph->graph.size() : 0;
    ARGOSY_ASSIGN_OR_RETURN(auto reserved, host_budget().reserve(HostUse::kGraphs, nodes * kBytesOfNode,
                                                                 str_cat("a compiled step of ", nodes, " nodes")));
    step = std::make_shared<ExecutableStep>(std::move(fresh), std::move(reserved));
    MutexLock steps(mutex_);
    if (closed_) return closed_error();
    steps_[signature][key] = step;
    return step;
  }

  // Null when it has to be compiled, then for the shapes `wanted` and under `key`.
  Result<std::shared_ptr<ExecutableStep>> find_compiled(const Signature& signature, std::string& key,
                                                        std::vector<PartialShape>& wanted) {
    MutexLock lock(mutex_);
    if (closed_) return closed_error();
    const Variants& variants = steps_[signature];
    const auto found = variants.find(key);
    if (found != variants.end()) return found->second;
    if (variants.size() >= kMaxShapeVariants) {
      const auto general = variants.find("");
      if (general != variants.end()) return general->second;
      key.clear();
      for (PartialShape& s : wanted) s = PartialShape::unknown();
    }
    return std::shared_ptr<ExecutableStep>();
  }

  // Nobody looks at the graph meanwhile. Steps under way go on.
  Status mutate_graph(const std::function<Status()>& change) {
    MutexLock lock(graph_mutex_);
    return guarded(change);
  }

  // As compile(), for looking at only.
  Result<std::shared_ptr<const Step>> compile_for_inspection(const Signature& signature,
                                                             std::vector<PartialShape> shapes) const {
    MutexLock lock(graph_mutex_);
    return guarded([&] { return compiler_.make(step_signature(signature, std::move(shapes)), false); });
  }

  DeviceRequest requested() const {
    DeviceRequest request = options_.devices;
    request.deterministic = request.deterministic || options_.reproducible;
    return request;
  }

  Status check(std::span<const Endpoint> endpoints) const {
    for (const Endpoint e : endpoints) {
      if (e.node.index < 0 || e.node.index >= graph_.size() ||
          e.index >= static_cast<int>(graph_.node(e.node).output_dtypes.size())) {
        return invalid_argument("a feed or fetch is no value of this graph").with_id("ARG-RUN-001");
      }
    }
    return ok_status();
  }

  Result<Signature> signature(std::span<const Value> feeds, const std::vector<Value>& fetches,
                              const std::vector<Value>& targets) const {
    ARGOSY_RETURN_IF_ERROR(Status(status_));
    MutexLock lock(graph_mutex_);
    ARGOSY_RETURN_IF_ERROR(Status(graph_.status()));
    Signature s;
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
    ARGOSY_RETURN_IF_ERROR(check(s.feeds));
    ARGOSY_RETURN_IF_ERROR(check(s.fetches));
    return s;
  }

  Status check_feed(Endpoint e, const Tensor& t) const {
    MutexLock lock(graph_mutex_);
    if (t.dtype() == graph_.dtype(e)) return ok_status();
    return invalid_argument("'", graph_.node(e.node).name, ":", e.index, "' takes ", dtype_name(graph_.dtype(e)),
                            ", was fed ", dtype_name(t.dtype()), t.shape())
        .with_id("ARG-FEED-004")
        .with_hint("feed a tensor of that dtype");
  }

  // --- running -------------------------------------------------------------------------------------------------------

  // Steps are compiled one at a time. Who waits for somebody else's sees that its own run is over: by an exception.
  class CompileLock {
   public:
    explicit CompileLock(Impl& session) : session_(session) {
      constexpr std::chrono::milliseconds kBetweenLooks(50);
      MutexLock lock(session_.mutex_);
      while (session_.making_) {
        check_interrupted();
        (void)session_.made_.wait_until(session_.mutex_, std::chrono::steady_clock::now() + kBetweenLooks);
      }
      session_.making_ = true;
    }
    ~CompileLock() {
      MutexLock lock(session_.mutex_);
      session_.making_ = false;
      session_.made_.notify_one();
    }
    CompileLock(const CompileLock&) = delete;
    CompileLock& operator=(const CompileLock&) = delete;

   private:
    Impl& session_;
  };

  // Gives the step, compiling it where nobody has: within the run's deadline, too.
  using Lookup = std::function<Result<std::shared_ptr<ExecutableStep>>(std::span<const Tensor>)>;
  // `compiled` may be null; outlives the call.
  Status run(ExecutableStep* compiled, const Lookup& lookup, std::span<const Tensor> feeds, std::span<Tensor> fetches,
             const RunOptions& options) {
    StepStats traced;
    StepStats* stats = options.stats;
    if (trace_ != nullptr) {
      if (stats == nullptr) stats = &traced;
      stats->keep_ops = true;
    }
    RunContext context(next_step_.fetch_add(1, std::memory_order_relaxed), stats, options_.fetch_handles);
    context.want_deterministic(options_.reproducible);
    ARGOSY_RETURN_IF_ERROR(enter(context));
    std::shared_ptr<ExecutableStep> found;  // outlives who looks at what runs
    Entered entered(*this, context);
    if (options.timeout.count() > 0) ARGOSY_RETURN_IF_ERROR(entered.end_after(options.timeout));
    if (options.cancellation != nullptr) entered.end_with(*options.cancellation);
    Status status = guarded([&]() -> Status {
      std::optional<Watchdog::Watch> watch;
      if (options.timeout.count() > 0 || options.cancellation != nullptr) {
        watch.emplace(
            watchdog_, context, [&] { leave_stuck(context); }, options.stuck);
      }
      if (compiled == nullptr) {
        const InterruptScope interrupts(&context.cancellation());
        const CompileLock compiling(*this);
        ARGOSY_ASSIGN_OR_RETURN(found, lookup(feeds));
        compiled = found.get();
        check_interrupted();
      }
      return compiled->run(feeds, fetches, context);
    });
    if (trace_ != nullptr) trace_->add(*stats, context.step_id());
    return status;
  }

  Status close() {
    MutexLock lock(mutex_);
    closed_ = true;
    const Status why = guarded([] { return closed_error(); });
    for (RunContext* context : running_) context->cancellation().cancel(copy_of(why));
    const auto end = std::chrono::steady_clock::now() + options_.stuck_after;
    const bool bounded = options_.stuck_after.count() > 0;
    while (!running_.empty()) {
      if (!bounded) {
        idle_.wait(mutex_);
      } else if (running_.size() == stuck_.size() || !idle_.wait_until(mutex_, end)) {
        return deadline_exceeded(running_.size(), " steps of the session did not end after it was closed: ",
                                 stuck_text(**running_.begin()))
            .with_id("ARG-STUCK-002");
      }
    }
    steps_.clear();
    if (options_.share_op_state_with == nullptr) own_->clear();
    for (int d = 0; device_set_ && d < device_set_->size(); ++d) device_set_->arenas(d).trim();
    return ok_status();
  }

  // Waits for what close() did not wait for.
  void wait() {
    {
      MutexLock lock(mutex_);
      while (!running_.empty()) idle_.wait(mutex_);
    }
    if (const Status closed = close(); !closed.ok()) ARGOSY_LOG(kWarning, "closing a session: ", closed);
  }

  const Graph& graph() const { return graph_; }

 private:
  using Variants = std::map<std::string, std::shared_ptr<ExecutableStep>>;

  // A run that close() waits for, and what may end it early. Undone whatever is thrown.
  class Entered {
   public:
    Entered(Impl& session, RunContext& context)
        : session_(session), context_(context), deadline_(&session.deadlines_) {}
    ~Entered() {
      link_.reset();
      deadline_.end();
      session_.leave(context_);
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

    Status end_after(std::chrono::milliseconds time) {
      return deadline_.set(std::chrono::steady_clock::now() + time, context_.cancellation(),
                           str_cat("the step took longer than ", time.count(), " ms"));
    }
    void end_with(Cancellation& other) {
      link_.emplace(&other, [this, &other] { context_.cancellation().cancel(other.status()); });
      if (link_->too_late()) context_.cancellation().cancel(other.status());
    }

   private:
    Impl& session_;
    RunContext& context_;
    Deadline deadline_;
    std::optional<CancelLink> link_;
  };

  static Status closed_error() { return cancelled("the session was closed").with_id("ARG-RUN-002"); }

  Status enter(RunContext& context) {
    MutexLock lock(mutex_);
    if (closed_) return closed_error();
    running_.insert(&context);
    return ok_status();
  }
  void leave(RunContext& context) {
    MutexLock lock(mutex_);
    running_.erase(&context);
    stuck_.erase(&context);
    if (running_.empty()) idle_.notify_all();
  }
  // It stays under way, but nobody waits for it.
  void leave_stuck(RunContext& context) {
    MutexLock lock(mutex_);
    stuck_.insert(&context);
    idle_.notify_all();
  }

  const Graph& graph_;
  const SessionOptions options_;
  Status status_;
  std::shared_ptr<DeviceSet> device_set_;
  // Queues without a shared name, streams of random numbers and the like, whichever device they are on.
  const std::shared_ptr<ResourceManager> own_;
  std::shared_ptr<TraceWriter> trace_;
  Deadlines deadlines_;
  Watchdog watchdog_;
  std::atomic<std::int64_t> next_step_{1};
  // Held while the graph is looked at or grows; taken before mutex_.
  mutable Mutex graph_mutex_;
  mutable StepCompiler compiler_ ARGOSY_GUARDED_BY(graph_mutex_);
  Mutex mutex_;
  CondVar idle_;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool making_ ARGOSY_GUARDED_BY(mutex_) = false;  // somebody compiles
  CondVar made_;
  std::set<RunContext*> running_ ARGOSY_GUARDED_BY(mutex_);
  std::set<RunContext*> stuck_ ARGOSY_GUARDED_BY(mutex_);  // of those
  std::map<Signature, Variants> steps_ ARGOSY_GUARDED_BY(mutex_);
};

namespace {

std::vector<PartialShape> shapes_of(std::span<const Tensor> tensors) {
  std::vector<PartialShape> shapes;
  for (const Tensor& t : tensors) shapes.emplace_back(t.shape());
  return shapes;
}

}  // namespace

namespace {
// Of a session that could not be made. Itself made before main(): later there may be no memory for it.
const Status kNotMade = resource_exhausted("no memory for a session").with_id("ARG-MEM-003");
}  // namespace

Session::Session(const Graph& graph, SessionOptions options) {
  contained("making a session", [&] { impl_ = std::make_unique<Impl>(graph, std::move(options)); });
}
Session::~Session() {
  const Status closed = close();
  if (closed.ok()) return;
  internal::log_thrown("closing a session", closed);
  contained("waiting for a session's steps", [&] { impl_->wait(); });
}

const Status& Session::status() const { return impl_ != nullptr ? impl_->status() : kNotMade; }
ResourceManager& Session::op_state() const {
  ARGOSY_CHECK(impl_ != nullptr);
  return impl_->op_state();
}

DeviceSet& Session::device_set() const {
  ARGOSY_CHECK(impl_ != nullptr);
  return impl_->device_set();
}
Status Session::close() {
  if (impl_ == nullptr) return ok_status();
  return guarded([&] { return impl_->close(); });
}
Status Session::mutate_graph(const std::function<Status()>& change) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return impl_->mutate_graph(change);
}

Result<std::vector<Tensor>> Session::run(const Feeds& feeds, const std::vector<Value>& fetches,
                                         const std::vector<Value>& targets, const RunOptions& options) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<std::vector<Tensor>> {
    std::vector<Value> fed;
    std::vector<Tensor> values;
    for (const auto& [value, tensor] : feeds) {
      fed.push_back(value);
      values.push_back(tensor);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Signature signature, impl_->signature(fed, fetches, targets));
    for (std::size_t i = 0; i < values.size(); ++i)
      ARGOSY_RETURN_IF_ERROR(impl_->check_feed(signature.feeds[i], values[i]));
    const auto lookup = [&](std::span<const Tensor> fed_values) {
      return impl_->compiled(signature, shapes_of(fed_values));
    };
    std::vector<Tensor> out(fetches.size());
    ARGOSY_RETURN_IF_ERROR(impl_->run(nullptr, std::ref(lookup), values, out, options));
    return out;
  });
}

Result<std::unique_ptr<Session::Callable>> Session::prepare(const std::vector<Value>& feeds,
                                                            const std::vector<Value>& fetches,
                                                            const std::vector<Value>& targets) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<std::unique_ptr<Callable>> {
    ARGOSY_ASSIGN_OR_RETURN(const Signature signature, impl_->signature(feeds, fetches, targets));
    Impl* const impl = impl_.get();
    auto lookup = [impl, signature](std::span<const Tensor> values) -> Result<std::shared_ptr<ExecutableStep>> {
      for (std::size_t i = 0; i < values.size(); ++i)
        ARGOSY_RETURN_IF_ERROR(impl->check_feed(signature.feeds[i], values[i]));
      return impl->compiled(signature, shapes_of(values));
    };
    auto run = [impl](ExecutableStep* step, const SessionCallable::Lookup& find, std::span<const Tensor> values,
                      std::span<Tensor> out,
                      const RunOptions& options) { return impl->run(step, find, values, out, options); };
    return std::unique_ptr<Callable>(
        std::make_unique<SessionCallable>(feeds.size(), fetches.size(), std::move(lookup), std::move(run)));
  });
}

namespace {
std::vector<PartialShape> given_shapes(const std::vector<std::pair<Value, Shape>>& feeds, std::vector<Value>& values) {
  std::vector<PartialShape> shapes;
  for (const auto& [value, shape] : feeds) {
    values.push_back(value);
    shapes.emplace_back(shape);
  }
  return shapes;
}
}  // namespace

Result<std::vector<MemoryForecast>> Session::forecast(const std::vector<std::pair<Value, Shape>>& feeds,
                                                      const std::vector<Value>& fetches,
                                                      const std::vector<Value>& targets) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<std::vector<MemoryForecast>> {
    std::vector<Value> fed;
    auto shapes = given_shapes(feeds, fed);
    ARGOSY_ASSIGN_OR_RETURN(const Signature signature, impl_->signature(fed, fetches, targets));
    ARGOSY_ASSIGN_OR_RETURN(const auto step, impl_->compile_for_inspection(signature, std::move(shapes)));
    return step->info.forecast;
  });
}

Result<PlacementReport> Session::placement(const std::vector<std::pair<Value, Shape>>& feeds,
                                           const std::vector<Value>& fetches, const std::vector<Value>& targets) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<PlacementReport> {
    std::vector<Value> fed;
    auto shapes = given_shapes(feeds, fed);
    ARGOSY_ASSIGN_OR_RETURN(const Signature signature, impl_->signature(fed, fetches, targets));
    ARGOSY_ASSIGN_OR_RETURN(const auto step, impl_->compile_for_inspection(signature, std::move(shapes)));
    return step->info.report();
  });
}

}  // namespace argosy
