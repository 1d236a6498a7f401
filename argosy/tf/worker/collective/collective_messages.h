// Reads and writes the messages of CompleteGroup and CompleteInstance, methods of TensorFlow's WorkerService.
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
// INTERNAL "ARG-CLUSTER-116", in TensorFlow's words: the request has no device, as from TensorFlow before 2.4.
Result<GroupMemberRequest> read_complete_group(const WireReader& in);
std::vector<WirePiece> write_group(const Group& group);
// Returns a group with its members ranked. INTERNAL "ARG-CLUSTER-117": its number of members contradicts its size.
Result<Group> read_group(const WireReader& in);

std::vector<WirePiece> write_complete_instance(const InstanceRequest& request, const KeyedMember& member);
Result<InstanceRequest> read_complete_instance(const WireReader& in);
std::vector<WirePiece> write_instance(std::int32_t instance, int source);
Result<int> read_instance(const WireReader& in);

}  // namespace argosy::tf
