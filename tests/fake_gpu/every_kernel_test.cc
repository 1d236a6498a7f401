// Kernels that the op cases (ops_test.cc) do not reach: dtypes and sizes with kernels of their own, compared with the
// CPU.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/case_run.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

constexpr DType kIntegers[] = {DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,
                               DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64};
constexpr DType kNumbers[] = {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kInt64};

class EveryKernel : public ::testing::Test {
 protected:
  EveryKernel()
      : fake_(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels()),
        device_set_(DeviceSet::make(fake_.request("gpu:0")).value()) {}

  // Both give the same, or refuse it: an op need not know every dtype. What ran on the GPU is counted.
  void same(const std::string& op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    RecordedCase c;
    c.op = op;
    c.inputs = std::move(inputs);
    c.attrs = std::move(attrs);
    SCOPED_TRACE(str_cat(op, " of ", dtype_name(c.inputs[0].dtype()), c.inputs[0].shape()));
    const CaseRun cpu = run_forward(device_set_, "/cpu:0", c, true), gpu = run_forward(device_set_, "/gpu:0", c, true);
    EXPECT_EQ(gpu.status.code(), cpu.status.code()) << gpu.status.to_string() << cpu.status.to_string();
    if (!cpu.status.ok() || !gpu.status.ok()) return;
    on_gpu_ += gpu.on_device;
    for (std::size_t i = 0; i < cpu.values.size(); ++i) {
      EXPECT_EQ(difference(gpu.values[i], cpu.values[i], dtype_tolerance(cpu.values[i].dtype(), 1e-4)), "");
    }
  }
  // Near one, so that long products stay numbers; integers repeat.
  static Tensor numbers(DType dtype, const Shape& shape, std::uint64_t seed = 1) {
    if (is_floating(dtype)) return random_tensor(dtype, shape, seed, 0.98, 1.02);
    if (dtype != DType::kBool && !is_complex(dtype))
      return cast_to(random_tensor(DType::kInt32, shape, seed, 1, 7), dtype);
    const Tensor from = random_tensor(DType::kFloat64, shape, seed, 0.98, 1.02);
    Tensor to = Tensor::zeros(dtype, shape);
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      const double v = from.data<double>()[i];
      if (dtype == DType::kBool) to.data<bool>()[i] = v > 1;
      if (dtype == DType::kComplex64)
        to.data<std::complex<float>>()[i] = {static_cast<float>(v), static_cast<float>(v - 1)};
      if (dtype == DType::kComplex128) to.data<std::complex<double>>()[i] = {v, v - 1};
    }
    return to;
  }
  static Tensor indices(DType dtype, const Shape& shape, int below) {
    return cast_to(random_tensor(DType::kInt32, shape, 5, 0, below), dtype);
  }
  static Tensor scalar(std::int32_t value) { return Tensor::scalar(value); }

  cuda::fake::Machine fake_;
  std::shared_ptr<DeviceSet> device_set_;
  int on_gpu_ = 0;
};

TEST_F(EveryKernel, ArithmeticOfIntegers) {
  for (const DType dtype : kIntegers) {
    for (const char* op : {"AddV2", "Add", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "LeftShift",
                           "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"})
      same(op, {numbers(dtype, {5, 70}, 1), numbers(dtype, {70}, 2)});
    for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod", "TruncateMod", "Pow"})
      same(op, {numbers(dtype, {5, 70}, 1), numbers(dtype, {70}, 2)});
    for (const char* op : {"Abs", "Square", "Neg", "Sign", "Relu6"}) same(op, {numbers(dtype, {300})});
    same("AddN", {numbers(dtype, {300}, 1), numbers(dtype, {300}, 2)}, {{"N", 2}});
    same("ClipByValue", {numbers(dtype, {300}), numbers(dtype, {}, 2), numbers(dtype, {}, 3)});
  }
  same("NotEqual", {numbers(DType::kBool, {300}, 1), numbers(DType::kBool, {300}, 2)});
  for (const char* op : {"SquaredDifference", "ReciprocalGrad", "Xdivy"})
    same(op, {numbers(DType::kComplex128, {40}, 1), numbers(DType::kComplex128, {40}, 2)});
  EXPECT_GT(on_gpu_, 100);
}

// By rows and by columns, whole and cut into pieces whose results are folded again.
TEST_F(EveryKernel, Folds) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kInt64,
                            DType::kComplex64, DType::kComplex128}) {
    for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"}) {
      for (const Shape& shape : {Shape{3, 20000}, Shape{40, 7}}) {
        same(op, {numbers(dtype, shape), scalar(1)});
        same(op, {numbers(dtype, {shape[1], shape[0]}), scalar(0)});
      }
    }
  }
  for (const char* op : {"All", "Any"}) {
    for (const int axis : {0, 1}) same(op, {numbers(DType::kBool, {5, 7}), scalar(axis)});
  }
  EXPECT_GT(on_gpu_, 100);
}

TEST_F(EveryKernel, TheLargestAndTheirPlaces) {
  same("ClipByValue", {numbers(DType::kFloat32, {300}), Tensor::scalar(0.99F), Tensor::scalar(1.01F)});
  for (const DType targets : {DType::kInt32, DType::kInt64}) {
    const Tensor k = cast_to(scalar(100), targets);
    same("InTopKV2", {numbers(DType::kFloat32, {5, 300}), indices(targets, {5}, 300), k});
  }
  for (const DType dtype : kNumbers) {
    for (const DType places : {DType::kInt32, DType::kInt64}) {
      for (const char* op : {"ArgMax", "ArgMin"}) {
        same(op, {numbers(dtype, {4, 300}), scalar(1)}, {{"output_type", places}});
        same(op, {numbers(dtype, {300, 4}), scalar(0)}, {{"output_type", places}});
      }
      // Few of them are found one after another, many at once.
      for (const int k : {1, 3, 250}) same("TopKV2", {numbers(dtype, {5, 300}), scalar(k)}, {{"index_type", places}});
    }
  }
  EXPECT_GT(on_gpu_, 60);
}

