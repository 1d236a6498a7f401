#include "argosy/runtime/device_set/watchdog.h"

#include "argosy/base/log.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

namespace {

std::vector<RunningKernel> running_kernels(const RunContext& context) {
  std::vector<RunningKernel> kernels;
  const RunContext::Running now = context.running();
  if (now.step == nullptr) return kernels;
  for (int d = 0; d < now.step->device_set->size(); ++d) {
    const std::int32_t index = now.instructions[d].instruction.load(std::memory_order_relaxed);
    if (index < 0) continue;
    const Instruction& instruction = now.step->instructions[static_cast<std::size_t>(index)];
    if (instruction.kernel == nullptr) continue;
    const StepInfo::NodeInfo& node = now.step->info.nodes[static_cast<std::size_t>(instruction.node)];
    kernels.push_back(
        {std::string(node.name), std::string(node.op), now.step->device_set->device(d).spec().name.short_string()});
  }
  return kernels;
}

}  // namespace

std::string StuckStep::what() const {
  std::string text;
  for (const RunningKernel& k : kernels) {
    text += str_cat(text.empty() ? "" : ", ", "node '", k.node, "' (", k.op, ") on ", k.device);
  }
  return text.empty() ? "no kernel that has a thread: it is being compiled, or an asynchronous op never ended" : text;
}

std::string stuck_text(const RunContext& context) {
  StuckStep step;
  step.kernels = running_kernels(context);
  return step.what();
}

Watchdog::Watch::Watch(Watchdog& dog, RunContext& context, std::function<void()> told, StuckObserver* observer)
    : dog_(dog), context_(context), told_(std::move(told)), observer_(observer) {
  if (dog_.after_.count() <= 0) return;
  linked_ = context_.cancellation().add([this] { over(); }, &token_);
  if (!linked_) over();
}

Watchdog::Watch::~Watch() {
  if (linked_) context_.cancellation().remove(token_);
  Timers::Token timer = 0;
  {
    MutexLock lock(mutex_);
    timer = timer_;
  }
  if (timer != 0) dog_.timers_.cancel(timer);  // waits for look()
  MutexLock lock(mutex_);
  if (stuck_ == nullptr) return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - since_);
  ARGOSY_LOG(kWarning, "step ", stuck_->step, " ended ", took.count(), " ms after it was to: ", stuck_->what());
  if (observer_ != nullptr) observer_->ended(*stuck_);
}

void Watchdog::Watch::over() {
  MutexLock lock(mutex_);
  since_ = std::chrono::steady_clock::now();
  const auto set = dog_.timers_.set(since_ + dog_.after_, [this] { look(); });
  if (set.ok()) {
    timer_ = *set;
  } else {
    ARGOSY_LOG(kWarning, "step ", context_.step_id(), " is not watched: ", set.status());
  }
}

void Watchdog::Watch::look() {
  auto step = std::make_unique<StuckStep>();
  step->step = context_.step_id();
  step->kernels = running_kernels(context_);
  {
    MutexLock lock(mutex_);
    step->since = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - since_);
  }
  const Status reason = context_.cancellation().status();
  step->status = Status(reason.code(), str_cat(reason.message(), "; ", step->since.count(),
                                               " ms later this has not ended: ", step->what()))
                     .with_id("ARG-STUCK-001")
                     .with_hint("its thread and memory are taken until it ends; other sessions go on");
  ARGOSY_LOG(kWarning, "step ", step->step, ": ", step->status);
  const StuckStep& told = *step;
  {
    MutexLock lock(mutex_);
    stuck_ = std::move(step);
  }
  if (observer_ != nullptr) observer_->stuck(told);
  if (told_) told_();
}

}  // namespace argosy
