#include "argosy/cluster/job_member.h"

#include <algorithm>

#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {

namespace v1 = cluster::v1;

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLong{24 * 3'600'000};
constexpr milliseconds kSlack{4000};      // more than silence takes to be noticed
constexpr milliseconds kSecondLook{300};  // for the question whether the coordinator is there after all
constexpr milliseconds kLastWords{500};
constexpr int kMissedPulses = 3;

template <typename Request>
Request from(const CallerId& self) {
  Request request;
  to_message(self, *request.mutable_sender());
  return request;
}

}  // namespace

JobMember::JobMember(JoinedJob job, int rank, milliseconds heartbeat, std::unique_ptr<CoordinatorServer> server)
    : job_(std::move(job)),
      rank_(rank),
      self_{.rank = rank,
            .incarnation = job_.tasks[static_cast<std::size_t>(rank)].incarnation,
            .coordinator = job_.coordinator},
      heartbeat_(heartbeat),
      server_(std::move(server)) {
  try {
    pulses_ = std::thread([this] { pulse_loop(); });
    watch_ = std::thread([this] { watch_loop(); });
  } catch (...) {
    stop();
    throw;
  }
}

JobMember::~JobMember() {
  if (!over()) {
    const std::string own = str_cat("task ", rank_, " (", job_.tasks[static_cast<std::size_t>(rank_)].host, ")");
    (void)fail(unavailable(own, " is gone: it ended before the job did")
                   .with_id("ARG-CLUSTER-044")
                   .with_where(own)
                   .with_hint("read the log of that task"));
  }
  stop();
  if (server_ != nullptr && !cause().ok()) server_->coordinator().wait_until_alone(kLastWords);
}

void JobMember::stop() {
  {
    const MutexLock lock(mutex_);
    left_ = true;
    changed_.notify_all();
  }
  stopping_.cancel(cancelled("this task leaves"));
  ended_.cancel(cancelled("this task leaves"));
  if (pulses_.joinable()) pulses_.join();
  if (watch_.joinable()) watch_.join();
}

Status JobMember::cause() {
  const MutexLock lock(mutex_);
  return cause_;
}

bool JobMember::over() const {
  const MutexLock lock(mutex_);
  return left_ || !cause_.ok();
}

Status JobMember::lost_coordinator(std::string_view why) const {
  const JobTask& zero = job_.tasks[0];
  const std::string name = str_cat("task 0 (", zero.host, ")");
  return unavailable(name, " is gone: ", why, "; it is the job's coordinator")
      .with_id("ARG-CLUSTER-044")
      .with_where(name)
      .with_hint("read the log of that task, then start the job again (argosy train: --resume)");
}

void JobMember::end_with(const Status& cause) {
  std::function<void(const Status&)> callback;
  {
    const MutexLock lock(mutex_);
    if (left_ || !cause_.ok()) return;
    cause_ = cause;
    callback = std::move(callback_);
    callback_ = nullptr;
    changed_.notify_all();
  }
  ended_.cancel(cause);  // a coordinator that is silent answers nobody
  if (callback) callback(cause);
  // The coordinator may go once everyone knows.
  auto request = from<v1::LeaveRequest>(self_);
  request.set_knows_cause(true);
  v1::Nothing nothing;
  (void)job_.client->call("Leave", request, nothing, kLastWords);
}

bool JobMember::pulse_once(milliseconds timeout, Status& status) {
  auto request = from<v1::PulseRequest>(self_);
  {
    const MutexLock lock(waits_mutex_);
    if (waits_ != nullptr) request.set_waits(waits_());
  }
  {
    const MutexLock lock(mutex_);
    request.set_step(step_);
    request.set_doing(doing_);
  }
  v1::Nothing nothing;
  bool answered = false;
  status = job_.client->call("Pulse", request, nothing, timeout, &answered, &stopping_);
  return answered;
}

void JobMember::pulse_loop() {
  auto heard = steady_clock::now();
  while (!over()) {
    const auto began = steady_clock::now();
    const auto left = std::chrono::ceil<milliseconds>(heard + kMissedPulses * heartbeat_ - began);
    const milliseconds timeout = std::clamp(left, milliseconds(1), heartbeat_);
    Status status;
    if (pulse_once(timeout, status)) {
      heard = steady_clock::now();
      if (!status.ok()) return end_with(status);
    } else {
      // If this process was stopped meanwhile, the coordinator is not to blame.
      const auto late = steady_clock::now() - began - timeout;
      if (late > heartbeat_) heard += late;
      if (over()) return;
      const auto silence = std::chrono::round<milliseconds>(steady_clock::now() - heard);
      if (silence >= kMissedPulses * heartbeat_) {
        return end_with(lost_coordinator(str_cat("no answer for ", silence.count() / 100 * 100, " ms")));
      }
    }
    const MutexLock lock(mutex_);
    bool in_time = true;
    const auto next = std::min(began + heartbeat_, heard + kMissedPulses * heartbeat_);
    while (!left_ && cause_.ok() && in_time) in_time = changed_.wait_until(mutex_, next);
  }
}

