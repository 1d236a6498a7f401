#include "argosy/ops/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/state_case.h"

namespace argosy {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What the variables hold after one step of TensorFlow 2.21 from the values below.
struct UpdateCase {
  const char* rule;
  const char* attr;
  bool value;
  std::vector<std::vector<float>> after;
};
const UpdateCase kRows[] = {
    {"GradientDescent", "", false, {{0.949999988, -1.89999998, 3, -0.699999988}}},
    {"ProximalGradientDescent", "", false, {{0.902912676, -1.82524276, 2.89320397, -0.660194218}}},
    {"Adadelta",
     "",
     false,
     {{0.857873321, -1.86738706, 3, -0.744847178},
      {0.115000002, 0.280000031, 0.270000011, 4},
      {1.102, 0.625862062, 0.224999994, 5.99950123}}},
    {"Adagrad", "", false, {{0.915484548, -1.90871286, 3, -0.570710659}, {0.349999994, 1.20000005, 0.300000012, 8}}},
    {"Adagrad",
     "update_slots",
     false,
     {{0.841886103, -1.77639318, 3, -0.600000024}, {0.100000001, 0.200000003, 0.300000012, 4}}},
    {"AdagradV2", "", false, {{0.916889429, -1.90953875, 3, -0.570461571}, {0.349999994, 1.20000005, 0.300000012, 8}}},
    {"AdagradV2",
     "update_slots",
     false,
     {{0.846732855, -1.78128386, 3, -0.599502504}, {0.100000001, 0.200000003, 0.300000012, 4}}},
    {"ProximalAdagrad",
     "",
     false,
     {{0.839126885, -1.84006321, 2.80959725, -0.557723999}, {0.349999994, 1.20000005, 0.300000012, 8}}},
    {"AdagradDA",
     "",
     false,
     {{-0, 0.0152120758, -0, -0.1660375}, {0.600000024, -0.800000012, 0.300000012, 6}, {1.25, 1.5, 0.25, 10}}},
    {"Momentum",
     "",
     false,
     {{0.940999985, -1.91799998, 2.97300005, -1.05999994}, {0.589999974, -0.819999993, 0.270000011, 5.5999999}}},
    {"Momentum",
     "use_nesterov",
     true,
     {{0.896899998, -1.82620001, 2.9756999, -1.204}, {0.589999974, -0.819999993, 0.270000011, 5.5999999}}},
    {"KerasMomentum",
     "",
     false,
     {{1.03999996, -1.72000003, 3.26999998, 2.89999986}, {0.0399999954, 0.280000001, 0.270000011, 3.39999986}}},
    {"KerasMomentum",
     "use_nesterov",
     true,
     {{0.986000001, -1.648, 3.24300003, 2.35999966}, {0.0399999954, 0.280000001, 0.270000011, 3.39999986}}},
    {"Adam",
     "",
     false,
     {{0.986086845, -2.01110125, 2.94679737, -0.654760599},
      {0.140000015, 0.0799999684, 0.270000011, 3.79999995},
      {0.992500007, 0.504999995, 0.247500002, 5.98000002}}},
    {"Adam",
     "use_nesterov",
     true,
     {{0.982509196, -1.99611449, 2.95211768, -0.647429824},
      {0.140000015, 0.0799999684, 0.270000011, 3.79999995},
      {0.992500007, 0.504999995, 0.247500002, 5.98000002}}},
    {"AdamWithAmsgrad",
     "",
     false,
     {{0.988661647, -2.01019621, 2.94679737, -0.63387686},
      {0.140000015, 0.0799999684, 0.270000011, 3.79999995},
      {0.992500007, 0.504999995, 0.247500002, 5.98000002},
      {1.5, 0.600000024, 0.247500002, 8}}},
    {"AdaMax",
     "",
     false,
     {{0.860000014, -2.0792079, 1.95145643, -1.13865519},
      {0.140000015, 0.0799999684, 0.270000011, 3.79999995},
      {0.99000001, 1, 0.247500002, 5.94000006}}},
    {"RMSProp",
     "",
     false,
     {{-0.0414212942, -2.26430464, 2.7750001, -5.99987507},
      {0.11500001, 0.280000031, 0.270000011, 4},
      {1.04142129, 0.264304668, 0.224999994, 5.49987507}}},
    {"CenteredRMSProp",
     "",
     false,
     {{-0.40225935, -2.40559912, 2.88750005, kNaN},
      {0.140000015, 0.0799999684, 0.270000011, 3.79999995},
      {0.924999952, 0.550000012, 0.224999994, 5.80000019},
      {1.40225935, 0.405599177, 0.112499997, kNaN}}},
    {"AddSign",
     "",
     false,
     {{0.954999983, -2.06999993, 3, -0.680000007}, {0.140000015, 0.0799999684, 0.270000011, 3.79999995}}},
    {"PowerSign",
     "",
     false,
     {{0.925408781, -1.93296802, 3, -0.798364997}, {0.140000015, 0.0799999684, 0.270000011, 3.79999995}}},
    {"Ftrl",
     "",
     false,
     {{0.161723346, -1.06146371, -0.00822743773, -0.413447708},
      {0.349999994, 1.20000005, 0.300000012, 8},
      {-1.2538023, 12.4646311, 0.25, 12.1421356}}},
    {"Ftrl",
     "multiply_linear_by_lr",
     true,
     {{-1.15808856, -1.45092404, -0.378462166, -2.28297734},
      {0.349999994, 1.20000005, 0.300000012, 8},
      {0.774619758, 1.69646311, 0.25, 6.61421347}}},
    {"FtrlV2",
     "",
     false,
     {{0.146376714, -1.04415441, -0.0575920716, -0.41171664},
      {0.349999994, 1.20000005, 0.300000012, 8},
      {-1.15380239, 12.2646313, 0.550000012, 12.0921354}}},
    {"FtrlV2",
     "multiply_linear_by_lr",
     true,
     {{-1.17343533, -1.43361473, -0.427826762, -2.28124619},
      {0.349999994, 1.20000005, 0.300000012, 8},
      {0.784619808, 1.67646313, 0.280000001, 6.60921335}}},
};

const std::vector<float> kVariable = {1, -2, 3, -0.5};
const std::vector<std::vector<float>> kSlots = {{0.1, 0.2, 0.3, 4}, {1, 0.5, 0.25, 6}, {1.5, 0.6, 0.125, 8}};
const std::vector<float> kGradient = {0.5, -1, 0, 2};

float scalar(std::string_view name) {
  const std::pair<std::string_view, float> scalars[] = {
      {"alpha", 0.1f}, {"lr", 0.1f},           {"l1", 0.2f},        {"l2", 0.3f},
      {"rho", 0.9f},   {"epsilon", 0.01f},     {"momentum", 0.9f},  {"beta1_power", 0.9f},
      {"beta1", 0.9f}, {"beta2_power", 0.99f}, {"beta2", 0.99f},    {"sign_decay", 0.8f},
      {"beta", 0.9f},  {"logbase", 0.5f},      {"lr_power", -0.5f}, {"l2_shrinkage", 0.05f}};
  for (const auto& [known, value] : scalars) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "no value for " << name;
  return 0;
}

// Elements `repeat` times over, so that vectors, tails and threads all have work.
Tensor repeated(const std::vector<float>& values, int repeat) {
  std::vector<float> all;
  for (int i = 0; i < repeat; ++i) all.insert(all.end(), values.begin(), values.end());
  return Tensor::vector<float>(all);
}

StateCase dense_case(const UpdateCase& row, const std::string& op, int repeat) {
  StateCase c{.op = op};
  const OpDef* def = builtin_ops().find(op);
  for (const ArgDef& arg : def->input_args) {
    const bool variable = arg.is_ref || arg.dtype == DType::kResource;
    if (variable) {
      c.inputs.push_back(repeated(c.inputs.empty() ? kVariable : kSlots[c.inputs.size() - 1], repeat));
    } else if (arg.name == "grad" || arg.name == "delta") {
      c.inputs.push_back(repeated(kGradient, repeat));
    } else if (arg.name == "global_step") {
      c.inputs.push_back(Tensor::scalar(std::int64_t{3}));
    } else {
      c.inputs.push_back(Tensor::scalar(scalar(arg.name)));
    }
  }
  for (const auto& values : row.after) c.after.push_back(repeated(values, repeat));
  if (*row.attr != 0) c.attrs.set(row.attr, row.value);
  if (def->output_args.empty()) c.attrs.set("T", DType::kFloat32);
  return c;
}

// The same elements as rows 4, 1, 3 and 0 of variables of five rows, each row holding the element twice.
StateCase sparse_case(const StateCase& dense, const std::string& op) {
  const std::vector<std::int32_t> order = {4, 1, 3, 0};
  const auto spread = [&](const Tensor& t, float rest) {
    Tensor rows = Tensor::zeros(DType::kFloat32, {5, 2});
    for (float& v : rows.values<float>()) v = rest;
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 2; ++k) rows.data<float>()[order[i] * 2 + k] = t.data<float>()[i];
    }
    return rows;
  };
  StateCase c{.op = op, .attrs = dense.attrs};
  std::size_t next = 0;  // of the dense inputs, which come in the same order
  for (const ArgDef& arg : builtin_ops().find(op)->input_args) {
    if (arg.name == "indices") {
      c.inputs.push_back(Tensor::vector(order));
      continue;
    }
    const Tensor& t = dense.inputs[next++];
    if (arg.is_ref || arg.dtype == DType::kResource) {
      c.inputs.push_back(spread(t, 7));
      c.after.push_back(spread(dense.after[c.after.size()], 7));
    } else if (arg.name == "grad") {
      Tensor rows = Tensor::zeros(DType::kFloat32, {4, 2});
      for (int i = 0; i < 8; ++i) rows.data<float>()[i] = t.data<float>()[i / 2];
      c.inputs.push_back(rows);
    } else {
      c.inputs.push_back(t);
    }
  }
  if (builtin_ops().find(op)->output_args.empty()) {
    c.attrs.set("T", DType::kFloat32);
    c.attrs.set("Tindices", DType::kInt32);
  }
  return c;
}

