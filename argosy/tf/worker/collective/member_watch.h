// MemberWatch: during a step, calls GetStatus on the tasks of its collectives: after a fifth of a second, and then each
// second. Else a member that only sends would not notice that a receiver is gone. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/tf/worker/collective/group_table.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

class MemberWatch {
 public:
  // Called when a task is lost, on threads of the channels; perhaps more than once, and after remove().
  using Lost = std::function<void(std::int64_t step_id, Status why)>;
  explicit MemberWatch(std::shared_ptr<Peers> peers) : peers_(std::move(peers)) {}
  ~MemberWatch();
  MemberWatch(const MemberWatch&) = delete;
  MemberWatch& operator=(const MemberWatch&) = delete;

  // `in_loop`: the collective is in a loop. A task that numbers frames otherwise (shared_loops.h) ends the step.
  void add(std::int64_t step_id, const Group& group, bool in_loop, Lost lost);
  void remove(std::int64_t step_id);

 private:
  struct Watched {
    std::chrono::steady_clock::time_point next_look;
    Lost lost;
    bool in_loop = false;
    std::map<TaskName, std::map<std::string, std::uint64_t>> tasks;  // devices and their incarnations
  };
  struct State {  // shared with pending answers, so that it outlives this object
    Mutex mutex;
    CondVar changed;
    bool stopping ARGOSY_GUARDED_BY(mutex) = false;
    bool rests ARGOSY_GUARDED_BY(mutex) = false;  // the thread waits until it is woken, or soon will
    std::set<TaskName> asking ARGOSY_GUARDED_BY(mutex);
    std::map<std::int64_t, Watched> steps ARGOSY_GUARDED_BY(mutex);
  };
  void run();
  void ask(const TaskName& task);
  static void answered(const std::shared_ptr<State>& state, const TaskName& task, const std::string& address,
                       const Result<RpcResponse>& answer);

  const std::shared_ptr<Peers> peers_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  Mutex thread_mutex_;
  std::thread thread_ ARGOSY_GUARDED_BY(thread_mutex_);  // runs once there was a step
};

// Returns the error for a task that does not answer; its text is the same wherever it is noticed.
Status lost_member(const TaskName& task, const std::string& address);
// Returns the error to report for a failed call to a member.
Status error_of_call(const Peers& peers, const Status& status, const TaskName& task);

}  // namespace argosy::tf