void JobMember::watch_loop() {
  while (!over()) {
    v1::Nothing nothing;
    bool answered = false;
    const Status status =
        job_.client->call("Watch", from<v1::WatchRequest>(self_), nothing, kLong, &answered, &stopping_);
    if (over()) return;
    if (answered) {
      if (!status.ok()) end_with(status);
      return;
    }
    if (status.code() == Code::kDeadlineExceeded) continue;
    // The connection has ended. A second look says whether the process has; silence is for the pulses to notice.
    Status second;
    if (pulse_once(kSecondLook, second)) {
      if (!second.ok()) return end_with(second);
    } else if (second.code() == Code::kUnavailable) {
      return end_with(lost_coordinator("its connection was closed: the process has ended"));
    }
  }
}

Status JobMember::cause_of(const Status& network_error) {
  const auto until = steady_clock::now() + kSlack;
  const MutexLock lock(mutex_);
  bool in_time = true;
  while (cause_.ok() && !left_ && in_time) in_time = changed_.wait_until(mutex_, until);
  return cause_.ok() ? network_error : cause_;
}

Status JobMember::barrier(std::string_view name, milliseconds timeout) {
  ARGOSY_RETURN_IF_ERROR(cause());
  auto request = from<v1::BarrierRequest>(self_);
  request.set_name(std::string(name));
  request.set_timeout_ms(timeout.count());
  v1::Nothing nothing;
  bool answered = false;
  Status status = job_.client->call("Barrier", request, nothing, timeout + kSlack, &answered, &ended_);
  return answered ? status : cause_of(status);
}

Status JobMember::put(std::string_view key, std::string_view value) {
  ARGOSY_RETURN_IF_ERROR(cause());
  auto request = from<v1::PutRequest>(self_);
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  v1::Nothing nothing;
  bool answered = false;
  Status status = job_.client->call("Put", request, nothing, kSlack, &answered, &ended_);
  return answered ? status : cause_of(status);
}

Result<std::string> JobMember::get(std::string_view key, milliseconds timeout) {
  ARGOSY_RETURN_IF_ERROR(cause());
  auto request = from<v1::GetRequest>(self_);
  request.set_key(std::string(key));
  request.set_timeout_ms(timeout.count());
  v1::GetResponse response;
  bool answered = false;
  Status status = job_.client->call("Get", request, response, timeout + kSlack, &answered, &ended_);
  if (status.ok()) return std::move(*response.mutable_value());
  if (answered) return status;
  return cause_of(status);
}

void JobMember::progress(std::int64_t step, std::string_view doing) {
  const MutexLock lock(mutex_);
  step_ = step;
  doing_ = doing;
}

void JobMember::on_pulse(std::function<std::string()> waits) {
  const MutexLock lock(waits_mutex_);
  waits_ = std::move(waits);
}

Status JobMember::fail(const Status& cause) {
  if (Status known = this->cause(); !known.ok()) return known;
  auto request = from<v1::FailRequest>(self_);
  to_message(cause, *request.mutable_cause());
  v1::FailResponse response;
  bool answered = false;
  Status status = job_.client->call("Fail", request, response, kSlack, &answered, &ended_);
  Status first = answered ? (status.ok() ? from_message(response.first()) : status) : cause_of(cause);
  if (first.ok()) first = cause;
  end_with(first);
  // A coordinator that goes at once would take the cause with it.
  if (server_ != nullptr) server_->coordinator().wait_until_alone(kLastWords);
  return this->cause().ok() ? first : this->cause();
}

void JobMember::on_abort(std::function<void(const Status& cause)> callback) {
  Status known;
  {
    const MutexLock lock(mutex_);
    if (cause_.ok()) {
      callback_ = std::move(callback);
      return;
    }
    known = cause_;
  }
  callback(known);
}

Status JobMember::leave() {
  ARGOSY_RETURN_IF_ERROR(cause());
  v1::Nothing nothing;
  bool answered = false;
  Status status = job_.client->call("Leave", from<v1::LeaveRequest>(self_), nothing, kSlack, &answered, &ended_);
  if (!answered) status = cause_of(status);
  if (!status.ok()) return status;
  // The coordinator goes last. Whoever is gone without leaving is noticed meanwhile, and is the cause.
  while (server_ != nullptr && !server_->coordinator().wait_until_alone(milliseconds(100))) {
    ARGOSY_RETURN_IF_ERROR(server_->coordinator().cause());
  }
  stop();
  return ok_status();
}

}  // namespace argosy
