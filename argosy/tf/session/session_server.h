// SessionServer: devices of this process behind a port, for TensorFlow clients: tf.Session("grpc://localhost:2222").
//
//   auto server = tf::SessionServer::start({.devices = {.emulate = "2"}, .port = 2222});
//   if (!server.ok()) …
//   std::puts((*server)->address().c_str());  // "localhost:2222"
//   …
//   (*server)->stop();
//
// Everybody who reaches the port runs programs with the rights of this process: it binds loopback unless told
// otherwise, and any other address needs certificates on both sides or an explicit list of networks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/tf/session/work_totals.h"

namespace argosy::tf {

struct SessionServerOptions {
  DeviceRequest devices = {};
  std::string host = "localhost";
  int port = 2222;                                 // 0: any free one, see port()
  std::vector<std::string> insecure_clients = {};  // networks ("10.0.0.0/8") whose clients may come without certificate
  std::string tls_cert = {}, tls_key = {}, tls_ca = {};  // PEM files: ours, and who signed the clients'
  int http_port = -1;                                    // /metrics, /statusz and /healthz; 0: any free one, -1: none
  std::chrono::seconds session_lease{0};                 // sessions without a call for so long are closed; 0: never
  int max_sessions = 5000;
  bool count_work = false;  // see work(); costs about 50 ns an op
  // Training steps that can be run on all GPUs of their session, a share of the batch on each; others as they are.
  // Variables are the sessions' own then: what another session writes would not reach every GPU.
  bool replicate = false;
  bool sync_batch_norm = false;  // of replicated steps: by statistics of the whole batch
  // So many runs of every replicated step also run on one device from the same state; one that gives something else
  // fails with INTERNAL "ARG-CHECK-001", and its variables are what they were before it.
  int check = 0;
  // Folders that graphs may read and write files in. Empty: at a loopback address whatever this process's user may,
  // elsewhere nothing.
  std::vector<std::string> allow_files = {};
  // Folder of the sockets where programs wait for calls of their functions (program_calls.h). Empty: graphs call none.
  std::string program_calls = {};
  std::int64_t feed_limit_bytes = 0;  // of one fed tensor; 0: a quarter of the host's memory
};

class SessionServer {
 public:
  // Listens when it returns. INVALID_ARGUMENT: options that contradict each other; NOT_FOUND: no such device or file;
  // UNAVAILABLE: the port is taken, or the address is none of this machine's.
  static Result<std::unique_ptr<SessionServer>> start(const SessionServerOptions& options);
  ~SessionServer();  // stops
  SessionServer(const SessionServer&) = delete;
  SessionServer& operator=(const SessionServer&) = delete;

  int port() const;
  int http_port() const;               // -1: none
  const std::string& address() const;  // "localhost:2222"
  std::vector<DeviceSpec> devices() const;
  int num_sessions() const;
  WorkTotals work() const;  // so far; all zero without count_work but what was replicated and why not

  // Takes no more calls, gives those under way `grace` to end, cancels the rest, closes every session. Idempotent.
  void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(0));

 private:
  class Impl;
  explicit SessionServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
