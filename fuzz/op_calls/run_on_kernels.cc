#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/random_case.h"
#include "fuzz/op_calls/run_call.h"

namespace argosy::op_calls {

bool is_bug(const Status& status) {
  return status.code() == Code::kInternal && status.message().find("check failed") != std::string_view::npos;
}

// An attribute says what the outputs' shapes are: who says it wrong is believed until the step runs.
bool claims_shapes(const OpDef& op) {
  return std::any_of(op.attr_defs.begin(), op.attr_defs.end(),
                     [](const AttrDef& a) { return a.kind == AttrKind::kShape || a.kind == AttrKind::kShapes; });
}

namespace {

constexpr std::size_t kMostBytes = 16 << 20;

// Pulls the switch of steps that go on for too long: one thread for all, which looks every now and then. Waking it for
// every call took longer than most calls.
class Deadlines {
 public:
  static Deadlines& get() {
    static auto* one = new Deadlines;
    return *one;
  }
  void watch(Cancellation* c, std::chrono::milliseconds after) {
    const std::lock_guard lock(mutex_);
    watched_ = c;
    due_ = std::chrono::steady_clock::now() + after;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    watched_ = nullptr;
  }

 private:
  Deadlines() {
    std::thread([this] { run(); }).detach();
  }
  [[noreturn]] void run() {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
      const std::lock_guard lock(mutex_);
      if (watched_ == nullptr || std::chrono::steady_clock::now() < due_) continue;
      Cancellation* const c = watched_;
      watched_ = nullptr;
      c->cancel(deadline_exceeded("the call's time is over"));  // under the lock: forget() waits
    }
  }
  std::mutex mutex_;
  Cancellation* watched_ = nullptr;
  std::chrono::steady_clock::time_point due_;
};

class OneStep final : public StepContext {
 public:
  std::int64_t step_id() const override { return 1; }
  Cancellation& cancellation() override { return cancellation_; }
  ResourceManager& step_resources() override { return resources_; }
  const FilePolicy* files() const override {
    static const auto kHere = FilePolicy::within({"."});
    return kHere.ok() ? &*kHere : nullptr;
  }

 private:
  Cancellation cancellation_;
  ResourceManager resources_;
};

// One making of a call, with variables and resources of its own.
class Making {
 public:
  explicit Making(bool reference) : reference_(reference), memory_(kMostBytes) {
    Deadlines::get().watch(&step_.cancellation(), std::chrono::milliseconds(20));
  }
  ~Making() { Deadlines::get().forget(); }

