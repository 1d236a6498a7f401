#include <gtest/gtest.h>

#include "argosy/testing/op_cases/state_case.h"

namespace argosy {
namespace {

const Tensor kRows = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
const Tensor kIndices = Tensor::vector<std::int32_t>({2, 0, 2});
const Tensor kUpdates = Tensor::of<float>({3, 2}, {2, 4, 1, 1, -1, 8});

void check_rows(const std::string& update, std::initializer_list<float> after) {
  check_both(
      {.op = "Scatter" + update, .inputs = {kRows, kIndices, kUpdates}, .after = {Tensor::of<float>({3, 2}, after)}},
      "ResourceScatter" + update);
  const Tensor wide = cast_to(kIndices, DType::kInt64);
  check_both({.op = "Scatter" + update,
              .inputs = {kRows, wide, kUpdates},
              .after = {Tensor::of<float>({3, 2}, after)},
              .other_dtypes = false},
             "ResourceScatter" + update);
}

TEST(Scatter, Rows) {
  check_rows("Update", {1, 1, 3, 4, -1, 8});
  check_rows("Add", {2, 3, 3, 4, 6, 18});
  check_rows("Sub", {0, 1, 3, 4, 4, -6});
  check_rows("Mul", {1, 2, 3, 4, -10, 192});
  check_rows("Div", {1, 2, 3, 4, -2.5, 0.1875});
  check_rows("Min", {1, 1, 3, 4, -1, 4});
  check_rows("Max", {1, 2, 3, 4, 5, 8});
}

TEST(Scatter, ScalarsReachEveryElementNamed) {
  check_both({.op = "ScatterAdd",
              .inputs = {kRows, Tensor::vector<std::int32_t>({1}), Tensor::scalar(10.f)},
              .after = {Tensor::of<float>({3, 2}, {1, 2, 13, 14, 5, 6})}},
             "ResourceScatterAdd");
  check_both({.op = "ScatterUpdate",
              .inputs = {Tensor::vector<float>({1, 2}), Tensor::scalar(std::int32_t{1}), Tensor::scalar(10.f)},
              .after = {Tensor::vector<float>({1, 10})}},
             "ResourceScatterUpdate");
}

TEST(Scatter, OtherDtypes) {
  const Tensor at = Tensor::vector<std::int32_t>({1});
  check_both({.op = "ScatterUpdate",
              .inputs = {Tensor::vector<std::string>({"a", "b"}), at, Tensor::vector<std::string>({"c"})},
              .after = {Tensor::vector<std::string>({"a", "c"})}},
             "ResourceScatterUpdate");
  check_both({.op = "ScatterUpdate",
              .inputs = {Tensor::of<bool>({2}, {false, false}), at, Tensor::of<bool>({1}, {true})},
              .after = {Tensor::of<bool>({2}, {false, true})}},
             "ResourceScatterUpdate");
  check_both({.op = "ScatterDiv",
              .inputs = {Tensor::vector<std::int32_t>({7, -7}), at, Tensor::vector<std::int32_t>({2})},
              .after = {Tensor::vector<std::int32_t>({7, -3})},
              .other_dtypes = false},
             "ResourceScatterDiv");
  check_both({.op = "ScatterMul",
              .inputs = {Tensor::of<std::complex<float>>({1}, {{1, 2}}), Tensor::vector<std::int32_t>({0}),
                         Tensor::of<std::complex<float>>({1}, {{0, 1}})},
              .after = {Tensor::of<std::complex<float>>({1}, {{-2, 1}})}},
             "ResourceScatterMul");
}

TEST(Scatter, EmptyThings) {
  const Tensor none = Tensor::of<std::int32_t>({0}, {});
  check_both({.op = "ScatterAdd", .inputs = {kRows, none, Tensor::of<float>({0, 2}, {})}, .after = {kRows}},
             "ResourceScatterAdd");
  check_both({.op = "ScatterAdd",
              .inputs = {Tensor::of<float>({3, 0}, {}), kIndices, Tensor::of<float>({3, 0}, {})},
              .after = {Tensor::of<float>({3, 0}, {})}},
             "ResourceScatterAdd");
}

TEST(Scatter, RefusesAndLeavesTheVariableAlone) {
  const auto bad = [](const char* op, Tensor variable, Tensor indices, Tensor updates, const char* says) {
    const StateCase c{.op = op,
                      .inputs = {std::move(variable), std::move(indices), std::move(updates)},
                      .error = Code::kInvalidArgument,
                      .error_contains = says};
    check_both(c, str_cat("Resource", op));
  };
  const Tensor far = Tensor::vector<std::int32_t>({0, 3, 1});
  bad("ScatterUpdate", kRows, kIndices, Tensor::of<float>({2, 2}, {1, 2, 3, 4}),
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape [2,2]");
  bad("ScatterAdd", kRows, far, kUpdates, "indices[1] = 3 is not in [0, 3)");
  bad("ScatterUpdate", kRows, Tensor::vector<std::int32_t>({0, -1, 1}), kUpdates, "indices[1] = -1");
  bad("ScatterUpdate", kRows, kIndices, Tensor::of<float>({2, 2}, {1, 2, 3, 4}), "do not fit");
  bad("ScatterAdd", Tensor::scalar(1.f), kIndices, Tensor::scalar(1.f), "at least one axis");
  check_state({.op = "ScatterDiv",
               .inputs = {Tensor::vector<std::int32_t>({4, 4}), Tensor::vector<std::int32_t>({0, 1}),
                          Tensor::vector<std::int32_t>({2, 0})},
               .error = Code::kInvalidArgument,
               .error_contains = "division by zero",
               .unlike_tensorflow = "TensorFlow ends the process"});
}

TEST(ScatterNd, SlicesAndElements) {
  const Tensor elements = Tensor::of<std::int32_t>({3, 2}, {0, 1, 2, 0, 0, 1});
  const Tensor values = Tensor::vector<float>({10, -20, 30});
  const auto both = [&](const std::string& update, std::initializer_list<float> after) {
    check_both(
        {.op = "ScatterNd" + update, .inputs = {kRows, elements, values}, .after = {Tensor::of<float>({3, 2}, after)}},
        "ResourceScatterNd" + update);
  };
  both("Update", {1, 30, 3, 4, -20, 6});
  both("Add", {1, 42, 3, 4, -15, 6});
  both("Sub", {1, -38, 3, 4, 25, 6});
  both("Min", {1, 2, 3, 4, -20, 6});
  both("Max", {1, 30, 3, 4, 5, 6});
  check_both({.op = "ScatterNdAdd",
              .inputs = {kRows, Tensor::of<std::int64_t>({2, 1}, {1, 1}), Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
              .after = {Tensor::of<float>({3, 2}, {1, 2, 7, 10, 5, 6})}},
             "ResourceScatterNdAdd");
}

TEST(ScatterNd, BadIndices) {
  const Tensor far = Tensor::of<std::int32_t>({2, 1}, {0, 9});
  const Tensor updates = Tensor::of<float>({2, 2}, {1, 1, 1, 1});
  check_both({.op = "ScatterNdAdd",
              .inputs = {kRows, far, updates},
              .error = Code::kInvalidArgument,
              .error_contains = "indices[1] has 9 for axis 0, which is not in [0, 3)"},
             "ResourceScatterNdAdd");
  check_both({.op = "ScatterNdAdd",
              .inputs = {kRows, far, updates},
              .attrs = {{"bad_indices_policy", "IGNORE"}},
              .after = {Tensor::of<float>({3, 2}, {2, 3, 3, 4, 5, 6})}},
             "ResourceScatterNdAdd");
  check_both({.op = "ScatterNdUpdate",
              .inputs = {kRows, Tensor::of<std::int32_t>({1, 3}, {0, 0, 0}), Tensor::vector<float>({1})},
              .error = Code::kInvalidArgument},
             "ResourceScatterNdUpdate");
  check_state({.op = "ScatterNdUpdate",  // a shape that claims 2^61 slices of nothing
               .inputs = {kRows, Tensor::of<std::int32_t>({std::int64_t{1} << 61, 0}, {}), Tensor::vector<float>({1})},
               .error = Code::kInvalidArgument});
}

TEST(ResourceGather, Rows) {
  const AttrMap dtype = {{"dtype", DType::kFloat32}};
  check_state({.op = "ResourceGather",
               .inputs = {kRows, kIndices},
               .attrs = dtype,
               .after = {kRows},
               .expect = {Tensor::of<float>({3, 2}, {5, 6, 1, 2, 5, 6})}});
  check_state({.op = "ResourceGather",
               .inputs = {Tensor::vector<std::string>({"a", "b"}), Tensor::of<std::int64_t>({1, 2}, {1, 1})},
               .attrs = {{"dtype", DType::kString}},
               .expect = {Tensor::of<std::string>({1, 2}, {"b", "b"})}});
  check_state({.op = "ResourceGather",
               .inputs = {Tensor::of<float>({2, 2, 1}, {1, 2, 3, 4}), Tensor::of<std::int32_t>({2, 2}, {1, 0, 1, 1})},
               .attrs = {{"dtype", DType::kFloat32}, {"batch_dims", 1}},
               .expect = {Tensor::of<float>({2, 2, 1}, {2, 1, 4, 4})}});
  check_state({.op = "ResourceGather",
               .inputs = {Tensor::of<float>({0, 2}, {}), Tensor::of<std::int32_t>({0}, {})},
               .attrs = dtype,
               .expect = {Tensor::of<float>({0, 2}, {})}});
  check_state({.op = "ResourceGather",
               .inputs = {Tensor::of<float>({0, 2}, {}), Tensor::of<std::int32_t>({1}, {0})},
               .attrs = dtype,
               .error = Code::kInvalidArgument,
               .error_contains = "indices[0] = 0 is not in [0, 0)"});
  check_state({.op = "ResourceGather",
               .inputs = {kRows, kIndices},
               .attrs = {{"dtype", DType::kFloat32}, {"batch_dims", 5}},
               .error = Code::kInvalidArgument});
  check_state(
      {.op = "ResourceGather", .inputs = {Tensor(), kIndices}, .attrs = dtype, .error = Code::kFailedPrecondition});
}

TEST(ResourceGather, Nd) {
  const AttrMap dtype = {{"dtype", DType::kFloat32}};
  check_state({.op = "ResourceGatherNd",
               .inputs = {kRows, Tensor::of<std::int32_t>({2, 2}, {0, 1, 2, 0})},
               .attrs = dtype,
               .expect = {Tensor::vector<float>({2, 5})}});
  check_state({.op = "ResourceGatherNd",
               .inputs = {kRows, Tensor::of<std::int32_t>({1, 1}, {1})},
               .attrs = dtype,
               .expect = {Tensor::of<float>({1, 2}, {3, 4})}});
  check_state({.op = "ResourceGatherNd",
               .inputs = {kRows, Tensor::of<std::int32_t>({1, 1}, {-1})},
               .attrs = dtype,
               .error = Code::kInvalidArgument});
  check_state({.op = "ResourceGatherNd",
               .inputs = {Tensor::scalar(1.f), Tensor::of<std::int32_t>({std::int64_t{1} << 61, 0}, {})},
               .attrs = dtype,
               .error = Code::kResourceExhausted,
               .unlike_tensorflow = "TensorFlow ends the process"});
}

}  // namespace
}  // namespace argosy
