// RawClient: a client of the session server for tests and benchmarks. It makes unary calls with bytes in and out, and
// the requests that a TensorFlow client would send. Not for users.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

struct RawReply {
  int code = 0;  // of gRPC
  std::string message;
  std::string bytes;
};

// The result of a RunStep.
struct StepReply {
  int code = 0;  // of gRPC, or of the step
  std::string message;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::string metadata;  // serialised RunMetadata

  const Tensor& operator[](std::string_view name) const;  // the tensor of that name, else an invalid one
};

struct StepCall {
  std::vector<std::pair<std::string, Tensor>> feeds = {};
  std::vector<std::string> fetches = {}, targets = {};
  std::string options = {};  // serialised RunOptions
  std::string partial_run = {};
  std::int64_t request_id = 0;
  bool errors_in_body = true;
};

// Serialised RunStepRequest, CreateSessionRequest and ExtendSessionRequest.
std::string run_step_request(std::string_view session, const StepCall& call);
std::string create_session_request(std::string_view graph_def, std::string_view config);
std::string extend_session_request(std::string_view session, std::string_view graph_def, std::int64_t version);
StepReply read_step_reply(const RawReply& reply);

class RawClient {
 public:
  // `target`: "localhost:2222", where localhost is always 127.0.0.1: the server listens there. `deadline`: of every
  // call without a timeout of its own, so that no test waits for ever.
  explicit RawClient(const std::string& target, std::chrono::milliseconds deadline = std::chrono::seconds(60));
  ~RawClient();

  // Makes a call; waits until the server can be reached. `timeout`: for all of it; 0: the client's own deadline.
  RawReply call(std::string_view path, std::string_view request, std::chrono::milliseconds timeout = {});
  RawReply master(std::string_view method, std::string_view request, std::chrono::milliseconds timeout = {});
  // Makes `times` calls one after the other, with little overhead, for measurements. Returns the size of the last
  // answer; negative: an error.
  std::int64_t repeat(std::string_view path, std::string_view request, int times);

  // Creates a session and returns its handle; "": an error, which is in `reply`.
  std::string create(std::string_view graph_def, std::string_view config = "", RawReply* reply = nullptr);
  StepReply run(std::string_view session, const StepCall& call, std::chrono::milliseconds timeout = {});
  RawReply close(std::string_view session);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
