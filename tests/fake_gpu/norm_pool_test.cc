// Batch normalisation and pooling by a fake cuDNN: the calls it gets, results equal to the CPU's, and which kernel runs
// where it declines.
#include <gmock/gmock.h>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/norm/gpu/dnn_norms.h"
#include "argosy/ops/norm/gpu/gpu_batch_norm.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/pool/dnn_pools.h"
#include "argosy/ops/pool/gpu_pool.h"
#include "argosy/runtime/compile/capture_regions.h"
#include "argosy/runtime/execute/captured_region.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/run_by_dnn.h"

namespace argosy {

namespace {

using cuda::fake::FakeDnn;
using testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

std::vector<Tensor> on_cpu(const std::string& op, const AttrMap& attrs, const std::vector<Tensor>& inputs) {
  auto out = evaluate_op(*builtin_ops().find(op), attrs, inputs);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : std::vector<Tensor>();
}

std::vector<Tensor> chained_on_cpu(const std::string& op, const AttrMap& attrs, std::vector<Tensor> inputs, int times) {
  std::vector<Tensor> out;
  for (int i = 0; i < times; ++i) {
    out = on_cpu(op, attrs, inputs);
    if (out.empty()) break;
    inputs[0] = out[0];
  }
  return out;
}

double tolerance(DType dtype) {
  return dtype == DType::kBfloat16 ? 2e-2 : dtype == DType::kFloat16 ? 3e-3 : dtype == DType::kFloat64 ? 1e-12 : 1e-5;
}

void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected, double within) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(difference(found[i], expected[i], within), "") << "output " << i;
  }
}

// Why a kernel is not made for a node whose shapes are known; "" where it is.
std::string reason(cuda::CudaDevice* device, KernelFactory make, const std::string& op, const AttrMap& attrs,
                   const std::vector<Shape>& inputs, const Shape& output = {}) {
  const std::vector<DType> dtypes(inputs.size(), DType::kFloat32), made = {DType::kFloat32};
  const std::vector<PartialShape> in(inputs.begin(), inputs.end()), out = {PartialShape(output)};
  const auto kernel = make({.op = *builtin_ops().find(op),
                            .attrs = attrs,
                            .node = "n",
                            .input_dtypes = dtypes,
                            .output_dtypes = made,
                            .input_shapes = in,
                            .output_shapes = out,
                            .device = device});
  EXPECT_TRUE(kernel.ok() || kernel.status().code() == Code::kUnimplemented) << kernel.status().to_string();
  return kernel.ok() ? "" : kernel.status().message();
}

// --- Batch normalisation.

struct Norm {
  std::string version = "V3";
  std::string format = "NHWC";
  Shape x = {2, 3, 4, 5};
  DType dtype = DType::kFloat32;
  float factor = 1;
  bool training = true;

  AttrMap attrs() const {
    AttrMap a = {{"epsilon", 1e-3F}, {"data_format", format}, {"is_training", training}};
    return a;
  }
  AttrMap forward_attrs() const {
    AttrMap a = attrs();
    a.set("exponential_avg_factor", factor);
    return a;
  }
  std::string forward() const { return "FusedBatchNorm" + version; }
  std::string gradient() const { return "FusedBatchNormGrad" + version; }
  std::int64_t channels() const { return format[1] == 'C' ? x[1] : x.back(); }
  std::vector<Tensor> inputs() const {
    const Shape vector = {channels()};
    // Far from zero, where a variance that is a difference of sums would be lost.
    return {random_tensor(dtype, x, 1, 2, 4), random_tensor(DType::kFloat32, vector, 2, 0.5, 2),
            random_tensor(DType::kFloat32, vector, 3), random_tensor(DType::kFloat32, vector, 4),
            random_tensor(DType::kFloat32, vector, 5, 0.5, 2)};
  }
  // Of what a forward pass gave.
  std::vector<Tensor> gradient_inputs(const std::vector<Tensor>& y) const {
    const std::vector<Tensor> in = inputs();
    std::vector<Tensor> all = {random_tensor(dtype, x, 6), in[0], in[1], training ? y[3] : in[3],
                               training ? y[4] : in[4]};
    if (version == "V3") all.push_back(y[5]);
    return all;
  }
};

