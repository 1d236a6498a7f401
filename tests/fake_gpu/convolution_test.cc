// Convolutions by a fake cuDNN: the calls it gets, what happens when it declines or fails, and which engines are
// cached.
#include "argosy/ops/conv/conv.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "argosy/device/cuda/dnn/dnn_graph_numbers.h"
#include "argosy/ops/conv/gpu/gpu_conv.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/run_by_dnn.h"

namespace argosy {

namespace {

using cuda::DnnChoice;
using cuda::DnnChoices;
using cuda::DnnConvolutions;
using cuda::DnnProblem;
using cuda::fake::FakeDnn;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DnnProblem problem() {
  return {.batch = 2,
          .in_c = 3,
          .out_c = 4,
          .h = {.in = 8, .window = 3, .out = 8, .pad = 1, .pad_after = 1},
          .w = {.in = 8, .window = 3, .out = 8, .pad = 1, .pad_after = 1}};
}
std::shared_ptr<DnnConvolutions> over(FakeDnn& fake, DnnConvolutions::Setup setup = {}) {
  return std::make_shared<DnnConvolutions>(fake.opened(), std::move(setup));
}
Status convolve(DnnConvolutions& dnn, const DnnProblem& p, const DnnConvolutions::Clock& clock = {}) {
  char memory[4] = {};
  return dnn.convolve(p, {memory, memory, memory, memory}, host_allocator(), nullptr, clock);
}

TEST(DnnPlans, APlanIsMadeOnceForEachProblem) {
  FakeDnn fake;
  {
    const auto dnn = over(fake);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(convolve(*dnn, problem()).ok());
    EXPECT_EQ(fake.graphs, 1);
    DnnProblem other = problem();
    other.batch = 3;
    ASSERT_TRUE(convolve(*dnn, other).ok());
    EXPECT_EQ(fake.graphs, 2);
    EXPECT_THAT(fake.tried, ElementsAre(1, 1, 1, 1));
  }
  EXPECT_EQ(fake.live_objects, 0);
}

TEST(DnnPlans, NextEngineWhereOneDeclinesOrWantsTooMuch) {
  FakeDnn fake;
  fake.status_of[1] = cuda::kDnnNotSupported + 7;
  const auto dnn = over(fake);
  ASSERT_TRUE(convolve(*dnn, problem()).ok());
  EXPECT_THAT(fake.tried, ElementsAre(1, 2));
  fake = {};
  const auto narrow = over(fake, {.most_workspace = 63});
  ASSERT_TRUE(convolve(*narrow, problem()).ok());
  EXPECT_THAT(fake.tried, ElementsAre(2));
  fake = {};
  fake.plan_status_of[1] = cuda::kDnnNotSupported;
  const auto unplanned = over(fake);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(convolve(*unplanned, problem()).ok());
  EXPECT_THAT(fake.tried, ElementsAre(2, 2));
}

// Whoever wants deterministic results, or float32 as it is, gets no other engine; nor does anybody get sums of 16 bits.
TEST(DnnPlans, NotesDecideWhichEnginesMayRun) {
  FakeDnn fake;
  fake.engines = {{.number = 4, .notes = {cuda::kDnnNoteSumsNarrowed}},
                  {.number = 5, .notes = {cuda::kDnnNoteTensorCore}},
                  {.number = 6, .notes = {cuda::kDnnNoteInputsNarrowed, cuda::kDnnNoteTensorCore}},
                  {.number = 7, .notes = {cuda::kDnnNoteNotDeterministic}},
                  {.number = 8}};
  const auto dnn = over(fake);
  DnnProblem p = problem();
  ASSERT_TRUE(convolve(*dnn, p).ok());
  p.deterministic = true;
  ASSERT_TRUE(convolve(*dnn, p).ok());
  p.tf32 = true;
  ASSERT_TRUE(convolve(*dnn, p).ok());
  p.dtype = DType::kBfloat16, p.tf32 = false;
  ASSERT_TRUE(convolve(*dnn, p).ok());
  EXPECT_THAT(fake.tried, ElementsAre(7, 8, 5, 5));
}

// The library's are wrong there, on a real GPU: the caller writes the padding out.
TEST(DnnPlans, NoEngineIsAskedForGradientsOfUnevenPadding) {
  FakeDnn fake;
  const auto dnn = over(fake);
  for (const int direction : {cuda::kDnnForward, cuda::kDnnTowardsImage, cuda::kDnnTowardsFilter}) {
    DnnProblem p = problem();
    p.direction = direction;
    p.w = {.in = 8, .window = 2, .out = 8, .pad = 0, .pad_after = 1};
    EXPECT_EQ(convolve(*dnn, p).ok(), direction == cuda::kDnnForward);
  }
  EXPECT_THAT(fake.tried, ElementsAre(1));
}

TEST(DnnPlans, OneEngineAloneOnRequest) {
  FakeDnn fake;
  const auto second = over(fake, {.only_place = 1}), none = over(fake, {.only_place = 99});
  ASSERT_TRUE(convolve(*second, problem()).ok());
  EXPECT_EQ(convolve(*none, problem()).code(), Code::kUnimplemented);
  EXPECT_THAT(fake.tried, ElementsAre(2));
  EXPECT_EQ(cuda::only_engine([](const char*) -> const char* { return nullptr; }), std::nullopt);
  EXPECT_EQ(cuda::only_engine([](const char*) -> const char* { return "3"; }), 3);
  EXPECT_EQ(cuda::only_engine([](const char*) -> const char* { return "-1"; }), std::nullopt);
}

TEST(DnnPlans, WithoutAnEngineItIsOthers) {
  FakeDnn fake;
  fake.engines.clear();
  const auto dnn = over(fake);
  EXPECT_EQ(convolve(*dnn, problem()).code(), Code::kUnimplemented);
  EXPECT_THAT(fake.tried, IsEmpty());
}

// A mistake of ours would otherwise only be slow.
TEST(DnnPlans, WhatTheLibraryTakesForAMistakeIsTold) {
  FakeDnn fake;
  const auto dnn = over(fake);
  DnnProblem p = problem();
  p.h.out = 7;  // it is 8
  testing::internal::CaptureStderr();
  EXPECT_EQ(convolve(*dnn, p).code(), Code::kUnimplemented);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("2000 (CUDNN_STATUS_OF_A_FAKE: as it was told)"));
}

TEST(DnnPlans, AFailureIsAnErrorWithTheLibrarysNumber) {
  FakeDnn fake;
  fake.status_of[1] = 5000;
  const auto dnn = over(fake);
  const Status done = convolve(*dnn, problem());
  EXPECT_EQ(done.code(), Code::kInternal);
  EXPECT_THAT(done.message(), HasSubstr("5000"));
  EXPECT_THAT(fake.tried, ElementsAre(1));
}

// A part of it that is missing is no reason for a step to fail; that is told once.
TEST(Dnn, SaysWhatItsNumbersMean) {
  FakeDnn fake;
  const auto dnn = fake.opened();
  EXPECT_TRUE(dnn->answer("a thing", 0).ok());
  for (const int status : {cuda::kDnnNotSupported, cuda::kDnnNotSupported + 14, cuda::kDnnBadParameter + 2,
                           cuda::kDnnPartMissing, cuda::kDnnPartOfOther}) {
    EXPECT_EQ(dnn->answer("a thing", status).code(), Code::kUnimplemented) << status;
  }
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) (void)dnn->answer("another", cuda::kDnnPartMissing);
  (void)dnn->answer("a third", cuda::kDnnNotSupported);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("refuses another with 1008 (CUDNN_STATUS_OF_A_FAKE: as it was told)"));
  EXPECT_EQ(told.find("another"), told.rfind("another"));
  EXPECT_THAT(told, testing::Not(HasSubstr("a third")));
  for (const int status : {1001, 4000, 5000}) {
    EXPECT_EQ(dnn->answer("a thing", status).id(), "ARG-GPU-014") << status;
  }
}

