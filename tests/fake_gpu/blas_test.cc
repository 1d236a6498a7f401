// Matrix products by a fake cuBLASLt: the calls it gets, and what happens when it declines.
#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_blas.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy::cuda {

namespace {

using fake::FakeBlas;

TEST(GpuBlas, AsksForTheRowMajorProduct) {
  FakeBlas fake;
  const auto blas = fake.opened();
  const std::int64_t m = 3, n = 4, k = 5;
  std::vector<float> a(2 * m * k), b(2 * k * n), bias(n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) - 1;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const int matrices : {1, 2}) {
        const Batch batch{matrices, m * k, matrices == 2 ? 0 : k * n};  // the second matrix is shared
        BlasProblem p = blas_problem(DType::kFloat32, {ta, tb, m, n, k}, batch, true, true, false);
        p.alignment = 16;
        std::vector<float> out(static_cast<std::size_t>(matrices * m * n), -1);
        const Status done = blas->multiply(p, {.a = b.data(), .b = a.data(), .bias = bias.data(), .d = out.data()},
                                           host_allocator(), nullptr);
        ASSERT_TRUE(done.ok()) << done.to_string();
        for (std::int64_t x = 0; x < matrices; ++x) {
          for (std::int64_t r = 0; r < m; ++r) {
            for (std::int64_t c = 0; c < n; ++c) {
              float sum = bias[static_cast<std::size_t>(c)];
              for (std::int64_t i = 0; i < k; ++i) {
                sum += a[static_cast<std::size_t>(x * m * k + (ta ? i * m + r : r * k + i))] *
                       b[static_cast<std::size_t>(tb ? c * k + i : i * n + c)];
              }
              EXPECT_EQ(out[static_cast<std::size_t>((x * m + r) * n + c)], std::max(sum, 0.f)) << ta << tb << matrices;
            }
          }
        }
      }
    }
  }
}

TEST(GpuBlas, WhatTheLibraryCannotDoIsLeftToOthers) {
  FakeBlas fake{.unknown_rows = 13};
  const auto blas = fake.opened();
  std::vector<float> values(1000);
  const BlasProblem p = blas_problem(DType::kFloat32, {false, false, 2, 13, 3}, {}, false, false, false);
  EXPECT_EQ(blas->multiply(p, {values.data(), values.data(), nullptr, values.data()}, host_allocator(), nullptr).code(),
            Code::kUnimplemented);
}

TEST(GpuBlas, PrecisionFollowsDtypeAndOption) {
  const Gemm g{false, false, 2, 3, 4};
  EXPECT_EQ(blas_problem(DType::kFloat32, g, {}, false, false, false).compute, kBlasCompute32F);
  EXPECT_EQ(blas_problem(DType::kFloat32, g, {}, false, false, true).compute, kBlasCompute32FTf32);
  EXPECT_EQ(blas_problem(DType::kFloat64, g, {}, false, false, true).compute, kBlasCompute64F);
  const BlasProblem half = blas_problem(DType::kBfloat16, g, {}, false, false, true);
  EXPECT_EQ(half.compute, kBlasCompute32F);
  EXPECT_EQ(half.type, kBlasR16BF);
  EXPECT_EQ(half.scale, kBlasR32F);
}

// It offers ways that it refuses when they are started: then nothing was, and it is not asked again.
TEST(GpuBlas, WhatTheLibraryRefusesAtTheStartIsLeftToOthers) {
  for (const int status : {kBlasInvalidValue, kBlasArchMismatch, kBlasNotSupported}) {
    FakeBlas fake{.start_answer = status};
    const auto blas = fake.opened();
    std::vector<float> values(1000);
    BlasProblem p = blas_problem(DType::kFloat32, {false, false, 2, 5, 3}, {}, false, false, false);
    p.alignment = 4;
    const GpuBlas::Pointers at{values.data(), values.data(), nullptr, values.data() + 100};
    EXPECT_EQ(blas->multiply(p, at, host_allocator(), nullptr).code(), Code::kUnimplemented);
    fake.start_answer = 0;
    EXPECT_EQ(blas->multiply(p, at, host_allocator(), nullptr).code(), Code::kUnimplemented);
    EXPECT_EQ(fake.products, 0);
  }
  FakeBlas fake{.start_answer = 13};  // CUBLAS_STATUS_EXECUTION_FAILED
  const auto blas = fake.opened();
  std::vector<float> values(1000);
  const BlasProblem p = blas_problem(DType::kFloat32, {false, false, 2, 5, 3}, {}, false, false, false);
  const Status failed =
      blas->multiply(p, {values.data(), values.data(), nullptr, values.data()}, host_allocator(), nullptr);
  EXPECT_EQ(failed.id(), "ARG-GPU-014");
}