std::vector<Norm> every_norm() {
  std::vector<Norm> all;
  for (const bool training : {true, false}) {
    for (const std::string format : {"NHWC", "NCHW"}) {
      all.push_back({.version = "", .format = format, .training = training});
      all.push_back({.version = "V2", .format = format, .dtype = DType::kFloat16, .training = training});
      all.push_back({.format = format, .dtype = DType::kBfloat16, .training = training});
      all.push_back({.format = format, .factor = 0.25F, .training = training});
    }
    for (const std::string format : {"NDHWC", "NCDHW"}) {
      all.push_back({.format = format, .x = {2, 3, 2, 4, 5}, .training = training});
    }
  }
  return all;
}

TEST(DnnBatchNorm, GivesWhatTheCpuGives) {
  for (const Norm& n : every_norm()) {
    SCOPED_TRACE(str_cat(n.forward(), " ", n.format, " ", dtype_name(n.dtype), " ", n.factor, " ", n.training));
    FakeDnn fake;
    {
      cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
      const auto y = on_cpu(n.forward(), n.forward_attrs(), n.inputs());
      expect_same(run_by_dnn(machine, n.forward(), n.forward_attrs(), n.inputs()), y, tolerance(n.dtype));
      EXPECT_EQ(fake.trainings, n.training ? 1 : 0);
      EXPECT_EQ(fake.inferences, n.training ? 0 : 1);
      const auto in = n.gradient_inputs(y);
      expect_same(run_by_dnn(machine, n.gradient(), n.attrs(), in), on_cpu(n.gradient(), n.attrs(), in),
                  5 * tolerance(n.dtype));
      EXPECT_EQ(fake.norm_gradients, n.training ? 1 : 0);  // else our own kernel's
    }
    EXPECT_EQ(fake.live_objects, 0);
  }
}

// What one kernel keeps for the gradient, any other's gradient reads.
TEST(DnnBatchNorm, WhatIsKeptIsEverybodys) {
  const Norm n;
  const auto expected_y = on_cpu(n.forward(), n.forward_attrs(), n.inputs());
  const auto expected = on_cpu(n.gradient(), n.attrs(), n.gradient_inputs(expected_y));
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const auto by_library = run_by_dnn(machine, n.forward(), n.forward_attrs(), n.inputs());
  fake.norms_answer = cuda::kDnnNotSupported;
  const auto by_own = run_by_dnn(machine, n.forward(), n.forward_attrs(), n.inputs());
  ASSERT_EQ(fake.trainings, 1);
  ASSERT_EQ(by_library.size(), 6U);
  ASSERT_EQ(by_own.size(), 6U);
  EXPECT_EQ(by_library[5].shape(), (Shape{0}));
  expect_same(run_by_dnn(machine, n.gradient(), n.attrs(), n.gradient_inputs(by_library)), expected, 1e-4);
  EXPECT_EQ(fake.norm_gradients, 0);
  expect_same(on_cpu(n.gradient(), n.attrs(), n.gradient_inputs(by_library)), expected, 1e-4);
  fake.norms_answer = 0;
  expect_same(run_by_dnn(machine, n.gradient(), n.attrs(), n.gradient_inputs(by_own)), expected, 1e-4);
  EXPECT_EQ(fake.norm_gradients, 1);
}

// Statistics of the running kind are not given where they do not count.
TEST(DnnBatchNorm, TrainingWithoutRunningStatistics) {
  const Norm n;
  std::vector<Tensor> in = n.inputs();
  in[3] = in[4] = Tensor::zeros(DType::kFloat32, {0});
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  expect_same(run_by_dnn(machine, n.forward(), n.forward_attrs(), in), on_cpu(n.forward(), n.forward_attrs(), in),
              1e-5);
  EXPECT_EQ(fake.trainings, 1);
}

