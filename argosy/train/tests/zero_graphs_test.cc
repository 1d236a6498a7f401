// ZeRO-1 of graphs built by hand: which slots stay whole, and why; resource variables; slots read and written from
// outside. Every one has the bits of plain data parallelism.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/optimizer/optimizer.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;
using testing::Not;

// x [?, 64] times w [64, 301] times u [301, 70]: momentum by hand.
struct Model {
  explicit Model(VariableKind kind = VariableKind::kReference, bool known = true) {
    x = placeholder(graph, DType::kFloat32, {-1, 64});
    w = make("w", {64, 301}, kind);
    m = known ? make("w/Momentum", {64, 301}, kind, 0) : undeclared("w/Momentum", kind);
    u = make("u", {301, 70}, kind);
    n = make("u/Momentum", {301, 70}, kind, 0);
    loss = reduce_mean(square(matmul(matmul(x, w.read), u.read)));
    slopes = gradients(graph, {loss}, {w.ref, u.ref});
    rate = constant(graph, 0.01F);
  }
  VariableNode make(const std::string& name, const Shape& shape, VariableKind kind, double scale = 0.1) {
    const Tensor start = scale == 0 ? Tensor::zeros(DType::kFloat32, shape)
                                    : random_tensor(DType::kFloat32, shape, name.size(), -scale, scale);
    variables.push_back(variable(graph, start, name, {.kind = kind}));
    return variables.back();
  }
  VariableNode undeclared(const std::string& name, VariableKind kind) {
    VariableNode v = variable(graph, PartialShape::unknown(), DType::kFloat32, name, {.kind = kind});
    v.initializer = assign(v, constant(graph, Tensor::zeros(DType::kFloat32, {64, 301})));
    variables.push_back(v);
    return v;
  }
  Value update_w() { return apply_momentum(w, m, rate, slopes[0], constant(graph, 0.9F)); }
  Value update_u() { return apply_momentum(u, n, rate, slopes[1], constant(graph, 0.9F)); }

  Graph graph;
  Value x, loss, rate;
  VariableNode w, m, u, n;
  std::vector<VariableNode> variables;
  std::vector<Value> slopes;
};

struct Outcome {
  std::string summary;
  std::vector<Tensor> values;  // losses, then variables
};

Result<Outcome> train(Model& model, Value step, int zero, std::vector<Value> fetched = {}) {
  ARGOSY_RETURN_IF_ERROR(Status(model.graph.status()));
  ARGOSY_ASSIGN_OR_RETURN(
      DataParallel parallel,
      DataParallel::make(model.graph, {.devices = {"/device:GPU:0", "/device:GPU:1", "/device:GPU:2"},
                                       .losses = {model.loss},
                                       .train = {step},
                                       .zero = zero}));
  std::vector<Value> all, first, reads;
  fetched.insert(fetched.begin(), model.loss);
  for (const Value& v : fetched) {
    ARGOSY_ASSIGN_OR_RETURN(all.emplace_back(), parallel.fetch(v));
  }
  for (const VariableNode& v : model.variables) {
    first.push_back(parallel.target(v.initializer));
    reads.push_back(parallel.input(v.read));
  }
  Session session(parallel.graph(), {.devices = {.devices = "3", .emulate = "3"}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets(first));
  Outcome outcome{.summary = parallel.summary(), .values = {}};
  for (int i = 0; i < 4; ++i) {
    const Tensor x = random_tensor(DType::kFloat32, {7 + i, 64}, static_cast<std::uint64_t>(i) + 1);
    ARGOSY_ASSIGN_OR_RETURN(auto out, session.run({{parallel.input(model.x), x}}, all, {parallel.target(step)}));
    outcome.values.insert(outcome.values.end(), out.begin(), out.end());
  }
  ARGOSY_ASSIGN_OR_RETURN(auto last, session.run(reads));
  outcome.values.insert(outcome.values.end(), last.begin(), last.end());
  return outcome;
}

using Build = std::function<Value(Model&)>;

// Builds a step, trains both ways, gives what zero=1 says of itself.
std::string says(const Build& build, VariableKind kind = VariableKind::kReference, bool known = true) {
  Outcome outcomes[2];
  for (const int zero : {0, 1}) {
    Model model(kind, known);
    const Value step = build(model);
    auto trained = train(model, step, zero);
    EXPECT_TRUE(trained.ok()) << trained.status().to_string();
    if (!trained.ok()) return "";
    outcomes[zero] = *std::move(trained);
  }
  for (std::size_t i = 0; i < outcomes[0].values.size(); ++i) {
    const Tensor &plain = outcomes[0].values[i], &zero = outcomes[1].values[i];
    EXPECT_EQ(plain.shape().to_string(), zero.shape().to_string());
    EXPECT_EQ(std::memcmp(plain.raw(), zero.raw(), plain.bytes()), 0)
        << "value " << i << ": " << difference(zero, plain, 0);
  }
  return outcomes[1].summary;
}

Value both(Model& m, const std::vector<Value>& more = {}) {
  std::vector<Value> all = {m.update_w(), m.update_u()};
  all.insert(all.end(), more.begin(), more.end());
  return group(m.graph, all, "step");
}

TEST(ZeroGraphs, BothKindsOfVariables) {
  for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
    const std::string text = says([](Model& m) { return both(m); }, kind);
    EXPECT_THAT(text, HasSubstr("slots sharded over 3 devices (ZeRO-1): 2 slots of 2 variables"));
    EXPECT_THAT(text, Not(HasSubstr("on every device")));
  }
}