// Sums made in parts go through float32 between them, and nothing is left behind.
TEST(GpuBlas, PartsOfSumsAreNotRounded) {
  FakeBlas fake;
  {
    const auto blas = fake.opened();
    std::vector<float> values(1000);
    const GpuBlas::Pointers at{values.data(), values.data(), nullptr, values.data() + 100};
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
      BlasProblem p = blas_problem(dtype, {false, false, 2, 5, 3}, {}, false, false, false);
      p.alignment = 4;
      EXPECT_TRUE(blas->multiply(p, at, host_allocator(), nullptr).ok());
      EXPECT_EQ(fake.wanted.back().reductions, dtype == DType::kFloat32 ? 7U : unsigned{kBlasReduceAsComputed});
      EXPECT_EQ(fake.wanted.back().alignments[0], 4U);
    }
  }
  EXPECT_EQ(fake.live_objects, 0);
}

// Products as kernels ask for them, on a fake GPU.
struct OnGpu {
  fake::Machine machine{fake::gpus_with_kernels(1), [] {
                          CudaBackend::Options options = fake::with_kernels();
                          options.vendor_libraries = true;
                          return options;
                        }()};
  FakeBlas blas;
  std::unique_ptr<CudaDevice> device = machine.device();

  OnGpu() {
    EXPECT_TRUE(device->make_current().ok());
    device->keep("cuBLASLt", [&] { return std::make_shared<std::shared_ptr<GpuBlas>>(blas.opened()); });
  }
  // On the GPU, `skip` bytes into its memory.
  struct Held {
    Buffer memory;
    std::byte* data = nullptr;
  };
  Held put(const Tensor& t, std::size_t skip = 0) {
    Held held{device->allocator().allocate(t.bytes() + skip).value()};
    held.data = static_cast<std::byte*>(held.memory.data()) + skip;
    EXPECT_TRUE(device->upload(held.data, t.raw(), t.bytes()).ok());
    return held;
  }
  Tensor get(const Held& held, DType dtype, const Shape& shape) {
    Tensor t = Tensor::allocate(dtype, shape, host_allocator()).value();
    EXPECT_TRUE(device->download(t.raw(), held.data, t.bytes()).ok());
    return t;
  }
  // Against the same by our own kernel. `skips`: of a, b and the bias.
  void check(DType dtype, const Gemm& g, const Batch& batch, bool bias, const FusedOps& fused,
             std::array<std::size_t, 3> skips = {}) {
    SCOPED_TRACE(str_cat(dtype_name(dtype), " ", g.m, "x", g.n, "x", g.k, " of ", batch.matrices));
    const std::int64_t many = batch.matrices;
    const Held a = put(random_tensor(dtype, {batch.a_stride == 0 ? g.m * g.k : many * g.m * g.k}, 1), skips[0]);
    const Held b = put(random_tensor(dtype, {batch.b_stride == 0 ? g.k * g.n : many * g.k * g.n}, 2), skips[1]);
    const Held c = put(random_tensor(dtype, {g.n}, 3), skips[2]);
    const Shape shape = {many, g.m, g.n};
    const Held out = put(random_tensor(dtype, shape, 4)), own = put(random_tensor(dtype, shape, 5));
    KernelContext context({.node = "product", .device = device.get(), .allocator = &device->allocator()});
    const auto multiply = [&](const Held& to) {
      return gemm_on_gpu(context, dtype, g, batch, a.data, b.data, bias ? c.data : nullptr, fused, to.data);
    };
    const Status by_library = multiply(out);
    EXPECT_TRUE(by_library.ok()) << by_library.to_string();
    blas.unknown_rows = static_cast<std::uint64_t>(g.n);
    const std::shared_ptr<GpuBlas> fresh = blas.opened();
    const auto held = std::static_pointer_cast<std::shared_ptr<GpuBlas>>(device->keep("cuBLASLt", nullptr));
    const std::shared_ptr<GpuBlas> kept = std::exchange(*held, fresh);
    EXPECT_TRUE(multiply(own).ok());
    *held = kept;
    blas.unknown_rows = 0;
    EXPECT_EQ(difference(get(out, dtype, shape), get(own, dtype, shape), dtype_tolerance(dtype, 1e-5)), "");
  }
};

