// UnaryChannel: a client's connection to one address, with raw messages at literal paths: the other end of a
// GrpcTransport.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"

namespace argosy::tf {

struct UnaryChannelOptions {
  std::string cert_pem, key_pem, ca_pem;  // all or none: TLS with certificates on both sides
  std::chrono::milliseconds connect_timeout{2000};
};

// Thread-safe. Connects at the first call, and again after a connection has ended.
class UnaryChannel {
 public:
  // `address` is "host:port" or "[IPv6]:port". Nothing is sent yet.
  UnaryChannel(const std::string& address, const UnaryChannelOptions& options);
  ~UnaryChannel();

  // The response's bytes. Waits until the answer, the deadline, or `cancellation` (may be null). An error has gRPC's
  // code and the server's text: UNAVAILABLE where there is no connection.
  Result<std::string> call(const std::string& path, std::string_view request, std::chrono::milliseconds timeout,
                           Cancellation* cancellation = nullptr);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
