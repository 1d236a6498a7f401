// Checks by brute force what ops declare about the examples of a batch (op/definition/batch_rule.h). Every op with a
// rule runs on whole inputs, and on two and three uneven shards of them, one of a single row, along every axis of its
// rule.
// * Where a rule says that rows are independent, the joined results of the shards must equal the result of the whole.
// * Where it says that values add up or average, the sums or means of the shards must.
// The cases are random (testing/random_case.h), and some hand-written. ARGOSY_RULE_OP runs one op and prints its cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/ops.h"
#include "argosy/strategy/analysis/batch_layout.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/strategy/sharding/cross_example_check.h"
#include "argosy/testing/batch_rules_cases.h"
#include "argosy/testing/op_case.h"
#include "argosy/testing/random_case.h"
#include "argosy/testing/rule_cases.h"

namespace argosy {
namespace {

constexpr int kSeeds = 48;
constexpr int kTriesOfLike = 2;  // of one rank and axis per input
constexpr int kTriesOfOp = 40;
constexpr std::size_t kMostAxes = 48;  // assignments of axes to inputs of one case

constexpr const char* kFails = "a shard fails";

using AxisOfInput = std::vector<int>;  // -1: the input is the same for all shards

bool is_tame(const Tensor& t) {
  if (!is_floating(t.dtype()) && !is_complex(t.dtype())) return t.dtype() != DType::kVariant;
  const Tensor wide = is_complex(t.dtype()) ? t : cast_to(t, DType::kFloat64);
  if (is_complex(t.dtype())) return true;
  const auto values = wide.values<double>();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v) && std::abs(v) < 1e3; });
}

bool may_be_tried(const OpDef& op) {
  if (rule_of(op) == BatchRule::kUnknown || op.flow != Flow::kNone || op.calls != Calls::kNothing || op.async)
    return false;
  if (rule_of(op) == BatchRule::kRandom || op.attr("seed") != nullptr) return false;  // other numbers every time
  if (op.inputs.empty() || op.outputs.empty() || op.has_ref_input()) return false;
  return cpu_kernels().has(op.name, "cpu");
}

Result<Tensor> run_one(const char* op, std::vector<Tensor> inputs, AttrMap attrs) {
  RandomCase c{builtin_ops().find(op), std::move(attrs), std::move(inputs)};
  ARGOSY_ASSIGN_OR_RETURN(auto outputs, run_kernel(c, cpu_kernels(), false));
  return std::move(outputs[0]);
}

Tensor ints(const std::vector<std::int32_t>& values) { return Tensor::vector(values); }