TEST(GpuProducts, AreTheLibrarys) {
  OnGpu on;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    on.blas.products = 0;
    on.check(dtype, {false, true, 5, 6, 7}, {}, false, {});
    EXPECT_EQ(on.blas.products, 1);
  }
  // Memory that does not begin where an allocation does.
  on.check(DType::kFloat32, {true, false, 5, 6, 7}, {}, false, {}, {4, 8, 0});
  EXPECT_EQ(on.blas.wanted[on.blas.wanted.size() - 2].alignments[0], 4U);
}

TEST(GpuProducts, WhatIsFusedIsTheLibrarysWhereItBearsIt) {
  OnGpu on;
  const auto epilogue = [&] { return on.blas.asked.back().epilogue; };
  const FusedOps relu{.bias = true, .activation = FusedOps::Activation::kRelu};
  on.check(DType::kFloat32, {false, false, 5, 6, 7}, {}, true, relu);
  EXPECT_EQ(epilogue(), std::uint32_t{kBlasEpilogueBias | kBlasEpilogueRelu});
  on.check(DType::kFloat16, {false, false, 5, 6, 7}, {}, true, {.bias = true});
  EXPECT_EQ(epilogue(), std::uint32_t{kBlasEpilogueBias});
  const FusedOps elu{.bias = true, .activation = FusedOps::Activation::kElu};
  on.check(DType::kFloat32, {false, false, 5, 6, 7}, {}, true, elu);
  EXPECT_EQ(epilogue(), std::uint32_t{kBlasEpilogueBias});
  // A bias in the middle of something: its kernels read 16 bytes at a time.
  on.check(DType::kFloat32, {false, false, 5, 6, 7}, {}, true, relu, {0, 0, 4});
  EXPECT_EQ(epilogue(), 1U);
  // The library has nothing fused of float64; the product is its all the same.
  on.blas.products = 0;
  on.check(DType::kFloat64, {false, false, 5, 6, 7}, {}, true, relu);
  EXPECT_EQ(on.blas.products, 1);
  EXPECT_EQ(epilogue(), 1U);
}

TEST(GpuProducts, ManyMatricesAreSeveralCalls) {
  OnGpu on;
  constexpr std::int64_t kMany = 70000;
  const Tensor numbers = random_tensor(DType::kFloat32, {kMany}, 1);
  const auto factors = on.put(numbers), out = on.put(random_tensor(DType::kFloat32, {kMany}, 2));
  KernelContext context({.node = "product", .device = on.device.get(), .allocator = &on.device->allocator()});
  ASSERT_TRUE(gemm_on_gpu(context, DType::kFloat32, {false, false, 1, 1, 1}, {kMany, 1, 1}, factors.data, factors.data,
                          nullptr, {}, out.data)
                  .ok());
  const Tensor squares = on.get(out, DType::kFloat32, {kMany});
  for (std::int64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(squares.data<float>()[i], numbers.data<float>()[i] * numbers.data<float>()[i]) << i;
  }
  EXPECT_EQ(on.blas.batches, (std::vector<int>{65535, kMany - 65535}));
  // A matrix that all have in common makes one product of them, where rows may be put one after the other.
  on.check(DType::kFloat32, {false, false, 3, 4, 5}, {6, 15, 0}, false, {});
  EXPECT_EQ(on.blas.batches.back(), 1);
  on.check(DType::kFloat32, {true, false, 3, 4, 5}, {6, 15, 0}, false, {});
  EXPECT_EQ(on.blas.batches.back(), 6);
  on.check(DType::kFloat32, {false, false, 3, 4, 5}, {6, 0, 20}, false, {});
  EXPECT_EQ(on.blas.batches.back(), 6);
}

TEST(GpuProducts, OfNothingAreZero) {
  OnGpu on;
  KernelContext context({.node = "product", .device = on.device.get(), .allocator = &on.device->allocator()});
  const auto out = on.put(random_tensor(DType::kFloat32, {2, 3}, 1));
  ASSERT_TRUE(
      gemm_on_gpu(context, DType::kFloat32, {false, false, 2, 3, 0}, {}, out.data, out.data, nullptr, {}, out.data)
          .ok());
  EXPECT_EQ(difference(on.get(out, DType::kFloat32, {2, 3}), Tensor::zeros(DType::kFloat32, {2, 3}), 0), "");
  EXPECT_EQ(on.blas.products, 0);
}

}  // namespace

}  // namespace argosy::cuda
