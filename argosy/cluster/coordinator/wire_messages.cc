#include "argosy/cluster/coordinator/wire_messages.h"

#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {

namespace v1 = cluster::v1;

namespace {

constexpr std::int64_t kMs = 1'000'000;

std::string state_of(const TaskEntry& entry, bool ready) {
  if (entry.lost) return "lost";
  if (entry.left) return "left";
  if (!entry.joined()) return "missing";
  return ready ? "running" : "joined";
}

}  // namespace

void to_message(const Status& status, v1::Failure& message) {
  message.set_code(static_cast<int>(status.code()));
  message.set_message(status.message());
  message.set_id(std::string(status.id()));
  message.set_where(status.where());
  message.set_hint(status.hint());
}

Status from_message(const v1::Failure& message) {
  if (message.code() == 0) return ok_status();
  const bool known = message.code() > 0 && message.code() <= static_cast<int>(Code::kUnauthenticated);
  return Status(known ? static_cast<Code>(message.code()) : Code::kUnknown, message.message())
      .with_id(message.id())
      .with_where(message.where())
      .with_hint(message.hint());
}

void to_message(const JobTask& task, v1::Task& message) {
  message.set_rank(task.rank);
  message.set_host(task.host);
  message.set_address(task.address);
  message.set_incarnation(task.incarnation);
  for (const std::string& device : task.devices) message.add_devices(device);
}

JobTask from_message(const v1::Task& message) {
  return {.rank = message.rank(),
          .host = message.host(),
          .address = message.address(),
          .incarnation = message.incarnation(),
          .devices = {message.devices().begin(), message.devices().end()}};
}

void to_message(const CallerId& caller, v1::Sender& message) {
  message.set_rank(caller.rank);
  message.set_incarnation(caller.incarnation);
  message.set_coordinator(caller.coordinator);
}

CallerId from_message(const v1::Sender& message) {
  return {.rank = message.rank(), .incarnation = message.incarnation(), .coordinator = message.coordinator()};
}

void to_message(const JoinCall& call, v1::JoinRequest& message) {
  message.set_job(call.job);
  message.set_version(call.version);
  message.set_size(call.size);
  to_message(call.task, *message.mutable_task());
  for (const auto& [name, value] : call.program) {
    v1::ProgramOption& option = *message.add_program();
    option.set_name(name);
    option.set_value(value);
  }
}

JoinCall from_message(const v1::JoinRequest& message) {
  JoinCall call{.job = message.job(),
                .version = message.version(),
                .size = message.size(),
                .task = from_message(message.task()),
                .program = {}};
  for (const v1::ProgramOption& option : message.program()) call.program.emplace_back(option.name(), option.value());
  return call;
}

void to_message(const Coordinator& coordinator, v1::StatusResponse& message) {
  const Coordinator::Snapshot now = coordinator.snapshot();
  const JoinCall& own = coordinator.options().own;
  message.set_job(own.job);
  message.set_size(own.size);
  message.set_version(own.version);
  message.set_coordinator(coordinator.incarnation());
  message.set_ready(now.ready);
  message.set_age_ms(now.age / kMs);
  message.set_waits(now.waits);
  to_message(now.cause, *message.mutable_cause());
  for (const TaskEntry& entry : now.tasks) {
    v1::TaskStatus& task = *message.add_tasks();
    to_message(entry.task, *task.mutable_task());
    task.set_state(state_of(entry, now.ready));
    task.set_step(entry.step);
    task.set_doing(entry.doing);
    task.set_unchanged_ms(entry.changed == 0 ? 0 : (now.now - entry.changed) / kMs);
    task.set_heard_ms(entry.heard == 0 ? -1 : (now.now - entry.heard) / kMs);
    task.set_barrier(entry.barrier);
  }
}

}  // namespace argosy