TEST(Dnn, OursAloneOnRequest) {
  setenv("ARGOSY_CUDNN", "own", 1);
  const auto opened = cuda::Dnn::open();
  unsetenv("ARGOSY_CUDNN");
  EXPECT_EQ(opened.status().code(), Code::kUnimplemented);
  EXPECT_EQ(opened.status().message(), "ARGOSY_CUDNN=own");
}

// A file of its own for each test.
class Choices : public testing::Test {
 protected:
  Choices()
      : folder_(std::filesystem::temp_directory_path() / str_cat("argosy_choices_", getpid())),
        path_((folder_ / "convolutions.txt").string()) {
    std::filesystem::remove_all(folder_);
  }
  ~Choices() override { std::filesystem::remove_all(folder_); }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::filesystem::path folder_;
  const std::string path_;
};

TEST_F(Choices, TheFastestIsKeptForTheNextProcess) {
  FakeDnn fake;
  std::vector<double> seconds = {3, 3, 3, 2, 1, 2};  // three runs of each engine
  std::size_t at = 0;
  const DnnConvolutions::Clock clock = [&](const std::function<Status()>& work) -> Result<double> {
    ARGOSY_RETURN_IF_ERROR(work());
    return seconds.at(at++);
  };
  const auto setup = [&] {
    return DnnConvolutions::Setup{.gpu = "sm_90 A", .choices = std::make_shared<DnnChoices>(path_)};
  };
  ASSERT_TRUE(convolve(*over(fake, setup()), problem(), clock).ok());
  EXPECT_EQ(fake.tried.back(), 2);
  EXPECT_THAT(text(),
              HasSubstr("2 1 forward float nhwc 2,3,4,1 8,3,8,1,1,1,1 8,3,8,1,1,1,1 | sm_90 A | cuDNN 90500\n"));
  fake.tried.clear();
  ASSERT_TRUE(convolve(*over(fake, setup()), problem(), clock).ok());
  EXPECT_THAT(fake.tried, ElementsAre(2));  // nothing was timed
  // Another version of the library is asked anew.
  fake.library_version = 90600;
  seconds = {1, 1, 1, 2, 2, 2}, at = 0;
  ASSERT_TRUE(convolve(*over(fake, setup()), problem(), clock).ok());
  EXPECT_EQ(fake.tried.back(), 1);
  EXPECT_THAT(text(), HasSubstr("end 2\n"));
}