class Optimizers : public testing::TestWithParam<UpdateCase> {};
INSTANTIATE_TEST_SUITE_P(Rules, Optimizers, testing::ValuesIn(kRows), [](const auto& info) {
  return str_cat(info.param.rule, *info.param.attr != 0 ? str_cat("_", info.param.attr) : "");
});

TEST_P(Optimizers, StepAsTensorFlowDoes) {
  for (const char* prefix : {"Apply", "ResourceApply"}) {
    const std::string op = str_cat(prefix, GetParam().rule);
    if (builtin_ops().find(op) == nullptr) continue;
    check_state(dense_case(GetParam(), op, 1));
  }
}

TEST_P(Optimizers, StepTheRowsNamed) {
  for (const char* kind : {"", "Resource"}) {
    const std::string dense = str_cat("ResourceApply", GetParam().rule);
    const std::string op = str_cat(kind, "SparseApply", GetParam().rule);
    if (builtin_ops().find(op) == nullptr) continue;
    check_state(sparse_case(dense_case(GetParam(), dense, 1), op));
  }
}

// Vectors and threads against the plain loop.
TEST_P(Optimizers, StepLargeVariables) {
  StateCase c = dense_case(GetParam(), str_cat("ResourceApply", GetParam().rule), 1);
  const Shape shape{30011};
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].elements() == 1) continue;
    c.inputs[i] = random_tensor(DType::kFloat32, shape, i + 1, i == 0 ? -1 : i == 1 ? 0.1 : 0.3, i == 1 ? 0.3 : 1);
  }
  c.after.clear();
  c.other_dtypes = false;
  check_state(c);
}

