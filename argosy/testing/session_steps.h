// run_in_session(): runs steps of a graph in a session, for tests of layers below the runtime. The test links
// argosy_runtime.
#pragma once

#include <utility>
#include <vector>

#include "argosy/runtime/session/session.h"

namespace argosy {

struct SessionSteps {
  const Graph* graph = nullptr;
  int devices = 0;  // emulated; 0: the CPU
  std::vector<Value> initializers;
  std::vector<std::vector<std::pair<Value, Tensor>>> feeds;  // of each step
  std::vector<Value> fetches, targets;                       // the same for every step
  std::vector<Value> reads;                                  // fetched after the last step
};

// Returns the fetched values of all steps, then those of `reads`.
inline Result<std::vector<Tensor>> run_in_session(const SessionSteps& s) {
  SessionOptions options{.devices = {.devices = "cpu:0"}};
  if (s.devices > 0) options = {.devices = {.devices = str_cat(s.devices), .emulate = str_cat(s.devices)}};
  Session session(*s.graph, options);
  ARGOSY_RETURN_IF_ERROR(session.run_targets(s.initializers));
  std::vector<Tensor> values;
  for (const auto& feeds : s.feeds) {
    ARGOSY_ASSIGN_OR_RETURN(const auto got, session.run(feeds, s.fetches, s.targets));
    values.insert(values.end(), got.begin(), got.end());
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto got, session.run(s.reads));
  values.insert(values.end(), got.begin(), got.end());
  return values;
}

}  // namespace argosy
