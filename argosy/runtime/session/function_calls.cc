#include "argosy/runtime/session/function_calls.h"

#include <set>

#include "argosy/base/threads/cancel_link.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/graph/function_body.h"
#include "argosy/op/state/session_op_state.h"
#include "argosy/passes/optimize.h"
#include "argosy/runtime/compile/compile.h"
#include "argosy/runtime/execute/executable_step.h"

namespace argosy {

namespace {

// The cancellation for a call whose kernel has no step: the factory of a one-shot iterator runs while its step is
// compiled. It is the one of the thread's InterruptScope. The scope only reads it; whoever made the scope owns it, and
// it is not const there.
Cancellation* cancellation_of_thread() {
  const InterruptScope* const scope = InterruptScope::current();
  return scope != nullptr ? const_cast<Cancellation*>(scope->cancellation()) : nullptr;
}

// The functions, and what is needed to compile them.
class Bodies : public std::enable_shared_from_this<Bodies> {
 public:
  Bodies(const Graph& graph, DeviceSet& device_set, const KernelRegistry& kernels,
         std::shared_ptr<ResourceManager> session)
      : library_(graph.ops()), device_set_(device_set), kernels_(kernels), session_(std::move(session)) {
    for (const auto& [name, function] : graph.functions()) library_.add_function(function);
  }
  // Compiles a body. The call gets state of its own, because nodes of different bodies may have equal names.
  Result<std::shared_ptr<FunctionCall>> compile(const std::string& name) const;
  bool any_op(const std::string& name, const std::function<bool(const OpDef&)>& fits) const {
    std::set<std::string> seen;
    return any_op(name, fits, seen);
  }

 private:
  bool any_op(const std::string& name, const std::function<bool(const OpDef&)>& fits,
              std::set<std::string>& seen) const;

  mutable Mutex mutex_;  // held while a body is copied
  Graph library_;        // no nodes, only functions
  DeviceSet& device_set_;
  const KernelRegistry& kernels_;
  const std::shared_ptr<ResourceManager> session_;
};

class CompiledCall final : public FunctionCall {
 public:
  // `state`: of the ops of the body; may be null.
  CompiledCall(std::string name, std::shared_ptr<const Step> step, std::vector<DType> parameters,
               std::vector<DType> returns, std::shared_ptr<const Bodies> bodies, const ResourceManager* state)
      : name_(std::move(name)),
        compiled_(std::move(step)),
        parameters_(std::move(parameters)),
        returns_(std::move(returns)),
        bodies_(std::move(bodies)),
        keeps_state_(state != nullptr && !state->list(kSessionOpState).empty()) {}

  Result<std::vector<Tensor>> run(std::span<const Tensor> arguments, Cancellation* cancellation) override {
    if (arguments.size() != parameters_.size()) {
      return invalid_argument("function \"", name_, "\" takes ", parameters_.size(), " values, was given ",
                              arguments.size())
          .with_id("ARG-FN-006");
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].dtype() == parameters_[i]) continue;
      return invalid_argument("function \"", name_, "\" takes ", dtype_name(parameters_[i]), " as argument ", i,
                              ", was given ", dtype_name(arguments[i].dtype()), arguments[i].shape())
          .with_id("ARG-FN-006");
    }
    if (cancellation == nullptr) cancellation = cancellation_of_thread();
    RunContext context(0, nullptr, true);  // handles stay handles
    context.keep_thread_budget();
    const CancelLink link(cancellation, [&] { context.cancellation().cancel(cancellation->status()); });
    if (link.too_late()) return cancellation->status();
    std::vector<Tensor> out(returns_.size());
    Status status = compiled_.run(arguments, out, context);
    if (!status.ok()) return std::move(status).with_where(str_cat("function \"", name_, "\""));
    return out;
  }
  bool keeps_state() const override { return keeps_state_; }
  bool any_op(const std::function<bool(const OpDef&)>& fits) const override { return bodies_->any_op(name_, fits); }
  Result<std::shared_ptr<FunctionCall>> anew() const override { return bodies_->compile(name_); }
  const std::vector<DType>& parameters() const override { return parameters_; }
  const std::vector<DType>& returns() const override { return returns_; }