TEST(Optimizer, OtherPowersOfFtrl) {
  for (const char* op : {"ApplyFtrl", "ResourceApplyFtrl"}) {
    StateCase c = dense_case({"Ftrl", "", false, {}}, op, 1);
    c.inputs.back() = Tensor::scalar(-0.7f);
    c.tolerance = 1e-4;
    c.other_dtypes = false;
    check_state(c);
  }
}

// What has gone wrong shows: a NaN momentum, a weight beyond all bounds.
TEST(Optimizer, NothingHidesWhatIsNoNumber) {
  const Tensor one = Tensor::vector<float>({1}), nan = Tensor::vector<float>({std::nanf("")});
  const Tensor half = Tensor::scalar(0.5f), inf = Tensor::vector<float>({std::numeric_limits<float>::infinity()});
  for (const char* op : {"AddSign", "PowerSign"}) {
    check_both({.op = str_cat("Apply", op),
                .inputs = {one, nan, half, half, half, half, one},
                .after = {nan, nan},
                .other_dtypes = false},
               str_cat("ResourceApply", op));
  }
  const Tensor minus = Tensor::vector<float>({-std::numeric_limits<float>::infinity()});
  check_both({.op = "ApplyFtrl",
              .inputs = {inf, one, one, one, half, half, half, Tensor::scalar(-0.5f)},
              .after = {inf, Tensor::vector<float>({2}), minus},
              .other_dtypes = false},
             "ResourceApplyFtrl");
}

