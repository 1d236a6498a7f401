#include "argosy/runtime/session/session.h"

#include "argosy/base/guard.h"
#include "argosy/runtime/session/session_callable.h"
#include "argosy/runtime/session/session_impl.h"

namespace argosy {

namespace {
// The error of a session that could not be made. It is made before main(): later there may be no memory for it.
const Status kNotMade = resource_exhausted("no memory for a session").with_id("ARG-MEM-003");

// Finds or compiles the step for one call of Session::run().
class CachedStep final : public StepSource {
 public:
  CachedStep(StepCache& steps, const StepSignature& asked) : steps_(steps), asked_(asked) {}
  Result<std::shared_ptr<ExecutableStep>> find(std::span<const Tensor> feeds) override {
    return steps_.find_or_compile(asked_, feeds);
  }

 private:
  StepCache& steps_;
  const StepSignature& asked_;
};
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
void Session::begin_close() {
  if (impl_ != nullptr) contained("closing a session", [this] { impl_->begin_close(); });
}
Status Session::mutate_graph(const std::function<Status()>& change) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return impl_->steps().mutate_graph(change);
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
    ARGOSY_ASSIGN_OR_RETURN(const StepSignature asked, impl_->signature(fed, fetches, targets));
    ARGOSY_RETURN_IF_ERROR(impl_->steps().check_feeds(asked, values));
    CachedStep step(impl_->steps(), asked);
    std::vector<Tensor> out(fetches.size());
    ARGOSY_RETURN_IF_ERROR(impl_->run(nullptr, step, values, out, options));
    // The caller's own: a variable's value, a constant and what was fed may share memory with what was fetched.
    for (Tensor& t : out) {
      if (t.dtype() != DType::kInvalid && (is_plain(t.dtype()) || t.dtype() == DType::kString) && !t.unique())
        t = t.clone();
    }
    return out;
  });
}

Result<std::unique_ptr<Session::Callable>> Session::prepare(const std::vector<Value>& feeds,
                                                            const std::vector<Value>& fetches,
                                                            const std::vector<Value>& targets,
                                                            const Connections& connections,
                                                            const std::vector<Value>& ran) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<std::unique_ptr<Callable>> {
    ARGOSY_ASSIGN_OR_RETURN(StepSignature asked, impl_->signature(feeds, fetches, targets, connections, ran));
    return std::unique_ptr<Callable>(std::make_unique<Impl::SessionCallable>(*impl_, std::move(asked)));
  });
}

Result<std::vector<MemoryForecast>> Session::forecast(const std::vector<std::pair<Value, Shape>>& feeds,
                                                      const std::vector<Value>& fetches,
                                                      const std::vector<Value>& targets,
                                                      const Connections& connections) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<std::vector<MemoryForecast>> {
    ARGOSY_ASSIGN_OR_RETURN(const auto step, impl_->inspect(feeds, fetches, targets, connections));
    return step->info.forecast;
  });
}

Result<PlacementReport> Session::placement(const std::vector<std::pair<Value, Shape>>& feeds,
                                           const std::vector<Value>& fetches, const std::vector<Value>& targets,
                                           const Connections& connections) {
  if (impl_ == nullptr) return copy_of(kNotMade);
  return guarded([&]() -> Result<PlacementReport> {
    ARGOSY_ASSIGN_OR_RETURN(const auto step, impl_->inspect(feeds, fetches, targets, connections));
    return step->info.report();
  });
}

}  // namespace argosy
