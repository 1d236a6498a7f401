// Statuses and tasks as messages of cluster.proto, and a request as it travels: the token, then the message.
#pragma once

#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/cluster/coordinator/coordinator.h"

namespace argosy::cluster::v1 {
class Failure;
class Task;
class Sender;
class JoinRequest;
class StatusResponse;
}  // namespace argosy::cluster::v1

namespace argosy {

// The prefix of the paths of the coordinator's methods: kCoordinatorPath + "Join".
inline constexpr const char* kCoordinatorPath = "/argosy.cluster.v1.Coordinator/";

void to_message(const Status& status, cluster::v1::Failure& message);
Status from_message(const cluster::v1::Failure& message);  // OK for code 0
void to_message(const JobTask& task, cluster::v1::Task& message);
JobTask from_message(const cluster::v1::Task& message);
void to_message(const CallerId& caller, cluster::v1::Sender& message);
CallerId from_message(const cluster::v1::Sender& message);
void to_message(const JoinCall& call, cluster::v1::JoinRequest& message);
JoinCall from_message(const cluster::v1::JoinRequest& message);
void to_message(const Coordinator& coordinator, cluster::v1::StatusResponse& message);

}  // namespace argosy