// What cuDNN does not take, found before the step or in it.
TEST(DnnBatchNorm, OwnKernelsWhereTheLibraryDeclines) {
  for (const Shape& x : {Shape{1, 1, 1, 5}, Shape{0, 3, 4, 5}}) {
    for (const bool known : {true, false}) {
      const Norm n{.x = x};
      SCOPED_TRACE(str_cat(x, known));
      FakeDnn fake;
      cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
      const auto y = on_cpu(n.forward(), n.forward_attrs(), n.inputs());
      expect_same(run_by_dnn(machine, n.forward(), n.forward_attrs(), n.inputs(), {.shapes_known = known}), y, 1e-5);
      const auto in = n.gradient_inputs(y);
      expect_same(run_by_dnn(machine, n.gradient(), n.attrs(), in, {.shapes_known = known}),
                  on_cpu(n.gradient(), n.attrs(), in), 1e-5);
      EXPECT_EQ(fake.trainings + fake.norm_gradients, 0);
    }
  }
}

TEST(DnnBatchNorm, SaysWhyItDeclines) {
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const auto device = machine.device();
  const auto why = [&](const Norm& n, const AttrMap& more = {}) {
    AttrMap attrs = n.forward_attrs();
    for (const auto& [name, value] : more) attrs.set(name, value);
    const Shape v = {n.channels()};
    return reason(device.get(), batch_norm::make_by_dnn, "_FusedBatchNormEx", attrs, {n.x, v, v, v, v});
  };
  EXPECT_EQ(why({}), "");
  EXPECT_THAT(why({.x = {1, 1, 1, 5}}), HasSubstr("divides by one row less"));
  EXPECT_EQ(why({.x = {1, 1, 1, 5}, .training = false}), "");
  EXPECT_THAT(why({.x = {0, 3, 4, 5}}), HasSubstr("no empty batch"));
  EXPECT_THAT(why({.x = {1 << 10, 1 << 10, 1 << 10, 2}}), HasSubstr("beyond cuDNN's"));
  EXPECT_EQ(why({.x = {65535, 1, 1, 2}}), "");
  for (const bool training : {true, false}) {
    EXPECT_THAT(why({.x = {65536, 1, 1, 2}, .training = training}), HasSubstr("so many images"));
  }
  EXPECT_THAT(why({}, {{"activation_mode", std::string("Relu")}}), HasSubstr("in one pass by our own"));
  EXPECT_THAT(why({}, {{"num_side_inputs", std::int64_t{1}}}), HasSubstr("in one pass by our own"));
  const Norm constants{.training = false};
  EXPECT_THAT(reason(device.get(), batch_norm::make_gradient_by_dnn, "FusedBatchNormGradV3", constants.attrs(),
                     {constants.x, constants.x, {5}, {5}, {5}, {0}}),
              HasSubstr("gradients of training only"));
}

TEST(DnnBatchNorm, SaysWhyThereIsNoLibrary) {
  const auto why = [](cuda::CudaDevice* device) {
    const Norm n;
    const Shape v = {n.channels()};
    return reason(device, batch_norm::make_by_dnn, n.forward(), n.forward_attrs(), {n.x, v, v, v, v});
  };
  {
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
    EXPECT_EQ(why(machine.device().get()), "cuDNN is not looked for");
  }
  cuda::CudaBackend::Options in_vain = cuda::fake::with_kernels();
  in_vain.dnn = [](cuda::CudaDevice&) -> Result<std::shared_ptr<cuda::Dnn>> { return unavailable("not found: here"); };
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), in_vain);
  const auto device = machine.device();
  testing::internal::CaptureStderr();
  EXPECT_EQ(why(device.get()), "");  // nobody has looked
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(device->dnn().status().code(), Code::kUnimplemented);
    EXPECT_EQ(why(device.get()), "no cuDNN: not found: here");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("softmax run without cuDNN"));
  EXPECT_EQ(said.find("without cuDNN"), said.rfind("without cuDNN"));  // once
}

