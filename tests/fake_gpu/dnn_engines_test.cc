// The real cuDNN, without a GPU: our graphs have engines, and their plans can be made. cuDNN 9.8 and newer answer for
// GPUs given by their properties. Skipped where cuDNN is not installed.
#include <gtest/gtest.h>

#include "argosy/device/cuda/dnn/dnn_graph_numbers.h"
#include "argosy/ops/conv/gpu/dnn_convolutions.h"

namespace argosy::cuda {

namespace {

struct GpuModel {
  const char* name;
  int capability, multiprocessors, threads, shared_memory;  // shared: most of a block, if asked for
};
constexpr GpuModel kGpuModels[] = {{"T4", 750, 40, 1024, 65536},
                                   {"A100", 800, 108, 2048, 166912},
                                   {"H100", 900, 132, 2048, 232448},
                                   {"B200", 1000, 148, 2048, 232448}};

// As the library writes a GPU's properties down.
DnnTarget target(const GpuModel& gpu) {
  return {
      .described = str_cat(
          R"({"cudaDeviceId":0,"deviceName":")", gpu.name, R"(","deviceVer":)", gpu.capability,
          R"(,"driverVer":13000,"isTccDriver":0,"l2CacheSize":41943040,"maxBlockSize":[1024,1024,64],"maxCtasPerSM":16)",
          R"(,"maxGridSize":[2147483647,65535,65535],"maxRegistersPerSM":65536,"maxSharedMemoryPerBlock":49152)",
          R"(,"maxSharedMemoryPerBlockOptin":)", gpu.shared_memory, R"(,"maxThreadsPerBlock":1024,"maxThreadsPerSM":)",
          gpu.threads, R"(,"memClockRateKHz":1500000,"multiProcessorCount":)", gpu.multiprocessors,
          R"(,"pciDeviceId":0,"regsPerBlock":65536,"reservedSharedMemoryPerBlock":1024,"smClockRateKHz":1500000)",
          R"(,"supportCoopLaunch":1,"totalGlobalMem":17179869184,"warpSize":32})")};
}

// Square images and windows, padded as TensorFlow's SAME where the result has in / stride rows.
struct Layer {
  const char* name;
  int batch, in_c, in, out_c, window, stride = 1, groups = 1, dilation = 1;
  bool same = true;
};
constexpr Layer kLayers[] = {
    {"LeNet's first", 128, 1, 28, 6, 5},
    {"LeNet's second", 128, 6, 14, 16, 5, 1, 1, 1, false},
    {"auto-encoder's first", 32, 3, 64, 32, 3, 2},
    {"auto-encoder's middle", 32, 64, 16, 128, 3, 2},
    {"ResNet-50's first", 64, 3, 224, 64, 7, 2},
    {"ResNet-50's 1x1", 64, 64, 56, 256, 1},
    {"ResNet-50's 3x3", 64, 128, 28, 128, 3},
    {"ResNet-50's 3x3 by two", 64, 128, 56, 128, 3, 2},
    {"ResNet-50's shortcut", 64, 256, 56, 512, 1, 2},
    {"a filter a channel", 16, 32, 56, 32, 3, 1, 32},
    {"groups", 16, 64, 28, 64, 3, 1, 4},
    {"dilated", 16, 32, 28, 32, 3, 1, 1, 2},
};

DnnAxis axis(const Layer& l) {
  const int reach = (l.window - 1) * l.dilation + 1;
  const int out = l.same ? (l.in + l.stride - 1) / l.stride : (l.in - reach) / l.stride + 1;
  const int pads = std::max((out - 1) * l.stride + reach - l.in, 0);
  return {.in = l.in,
          .window = l.window,
          .out = out,
          .pad = l.same ? pads / 2 : 0,
          .pad_after = l.same ? pads - pads / 2 : 0,
          .stride = l.stride,
          .dilation = l.dilation};
}

// An image with its padding in it.
DnnAxis written_out(DnnAxis a) {
  a.in = std::max(a.in + a.pad, (a.out - 1) * a.stride + (a.window - 1) * a.dilation + 1);
  a.pad = a.pad_after = 0;
  return a;
}

DnnProblem problem(const Layer& l, int direction, DType dtype, bool nchw) {
  return {.direction = direction,
          .dtype = dtype,
          .nchw = nchw,
          .batch = l.batch,
          .in_c = l.in_c,
          .out_c = l.out_c,
          .groups = l.groups,
          .h = axis(l),
          .w = axis(l)};
}

class DnnEngines : public testing::Test {
 protected:
  void SetUp() override {
    const auto library = Library::open(cudnn_wanted());
    if (!library.ok()) GTEST_SKIP() << library.status().to_string();
    const auto found = Dnn::calls_of(**library);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    calls_ = *found;
    if (calls_.version() < 90800) GTEST_SKIP() << "cuDNN " << calls_.version() << " wants a GPU to be asked";
  }

