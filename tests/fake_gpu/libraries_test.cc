// NVIDIA's real libraries, where installed: they have every call, and accept our descriptors and attributes, as far as
// that is possible without a GPU. Also: the fake cuDNN refuses what cuDNN refuses.
#include <gtest/gtest.h>

#include "argosy/comm/nccl/nccl.h"
#include "argosy/ops/matmul/gpu_blas.h"
#include "argosy/ops/norm/gpu/dnn_norms.h"
#include "argosy/ops/pool/dnn_pools.h"
#include "argosy/ops/softmax/dnn_softmaxes.h"
#include "tests/fake_gpu/support/fake_dnn.h"

namespace argosy::cuda {

namespace {

constexpr DType kDtypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16};

TEST(Libraries, StartOrSayThatThereIsNoGpu) {
  const auto expect = [](const char* name, const Status& opened) {
    if (opened.ok() || opened.id() == "ARG-GPU-011") return;
    EXPECT_EQ(opened.id(), "ARG-GPU-014") << name << ": " << opened.to_string();
  };
  expect("cuBLASLt", GpuBlas::open().status());
  expect("cuDNN", Dnn::open().status());
  expect("NCCL", Nccl::open().status());
}

// Of each, what its calls are; nothing where it is not here.
template <typename Found>
auto calls_where_here(const LibraryWanted& wanted, const Found& found)
    -> std::optional<decltype(found(std::declval<const Library&>()).value())> {
  const auto library = Library::open(wanted);
  if (!library.ok()) return std::nullopt;
  const auto calls = found(**library);
  EXPECT_TRUE(calls.ok()) << calls.status().to_string();
  if (!calls.ok()) return std::nullopt;
  return *calls;
}

int chosen = 0;  // how often a stand-in for a choice was reached

TEST(RealBlas, TakesEveryAttribute) {
  auto calls = calls_where_here(cublaslt_wanted(), GpuBlas::calls_of);
  if (!calls) GTEST_SKIP() << "cuBLASLt is not here";
  calls->create = [](BlasHandle*) { return 0; };
  calls->destroy = [](BlasHandle) { return 0; };
  calls->choose = [](BlasHandle, BlasDesc, BlasLayout, BlasLayout, BlasLayout, BlasLayout, BlasPreference, int,
                     BlasChoice*, int* count) { return ++chosen, *count = 0, 0; };
  const auto blas = GpuBlas::over(*calls).value();
  const float numbers[4] = {};
  int asked = chosen = 0;
  for (const DType dtype : kDtypes) {
    for (const int bits : {0, 1, 2, 3, 4, 8, 15}) {
      const Batch batch{(bits & 4) != 0 ? 3 : 1, 35, 0};
      BlasProblem p = blas_problem(dtype, {(bits & 1) != 0, (bits & 2) != 0, 5, 6, 7}, batch, (bits & 8) != 0,
                                   (bits & 8) != 0, true);
      p.alignment = 4;
      const Status done = blas->multiply(p, {numbers, numbers, numbers, nullptr}, host_allocator(), nullptr);
      EXPECT_EQ(done.code(), Code::kUnimplemented) << done.to_string();
      EXPECT_EQ(chosen, ++asked);
    }
  }
}

// How large a pooling's result is, by cuDNN.
struct Sizes {
  int n = 0, c = 0, h = 0, w = 0;
  auto operator<=>(const Sizes&) const = default;
};
int (*pooled)(DnnPooling, DnnTensor, int*, int*, int*, int*) = nullptr;
Sizes found_sizes;

// Its calls with what a GPU is needed for left out.
std::optional<DnnCalls> dnn_without_gpu() {
  auto calls = calls_where_here(cudnn_wanted(), [](const Library& library) {
    EXPECT_TRUE(library.find(&pooled, "cudnnGetPooling2dForwardOutputDim"));
    return Dnn::calls_of(library);
  });
  if (!calls) return calls;
  calls->create = [](DnnHandle*) { return 0; };
  calls->destroy = [](DnnHandle) { return 0; };
  calls->set_stream = [](DnnHandle, void*) { return 0; };
  calls->normalise_inference = [](DnnHandle, int, const void*, const void*, DnnTensor, const void*, DnnTensor, void*,
                                  DnnTensor, const void*, const void*, const void*, const void*,
                                  double) { return ++chosen, 0; };
  calls->pool = [](DnnHandle, DnnPooling p, const void*, DnnTensor x, const void*, const void*, DnnTensor, void*) {
    return ++chosen, pooled(p, x, &found_sizes.n, &found_sizes.c, &found_sizes.h, &found_sizes.w);
  };
  calls->softmax = [](DnnHandle, int, int, const void*, DnnTensor, const void*, const void*, DnnTensor, void*) {
    return ++chosen, 0;
  };
  return calls;
}

TEST(RealDnn, FindsPoolingsAsLargeAsWeDo) {
  const auto calls = dnn_without_gpu();
  if (!calls) GTEST_SKIP() << "cuDNN is not here";
  DnnPools pools(Dnn::over(*calls).value());
  for (const DType dtype : kDtypes) {
    for (const bool nchw : {false, true}) {
      for (const int mode : {kDnnLargest, kDnnMeanInside}) {
        for (const auto& [in, window, pad, stride] :
             std::initializer_list<std::array<int, 4>>{{8, 2, 0, 2}, {8, 3, 1, 2}, {7, 3, 1, 1}, {5, 5, 0, 1}}) {
          const DnnAxis axis{
              .in = in, .window = window, .out = (in + 2 * pad - window) / stride + 1, .pad = pad, .stride = stride};
          const DnnPoolProblem p{.mode = mode, .dtype = dtype, .nchw = nchw, .n = 2, .c = 3, .h = axis, .w = axis};
          EXPECT_TRUE(pools.pool(p, nullptr, nullptr, nullptr).ok());
          EXPECT_EQ(found_sizes, (Sizes{2, 3, axis.out, axis.out}));
        }
      }
    }
  }
}

TEST(RealDnn, TakesWhatIsNormalised) {
  const auto calls = dnn_without_gpu();
  if (!calls) GTEST_SKIP() << "cuDNN is not here";
  const auto dnn = Dnn::over(*calls).value();
  DnnNorms norms(dnn);
  DnnSoftmaxes softmaxes(dnn);
  int asked = chosen = 0;
  for (const DType dtype : kDtypes) {
    for (const bool nchw : {false, true}) {
      EXPECT_TRUE(norms.infer({dtype, nchw, 2, 3, 4, 5}, {}, nullptr).ok());
      EXPECT_EQ(chosen, ++asked);
    }
    EXPECT_TRUE(softmaxes.forward({kDnnSoftmax, dtype, 1 << 20, 1000}, nullptr, nullptr, nullptr).ok());
    EXPECT_EQ(chosen, ++asked);
  }
}

TEST(FakeDnn, RefusesTheDescriptorsThatTheLibraryRefuses) {
  const auto calls = dnn_without_gpu();
  if (!calls) GTEST_SKIP() << "cuDNN is not here";
  fake::FakeDnn fake;
  const DnnCalls fakes = fake.calls();
  const auto tensor = [](const DnnCalls& c, const std::array<int, 6>& v) {
    DnnObject<DnnTensor> t;
    EXPECT_EQ(t.make(c.tensor_create, c.tensor_destroy), 0);
    return c.tensor_set(t.get(), v[0], v[1], v[2], v[3], v[4], v[5]) / 1000;
  };
  constexpr int k16 = 1 << 16, k15 = 1 << 15;
  for (const int format : {kDnnNchw, kDnnNhwc}) {
    for (const int type : {kDnnFloat, kDnnDouble, kDnnHalf, kDnnBfloat16}) {
      for (const auto& v : std::initializer_list<std::array<int, 6>>{{format, type, 2, 3, 4, 5},
                                                                     {format, type, 0, 3, 4, 5},
                                                                     {format, type, 2, 3, 4, 0},
                                                                     {format, type, 1, 1, k15, k16 - 1},
                                                                     {format, type, 1, 1, k15, k16},
                                                                     {format, type, k16, 1, 1, 1}}) {
        EXPECT_EQ(tensor(fakes, v), tensor(*calls, v)) << testing::PrintToString(v);
      }
    }
  }
}

}  // namespace

}  // namespace argosy::cuda