TEST(Optimizer, RowsNamedTwiceStepTwice) {
  check_both({.op = "SparseApplyMomentum",
              .inputs = {Tensor::vector<float>({1, 2}), Tensor::vector<float>({0, 0}), Tensor::scalar(1.f),
                         Tensor::vector<float>({1, 1}), Tensor::vector<std::int64_t>({1, 1}), Tensor::scalar(0.5f)},
              .after = {Tensor::vector<float>({1, -0.5}), Tensor::vector<float>({0, 1.5})}},
             "ResourceSparseApplyMomentum");
}

TEST(Optimizer, ComplexVariables) {
  using C = std::complex<float>;
  check_both({.op = "ApplyGradientDescent",
              .inputs = {Tensor::scalar(C(1, 2)), Tensor::scalar(C(0, 1)), Tensor::scalar(C(2, 3))},
              .after = {Tensor::scalar(C(4, 0))}},
             "ResourceApplyGradientDescent");
  struct Rule {
    const char* name;
    bool nesterov;
    std::vector<std::vector<C>> after;  // TensorFlow's
  };
  const Rule rules[] = {
      {"Adadelta",
       false,
       {{{0.440789402, 2.45877481}, {-2.82461977, -1}},
        {{0.0149999782, -0.0100000277}, {-0.0400001109, 0}},
        {{1.92242146, -4.68103647}, {7.24997759, 0}}}},
      {"Adagrad", false, {{{0.893893838, 2.00095582}, {-2.10540915, -1}}, {{-0.649999976, -0.899999976}, {-3.6, 0}}}},
      {"AdagradV2",
       false,
       {{{0.894365788, 2.00184059}, {-2.10540628, -1.00055552}}, {{-0.649999976, -0.899999976}, {-3.6, 0}}}},
      {"Adam",
       false,
       {{{0.987302065, 2.00390601}, {-2.05259037, -1.02921677}},
        {{0.140000015, -0.0100000277}, {0.359999985, 0.200000048}},
        {{0.982500017, 0.485000014}, {0.455000043, 0}}}},
      {"Adam",
       true,
       {{{0.986092091, 2.01380324}, {-2.04733133, -1.05551195}},
        {{0.140000015, -0.0100000277}, {0.359999985, 0.200000048}},
        {{0.982500017, 0.485000014}, {0.455000043, 0}}}},
      {"RMSProp",
       false,
       {{{-0.314457059, 2.09079933}, {-3.60469842, -1}},
        {{0.0149999782, -0.0100000277}, {-0.0400001109, 0}},
        {{1.31445706, -0.0907992721}, {1.60469842, 0}}}},
      {"CenteredRMSProp",
       false,
       {{{-0.380433917, 2.11463737}, {-2.13572717, -1.14962471}},
        {{0.140000015, -0.0100000277}, {0.359999985, 0.200000048}},
        {{0.824999928, 0.349999964}, {0.0499998927, 0}},
        {{1.38043392, -0.114637479}, {0.135727227, 0.149624661}}}},
  };
  const std::vector<std::vector<C>> variables = {
      {{1, 2}, {-2, -1}}, {{0.1, 0.1}, {0.4, 0}}, {{1, 0.5}, {0.5, 0}}, {{1.5, 0}, {0.6, -0.2}}};
  for (const Rule& rule : rules) {
    StateCase c{.op = str_cat("Apply", rule.name)};
    for (const ArgDef& arg : builtin_ops().find(c.op)->input_args) {
      if (arg.is_ref) {
        c.inputs.push_back(Tensor::vector(variables[c.inputs.size()]));
      } else if (arg.name == "grad") {
        c.inputs.push_back(Tensor::vector<C>({{0.5, -1}, {0, 2}}));
      } else {
        c.inputs.push_back(Tensor::scalar(C(scalar(arg.name))));
      }
    }
    if (rule.nesterov) c.attrs.set("use_nesterov", true);
    for (const auto& values : rule.after) c.after.push_back(Tensor::vector(values));
    check_both(c, str_cat("ResourceApply", rule.name));
  }
}

TEST(Optimizer, EmptyVariables) {
  const Tensor none = Tensor::of<float>({0, 3}, {});
  check_both({.op = "ApplyGradientDescent", .inputs = {none, Tensor::scalar(1.f), none}, .after = {none}},
             "ResourceApplyGradientDescent");
}