TEST_F(Choices, ForeignAndCutFilesAreLeftOut) {
  const std::string good = "argosy convolution engines 2\n4 3 forward x\n7 0 other\nend 2\n";
  std::filesystem::create_directories(folder_);
  const auto write = [&](const std::string& text) { std::ofstream(path_) << text; };
  write(good);
  EXPECT_EQ(DnnChoices(path_).find("forward x"), (DnnChoice{4, 3}));
  EXPECT_EQ(DnnChoices(path_).find("forward"), std::nullopt);
  for (std::size_t cut = 0; cut + 1 < good.size(); ++cut) {
    write(good.substr(0, cut));
    testing::internal::CaptureStderr();
    EXPECT_EQ(DnnChoices(path_).find("forward x"), std::nullopt) << cut;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("was cut off"));
  }
  for (const char* bad :
       {"argosy convolution algorithms 1\nend 0\n", "end 0\n", "argosy convolution engines 2\nx 3 forward x\nend 1\n",
        "argosy convolution engines 2\n4 forward x\nend 1\n",
        "argosy convolution engines 2\n4 3 forward x\nend 1\nmore\n", "\0\1\2"}) {
    write(bad);
    testing::internal::CaptureStderr();
    DnnChoices choices(path_);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("convolutions.txt is no list"));
    EXPECT_EQ(choices.find("forward x"), std::nullopt) << bad;
    choices.keep("k", {1, 2});  // and is replaced
    EXPECT_EQ(DnnChoices(path_).find("k"), (DnnChoice{1, 2}));
  }
}

