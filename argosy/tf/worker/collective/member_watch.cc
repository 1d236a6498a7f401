#include "argosy/tf/worker/collective/member_watch.h"

#include <algorithm>
#include <vector>

#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/tf/worker/device_attributes.h"
#include "argosy/tf/worker/shared_loops.h"

namespace argosy::tf {

namespace {

using Clock = std::chrono::steady_clock;
// A member that meets a loss ends its program soon. The first look comes before that: what follows from a loss is not
// its cause.
constexpr std::chrono::milliseconds kFirstLook{200};
constexpr std::chrono::milliseconds kBetweenLooks{1000};
constexpr std::chrono::milliseconds kSilence{3000};
constexpr const char* kGetStatus = "/tensorflow.WorkerService/GetStatus";

Status other_frames(const TaskName& task) {
  return unimplemented("a collective in a loop has a member on ", task,
                       ", whose server numbers frames as TensorFlow before 2.5 does")
      .with_id("ARG-CLUSTER-118")
      .with_hint("put the collective outside of the loop; or start all tasks with argosy run");
}

}  // namespace

Status lost_member(const TaskName& task, const std::string& address) {
  return unavailable(task, " at ", address, " is lost, and with it a collective")
      .with_id("ARG-CLUSTER-110")
      .with_hint("start that task again; sessions recover as TensorFlow's do");
}

Status error_of_call(const Peers& peers, const Status& status, const TaskName& task) {
  if (is_derived(status) || status.code() != Code::kUnavailable) return status;
  const std::string* const address = peers.cluster().address(task);
  return lost_member(task, address == nullptr ? "?" : *address);
}

MemberWatch::~MemberWatch() {
  {
    MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->steps.clear();
    state_->changed.notify_all();
  }
  std::thread thread;
  {
    MutexLock lock(thread_mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void MemberWatch::add(std::int64_t step_id, const Group& group, bool in_loop, Lost lost) {
  {
    MutexLock lock(thread_mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  MutexLock lock(state_->mutex);
  Watched& step = state_->steps[step_id];
  if (step.tasks.empty()) {
    step.next_look = Clock::now() + kFirstLook;
    if (state_->rests) state_->changed.notify_all();
  }
  step.lost = std::move(lost);
  step.in_loop = step.in_loop || in_loop;
  for (const DeviceSpec& member : group.members) {
    const TaskName task = task_of_member(member);
    if (task != peers_->own()) step.tasks[task][member.name.to_string()] = member.incarnation;
  }
}

void MemberWatch::remove(std::int64_t step_id) {
  MutexLock lock(state_->mutex);
  state_->steps.erase(step_id);
}

void MemberWatch::run() {
  for (;;) {
    std::set<TaskName> ask_now;
    {
      MutexLock lock(state_->mutex);
      while (!state_->stopping) {
        if (state_->steps.empty() && state_->rests) {
          state_->changed.wait(state_->mutex);
          continue;
        }
        // Steps come and go meanwhile, and wake nobody.
        state_->rests = state_->steps.empty();
        auto next = Clock::now() + kFirstLook / 2;
        for (const auto& [id, step] : state_->steps) next = std::min(next, step.next_look);
        if (next <= Clock::now()) break;
        (void)state_->changed.wait_until(state_->mutex, next);
        if (!state_->steps.empty()) state_->rests = false;
      }
      if (state_->stopping) return;
      for (auto& [id, step] : state_->steps) {
        if (Clock::now() < step.next_look) continue;
        step.next_look = Clock::now() + kBetweenLooks;
        for (const auto& [task, devices] : step.tasks) {
          if (state_->asking.insert(task).second) ask_now.insert(task);
        }
      }
    }
    for (const TaskName& task : ask_now) ask(task);
  }
}

void MemberWatch::ask(const TaskName& task) {
  const auto channel = peers_->channel(task);
  if (!channel.ok()) {
    MutexLock lock(state_->mutex);
    state_->asking.erase(task);
    return;
  }
  (*channel)->send(kGetStatus, {}, kSilence,
                   [state = state_, task, address = (*channel)->options().address](const Result<RpcResponse>& answer) {
                     answered(state, task, address, answer);
                   });
}

void MemberWatch::answered(const std::shared_ptr<State>& state, const TaskName& task, const std::string& address,
                           const Result<RpcResponse>& answer) {
  const Code code = answer.status().code();
  const bool silent = code == Code::kUnavailable || code == Code::kDeadlineExceeded;
  tensorflow::GetStatusResponse status;
  const bool read = answer.ok() && status.ParseFromString(answer->reader().joined());
  struct Ended {
    std::int64_t step;
    Lost lost;
    Status why;
  };
  std::vector<Ended> steps;
  {
    MutexLock lock(state->mutex);
    state->asking.erase(task);
    if (state->stopping) return;
    for (const auto& [id, step] : state->steps) {
      const auto at = step.tasks.find(task);
      if (at == step.tasks.end()) continue;
      bool gone = silent;
      for (const auto& device : status.device_attributes()) {
        const auto member = at->second.find(device.name());
        gone = gone || (read && member != at->second.end() && member->second != device.incarnation());
      }
      if (gone) {
        steps.push_back({id, step.lost, lost_member(task, address)});
      } else if (read && step.in_loop && !numbers_frames_as_we(status)) {
        steps.push_back({id, step.lost, other_frames(task)});
      }
    }
  }
  for (const Ended& ended : steps) ended.lost(ended.step, ended.why);
}

}  // namespace argosy::tf
