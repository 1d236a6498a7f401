// CoordinatorClient: the calls of one task to its coordinator, over a channel.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "argosy/base/threads/cancellation.h"
#include "argosy/cluster/coordinator/coordinator.h"
#include "argosy/cluster/job_token.h"
#include "argosy/rpc/transport/rpc_channel.h"

namespace google::protobuf {
class MessageLite;
}

namespace argosy {

// Thread-safe.
class CoordinatorClient {
 public:
  CoordinatorClient(std::string address, JobToken token);

  // One call, by the name of its method; see proto/cluster.proto. `*answered` (may be null) is set to true if the
  // coordinator answered: then an error is the coordinator's, else the network's.
  Status call(const char* method, const google::protobuf::MessageLite& request, google::protobuf::MessageLite& response,
              std::chrono::milliseconds timeout, bool* answered = nullptr, Cancellation* cancellation = nullptr);
  const std::string& address() const { return address_; }

 private:
  const std::string address_;
  const JobToken token_;
  tf::RpcChannel channel_;
};

}  // namespace argosy