TEST_F(Choices, ProcessesAddToOneFile) {
  DnnChoices one(path_), other(path_);
  one.keep("a", {1, 0});
  other.keep("b", {2, 0});
  const DnnChoices both(path_);
  EXPECT_EQ(both.find("a"), (DnnChoice{1, 0}));
  EXPECT_EQ(both.find("b"), (DnnChoice{2, 0}));
  DnnChoices nowhere("/proc/none/convolutions.txt");
  nowhere.keep("c", {3, 0});
  EXPECT_EQ(nowhere.find("c"), (DnnChoice{3, 0}));
}

// --- Whole ops over the fake.

struct Geometry {
  Shape image, filter;  // NHWC; [h, w, in, out]
  std::int64_t stride = 1, dilation = 1;
  std::string padding = "SAME";
  std::vector<std::int64_t> pads = {};
};

Tensor channels_first(const Tensor& t) {
  return evaluate_op(*builtin_ops().find("Transpose"), {}, {t, Tensor::vector<std::int32_t>({0, 3, 1, 2})}).value()[0];
}

// What `op` gives on a GPU, its convolutions done by the fake.
Tensor run_on_gpu(FakeDnn& fake, const std::string& op, const AttrMap& attrs, const std::vector<Tensor>& inputs) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const std::vector<Tensor> out = run_by_dnn(machine, op, attrs, inputs);
  return out.empty() ? Tensor() : out[0];
}

void check_convolutions(const Geometry& g, int only_format = -1, DType dtype = DType::kFloat32,
                        bool pads_unlike = true) {
  const bool depthwise = g.filter[2] == g.image[3] && g.filter[3] == 2;
  const std::string prefix = depthwise ? "DepthwiseConv2dNative" : "Conv2D";
  for (const bool nchw : {false, true}) {
    AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, g.stride, g.stride, 1}},
                     {"dilations", std::vector<std::int64_t>{1, g.dilation, g.dilation, 1}},
                     {"padding", g.padding},
                     {"data_format", std::string("NHWC")}};
    std::vector<std::int64_t> pads = g.pads;
    if (!pads.empty()) attrs.set("explicit_paddings", pads);
    const Tensor x = random_tensor(dtype, g.image, 1), f = random_tensor(dtype, g.filter, 2);
    const auto value = [&](const std::string& op, const std::vector<Tensor>& inputs) {
      auto made = evaluate_op(*builtin_ops().find(op), attrs, inputs);
      EXPECT_TRUE(made.ok()) << made.status().to_string();
      return made->at(0);
    };
    const Tensor y = value(prefix, {x, f});
    const Tensor dy = random_tensor(dtype, y.shape(), 3);
    const Tensor image_sizes =
        Tensor::vector<std::int32_t>({static_cast<int>(g.image[0]), static_cast<int>(g.image[1]),
                                      static_cast<int>(g.image[2]), static_cast<int>(g.image[3])});
    const Tensor filter_sizes =
        Tensor::vector<std::int32_t>({static_cast<int>(g.filter[0]), static_cast<int>(g.filter[1]),
                                      static_cast<int>(g.filter[2]), static_cast<int>(g.filter[3])});
    const Tensor dx = value(prefix + "BackpropInput", {image_sizes, f, dy});
    const Tensor df = value(prefix + "BackpropFilter", {x, filter_sizes, dy});

    const auto lay = [&](const Tensor& t) { return nchw ? channels_first(t) : t; };
    Tensor sizes = image_sizes;
    if (nchw) {
      sizes = Tensor::vector<std::int32_t>({static_cast<int>(g.image[0]), static_cast<int>(g.image[3]),
                                            static_cast<int>(g.image[1]), static_cast<int>(g.image[2])});
      attrs.set("data_format", std::string("NCHW"));
      attrs.set("strides", std::vector<std::int64_t>{1, 1, g.stride, g.stride});
      attrs.set("dilations", std::vector<std::int64_t>{1, 1, g.dilation, g.dilation});
      if (!pads.empty()) {
        attrs.set("explicit_paddings", std::vector<std::int64_t>{0, 0, 0, 0, pads[2], pads[3], pads[4], pads[5]});
      }
    }
    const auto expect = [&](const std::string& op, const std::vector<Tensor>& inputs, const Tensor& expected) {
      SCOPED_TRACE(op);
      FakeDnn fake;
      fake.only_format = only_format;
      fake.pads_unlike = pads_unlike;
      const Tensor found = run_on_gpu(fake, op, attrs, inputs);
      ASSERT_TRUE(found.valid());
      EXPECT_EQ(fake.convolutions, 1);
      EXPECT_EQ(difference(found, expected, dtype_tolerance(dtype, 1e-4)), "") << dtype_name(dtype);
    };
    SCOPED_TRACE(str_cat(g.image, " ", g.filter, " ", g.stride, g.padding, nchw ? " nchw" : ""));
    expect(prefix, {lay(x), f}, lay(y));
    expect(prefix + "BackpropInput", {sizes, f, lay(dy)}, lay(dx));
    expect(prefix + "BackpropFilter", {lay(x), filter_sizes, lay(dy)}, df);
  }
}