  // The tensors that the kernel gets. An error: a call that makes one of them failed.
  Result<std::vector<Tensor>> inputs(const OpCall& call) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const CallInput& in = call.inputs[i];
      if (in.same_as >= 0) {
        tensors.push_back(tensors[static_cast<std::size_t>(in.same_as)]);
      } else if (in.source != nullptr) {
        ARGOSY_ASSIGN_OR_RETURN(const auto made, outputs(in.source));
        if (static_cast<std::size_t>(in.output) >= made.size()) return invalid_argument("no such output");
        tensors.push_back(made[static_cast<std::size_t>(in.output)]);
      } else if (in.variable) {
        ARGOSY_ASSIGN_OR_RETURN(Tensor handle, variable(in));
        tensors.push_back(std::move(handle));
      } else {
        tensors.push_back(in.value);
      }
      if (!tensors.back().valid()) return invalid_argument("an input without a value");
    }
    return tensors;
  }

  Result<std::vector<Tensor>> outputs(const std::shared_ptr<OpCall>& call) {
    const auto found = made_.find(call.get());
    if (found != made_.end()) return found->second;
    ARGOSY_ASSIGN_OR_RETURN(const auto given, inputs(*call));
    Outcome outcome;
    auto result = run(*call, given, outcome);
    if (!result.ok()) return result.status();
    return made_[call.get()] = *std::move(result);
  }

  // The attributes of the node; an error where a graph would refuse it before any shape is looked at.
  static Result<AttrMap> complete(const OpCall& call, const std::vector<Tensor>& given) {
    AttrMap attrs = call.attrs;
    std::vector<DType> dtypes;
    for (std::size_t i = 0; i < given.size(); ++i) dtypes.push_back(declared(*call.op, i, given[i]));
    ARGOSY_RETURN_IF_ERROR(complete_attrs(*call.op, dtypes, attrs));
    ARGOSY_ASSIGN_OR_RETURN(const auto asked, arg_dtypes(call.op->input_args, attrs));
    if (asked != dtypes) return invalid_argument("dtypes that the signature does not allow");
    return attrs;
  }

  Result<std::vector<Tensor>> run(const OpCall& call, const std::vector<Tensor>& given, Outcome& outcome) {
    for (const auto& other : call.before) static_cast<void>(outputs(other));  // may fail
    outcome.stage = Stage::kAttributes;
    ARGOSY_ASSIGN_OR_RETURN(const AttrMap attrs, complete(call, given));
    ARGOSY_ASSIGN_OR_RETURN(const auto out, arg_dtypes(call.op->output_args, attrs));
    std::vector<const Tensor*> pointers;
    std::vector<PartialShape> shapes;
    for (const Tensor& t : given) {
      pointers.push_back(&t);
      shapes.emplace_back(t.shape());
    }
    const std::vector<PartialShape> out_shapes(out.size());
    std::vector<DType> carried;
    for (const Tensor& t : given) carried.push_back(t.dtype());
    const KernelInit init{.op = *call.op,
                          .attrs = attrs,
                          .node = "fuzzed",
                          .input_dtypes = carried,
                          .output_dtypes = out,
                          .input_shapes = shapes,
                          .output_shapes = out_shapes,
                          .resources = &resources_};
    outcome.stage = Stage::kKernel;
    auto kernel = reference_ ? cpu_kernels().make_reference(init, "cpu") : cpu_kernels().make(init, "cpu");
    if (!kernel.ok()) return kernel.status();
    kept_.push_back(*std::move(kernel));
    outcome.stage = Stage::kRun;
    std::vector<Tensor> outputs(out.size());
    std::vector<OutputSlot> slots;
    for (Tensor& t : outputs) slots.push_back({.tensor = &t});
    KernelContext context({.inputs = pointers.data(),
                           .num_inputs = static_cast<int>(pointers.size()),
                           .outputs = slots.data(),
                           .num_outputs = static_cast<int>(slots.size()),
                           .output_dtypes = out.data(),
                           .node = "fuzzed",
                           .allocator = &memory_,
                           .resources = &resources_,
                           .step = &step_});
    try {
      const InterruptScope interrupts(&step_.cancellation());  // as the executor's
      ARGOSY_RETURN_IF_ERROR(kept_.back()->run(context));
    } catch (const Interrupted& over) {
      return over.reason();
    }
    outcome.stage = Stage::kThrough;
    return outputs;
  }

 private:
  // A reference is carried as a handle; its dtype is the variable's.
  static DType declared(const OpDef& op, std::size_t i, const Tensor& t) {
    std::size_t arg = i;
    if (arg >= op.input_args.size()) arg = op.input_args.size() - 1;
    if (op.input_args.empty() || !op.input_args[arg].is_ref || t.dtype() != DType::kResource || t.elements() != 1)
      return t.dtype();
    if (op.input_args[arg].dtype == DType::kString) return DType::kString;
    const auto* v = dynamic_cast<const Variable*>(t.data<ResourceHandle>()->resource().get());
    return v != nullptr ? v->dtype() : t.dtype();
  }

  Result<Tensor> variable(const CallInput& in) {
    auto v = std::make_shared<Variable>(in.dtype, PartialShape::unknown(), host_allocator());
    if (in.value.valid()) {
      const Tensor value = in.value.clone();
      ARGOSY_RETURN_IF_ERROR(v->assign(value, false));
    }
    return Tensor::scalar(ResourceHandle("localhost", "v", std::move(v)));
  }

  const bool reference_;
  LimitedAllocator memory_;
  ResourceManager resources_;
  OneStep step_;
  std::vector<std::unique_ptr<Kernel>> kept_;
  std::map<const OpCall*, std::vector<Tensor>> made_;
};

std::int64_t integer_at(const Tensor& t, std::int64_t i) {
  return t.dtype() == DType::kInt32 ? t.data<std::int32_t>()[i] : t.data<std::int64_t>()[i];
}

// Kernels that take a vector of one for a scalar, as TensorFlow's do, where the shape is not known in the graph.
bool takes_one_for_scalar(const OpDef& op) {
  static constexpr std::array kOps = {"Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice"};
  return std::find(kOps.begin(), kOps.end(), op.name) != kOps.end();
}

bool may_be_dead(const OpDef& op) { return op.flow == Flow::kSwitch; }

void compare_with_shapes(const OpCall& call, const Inferred& inferred, const std::vector<Tensor>& outputs,
                         const char* known, const Complain& complain) {
  if (!inferred.status.ok() || claims_shapes(*call.op) || call.op->has_ref_input()) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& args = call.op->output_args;
    if (std::any_of(args.begin(), args.end(), [](const ArgDef& a) { return a.is_ref; })) return;
    if (!outputs[i].valid()) {
      if (!may_be_dead(*call.op)) complain(str_cat("unset: output ", i));
      continue;
    }
    if (!inferred.shapes[i].compatible(outputs[i].shape())) {
      complain(str_cat("shape: output ", i, ", inferred ", inferred.shapes[i].to_string(), " with ", known,
                       " known, got ", outputs[i].shape().to_string()));
      continue;
    }
    if (i >= inferred.ints.size() || !inferred.ints[i]) continue;
    const PartialInts& ints = *inferred.ints[i];
    bool same = static_cast<std::int64_t>(ints.size()) == outputs[i].elements();
    for (std::size_t k = 0; same && k < ints.size(); ++k)
      same = !ints[k] || *ints[k] == integer_at(outputs[i], static_cast<std::int64_t>(k));
    if (!same) complain(str_cat("known integers: output ", i, " with ", known, " known"));
  }
}

