#include "argosy/cluster/coordinator/coordinator_client.h"

#include "argosy/cluster/coordinator/wire_messages.h"
#include "argosy/cluster/proto/cluster.pb.h"

namespace argosy {

namespace v1 = cluster::v1;

CoordinatorClient::CoordinatorClient(std::string address, JobToken token)
    : address_(std::move(address)), token_(token), channel_({.address = address_}) {}

Status CoordinatorClient::call(const char* method, const google::protobuf::MessageLite& request,
                               google::protobuf::MessageLite& response, std::chrono::milliseconds timeout,
                               bool* answered, Cancellation* cancellation) {
  if (answered != nullptr) *answered = false;
  std::vector<tf::WirePiece> pieces(1);
  pieces[0].bytes = str_cat(token_.bytes(), request.SerializeAsString());
  auto answer = channel_.call(str_cat(kCoordinatorPath, method), std::move(pieces), timeout, cancellation);
  if (!answer.ok()) {
    if (answer.status().code() != Code::kPermissionDenied) return std::move(answer).status();
    return permission_denied("the job at ", address_, " has another token")
        .with_id("ARG-CLUSTER-034")
        .with_where(str_cat("coordinator ", address_))
        .with_hint("the same ARGOSY_JOB_TOKEN on every host; another port for another job");
  }
  v1::Envelope envelope;
  if (!envelope.ParseFromString(answer->reader().joined()))
    return data_loss("a damaged answer from ", address_).with_id("ARG-CLUSTER-046");
  if (answered != nullptr) *answered = true;
  if (envelope.has_error()) {
    Status error = from_message(envelope.error());
    if (!error.ok()) return error;
  }
  if (!response.ParseFromString(envelope.body())) {
    return data_loss("a damaged answer from ", address_).with_id("ARG-CLUSTER-046");
  }
  return ok_status();
}

}  // namespace argosy