TEST(DnnConvolutions, EveryPadding) {
  check_convolutions({.image = {2, 5, 6, 3}, .filter = {3, 3, 3, 4}});
  check_convolutions({.image = {1, 7, 5, 2}, .filter = {3, 2, 2, 3}, .padding = "VALID"});
  // One row of padding behind, none before: as it is, or written out for a library that does not take that.
  for (const bool unlike : {true, false}) {
    check_convolutions({.image = {2, 6, 6, 2}, .filter = {3, 3, 2, 3}, .stride = 2}, -1, DType::kFloat32, unlike);
    check_convolutions({.image = {1, 6, 4, 2}, .filter = {2, 4, 2, 3}}, -1, DType::kFloat32, unlike);
    check_convolutions(
        {.image = {1, 5, 5, 2}, .filter = {3, 3, 2, 3}, .padding = "EXPLICIT", .pads = {0, 0, 2, 0, 1, 3, 0, 0}}, -1,
        DType::kFloat32, unlike);
  }
}
TEST(DnnConvolutions, EveryDtype) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    check_convolutions({.image = {2, 5, 6, 3}, .filter = {3, 3, 3, 4}}, -1, dtype);
    check_convolutions({.image = {2, 6, 6, 2}, .filter = {3, 3, 2, 3}, .stride = 2}, -1, dtype);
    check_convolutions({.image = {1, 5, 4, 3}, .filter = {3, 3, 3, 2}}, cuda::kDnnNchw, dtype);
  }
}
TEST(DnnConvolutions, DilationsAndGroups) {
  check_convolutions({.image = {1, 8, 7, 2}, .filter = {3, 3, 2, 2}, .dilation = 2});
  check_convolutions({.image = {2, 5, 5, 4}, .filter = {3, 3, 2, 6}});
  check_convolutions({.image = {2, 5, 5, 3}, .filter = {3, 3, 3, 2}});  // a filter a channel
}
// A library that takes one layout only is given that one.
TEST(DnnConvolutions, TheOtherLayoutWhereOneHasNoAlgorithm) {
  for (const int format : {cuda::kDnnNchw, cuda::kDnnNhwc}) {
    check_convolutions({.image = {2, 5, 6, 3}, .filter = {3, 3, 3, 4}}, format);
    check_convolutions({.image = {1, 6, 6, 2}, .filter = {3, 3, 2, 3}, .stride = 2}, format);
  }
}

TEST(DnnConvolutions, BiasAndActivationGoAlong) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    const Tensor x = random_tensor(dtype, {2, 5, 5, 3}, 1), f = random_tensor(dtype, {3, 3, 3, 4}, 2),
                 bias = random_tensor(dtype, {4}, 3);
    for (const std::string activation : {"", "Relu", "Elu"}) {
      for (const bool fuses : {true, false}) {
        std::vector<std::string> ops = {"BiasAdd"};
        if (!activation.empty()) ops.push_back(activation);
        const AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}},
                               {"padding", std::string("SAME")},
                               {"num_args", std::int64_t{1}},
                               {"fused_ops", ops}};
        const Tensor expected = evaluate_op(*builtin_ops().find("_FusedConv2D"), attrs, {x, f, bias}).value()[0];
        FakeDnn fake;
        fake.fuses = fuses;
        const Tensor found = run_on_gpu(fake, "_FusedConv2D", attrs, {x, f, bias});
        ASSERT_TRUE(found.valid());
        EXPECT_EQ(difference(found, expected, dtype_tolerance(dtype, 1e-4)), "")
            << dtype_name(dtype) << activation << fuses;
        EXPECT_EQ(fake.fused, activation == "Relu" && fuses ? 1 : 0);
      }
    }
  }
}