// To be told where things would run takes nothing on the GPU, the library neither.
TEST(DnnBatchNorm, APlacementOpensNoLibrary) {
  const Norm n;
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  Graph graph;
  std::vector<Value> in;
  const auto on = graph.device("/gpu:0");
  for (const Tensor& t : n.inputs()) in.push_back(placeholder(graph, t.dtype(), PartialShape(t.shape())));
  const Value y = graph.add(n.forward(), in, n.forward_attrs());
  Session session(graph, {.devices = machine.request(), .optimize = false});
  const auto report = session.placement(
      {{in[0], n.x}, {in[1], Shape{5}}, {in[2], Shape{5}}, {in[3], Shape{5}}, {in[4], Shape{5}}}, {y}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(machine.driver().contexts(0), 0);
  EXPECT_EQ(fake.live_objects, 0);
}

// Steps are captured and replayed: the library is asked while that is not so yet, no more.
TEST(DnnBatchNorm, SteadyStepsAreRecorded) {
  constexpr int kNodes = kMinCaptured + 1, kRuns = 10;
  const Norm n{.factor = 0.5F};
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  expect_same(run_by_dnn(machine, n.forward(), n.forward_attrs(), n.inputs(), {.runs = kRuns, .chained = kNodes}),
              chained_on_cpu(n.forward(), n.forward_attrs(), n.inputs(), kNodes), 1e-5);
  EXPECT_GE(fake.trainings, kNodes * kWarmUpRuns);
  EXPECT_LE(fake.trainings, kNodes * (kWarmUpRuns + 1) + kRuns);  // the last one's results are the step's
}

TEST(DnnBatchNorm, OwnKernelsWhereTheLibraryRefuses) {
  const Norm n;
  const auto y = on_cpu(n.forward(), n.forward_attrs(), n.inputs());
  for (const int answer : {cuda::kDnnBadParameter + 3, cuda::kDnnNotSupported}) {
    FakeDnn fake;
    fake.norms_answer = answer;
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
    expect_same(run_by_dnn(machine, n.forward(), n.forward_attrs(), n.inputs()), y, 1e-5);
    const auto in = n.gradient_inputs(y);
    expect_same(run_by_dnn(machine, n.gradient(), n.attrs(), in), on_cpu(n.gradient(), n.attrs(), in), 1e-4);
    EXPECT_EQ(fake.trainings, 0);
  }
}

TEST(DnnBatchNorm, AFailureIsAnErrorWithTheLibrarysNumber) {
  FakeDnn fake;
  fake.norms_answer = 5000;
  cuda::DnnNorms norms(fake.opened());
  const Status done = norms.train({.n = 1, .c = 2, .h = 3, .w = 4}, {}, nullptr);
  EXPECT_EQ(done.code(), Code::kInternal);
  EXPECT_THAT(done.message(), HasSubstr("5000"));
}

// --- Pooling.

struct PoolCase {
  Shape image;  // NHWC
  std::int64_t window_h = 2, window_w = 2, stride = 2;
  std::string padding = "VALID";
  Ints pads = {};  // of MaxPool, NHWC

  AttrMap attrs(bool nchw) const {
    const auto four = [&](std::int64_t h, std::int64_t w) { return nchw ? Ints{1, 1, h, w} : Ints{1, h, w, 1}; };
    AttrMap a = {{"ksize", four(window_h, window_w)},
                 {"strides", four(stride, stride)},
                 {"padding", padding},
                 {"data_format", std::string(nchw ? "NCHW" : "NHWC")}};
    if (!pads.empty()) a.set("explicit_paddings", nchw ? Ints{0, 0, 0, 0, pads[2], pads[3], pads[4], pads[5]} : pads);
    return a;
  }
  Shape shape(bool nchw) const { return nchw ? Shape{image[0], image[3], image[1], image[2]} : image; }
};

Tensor sizes_of(const Shape& shape) {
  std::vector<std::int32_t> sizes;
  for (int i = 0; i < shape.rank(); ++i) sizes.push_back(static_cast<std::int32_t>(shape[i]));
  return Tensor::vector(sizes);
}

// Each pooling and its gradient, `by_library` of them or none of them by the fake; those of largest elements have
// gradients of our own.
void check_pools(const PoolCase& p, bool by_library, DType dtype = DType::kFloat32, bool shapes_known = true) {
  for (const bool nchw : {false, true}) {
    SCOPED_TRACE(str_cat(p.image, " ", p.window_h, "x", p.window_w, "/", p.stride, " ", p.padding, nchw, " ",
                         dtype_name(dtype), " ", shapes_known));
    const AttrMap attrs = p.attrs(nchw);
    const Tensor x = random_tensor(dtype, p.shape(nchw), 1);
    for (const std::string op : {"MaxPool", "AvgPool"}) {
      if (op == "AvgPool" && !p.pads.empty()) continue;
      const bool mean = op == "AvgPool";
      FakeDnn fake;
      {
        cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
        const auto y = on_cpu(op, attrs, {x});
        expect_same(run_by_dnn(machine, op, attrs, {x}, {.shapes_known = shapes_known}), y, tolerance(dtype));
        EXPECT_EQ(fake.pools, by_library ? 1 : 0) << op;
        const Tensor dy = random_tensor(dtype, y[0].shape(), 2);
        const std::vector<Tensor> in =
            mean ? std::vector<Tensor>{sizes_of(x.shape()), dy} : std::vector<Tensor>{x, y[0], dy};
        expect_same(run_by_dnn(machine, op + "Grad", attrs, in, {.shapes_known = shapes_known}),
                    on_cpu(op + "Grad", attrs, in), tolerance(dtype));
        EXPECT_EQ(fake.pool_gradients, by_library && mean ? 1 : 0) << op;
      }
      EXPECT_EQ(fake.live_objects, 0);
    }
  }
}

TEST(DnnPool, GivesWhatTheCpuGives) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    check_pools({.image = {2, 4, 6, 3}}, true, dtype);
  }
  for (const bool known : {true, false}) {
    // Windows that overlap, padded by one at both ends; the last column under no window.
    check_pools({.image = {2, 5, 7, 3}, .window_h = 3, .window_w = 3, .stride = 2, .padding = "SAME"}, true,
                DType::kFloat32, known);
    check_pools({.image = {1, 6, 7, 2}, .window_h = 3, .window_w = 2, .stride = 2}, true, DType::kFloat32, known);
    check_pools({.image = {1, 5, 5, 2},
                 .window_h = 3,
                 .window_w = 3,
                 .stride = 1,
                 .padding = "EXPLICIT",
                 .pads = {0, 0, 2, 2, 1, 1, 0, 0}},
                true, DType::kFloat32, known);
  }
}