TEST(ZeroGraphs, SlotsThatStayWholeAreNamedWithTheReason) {
  const auto kept = [](const std::string& why) {
    return testing::AllOf(HasSubstr("1 slot of 1 variable;"), HasSubstr(why));
  };
  EXPECT_THAT(says([](Model& m) {
                const Value size = reduce_mean(m.m.read);
                return both(m, {assign_add(m.make("sum", {}, VariableKind::kReference), size)});
              }),
              kept("uses its slot 'w/Momentum'"));
  EXPECT_THAT(says([](Model& m) {
                const Value updated = m.update_w();
                const Value after = m.graph.add("Identity", {updated});
                return group(m.graph, {m.update_u(), after}, "step");
              }),
              kept("reads its result"));
  EXPECT_THAT(says([](Model& m) { return both(m); }, VariableKind::kReference, false),
              kept("its slot 'w/Momentum' is"));
  EXPECT_THAT(says([](Model& m) {
                // Reads w once u is updated, whether w is or not.
                const VariableNode seen = m.make("seen", {}, VariableKind::kReference);
                const Value u = m.update_u(), w = m.update_w();
                const auto after = m.graph.control_dependencies({u});
                const Value late = read_value(m.w, "late");
                return group(m.graph, {w, u, assign_add(seen, reduce_mean(late * 0.0F))}, "step");
              }),
              HasSubstr("reads 'w' after other updates"));
}

// An order that is given is kept.
TEST(ZeroGraphs, OrdersAroundUpdates) {
  const std::string text = says([](Model& m) {
    const VariableNode average = m.make("average", {64, 301}, VariableKind::kReference, 0);
    const Value decay = assign_sub(m.w, m.w.read * 0.01F, "decay");
    Value updated;
    {
      const auto after = m.graph.control_dependencies({decay});
      const Value momentum = m.graph.add("Identity", {constant(m.graph, 0.9F)});
      updated = apply_momentum(m.w, m.m, m.rate, m.slopes[0], momentum);
    }
    const auto after = m.graph.control_dependencies({updated});
    const Value seen = read_value(m.w, "after");
    return group(m.graph, {assign_add(average, seen * 0.5F), m.update_u()}, "step");
  });
  EXPECT_THAT(text, HasSubstr("2 slots of 2 variables"));
}

// A fetched gradient is the global one, though its sum is scattered.
TEST(ZeroGraphs, GradientsMayBeFetched) {
  std::vector<Tensor> fetched[2];
  for (const int zero : {0, 1}) {
    Model model;
    const Value step = both(model);
    const auto trained = train(model, step, zero, {model.slopes[0]});
    ASSERT_TRUE(trained.ok()) << trained.status().to_string();
    fetched[zero] = trained->values;
  }
  for (std::size_t i = 0; i < fetched[0].size(); ++i) EXPECT_EQ(difference(fetched[1][i], fetched[0][i], 0), "") << i;
}

}  // namespace
}  // namespace argosy