// Rows [begin, end) along an axis.
Tensor part(const Tensor& t, int axis, std::int64_t begin, std::int64_t end) {
  std::vector<std::int32_t> from(static_cast<std::size_t>(t.shape().rank()), 0), size;
  for (const std::int64_t s : t.shape().sizes()) size.push_back(static_cast<std::int32_t>(s));
  from[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(begin);
  size[static_cast<std::size_t>(axis)] = static_cast<std::int32_t>(end - begin);
  const auto made = run_one("Slice", {t, ints(from), ints(size)}, {{"T", t.dtype()}, {"Index", DType::kInt32}});
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return made.ok() ? *made : Tensor();
}

Result<Tensor> join(const std::vector<Tensor>& parts, int axis) {
  std::vector<Tensor> inputs = parts;
  inputs.push_back(Tensor::scalar(std::int32_t{axis}));
  return run_one("ConcatV2", inputs,
                 {{"N", static_cast<std::int64_t>(parts.size())}, {"T", parts[0].dtype()}, {"Tidx", DType::kInt32}});
}

// In the order of the batch, in every repeat (DataParallel does the same).
Result<Tensor> join_repeats(const std::vector<Tensor>& parts, int axis, std::int64_t repeats) {
  if (repeats == 1) return join(parts, axis);
  std::vector<Tensor> apart;
  std::vector<std::int64_t> global(parts[0].shape().sizes().begin(), parts[0].shape().sizes().end());
  global[static_cast<std::size_t>(axis)] = 0;
  for (const Tensor& t : parts) {
    std::vector<std::int64_t> sizes(t.shape().sizes().begin(), t.shape().sizes().end());
    const auto at = static_cast<std::size_t>(axis);
    global[at] += sizes[at];
    sizes[at] /= repeats;
    sizes.insert(sizes.begin() + axis, repeats);
    apart.push_back(t.reshaped(Shape(std::span<const std::int64_t>(sizes))));
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor joined, join(apart, axis + 1));
  return joined.reshaped(Shape(std::span<const std::int64_t>(global)));
}

class Trial {
 public:
  // What was claimed of a case and held: 0 where nothing was.
  static int claims(const RandomCase& c, const std::vector<Tensor>& global, const AxisOfInput& axes) {
    Trial trial(c, axes);
    return trial.build() ? trial.check(global) : 0;
  }

 private:
  Trial(const RandomCase& c, const AxisOfInput& axes) : case_(c), axis_(axes) {}

  // The op on inputs that have the batch on these axes.
  bool build() {
    std::vector<NodeId> fed;
    NodeSpec spec{.name = "tried", .op = case_.op->name, .attrs = case_.attrs};
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
      const Tensor& t = case_.inputs[i];
      if (axis_[i] < 0) {
        spec.inputs.push_back(constant(graph_, t).endpoint());
        continue;
      }
      std::vector<std::int64_t> sizes(t.shape().sizes().begin(), t.shape().sizes().end());
      rows_ = sizes[static_cast<std::size_t>(axis_[i])];
      sizes.erase(sizes.begin() + axis_[i]);
      sizes.insert(sizes.begin(), PartialShape::kUnknown);
      const Value x = placeholder(graph_, t.dtype(), PartialShape(std::move(sizes)));
      fed.push_back(x.node());
      std::vector<int> order(static_cast<std::size_t>(t.shape().rank()));
      for (int k = 0; k < t.shape().rank(); ++k) {
        order[static_cast<std::size_t>(k)] = k == axis_[i] ? 0 : k < axis_[i] ? k + 1 : k;
      }
      spec.inputs.push_back((axis_[i] == 0 ? x : transpose(x, order)).endpoint());
    }
    if (!graph_.status().ok()) return false;
    const auto made = graph_.add_node(std::move(spec));
    if (!made.ok()) return false;
    node_ = *made;
    auto axes = BatchAxes::find(graph_, fed);
    if (!axes.ok()) return false;
    axes_ = std::move(*axes);
    const auto cross_example = find_cross_example_nodes(graph_, *axes_, {}, {}, {});
    return cross_example.ok() && (*cross_example)[static_cast<std::size_t>(node_.index)] == 0;
  }

  int check(const std::vector<Tensor>& global) {
    int held = 0;
    std::vector<std::vector<std::int64_t>> splits = {{1, rows_}};
    if (rows_ > 2) splits.push_back({rows_ - 2, rows_ - 1, rows_});
    if (rows_ > 3) splits.push_back({2, rows_});
    for (std::int32_t k = 0; k < std::ssize(global); ++k) {
      const Endpoint out{node_, k};
      const BatchPlacement placement = batch_placement_of(graph_, *axes_, out);
      const bool joins = axes_->axis(out) >= 0 && axes_->repeats(out) > 0 && axes_->preserves_example_order(node_);
      if (!joins && placement.kind != PlacementKind::kPartialSum && placement.kind != PlacementKind::kPartialMean)
        continue;
      for (const auto& split : splits) {
        const std::string wrong =
            try_split(split, k, global[static_cast<std::size_t>(k)], joins ? PlacementKind::kShard : placement.kind);
        if (wrong == kFails) continue;
        if (!wrong.empty()) {
          ADD_FAILURE() << case_.op->name << " claims too much: output " << k << " in " << split.size()
                        << " shards, batch on axes " << str_join(axis_) << " of its inputs: " << wrong << "\n  "
                        << case_.describe();
          return held;
        }
        ++held;
      }
    }
    return held;
  }

  std::string try_split(const std::vector<std::int64_t>& ends, std::int32_t k, const Tensor& global,
                        PlacementKind kind) const {
    std::vector<Tensor> parts;
    std::vector<double> shard_weight;
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      RandomCase shard = case_;
      for (std::size_t i = 0; i < shard.inputs.size(); ++i) {
        if (axis_[i] >= 0) shard.inputs[i] = part(shard.inputs[i], axis_[i], begin, end);
      }
      const auto outputs = run_kernel(shard, cpu_kernels(), false);
      if (!outputs.ok()) return kFails;  // told, not wrong: shapes that a shard's own do not fit
      parts.push_back((*outputs)[static_cast<std::size_t>(k)]);
      shard_weight.push_back(static_cast<double>(end - begin) / static_cast<double>(rows_));
      begin = end;
    }
    const double tolerance = 30 * dtype_tolerance(global.dtype(), 1e-5);
    const Endpoint out{node_, k};
    if (kind == PlacementKind::kShard) {
      for (const Tensor& t : parts) {
        if (t.shape().rank() != global.shape().rank()) return "of another rank";
      }
      const auto joined = join_repeats(parts, axes_->axis(out), axes_->repeats(out));
      if (!joined.ok()) return joined.status().to_string();
      return compare(*joined, global, tolerance);
    }
    if (!is_plain(global.dtype()) || is_complex(global.dtype()) || global.dtype() == DType::kBool) return "";
    Tensor sum = Tensor::zeros(DType::kFloat64, global.shape());
    for (std::size_t s = 0; s < parts.size(); ++s) {
      if (parts[s].shape() != global.shape()) return "of another shape";
      const Tensor own = cast_to(parts[s], DType::kFloat64);
      for (std::int64_t i = 0; i < sum.elements(); ++i) {
        sum.data<double>()[i] += own.data<double>()[i] * (kind == PlacementKind::kPartialMean ? shard_weight[s] : 1.0);
      }
    }
    if (is_integer(global.dtype()) && kind == PlacementKind::kPartialMean) return "";  // rounded
    return compare(cast_to(sum, global.dtype()), global, tolerance);
  }

  static std::string compare(const Tensor& got, const Tensor& global, double tolerance) {
    if (got.shape() != global.shape()) return str_cat("shape ", got.shape(), " instead of ", global.shape());
    if (global.dtype() == DType::kString || global.dtype() == DType::kBool || !is_plain(global.dtype())) {
      return attr_equal(AttrValue(got), AttrValue(global)) ? ""
                                                           : got.to_string(16) + " instead of " + global.to_string(16);
    }
    return difference(got, global, tolerance);
  }

  const RandomCase& case_;
  const AxisOfInput axis_;
  std::int64_t rows_ = 0;
  Graph graph_;
  NodeId node_;
  std::optional<BatchAxes> axes_;
};