TEST(DnnPool, OwnKernelsWhereTheLibraryDeclines) {
  for (const bool known : {true, false}) {
    // One row of padding behind, none before.
    check_pools({.image = {1, 6, 6, 2}, .window_h = 3, .window_w = 3, .stride = 2, .padding = "SAME"}, false,
                DType::kFloat32, known);
    check_pools({.image = {1, 5, 5, 2}, .window_h = 2, .window_w = 2, .stride = 1, .padding = "SAME"}, false,
                DType::kFloat32, known);
    check_pools({.image = {1, 5, 5, 2},
                 .window_h = 3,
                 .window_w = 3,
                 .stride = 2,
                 .padding = "EXPLICIT",
                 .pads = {0, 0, 0, 2, 2, 2, 0, 0}},
                false, DType::kFloat32, known);
    check_pools({.image = {0, 4, 4, 2}}, false, DType::kFloat32, known);
  }
}

TEST(DnnPool, SaysWhyItDeclines) {
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const auto device = machine.device();
  const auto why = [&](const PoolCase& p) {
    return reason(device.get(), make_dnn_pool<PoolKind::kAvg>, "AvgPool", p.attrs(false), {p.image});
  };
  EXPECT_EQ(why({.image = {1, 5, 5, 2}, .window_h = 3, .window_w = 3, .padding = "SAME"}), "");
  EXPECT_EQ(why({.image = {1, 6, 5, 2}, .window_h = 3, .window_w = 3, .padding = "SAME"}),
            "cuDNN pads both ends alike, not 0+1 rows and 1+1 columns");
  EXPECT_EQ(why({.image = {0, 4, 4, 2}}), "cuDNN pools no empty images");
  EXPECT_EQ(why({.image = {1 << 10, 1 << 10, 1 << 10, 2}}), "sizes beyond cuDNN's");
  const PoolCase uneven{.image = {1, 4, 4, 2}, .stride = 1, .padding = "SAME"};
  EXPECT_THAT(reason(device.get(), make_dnn_pool<PoolKind::kAvgGrad>, "AvgPoolGrad", uneven.attrs(false),
                     {{4}, uneven.image}, uneven.image),
              HasSubstr("pads both ends alike"));
}

