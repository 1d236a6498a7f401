// RunGraphRequest and RunGraphResponse of TensorFlow's WorkerService, field by field: tensors are lent, not copied.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/op/kernel/rendezvous.h"
#include "argosy/rpc/wire/tensor_wire.h"

namespace argosy::tf {

// The request as a worker reads it: views into the message.
struct RunGraphRequest {
  std::string_view session, graph;
  std::int64_t step_id = 0, request_id = 0;
  struct Send {
    std::string_view key;
    WireReader tensor;
  };
  std::vector<Send> sends;
  std::vector<std::string_view> receives;  // keys
  std::string_view options;                // a serialised ExecutorOpts
  bool partial = false, last_partial = false, errors_in_body = false, session_called = false;
  WireScratch scratch;
};
// `to` must be fresh; it borrows what `in` reads from. INVALID_ARGUMENT "ARG-PROTO-003" when damaged.
Status scan(WireReader in, RunGraphRequest& to);

// The request as a master writes it.
struct RunGraphCall {
  std::string session, graph;
  std::int64_t step_id = 0, request_id = 0;
  std::vector<std::pair<std::string, Tensor>> sends;  // by key
  std::vector<std::string> receives;
  std::string options;
  bool session_called = false;
};
Result<std::vector<WirePiece>> write_run_graph(const RunGraphCall& call);

// The response as a worker writes it: received values, or an error in the body.
Status add_received(std::string_view key, const Tensor& value, WireWriter& to);
std::vector<WirePiece> run_graph_error(const Status& error);

// The response as a master reads it: values by key, or the error in the body.
struct RunGraphAnswer {
  std::vector<std::pair<std::string, Tensor>> received;
  std::string step_stats;                     // serialised
  std::vector<std::string> partition_graphs;  // serialised
};
Result<RunGraphAnswer> read_run_graph_answer(WireReader in);

}  // namespace argosy::tf
