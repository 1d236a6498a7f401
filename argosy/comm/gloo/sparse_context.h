// SparseContext: a Gloo context with connections to some peers only. Internal to the plug-in.
//
// Gloo's own connectFullMesh() connects every pair and accesses the store 1.5 N^2 times. Here a task publishes the
// addresses of all its pairs under one key, and reads one key for each peer.
#pragma once

#include <gloo/context.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/gloo/peers.h"
#include "argosy/comm/gloo/watched_transport.h"
#include "argosy/comm/net/net_engine.h"

namespace argosy {

class SparseContext final : public ::gloo::Context {
 public:
  SparseContext(int rank, int size) : ::gloo::Context(rank, size) {}

  // Connects to `peers`. REQUIRES: ascending; if a is among the peers of b, then b is among those of a. Throws Gloo's
  // exceptions.
  Status connect(const std::vector<int>& peers, const std::shared_ptr<::gloo::transport::Device>& device,
                 const NetEngineOptions& options);
  // REQUIRES: connect() was called.
  WatchedTransport& transport() { return *transport_; }

 private:
  std::shared_ptr<WatchedTransport> transport_;  // the transportContext_
};

}  // namespace argosy