 private:
  const std::string name_;
  ExecutableStep compiled_;
  const std::vector<DType> parameters_, returns_;
  const std::shared_ptr<const Bodies> bodies_;
  const bool keeps_state_;
};

Result<std::shared_ptr<FunctionCall>> Bodies::compile(const std::string& name) const {
  const Function* const function = library_.function(name);
  if (function == nullptr) return not_found("there is no function \"", name, "\"").with_id("ARG-FN-005");
  Graph body(library_.ops());
  {
    MutexLock lock(mutex_);
    body = function->body.clone();
    for (const auto& [known, other] : library_.functions()) {
      if (body.function(known) == nullptr) body.add_function(other);
    }
  }
  StepSignature signature;
  std::vector<DType> parameters, returns;
  for (const NodeId arg : function->args) {
    signature.feeds.push_back({arg, 0});
    signature.feed_shapes.push_back(body.shape({arg, 0}));
    parameters.push_back(body.dtype({arg, 0}));
  }
  for (const Endpoint e : function->returns) returns.push_back(body.dtype(e));
  signature.fetches = function->returns;
  signature.targets = function->control_returns;
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, prune_step(body, signature));
  ARGOSY_ASSIGN_OR_RETURN(step, prepare_step(std::move(step), {}));
  const std::vector<DeviceSpec> devices = device_set_.specs();
  const std::string host = devices[0].name.to_string();
  for (std::int32_t i = 0; i < step.graph.size(); ++i) step.graph.set_device({i}, host);
  const PlaceOptions options{
      .devices = {devices[0]},
      .has_kernel = [&](const OpDef& op,
                        const DeviceSpec&) { return kernels_.has(op.name, device_set_.device(0).kernel_kind()); },
      .allow_soft_placement = true};
  ARGOSY_ASSIGN_OR_RETURN(DevicePlacement placement, place(step.graph, options));
  // The caller may itself be a resource of the device set: owning a share would keep the device set alive for ever.
  const std::shared_ptr<DeviceSet> borrowed(std::shared_ptr<DeviceSet>(), &device_set_);
  std::shared_ptr<ResourceManager> state;
  if (session_ != nullptr) state = std::make_shared<ResourceManager>(session_, kSessionOpState);
  ARGOSY_ASSIGN_OR_RETURN(auto compiled,
                          compile_step(std::move(step), std::move(placement), borrowed, kernels_, true, state));
  return std::shared_ptr<FunctionCall>(std::make_shared<CompiledCall>(
      name, std::move(compiled), std::move(parameters), std::move(returns), shared_from_this(), state.get()));
}

bool Bodies::any_op(const std::string& name, const std::function<bool(const OpDef&)>& fits,
                    std::set<std::string>& seen) const {
  const Function* const function = library_.function(name);
  if (function == nullptr || !seen.insert(name).second) return false;
  for (const Node& n : function->body.nodes()) {
    if (fits(*n.op)) return true;
    for (const auto& [attr, value] : n.attrs) {
      const auto* const called = std::get_if<FunctionRef>(&value);
      if (called != nullptr && any_op(called->name, fits, seen)) return true;
      const auto* const branches = std::get_if<std::vector<FunctionRef>>(&value);
      if (branches == nullptr) continue;
      for (const FunctionRef& branch : *branches) {
        if (any_op(branch.name, fits, seen)) return true;
      }
    }
  }
  return false;
}

class CompiledCalls final : public FunctionCalls {
 public:
  explicit CompiledCalls(std::shared_ptr<const Bodies> bodies) : bodies_(std::move(bodies)) {}

  Result<std::shared_ptr<FunctionCall>> prepare(const std::string& name) override {
    MutexLock lock(mutex_);
    std::shared_ptr<FunctionCall>& call = calls_[name];
    if (call == nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(call, bodies_->compile(name));
    }
    return call;
  }

 private:
  const std::shared_ptr<const Bodies> bodies_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<FunctionCall>> calls_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<FunctionCalls> make_function_calls(const Graph& graph, DeviceSet& device_set,
                                                   const KernelRegistry& kernels,
                                                   std::shared_ptr<ResourceManager> session) {
  return std::make_shared<CompiledCalls>(
      std::make_shared<const Bodies>(graph, device_set, kernels, std::move(session)));
}

}  // namespace argosy