  // Does the first engine that makes a plan leave a workspace that we give?
  bool served(const DnnProblem& p, const GpuModel& gpu) const {
    const DnnTarget at = target(gpu);
    DnnConvolutionGraph made(calls_, p, at);
    EXPECT_TRUE(made.graph.status() == 0 || dnn_not_supported(made.graph.status()))
        << p.to_string() << " on " << gpu.name << ": " << dnn_error(calls_, made.graph.status());
    for (const DnnEngine& engine : made.engines) {
      DnnPlan plan;
      if (made.graph.plan(at, engine, &plan) != 0) continue;
      if (plan.workspace_bytes <= static_cast<std::int64_t>(DnnConvolutions::Setup().most_workspace)) return true;
    }
    return false;
  }
  DnnCalls calls_;
};

constexpr const char* kDirections[] = {"forward", "towards the image", "towards the filter"};

// Every layer, direction and dtype has an engine on every GPU, in one of the two layouts. Where padding differs at both
// ends, it may be written out first.
TEST_F(DnnEngines, EveryConvolutionHasAWay) {
  for (const GpuModel& gpu : kGpuModels) {
    int found[2][2] = {};
    for (const Layer& layer : kLayers) {
      for (const int direction : {kDnnForward, kDnnTowardsImage, kDnnTowardsFilter}) {
        for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
          if (dtype == DType::kBfloat16 && gpu.capability < 800) continue;
          DnnProblem p = problem(layer, direction, dtype, false);
          p.deterministic = layer.batch == 16;  // some of them
          const auto way = [&](bool nchw, bool written) {
            DnnProblem q = p;
            q.nchw = nchw;
            if (written) q.h = q.w = written_out(p.h);
            const bool got = served(q, gpu);
            if (got) ++found[nchw][written];
            return got;
          };
          if (way(false, false) || way(false, true) || way(true, false) || way(true, true)) continue;
          ADD_FAILURE() << gpu.name << ": no way for " << layer.name << ", " << kDirections[direction] << ", "
                        << dtype_name(dtype);
        }
      }
    }
    std::printf("%s: %d convolutions as they are, %d padded before, %d and %d in the other layout\n", gpu.name,
                found[0][0], found[0][1], found[1][0], found[1][1]);
    EXPECT_EQ(found[1][0] + found[1][1], 0);
  }
}

// As one call where tensor cores do it; elsewhere a kernel of ours comes after.
TEST_F(DnnEngines, BiasAndReluGoAlongOnTensorCores) {
  for (const GpuModel& gpu : kGpuModels) {
    for (const Layer& layer : kLayers) {
      if (layer.groups > 1) continue;
      for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        if (dtype == DType::kBfloat16 && gpu.capability < 800) continue;
        DnnProblem p = problem(layer, kDnnForward, dtype, false);
        if (p.h.pad != p.h.pad_after) p.h = p.w = written_out(p.h);
        p.bias_relu = true;
        EXPECT_TRUE(served(p, gpu)) << gpu.name << ": " << layer.name << ", " << dtype_name(dtype);
      }
    }
  }
}

}  // namespace

}  // namespace argosy::cuda