// TensorFlow's number depends on the kind of variable: it is refused for both, whatever the rule.
TEST(Optimizer, AVariableIsNotItsOwnSlot) {
  for (const VariableKind kind : {VariableKind::kReference, VariableKind::kResource}) {
    Graph g;
    ResourceManager resources;
    const VariableNode v = variable(g, Tensor::scalar(2.f), "v", {.kind = kind});
    const VariableNode w = variable(g, Tensor::scalar(3.f), "w", {.kind = kind});
    const Value one = constant(g, 1.f);
    const std::vector<Value> refused = {apply_momentum(v, v, one, one, one),
                                        apply_adam(w, v, v, one, one, one, one, one, one, one),
                                        apply_ftrl(v, w, v, one, one, one, one, one)};
    const Value fine = apply_momentum(v, w, one, one, one);
    ASSERT_TRUE(g.status().ok()) << g.status().to_string();
    for (const VariableNode& each : {v, w})
      ASSERT_TRUE(evaluate(g, {}, {each.initializer.endpoint()}, {.resources = &resources}).ok());
    for (const Value& step : refused) {
      const Status status = evaluate(g, {}, {step.endpoint()}, {.resources = &resources}).status();
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
      EXPECT_NE(status.message().find("variable v is given twice"), std::string::npos) << status.to_string();
    }
    EXPECT_TRUE(evaluate(g, {}, {fine.endpoint()}, {.resources = &resources}).ok());
  }
}

TEST(Optimizer, Refuses) {
  const Tensor w = Tensor::vector<float>({1, 2});
  const Tensor one = Tensor::scalar(1.f);
  const auto refused = [](StateCase c, Code code, const char* says) {
    c.error = code;
    c.error_contains = says;
    const std::string twin = "Resource" + c.op;
    check_both(c, twin);
  };
  const auto bad = Code::kInvalidArgument;
  refused({.op = "ApplyGradientDescent", .inputs = {w, one, one}}, bad, "must have one shape");
  refused({.op = "ApplyGradientDescent", .inputs = {w, one, one}}, bad,
          "var and delta do not have the same shape[2] []");
  refused({.op = "ApplyGradientDescent", .inputs = {w, w, w}}, bad, "alpha must be a scalar");
  refused({.op = "ApplyMomentum", .inputs = {w, one, one, w, one}}, bad, "must have one shape");
  refused({.op = "ApplyMomentum", .inputs = {w, Tensor(), one, w, one}}, Code::kFailedPrecondition, "v1");
  const Tensor row = Tensor::vector<float>({1});
  refused({.op = "SparseApplyAdagrad", .inputs = {w, w, one, row, Tensor::vector<std::int32_t>({2})}}, bad,
          "indices[0] = 2 is not in [0, 2)");
  refused({.op = "SparseApplyAdagrad", .inputs = {w, w, one, row, Tensor::vector<std::int32_t>({-1})}}, bad,
          "indices[0] = -1");
  refused({.op = "SparseApplyAdagrad", .inputs = {w, w, one, row, Tensor::vector<std::int32_t>({0, 1})}}, bad,
          "must have shape [2]");
  refused({.op = "SparseApplyAdagrad", .inputs = {w, w, one, row, Tensor::of<std::int32_t>({1, 1}, {0})}}, bad,
          "must be a vector");
  refused({.op = "SparseApplyAdagrad", .inputs = {one, one, one, one, Tensor::vector<std::int32_t>({0})}}, bad,
          "at least one axis");
}

TEST(Optimizer, RefusesRatesOutOfRange) {
  const Tensor w = Tensor::of<float>({1, 1}, {1});
  const Tensor one = Tensor::scalar(1.f), zero = Tensor::scalar(0.f), less = Tensor::scalar(-1.f);
  const auto refused = [](const char* op, std::vector<Tensor> inputs, const char* says) {
    const StateCase c{.op = op, .inputs = std::move(inputs), .error = Code::kInvalidArgument, .error_contains = says};
    check_both(c, str_cat("Resource", op));
  };
  refused("ApplyProximalAdagrad", {w, w, zero, one, one, w}, "lr is out of range: 0");
  refused("ApplyProximalAdagrad", {w, w, one, less, one, w}, "l1 is out of range: -1");
  const Tensor row = Tensor::vector<std::int32_t>({0});
  refused("SparseApplyFtrl", {w, w, w, w, row, less, one, one, less}, "lr is out of range");
  refused("SparseApplyFtrl", {w, w, w, w, row, one, one, one, one}, "lr_power is out of range: 1");
}

TEST(Optimizer, ShapesAreCheckedBeforeTheStep) {
  Graph g;
  const VariableNode v = variable(g, {2, 3}, DType::kFloat32, "v", {.kind = VariableKind::kResource});
  apply_gradient_descent(v, constant(g, 1.f), placeholder(g, DType::kFloat32, {3, 2}));
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
