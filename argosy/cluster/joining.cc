#include "argosy/cluster/joining.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/network/host_port.h"
#include "argosy/cluster/network/own_interface.h"
#include "argosy/cluster/network/waiting_screen.h"
#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {

namespace v1 = cluster::v1;

namespace {

using std::chrono::milliseconds;
using Time = std::chrono::steady_clock::time_point;

constexpr milliseconds kConnect{1000};
constexpr milliseconds kAnswer{3000};       // Join answers within a second
constexpr milliseconds kRound{100};         // between two rounds over the addresses
constexpr milliseconds kOtherJobs{10'000};  // so long others may have our ports, before this is an error

// A coordinator's verdict on a late job takes at most so long to come.
constexpr milliseconds kVerdict{2000};

Time now() { return std::chrono::steady_clock::now(); }

// One task that asks. Errors of the network are remembered; those of the coordinator end it.
class Asking {
 public:
  explicit Asking(const JoinPlan& plan) : plan_(plan), screen_(plan.note, plan.start_timeout) {
    to_message(plan.call, request_);
  }

  Result<JoinedJob> run() {
    Time until = now() + plan_.start_timeout;
    bool met = false;
    while (true) {
      const std::vector<std::string> addresses = found_.empty() ? plan_.addresses : std::vector<std::string>{found_};
      for (const std::string& address : addresses) {
        std::optional<JoinedJob> job;
        ARGOSY_RETURN_IF_ERROR(ask(address, job));
        if (job) return *std::move(job);
        if (!found_.empty()) break;
      }
      if (!found_.empty() && plan_.server == nullptr && !std::exchange(met, true)) {
        until =
            now() + plan_.start_timeout + kVerdict;  // the coordinator's deadline comes first, so all tell its cause
      }
      if (found_.empty() && others_ &&
          now() - *others_ > (plan_.addresses.size() == 1 ? milliseconds(0) : kOtherJobs)) {
        return other_job_;
      }
      if (now() >= until) return too_late();
      show();
      if (found_.empty()) std::this_thread::sleep_for(kRound);
    }
  }

 private:
  // The client for `address`, once a connection to it could be made.
  Result<CoordinatorClient*> reach(const std::string& address) {
    Contact& contact = contacts_[address];
    if (contact.client != nullptr) return contact.client.get();
    ARGOSY_ASSIGN_OR_RETURN(const HostPort to, HostPort::parse(address));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> ips, addresses_to_try(to.host, plan_.networks));
    Status last;
    for (const std::string& ip : ips) {
      auto local = try_connection(ip, to.port, kConnect);
      if (!local.ok()) {
        last = std::move(local).status();
        continue;
      }
      contact.local_address = local->local_address;
      contact.first = std::move(local->socket);
      contact.client = std::make_unique<CoordinatorClient>(HostPort{ip, to.port}.to_string(), plan_.token);
      return contact.client.get();
    }
    return last;
  }

  // OK without a job: ask again.
  Status ask(const std::string& address, std::optional<JoinedJob>& job) {
    auto client = reach(address);
    if (!client.ok()) {
      if (client.status().code() == Code::kInvalidArgument) return std::move(client).status();
      errors_[address] = client.status().message();
      return ok_status();
    }
    Contact& contact = contacts_[address];
    request_.mutable_task()->set_address(plan_.server != nullptr ? plan_.server->address()
                                                                 : HostPort{contact.local_address, 0}.to_string());
    v1::JoinResponse response;
    bool answered = false;
    const Status status = (*client)->call("Join", request_, response, kAnswer, &answered);
    contact.first.reset();
    if (!status.ok())
      return answered || status.code() == Code::kPermissionDenied ? refused(address, status)
                                                                  : unreachable(address, status);
    errors_.erase(address);
    found_ = address;
    waiting_ = response.waiting();
    if (!response.ready()) return ok_status();
    std::vector<JobTask> tasks;
    for (const v1::Task& task : response.tasks()) tasks.push_back(from_message(task));
    if (static_cast<int>(tasks.size()) != plan_.call.size) {
      return internal_error("the coordinator told of ", tasks.size(), " tasks, not ", plan_.call.size);
    }
    job = JoinedJob{.client = std::move(contact.client),
                    .coordinator = response.coordinator(),
                    .local_address = contact.local_address,
                    .tasks = std::move(tasks)};
    return ok_status();
  }

  Status refused(const std::string& address, const Status& status) {
    const bool other = status.id() == "ARG-CLUSTER-033" || status.id() == "ARG-CLUSTER-034";
    if (!other) return status;
    errors_[address] = status.message();
    contacts_.erase(address);
    if (!others_) others_ = now();
    other_job_ = status;
    return ok_status();
  }

  Status unreachable(const std::string& address, const Status& status) {
    // gRPC's text names the address and the error several times over; the first connection told the error better.
    errors_[address] = status.code() == Code::kDeadlineExceeded ? "connected, but it does not answer as a coordinator"
                                                                : "the connection was closed before an answer came";
    contacts_.erase(address);
    found_.clear();
    return ok_status();
  }

  std::vector<std::string> rows() const {
    std::map<std::string, std::vector<std::string>> by_error;  // the ports of one host mostly say the same
    for (const auto& [address, error] : errors_) by_error[error].push_back(address);
    std::vector<std::string> rows;
    for (const auto& [error, addresses] : by_error) {
      const std::size_t others = addresses.size() - 1;
      rows.push_back(
          str_cat("coordinator ", addresses[0], others == 0 ? "" : str_cat(" and ", others, " more"), "  ", error));
    }
    return rows;
  }

  void show() {
    if (plan_.server != nullptr)
      return screen_.show_missing(plan_.server->coordinator().snapshot(), plan_.server->address());
    if (!found_.empty()) return screen_.show(waiting_, {}, true);
    screen_.show("waiting for task 0", rows(), false);
  }

  Status too_late() {
    std::string missing, hint = "argosy cluster check";
    if (plan_.server != nullptr) {
      missing = screen_.missing_text(plan_.server->coordinator().snapshot(), plan_.server->address());
    } else if (!found_.empty()) {
      missing = waiting_;
    } else {
      missing = str_cat("task 0 did not answer: ", str_join(rows(), "; "));
      hint = "start task 0, or argosy cluster check";
    }
    Status late = unavailable("the job is not complete after ", static_cast<double>(plan_.start_timeout.count()) / 1000,
                              " s: ", missing)
                      .with_id("ARG-CLUSTER-038")
                      .with_where(str_cat("task ", plan_.call.task.rank))
                      .with_hint(str_cat(hint, "; --start-timeout for slow hosts"));
    if (plan_.server != nullptr) plan_.server->coordinator().fail_job(CauseKind::kOwn, late);
    return late;
  }

  struct Contact {
    std::unique_ptr<CoordinatorClient> client;
    std::string local_address;
    tf::Descriptor first;  // the connection that was tried; a gate asks whose it is, so it stays until an answer
  };
  const JoinPlan& plan_;
  WaitingScreen screen_;
  v1::JoinRequest request_;
  std::map<std::string, Contact> contacts_;
  std::map<std::string, std::string> errors_;  // by address: the network's last
  std::string waiting_;                        // the coordinator's words
  std::string found_;                          // the address at which the coordinator of this job answered last
  std::optional<Time> others_;                 // since when another job answers
  Status other_job_;
};

}  // namespace

Result<JoinedJob> wait_for_job(const JoinPlan& plan) { return Asking(plan).run(); }

}  // namespace argosy