// Every way in which inputs may have a batch of one size on some axis.
std::vector<AxisOfInput> assignments(const RandomCase& c) {
  std::vector<AxisOfInput> all;
  std::set<std::int64_t> sizes;
  for (const Tensor& t : c.inputs) {
    for (const std::int64_t s : t.shape().sizes()) {
      if (s > 1) sizes.insert(s);
    }
  }
  for (const std::int64_t n : sizes) {
    std::vector<AxisOfInput> open = {{}};
    for (const Tensor& t : c.inputs) {
      std::vector<AxisOfInput> next;
      for (const AxisOfInput& so_far : open) {
        for (int axis = -1; axis < t.shape().rank() && next.size() < 256; ++axis) {
          if (axis >= 0 && t.shape()[axis] != n) continue;
          next.push_back(so_far);
          next.back().push_back(axis);
        }
      }
      open = std::move(next);
    }
    for (const AxisOfInput& one : open) {
      if (std::any_of(one.begin(), one.end(), [](int axis) { return axis >= 0; })) all.push_back(one);
    }
  }
  if (all.size() > kMostAxes) all.resize(kMostAxes);
  return all;
}

class Tried {
 public:
  explicit Tried(const OpDef& op) : op_(op) {}

  void try_case(const RandomCase& c) {
    if (!std::all_of(c.inputs.begin(), c.inputs.end(), is_tame)) return;
    if (std::any_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& t) { return t.dtype() == DType::kResource; }))
      return;
    // Statistics are a shard's own, as in TensorFlow.
    if (rule_of(op_) == BatchRule::kStatistics && c.attrs.get_or("is_training", true)) return;
    const auto global = run_kernel(c, cpu_kernels(), false);
    if (!global.ok()) return;
    for (const AxisOfInput& axes : assignments(c)) {
      if (tries >= kTriesOfOp) return;
      std::vector<int> like = axes;
      for (const Tensor& t : c.inputs) like.push_back(t.shape().rank());
      if (like_[like] >= kTriesOfLike) continue;
      const int held = Trial::claims(c, *global, axes);
      if (held == 0) continue;
      ++like_[like];
      ++tries;
      claims += held;
      if (testing::Test::HasFailure() && std::getenv("ARGOSY_RULE_OP") == nullptr) break;
    }
  }

  int tries = 0, claims = 0;

 private:
  const OpDef& op_;
  std::map<std::vector<int>, int> like_;
};

TEST(BatchRules, HoldOnShardsOfEveryCase) {
  const char* const only = std::getenv("ARGOSY_RULE_OP");
  int ops = 0, claims = 0, cases = 0, proved = 0;
  std::vector<std::string> without;
  std::map<std::string, int> reasons;
  for (const auto& op : builtin_ops().all()) {
    if (rule_of(*op) == BatchRule::kUnknown || (only != nullptr && op->name != only)) continue;
    ++ops;
    Tried tried(*op);
    if (may_be_tried(*op)) {
      for (const RandomCase& c : rule_cases(*op)) tried.try_case(c);
      std::uint64_t seed = 1469598103934665603u;
      for (const char letter : op->name) seed = (seed ^ static_cast<unsigned char>(letter)) * 1099511628211u;
      for (int k = 0; k < kSeeds && tried.tries < kTriesOfOp; ++k) {
        const auto c = random_case(*op, seed + static_cast<std::uint64_t>(k));
        if (!c) break;
        if (infer(*c, 0).status.ok()) tried.try_case(*c);
      }
    }
    claims += tried.claims;
    cases += tried.tries;
    proved += tried.tries > 0 ? 1 : 0;
    if (only != nullptr) std::printf("%s: %d cases, %d claims\n", only, tried.tries, tried.claims);
    const std::string why = why_without_case(*op);
    if (tried.tries == 0 && why.empty()) without.push_back(op->name);
    if (tried.tries == 0 && !why.empty()) ++reasons[why];
  }
  std::printf("%d ops with a rule, %d tried in %d cases: %d claims held\n", ops, proved, cases, claims);
  for (const auto& [why, count] : reasons) std::printf("%d not tried: %s\n", count, why.c_str());
  EXPECT_TRUE(without.empty() || only != nullptr) << "rules that no case tries, and no reason: " << str_join(without);
}

}  // namespace
}  // namespace argosy
