#include "argosy/cluster/job_status.h"

#include "argosy/cluster/coordinator/coordinator_client.h"
#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/network/host_port.h"
#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {

namespace v1 = cluster::v1;

namespace {

constexpr std::chrono::milliseconds kTimeout{3000};

double seconds(std::int64_t ms) { return static_cast<double>(ms) / 1000; }

JobStatus status_of(const v1::StatusResponse& message) {
  JobStatus status{.job = message.job(),
                   .version = message.version(),
                   .waits = message.waits(),
                   .size = message.size(),
                   .ready = message.ready(),
                   .age_seconds = seconds(message.age_ms()),
                   .tasks = {},
                   .cause = from_message(message.cause())};
  for (const v1::TaskStatus& task : message.tasks()) {
    status.tasks.push_back({.task = from_message(task.task()),
                            .state = task.state(),
                            .step = task.step(),
                            .doing = task.doing(),
                            .barrier = task.barrier(),
                            .unchanged_seconds = seconds(task.unchanged_ms()),
                            .heard_seconds = task.heard_ms() < 0 ? -1 : seconds(task.heard_ms())});
  }
  return status;
}

}  // namespace

Result<JobStatus> ask_status(const std::string& address, const JobToken& token) {
  ARGOSY_ASSIGN_OR_RETURN(const HostPort to, HostPort::parse(address));
  const auto ips = resolve(to.host);
  if (!ips.ok()) {
    return not_found("host ", to.host, ": ", ips.status().message())
        .with_id("ARG-CLUSTER-047")
        .with_where("argosy status")
        .with_hint(ips.status().hint());
  }
  const auto tried = try_connection(ips->front(), to.port, kTimeout);
  if (!tried.ok()) {
    return not_found("no job at ", address, ": ", tried.status().message())
        .with_id("ARG-CLUSTER-054")
        .with_where("argosy status")
        .with_hint("the address that task 0 printed");
  }
  CoordinatorClient client(HostPort{ips->front(), to.port}.to_string(), token);
  v1::StatusResponse response;
  const Status asked = client.call("Status", v1::StatusRequest(), response, kTimeout);
  if (asked.ok()) return status_of(response);
  if (asked.code() == Code::kPermissionDenied) return asked;
  const std::string why(asked.message());
  return not_found("what listens at ", address, " is no coordinator of a job", why.empty() ? "" : ": ", why)
      .with_id("ARG-CLUSTER-054")
      .with_where("argosy status")
      .with_hint("the address that task 0 printed");
}

}  // namespace argosy
