#include "argosy/tf/worker/collective/collective_messages.h"

#include <string>

#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/tf/worker/device_attributes.h"

namespace argosy::tf {

namespace {

template <typename Message>
Result<Message> parsed(std::string_view method, const WireReader& in) {
  Message message;
  if (message.ParseFromString(in.joined())) return message;
  return invalid_argument(method, ": the message is damaged").with_id("ARG-PROTO-003");
}

}  // namespace

std::vector<WirePiece> message_pieces(const google::protobuf::Message& message) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = message.SerializeAsString();
  return pieces;
}

std::vector<WirePiece> write_complete_group(const GroupMemberRequest& request, int kind) {
  tensorflow::CompleteGroupRequest message;
  message.set_group_key(request.group);
  message.set_group_size(request.size);
  message.set_device_type(request.device_type);
  message.set_collective_type(kind);
  describe_device(request.device, *message.mutable_device_attributes());
  return message_pieces(message);
}

Result<GroupMemberRequest> read_complete_group(const WireReader& in) {
  ARGOSY_ASSIGN_OR_RETURN(const auto message, parsed<tensorflow::CompleteGroupRequest>("CompleteGroup", in));
  if (!message.has_device_attributes()) {
    return internal_error(
               "CompleteGroupRequest device_attributes is not set. Make sure you're running the same version of "
               "Tensorflow on all workers.")
        .with_id("ARG-CLUSTER-116")
        .with_hint("argosy run on every task of the group, or TensorFlow from 2.4 on");
  }
  if (message.group_size() < 1) {
    return invalid_argument("group_size must be positive integer but got ", message.group_size());
  }
  GroupMemberRequest request{
      .group = message.group_key(), .size = message.group_size(), .device_type = message.device_type(), .device = {}};
  ARGOSY_ASSIGN_OR_RETURN(request.device, read_device(message.device_attributes()));
  return request;
}

std::vector<WirePiece> write_group(const Group& group) {
  tensorflow::CompleteGroupResponse message;
  message.set_group_key(group.key);
  message.set_group_size(static_cast<std::int32_t>(group.members.size()));
  message.set_device_type(group.device_type);
  message.set_num_tasks(group.tasks);
  message.set_communicator_key(group.communicator);
  for (const DeviceSpec& member : group.members) describe_device(member, *message.add_device_attributes());
  return message_pieces(message);
}

Result<Group> read_group(const WireReader& in) {
  ARGOSY_ASSIGN_OR_RETURN(const auto message, parsed<tensorflow::CompleteGroupResponse>("CompleteGroup", in));
  Group group{.key = message.group_key(),
              .device_type = message.device_type(),
              .members = {},
              .tasks = 0,
              .communicator = message.communicator_key()};
  for (const auto& device : message.device_attributes()) {
    ARGOSY_ASSIGN_OR_RETURN(group.members.emplace_back(), read_device(device));
  }
  if (message.device_attributes_size() != message.group_size()) {
    return internal_error("CompleteGroupResponse group_size doesn't match device_name list").with_id("ARG-CLUSTER-117");
  }
  rank_members(group);
  return group;
}

std::vector<WirePiece> write_complete_instance(const InstanceRequest& request, const KeyedMember& member) {
  tensorflow::CompleteInstanceRequest message;
  message.set_name(member.name);
  message.set_type(request.kind);
  message.set_data_type(static_cast<tensorflow::DataType>(request.dtype));
  for (const std::int64_t size : member.shape.sizes()) message.mutable_shape()->add_dim()->set_size(size);
  message.set_group_key(request.group);
  message.set_group_size(member.size);
  message.set_instance_key(request.instance);
  message.set_device(request.device);
  const auto device = DeviceName::parse(request.device);
  if (device.ok()) message.set_device_type(device->type);
  message.set_is_source(request.source);
  // A leader of TensorFlow's cuts its own values by those of the member that comes first.
  for (const int offset : request.ring_offsets) message.add_subdiv_offset(offset);
  return message_pieces(message);
}

Result<InstanceRequest> read_complete_instance(const WireReader& in) {
  ARGOSY_ASSIGN_OR_RETURN(const auto message, parsed<tensorflow::CompleteInstanceRequest>("CompleteInstance", in));
  return InstanceRequest{.group = message.group_key(),
                         .instance = message.instance_key(),
                         .kind = message.type(),
                         .dtype = static_cast<DType>(message.data_type()),
                         .device = message.device(),
                         .source = message.is_source(),
                         .ring_offsets = {message.subdiv_offset().begin(), message.subdiv_offset().end()}};
}

std::vector<WirePiece> write_instance(std::int32_t instance, int source) {
  tensorflow::CompleteInstanceResponse message;
  message.set_instance_key(instance);
  message.set_source_rank(source);
  return message_pieces(message);
}

Result<int> read_instance(const WireReader& in) {
  ARGOSY_ASSIGN_OR_RETURN(const auto message, parsed<tensorflow::CompleteInstanceResponse>("CompleteInstance", in));
  return message.source_rank();
}

}  // namespace argosy::tf