TEST(DnnPool, WindowsThatAreInputs) {
  for (const bool constants : {true, false}) {
    FakeDnn fake;
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
    constexpr int kNodes = kMinCaptured + 1, kRuns = 10;
    const AttrMap attrs = {{"padding", std::string("SAME")}};
    const std::vector<Tensor> in = {random_tensor(DType::kFloat32, {2, 5, 5, 3}, 1),
                                    Tensor::vector<std::int32_t>({1, 3, 3, 1}),
                                    Tensor::vector<std::int32_t>({1, 1, 1, 1})};
    const auto found = run_by_dnn(
        machine, "MaxPoolV2", attrs, in,
        {.runs = kRuns, .chained = kNodes, .constants = constants ? std::vector<int>{1, 2} : std::vector<int>{}});
    expect_same(found, chained_on_cpu("MaxPoolV2", attrs, in, kNodes), 0);
    EXPECT_EQ(fake.pools < kNodes * kRuns, constants);  // then steps are captured
  }
}

TEST(DnnPool, OwnKernelsWhereTheLibraryRefuses) {
  for (const int answer : {cuda::kDnnBadParameter, cuda::kDnnNotSupported + 9}) {
    FakeDnn fake;
    fake.pools_answer = answer;
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
    const AttrMap attrs = PoolCase{}.attrs(false);
    const Tensor x = random_tensor(DType::kFloat32, {1, 4, 4, 3}, 1);
    expect_same(run_by_dnn(machine, "AvgPool", attrs, {x}), on_cpu("AvgPool", attrs, {x}), 1e-6);
    EXPECT_EQ(fake.pools, 0);
  }
}

// Several largest elements, NaN among them: as on the CPU, where the library would not say.
TEST(DnnPool, TheFirstOfSeveralLargestGetsTheGradient) {
  FakeDnn fake;
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const PoolCase p{.image = {1, 5, 5, 1}, .window_h = 3, .window_w = 3, .stride = 1};
  const Tensor x = Tensor::zeros(DType::kFloat32, p.image);
  const auto y = on_cpu("MaxPool", p.attrs(false), {x});
  const std::vector<Tensor> in = {x, y[0], random_tensor(DType::kFloat32, y[0].shape(), 2)};
  expect_same(run_by_dnn(machine, "MaxPoolGrad", p.attrs(false), in), on_cpu("MaxPoolGrad", p.attrs(false), in), 0);
  EXPECT_EQ(fake.pool_gradients, 0);
}

}  // namespace

}  // namespace argosy
