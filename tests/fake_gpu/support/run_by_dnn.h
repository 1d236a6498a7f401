// Runs one op on a fake GPU that finds a fake cuDNN.
#pragma once

#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"
#include "tests/fake_gpu/support/fake_dnn.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {

struct ByDnnOptions {
  int runs = 1;
  int chained = 1;                  // a chain of this many ops: the first output is the next first input
  bool shapes_known = true;         // when the step is compiled
  std::vector<int> constants = {};  // inputs that are constants instead of feeds
};

// The outputs of a graph of `op` alone on a GPU (of the last op of the chain); none after a failure.
inline std::vector<Tensor> run_by_dnn(cuda::fake::Machine& machine, const std::string& op, const AttrMap& attrs,
                                      const std::vector<Tensor>& inputs, const ByDnnOptions& options = {}) {
  Graph graph;
  Feeds feeds;
  std::vector<Value> values, fetches;
  const auto on = graph.device("/gpu:0");
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const Tensor& t = inputs[static_cast<std::size_t>(i)];
    if (std::find(options.constants.begin(), options.constants.end(), i) != options.constants.end()) {
      values.push_back(constant(graph, t));
      continue;
    }
    values.push_back(
        placeholder(graph, t.dtype(),
                    options.shapes_known ? PartialShape(t.shape()) : PartialShape::unknown_of_rank(t.shape().rank())));
    feeds.push_back({values.back(), t});
  }
  Value y = graph.add(op, values, attrs);
  for (int i = 1; i < options.chained; ++i) {
    values[0] = y;
    y = graph.add(op, values, attrs);
  }
  if (!y.valid()) {
    ADD_FAILURE() << graph.status().to_string();
    return {};
  }
  for (int i = 0; i < static_cast<int>(graph.node(y.node()).output_dtypes.size()); ++i) fetches.push_back(y.output(i));
  Session session(graph, {.devices = machine.request(), .allow_soft_placement = true, .optimize = false});
  EXPECT_TRUE(session.status().ok()) << session.status().to_string();
  std::vector<Tensor> last;
  for (int i = 0; session.status().ok() && i < options.runs; ++i) {
    auto out = session.run(feeds, fetches);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    if (!out.ok()) return {};
    last = *std::move(out);
  }
  return last;
}

}  // namespace argosy