TEST_F(EveryKernel, MovesOfElementsOfEverySize) {
  for (const DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
    for (const DType index : {DType::kInt32, DType::kInt64}) {
      const Tensor on = numbers(dtype, {2}, 1), rows = indices(index, {6, 1}, 9);
      const Tensor x = numbers(dtype, {9, 5});
      same("OneHot", {indices(index, {7, 3}, 4), scalar(4), numbers(dtype, {}, 1), numbers(dtype, {}, 2)});
      same("GatherV2", {x, indices(index, {6}, 9), scalar(0)});
      same("GatherNd", {x, rows});
      same("TensorScatterUpdate", {x, rows, numbers(dtype, {6, 5}, 3)});
    }
    same("Transpose", {numbers(dtype, {40, 50}), Tensor::vector<std::int32_t>({1, 0})});
    same("MatrixBandPart",
         {numbers(dtype, {2, 6, 7}), Tensor::scalar<std::int64_t>(1), Tensor::scalar<std::int64_t>(2)});
    for (const DType lengths : {DType::kInt32, DType::kInt64}) {
      same("ReverseSequence", {numbers(dtype, {6, 4, 3}), cast_to(Tensor::vector<std::int32_t>({6, 3, 1, 5}), lengths)},
           {{"seq_dim", 0}, {"batch_dim", 1}});
    }
  }
  EXPECT_GT(on_gpu_, 40);
}

TEST_F(EveryKernel, Places) {
  for (const DType dtype : {DType::kUint8, DType::kComplex128, DType::kBool}) {
    Tensor x = Tensor::zeros(dtype, {4, 5});
    std::memset(x.raw(), 1, element_bytes(dtype));
    same("Where", {x});
  }
  same("ArgMin", {numbers(DType::kBool, {4, 300}), scalar(1)}, {{"output_type", DType::kInt32}});
  EXPECT_GE(on_gpu_, 4);
}

TEST_F(EveryKernel, Images) {
  const AttrMap size = {{"align_corners", false}};
  for (const DType dtype : {DType::kInt8, DType::kUint8}) {
    same("ResizeNearestNeighbor", {numbers(dtype, {1, 4, 5, 3}), Tensor::vector<std::int32_t>({7, 6})}, size);
  }
  same("AdjustSaturation", {numbers(DType::kFloat16, {2, 3, 3}), Tensor::scalar(0.5F)});
  const AttrMap pool = {{"ksize", std::vector<std::int64_t>{1, 2, 2, 2, 1}},
                        {"strides", std::vector<std::int64_t>{1, 2, 2, 2, 1}},
                        {"padding", std::string("VALID")}};
  const Tensor x = numbers(DType::kBfloat16, {1, 4, 4, 4, 2}), y = numbers(DType::kBfloat16, {1, 2, 2, 2, 2}, 2);
  same("MaxPool3D", {x}, pool);
  same("MaxPool3DGrad", {x, y, y}, pool);
  EXPECT_GE(on_gpu_, 4);
}

TEST_F(EveryKernel, RandomNumbers) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
    for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"}) {
      same(op, {Tensor::vector<std::int32_t>({40}), Tensor::vector<std::int64_t>({3, 4})}, {{"dtype", dtype}});
    }
    for (const DType classes : {DType::kInt32, DType::kInt64}) {
      same("StatelessMultinomial", {numbers(dtype, {3, 5}), scalar(20), Tensor::vector<std::int64_t>({3, 4})},
           {{"output_dtype", classes}});
    }
  }
  EXPECT_GT(on_gpu_, 12);
}

TEST_F(EveryKernel, SparseProductsAndSegments) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
    for (const DType index : {DType::kInt32, DType::kInt64}) {
      const Tensor at = cast_to(Tensor::of<std::int32_t>({3, 2}, {0, 1, 1, 0, 2, 2}), index);
      same("SparseTensorDenseMatMul",
           {at, numbers(dtype, {3}), Tensor::vector<std::int64_t>({3, 4}), numbers(dtype, {4, 5})});
      for (const DType segments : {DType::kInt32, DType::kInt64}) {
        same("SparseSegmentSum", {numbers(dtype, {6, 5}), indices(index, {4}, 6),
                                  cast_to(Tensor::vector<std::int32_t>({0, 0, 1, 2}), segments)});
      }
    }
  }
  EXPECT_GT(on_gpu_, 12);
}

// More than a tile, and deeper.
TEST_F(EveryKernel, Products) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kInt64,
                            DType::kComplex64, DType::kComplex128})
    same("MatMul", {numbers(dtype, {70, 50}, 1), numbers(dtype, {50, 40}, 2)});
  EXPECT_GE(on_gpu_, 7);
}

TEST_F(EveryKernel, UpdatesOfSlices) {
  for (const DType dtype : kNumbers) {
    const Tensor x = numbers(dtype, {9, 5}), by = numbers(dtype, {30, 5}, 3);
    const Tensor rows = indices(DType::kInt64, {30, 1}, 9), segments = indices(DType::kInt64, {30}, 9);
    for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"})
      same(op, {x, rows, by});
    for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"})
      same(op, {by, segments, scalar(9)});
    for (const char* op : {"Cumsum", "Cumprod"}) same(op, {numbers(dtype, {20, 5}), scalar(0)});
  }
  EXPECT_GT(on_gpu_, 40);
}

}  // namespace
}  // namespace argosy
