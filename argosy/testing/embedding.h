// An embedding table with sparse updates, for tests of data parallelism.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy::embedding {

constexpr std::int64_t kWords = 12, kWidth = 5;

enum class Rule {
  kScatter,      // a scatter: each row is independent
  kEqualsAdded,  // Adagrad: needs the sum of the rows of equal words
  kClipped,      // the rows are scaled by the norm of all rows
  kThroughSlot,  // the update reads a slot that the rows have changed, as in Adam
};

// Looks up words, computes one gradient row for each word, and updates only those rows, as tf.gradients and tf.train
// build it.
struct Embedding {
  Graph graph;
  VariableNode table, slot, seen;
  Value words, target, loss, train, init;

  Embedding(Rule rule, bool mean) {
    table = variable(graph, random_tensor(DType::kFloat64, {kWords, kWidth}, 7), "table");
    slot = variable(graph, random_tensor(DType::kFloat64, {kWords, kWidth}, 9, 0.1, 0.2), "slot");
    seen = variable(graph, Tensor::zeros(DType::kFloat64, {kWords}), "seen");
    words = placeholder(graph, DType::kInt32, {-1}, "words");
    target = placeholder(graph, DType::kFloat64, {-1, 2}, "target");
    const Value rows = gather(table.read, words);
    const Value errors = square(matmul(rows, constant(graph, random_tensor(DType::kFloat64, {kWidth, 2}, 8))) - target);
    loss = mean ? reduce_mean(errors) : reduce_sum(errors);
    Value gradient = gradients(graph, {loss}, {rows})[0];
    Value at = words;
    if (rule == Rule::kEqualsAdded) {
      at = graph.add("Unique", {words});
      gradient = graph.add("UnsortedSegmentSum", {gradient, at.output(1), size(at)});
    }
    if (rule == Rule::kClipped) gradient = gradient * 0.3 / sqrt(l2_loss(gradient));
    const Value rate = constant(graph, 0.2);
    Value update;
    if (rule == Rule::kEqualsAdded) {
      update = graph.add("SparseApplyAdagrad", {table.ref, slot.ref, rate, gradient, at});
    } else if (rule == Rule::kThroughSlot) {
      update = graph.add("AssignSub", {table.ref, graph.add("ScatterAdd", {slot.ref, at, gradient}) * rate});
    } else {
      update = graph.add("ScatterSub", {table.ref, at, gradient * rate});
    }
    const Value count = graph.add("ScatterAdd", {seen.ref, words, reduce_sum(target, 1)});
    train = group(graph, {update, count}, "train");
    init = group(graph, {table.initializer, slot.initializer, seen.initializer}, "init");
  }
};

struct Outcome {
  std::vector<Tensor> losses, variables;
  std::string summary;
};

// The variables, and the losses of a few steps with batches of uneven sizes. `request` has the devices "/device:GPU:0",
// …
inline Result<Outcome> run(Embedding& e, int devices, int shards = 0, DeviceRequest request = {}) {
  if (request.gpus == nullptr) request = {.devices = str_cat(devices), .emulate = str_cat(devices)};
  ARGOSY_RETURN_IF_ERROR(Status(e.graph.status()));
  DataParallelOptions options{.losses = {e.loss}, .train = {e.train}, .shards = shards};
  for (int d = 0; d < devices; ++d) options.devices.push_back(str_cat("/device:GPU:", d));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel dp, DataParallel::make(e.graph, options));
  ARGOSY_ASSIGN_OR_RETURN(const Value loss, dp.fetch(e.loss));
  Session session(dp.graph(), {.devices = request});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({dp.target(e.init)}));
  Outcome outcome{.summary = dp.summary()};
  std::uint64_t seed = 1;
  for (const std::int64_t batch : {8, 5, 3, 1, 16}) {
    Tensor words = random_tensor(DType::kInt32, {batch}, ++seed, 0, kWords - 1);
    const Feeds feeds = {{dp.input(e.words), words},
                         {dp.input(e.target), random_tensor(DType::kFloat64, {batch, 2}, ++seed)}};
    ARGOSY_ASSIGN_OR_RETURN(const auto out, session.run(feeds, {loss}, {dp.target(e.train)}));
    outcome.losses.push_back(out[0]);
  }
  ARGOSY_ASSIGN_OR_RETURN(outcome.variables,
                          session.run({dp.input(e.table.read), dp.input(e.slot.read), dp.input(e.seen.read)}));
  return outcome;
}

}  // namespace argosy::embedding