TEST(DnnConvolutions, OurOwnKernelsWhereTheLibraryHasNoWay) {
  FakeDnn fake;
  fake.engines.clear();
  const Tensor x = random_tensor(DType::kFloat32, {1, 4, 4, 2}, 1), f = random_tensor(DType::kFloat32, {3, 3, 2, 3}, 2);
  const AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
  const Tensor found = run_on_gpu(fake, "Conv2D", attrs, {x, f});
  EXPECT_EQ(difference(found, evaluate_op(*builtin_ops().find("Conv2D"), attrs, {x, f}).value()[0], 1e-4), "");
  EXPECT_EQ(fake.graphs, 2);  // in both layouts
  EXPECT_EQ(fake.convolutions, 0);
}

// Refused when it is started, for a mistake even: the step goes on by our own kernel.
TEST(DnnConvolutions, OurOwnKernelsWhereTheLibraryRefuses) {
  FakeDnn fake;
  fake.status_of = {{1, cuda::kDnnNotSupported + 4}, {2, cuda::kDnnBadParameter + 3}};
  const Tensor x = random_tensor(DType::kFloat32, {1, 4, 4, 2}, 1), f = random_tensor(DType::kFloat32, {3, 3, 2, 3}, 2);
  const AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const auto found = run_by_dnn(machine, "Conv2D", attrs, {x, f}, {.runs = 3});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(difference(found[0], evaluate_op(*builtin_ops().find("Conv2D"), attrs, {x, f}).value()[0], 1e-4), "");
  EXPECT_THAT(fake.tried, ElementsAre(1, 2, 1, 2));  // in both layouts, in the first step alone
}

// In a step, by the GPU's clock: the first run tries all of them, and the fastest is kept.
TEST_F(Choices, StepsTimeEngines) {
  setenv("ARGOSY_CUDNN_AUTOTUNE", "1", 1);
  setenv("ARGOSY_CACHE", folder_.c_str(), 1);
  FakeDnn fake;
  const Tensor x = random_tensor(DType::kFloat32, {1, 4, 4, 2}, 1), f = random_tensor(DType::kFloat32, {3, 3, 2, 3}, 2);
  const AttrMap attrs = {{"strides", std::vector<std::int64_t>{1, 1, 1, 1}}, {"padding", std::string("SAME")}};
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), fake.found(cuda::fake::with_kernels()));
  const auto found = run_by_dnn(machine, "Conv2D", attrs, {x, f}, {.runs = 2});
  unsetenv("ARGOSY_CUDNN_AUTOTUNE");
  unsetenv("ARGOSY_CACHE");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(difference(found[0], evaluate_op(*builtin_ops().find("Conv2D"), attrs, {x, f}).value()[0], 1e-4), "");
  EXPECT_EQ(fake.tried.size(), 2U * (1 + 3) + 2);  // each once and then three times; the steps themselves
  EXPECT_THAT(text(), HasSubstr("forward float nhwc 1,2,3,1"));
}

TEST(DnnConvolutions, TimingIsAskedForByName) {
  EXPECT_FALSE(cuda::autotune_wanted([](const char*) -> const char* { return nullptr; }));
  EXPECT_FALSE(cuda::autotune_wanted([](const char*) { return "0"; }));
  EXPECT_TRUE(cuda::autotune_wanted(
      [](const char* name) { return std::string_view(name) == "ARGOSY_CUDNN_AUTOTUNE" ? "1" : "0"; }));
}

}  // namespace

}  // namespace argosy
