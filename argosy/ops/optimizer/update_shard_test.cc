// Every dense update on shards of a variable's elements: the bits of the update on the whole variable.
#include "argosy/ops/optimizer/update_shard.h"

#include <gtest/gtest.h>

#include <cstring>

#include "argosy/graph/graph.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Ints = std::vector<std::int64_t>;

// A graph of one update of a [37, 11] variable: whole, and as shards of a variable of the same values.
class Updates {
 public:
  Updates(const OpDef& op, DType dtype, const Ints& weights) : op_(op), dtype_(dtype) {
    for (int v = 0; v < op.update->variables; ++v) whole_.push_back(variable(value_of(v)));
    whole_updates_.push_back(update(whole_, value_of(100), {}));
    parts_.resize(static_cast<std::size_t>(op.update->variables));
    parts_[0].push_back(variable(value_of(0)));
    for (std::size_t s = 0; s < weights.size(); ++s) {
      const auto part = [&](const Tensor& t) {
        const auto mine = shard_batch(t.elements(), weights, static_cast<std::int64_t>(s)).value();
        return t.reshaped({t.elements()}).rows(mine.first, mine.second).clone();
      };
      std::vector<Value> variables = {parts_[0][0]};
      for (int v = 1; v < op.update->variables; ++v) {
        variables.push_back(variable(part(value_of(v))));
        parts_[static_cast<std::size_t>(v)].push_back(variables.back());
      }
      const AttrMap shard = {{kUpdateShardWeights, weights}, {kUpdateShardIndex, static_cast<std::int64_t>(s)}};
      part_updates_.push_back(update(variables, part(value_of(100)), shard));
    }
  }

  void expect_equal() {
    ASSERT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    ResourceManager resources;
    const auto run = [&](const std::vector<Value>& values) {
      std::vector<Endpoint> endpoints;
      for (const Value& v : values) endpoints.push_back(v.endpoint());
      auto out = evaluate(graph_, {}, endpoints, {.resources = &resources});
      EXPECT_TRUE(out.ok()) << op_.name << ": " << out.status().to_string();
      return out.ok() ? *out : std::vector<Tensor>(values.size());
    };
    run(assigns_);
    for (int step = 0; step < 3; ++step) {
      run(whole_updates_);
      run(part_updates_);
    }
    for (std::size_t v = 0; v < whole_.size(); ++v) {
      const Tensor whole = run({read(whole_[v])})[0];
      std::int64_t at = 0;
      for (const Value& part : parts_[v]) {
        const Tensor mine = run({read(part)})[0];
        ASSERT_LE(at + mine.elements(), whole.elements()) << op_.name;
        const Tensor expected = whole.reshaped({whole.elements()}).rows(at, at + mine.elements());
        EXPECT_EQ(std::memcmp(expected.raw(), mine.raw(), mine.bytes()), 0) << op_.name << " variable " << v;
        at += mine.elements();
      }
      EXPECT_EQ(at, whole.elements()) << op_.name;
    }
  }

 private:
  bool resource() const { return !op_.has_ref_input(); }
  Tensor value_of(int seed) const {
    return cast_to(random_tensor(DType::kFloat32, {37, 11}, static_cast<std::uint64_t>(seed) + 1, 0.1, 1), dtype_);
  }
  Value variable(const Tensor& value) {
    const std::string name = str_cat("v", assigns_.size());
    const AttrMap attrs = {{"dtype", dtype_}, {"shape", PartialShape(value.shape())}, {"shared_name", name}};
    const Value v = graph_.add(resource() ? "VarHandleOp" : "VariableV2", {}, attrs, name);
    const Value assigned = graph_.add(resource() ? "AssignVariableOp" : "Assign", {v, constant(graph_, value)});
    assigns_.push_back(resource() ? assigned : assigned.control());
    return v;
  }
  Value read(Value v) {
    return resource() ? graph_.add("ReadVariableOp", {v}, {{"dtype", dtype_}}) : graph_.add("Identity", {v});
  }
  Value update(const std::vector<Value>& variables, const Tensor& gradient, AttrMap attrs) {
    std::vector<Value> inputs = variables;
    for (int i = op_.update->variables; i < static_cast<int>(op_.input_args.size()); ++i) {
      const ArgDef& arg = op_.input_args[static_cast<std::size_t>(i)];
      const Tensor one = arg.name == "global_step" ? Tensor::scalar(std::int64_t{3})
                         : arg.name == "lr_power"  ? cast_to(Tensor::scalar(-0.5F), dtype_)
                                                   : cast_to(Tensor::scalar(0.3F), dtype_);
      inputs.push_back(constant(graph_, i == op_.update->gradient ? gradient : one));
    }
    attrs.set("T", dtype_);
    const Value updated = graph_.add(op_.name, inputs, std::move(attrs));
    if (!resource()) {
      EXPECT_EQ(updated.shape().to_string(), "[37,11]") << op_.name;
    }
    return resource() ? updated : updated.control();
  }

  const OpDef& op_;
  const DType dtype_;
  Graph graph_;
  std::vector<Value> whole_, assigns_, whole_updates_, part_updates_;
  std::vector<std::vector<Value>> parts_;
};

TEST(UpdateShard, EveryDenseUpdateHasTheBitsOfTheWhole) {
  int tried = 0;
  for (const auto& op : builtin_ops().all()) {
    if (!op->update) continue;
    ++tried;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
      for (const Ints& weights : {Ints{1, 1}, Ints{1, 1, 1}, Ints{5, 0, 1, 2}}) {
        Updates(*op, dtype, weights).expect_equal();
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(tried, 30);
}

// The fact is of dense updates alone, and says where the gradient is.
TEST(UpdateShard, TheFactIsThatOfTheTable) {
  const auto update = [](const char* op) { return builtin_ops().find(op)->update; };
  ASSERT_TRUE(update("ApplyAdam"));
  EXPECT_EQ(update("ApplyAdam")->variables, 3);
  EXPECT_EQ(update("ApplyAdam")->gradient, 9);
  ASSERT_TRUE(update("ResourceApplyMomentum"));
  EXPECT_EQ(update("ResourceApplyMomentum")->variables, 2);
  EXPECT_EQ(update("ResourceApplyMomentum")->gradient, 3);
  EXPECT_FALSE(update("SparseApplyMomentum"));
  EXPECT_FALSE(update("ResourceSparseApplyFtrl"));
  EXPECT_FALSE(update("AssignAdd"));
}

TEST(UpdateShard, ShapesThatDoNotFitAreRefused) {
  Graph graph;
  const auto variable = [&](const PartialShape& shape) {
    return graph.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", shape}});
  };
  const Value number = constant(graph, 0.1F);
  const AttrMap shard = {{kUpdateShardWeights, Ints{1, 1}}, {kUpdateShardIndex, 1}};
  const Value part = placeholder(graph, DType::kFloat32, {10});
  graph.add("ApplyMomentum", {variable({4, 5}), variable({10}), number, part, number}, shard);
  EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
  graph.add("ApplyMomentum", {variable({4, 5}), variable({4, 5}), number, part, number}, shard);
  EXPECT_EQ(graph.status().code(), Code::kInvalidArgument) << graph.status().to_string();
}

}  // namespace
}  // namespace argosy
