// CompleteGroup and CompleteInstance of TensorFlow's WorkerService, as messages.
#pragma once

#include <utility>
#include <vector>

#include "argosy/ops/collective/keyed_tasks.h"
#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tf/worker/collective/group_table.h"

namespace google::protobuf {
class Message;
}

namespace argosy::tf {

std::vector<WirePiece> message_pieces(const google::protobuf::Message& message);

std::vector<WirePiece> write_complete_group(const GroupMemberRequest& request, int kind);
// INTERNAL "ARG-CLUSTER-116", in TensorFlow's words: no device is told, as TensorFlow before 2.4 does.
Result<GroupMemberRequest> read_complete_group(const WireReader& in);
std::vector<WirePiece> write_group(const Group& group);
// Ranked. INTERNAL "ARG-CLUSTER-117": it has other members than it says.
Result<Group> read_group(const WireReader& in);

std::vector<WirePiece> write_complete_instance(const InstanceRequest& request, const KeyedMember& member);
Result<InstanceRequest> read_complete_instance(const WireReader& in);
std::vector<WirePiece> write_instance(std::int32_t instance, int source);
Result<int> read_instance(const WireReader& in);

}  // namespace argosy::tf