// It, or what makes one of its handles, draws without a seed: a queue that gives any of its elements.
bool is_random_call(const OpCall& call) {
  const auto zero = [&](const char* name) { return call.attrs.get_or<std::int64_t>(name, 0) == 0; };
  const auto& defs = call.op->attr_defs;
  const bool has_seed = std::any_of(defs.begin(), defs.end(), [](const AttrDef& a) { return a.name == "seed"; });
  if (has_seed && zero("seed") && zero("seed2")) return true;
  return std::any_of(call.inputs.begin(), call.inputs.end(),
                     [](const CallInput& in) { return in.source != nullptr && is_random_call(*in.source); });
}

// Two results of one call, where the values are such that kernels may be held to each other.
void compare_kernels(const OpCall& call, const std::vector<Tensor>& fast, const std::vector<Tensor>& plain,
                     const Complain& complain) {
  const bool is_random = call.op->stateful || is_random_call(call);
  const bool has_handles =
      std::any_of(call.inputs.begin(), call.inputs.end(), [](const CallInput& in) { return in.source != nullptr; });
  for (std::size_t i = 0; i < fast.size() && i < plain.size(); ++i) {
    const Tensor &a = fast[i], &b = plain[i];
    if (!a.valid() || !b.valid()) continue;
    if (a.dtype() != b.dtype() || (!is_random && a.shape() != b.shape())) {
      complain(str_cat("kernels: output ", i, " is ", a.to_string(), ", of the reference ", b.to_string()));
      continue;
    }
    const bool exact = is_integer(a.dtype()) || a.dtype() == DType::kBool || a.dtype() == DType::kString;
    if (exact && !is_random && !has_handles && !attr_equal(AttrValue(a), AttrValue(b)))
      complain(str_cat("kernels: output ", i, " is ", a.to_string(16), ", of the reference ", b.to_string(16)));
  }
}

}  // namespace

Outcome run_on_kernels(const OpCall& call, const Complain& complain) {
  Outcome outcome;
  const auto run = [&](bool reference, Outcome& result) {
    Making making(reference);
    auto given = making.inputs(call);
    if (!given.ok()) return Result<std::vector<Tensor>>(result.status = given.status());
    Result<std::vector<Tensor>> outputs = making.run(call, *given, result);
    if (!outputs.ok()) result.status = outputs.status();
    return outputs;
  };
  // What the shape function says, before the kernels may write to what it looks at.
  Inferred all, part, none;
  {
    Making making(false);
    auto given = making.inputs(call);
    if (!given.ok()) return {Stage::kAttributes, given.status()};
    auto attrs = Making::complete(call, *given);
    if (!attrs.ok()) return {Stage::kAttributes, attrs.status()};
    const RandomCase c{call.op, *std::move(attrs), *std::move(given)};
    all = infer(c, 0), part = infer(c, 2), none = infer(c, kAll);
    if (!none.status.ok()) return {Stage::kShape, none.status};  // such a node never is
  }
  const auto outputs = run(false, outcome);
  if (outcome.stage == Stage::kAttributes) return outcome;
  if (outputs.ok()) {
    if (!all.status.ok() && !takes_one_for_scalar(*call.op))
      complain(str_cat("laxer: the kernel runs what its shape function refuses: ", all.status.message()));
    compare_with_shapes(call, all, *outputs, "all", complain);
    compare_with_shapes(call, part, *outputs, "half", complain);
    compare_with_shapes(call, none, *outputs, "nothing", complain);
  } else {
    if (outputs.status().message().empty()) complain("silent: an error without a message");
    if (is_bug(outputs.status())) complain("internal: " + outputs.status().to_string());
    if (!all.status.ok()) outcome.stage = Stage::kShape;
  }
  Outcome other;
  const auto plain = run(true, other);
  if (outputs.ok() && plain.ok()) compare_kernels(call, *outputs, *plain, complain);
  const auto excused = [](const Status& s) {
    return s.code() == Code::kUnimplemented || s.code() == Code::kResourceExhausted ||
           s.code() == Code::kDeadlineExceeded || s.code() == Code::kCancelled;
  };
  // What files hold, and what queues, is another thing the second time.
  if (outputs.ok() != plain.ok() && !call.op->stateful && !call.op->opens_files &&
      !excused(outputs.ok() ? plain.status() : outputs.status()))
    complain(str_cat("kernels: the first says ", outputs.status().to_string(), ", the reference ",
                     plain.status().to_string()));
  return outcome;
}

}  // namespace argosy::op_calls
