#include "argosy/ops/conv/card_dnn.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "argosy/base/log.h"
#include "argosy/device/cuda/library.h"

namespace argosy::cuda {

namespace {

constexpr int kMostAlgorithms = 16;

Status failed(std::string_view call, int status) {
  return internal_error("cuDNN: ", call, " failed with ", status).with_id("ARG-GPU-014");
}
bool not_supported(int status) { return status / 1000 == kDnnNotSupported / 1000; }

int type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return kDnnDouble;
    case DType::kFloat16: return kDnnHalf;
    case DType::kBfloat16: return kDnnBfloat16;
    default: return kDnnFloat;
  }
}

// One problem's descriptors, and the algorithms that may do it, best first.
struct Plan {
  const DnnCalls& calls;
  DnnTensor image = nullptr, output = nullptr, bias = nullptr;
  DnnFilter filter = nullptr;
  DnnConvolution convolution = nullptr;
  DnnActivation activation = nullptr;
  const void *first = nullptr, *second = nullptr, *result = nullptr;  // those above, by the direction
  std::vector<DnnChoice> choices;

  explicit Plan(const DnnCalls& c) : calls(c) {}
  ~Plan() {
    for (DnnTensor t : {image, output, bias}) {
      if (t != nullptr) calls.tensor_destroy(t);
    }
    if (filter != nullptr) calls.filter_destroy(filter);
    if (convolution != nullptr) calls.convolution_destroy(convolution);
    if (activation != nullptr) calls.activation_destroy(activation);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  Status make(DnnHandle handle, const DnnProblem& p, std::size_t most_workspace) {
    const int type = type_of(p.dtype), format = p.nchw ? kDnnNchw : kDnnNhwc;
    const int compute = p.dtype == DType::kFloat64 ? kDnnDouble : kDnnFloat;
    int status = calls.tensor_create(&image);
    const auto then = [&](auto&& call) {
      if (status == 0) status = call();
    };
    then([&] { return calls.tensor_set(image, format, type, p.batch, p.in_c, p.h.in, p.w.in); });
    then([&] { return calls.tensor_create(&output); });
    then([&] { return calls.tensor_set(output, format, type, p.batch, p.out_c, p.h.out, p.w.out); });
    then([&] { return calls.filter_create(&filter); });
    then([&] { return calls.filter_set(filter, type, format, p.out_c, p.in_c / p.groups, p.h.window, p.w.window); });
    then([&] { return calls.convolution_create(&convolution); });
    then([&] {
      return calls.convolution_set(convolution, p.h.pad, p.w.pad, p.h.stride, p.w.stride, p.h.dilation, p.w.dilation,
                                   kDnnCrossCorrelation, compute);
    });
    then([&] { return calls.convolution_set_groups(convolution, p.groups); });
    then([&] { return calls.convolution_set_math(convolution, first_math(p)); });
    if (p.bias_relu) {
      then([&] { return calls.tensor_create(&bias); });
      then([&] { return calls.tensor_set(bias, format, type, 1, p.out_c, 1, 1); });
      then([&] { return calls.activation_create(&activation); });
      then([&] { return calls.activation_set(activation, kDnnRelu, 1, 0); });
    }
    if (not_supported(status)) return ok_status();  // no choices
    if (status != 0) return failed("a descriptor", status);
    first = p.direction == kDnnTowardsImage ? static_cast<const void*>(filter) : image;
    second = p.direction == kDnnForward ? static_cast<const void*>(filter) : output;
    result = p.direction == kDnnForward        ? static_cast<const void*>(output)
             : p.direction == kDnnTowardsImage ? static_cast<const void*>(image)
                                               : filter;
    return choose(handle, p, most_workspace);
  }

  // Tensor cores where the dtype's numbers are theirs already; of float32 only where it was asked for.
  static int first_math(const DnnProblem& p) {
    if (p.dtype == DType::kFloat16 || p.dtype == DType::kBfloat16) return kDnnTensorOps;
    return p.dtype == DType::kFloat32 && !p.tf32 ? kDnnFmaMath : kDnnDefaultMath;
  }

  Status choose(DnnHandle handle, const DnnProblem& p, std::size_t most_workspace) {
    DnnChoice found[kMostAlgorithms] = {};
    int count = 0;
    const int status =
        calls.choose[p.direction](handle, first, second, convolution, result, kMostAlgorithms, &count, found);
    if (not_supported(status)) return ok_status();
    if (status != 0) return failed("the choice of an algorithm", status);
    for (int i = 0; i < std::min(count, kMostAlgorithms); ++i) {
      const DnnChoice& c = found[i];
      const bool exact = p.dtype != DType::kFloat32 || p.tf32 || c.math == kDnnFmaMath;
      if (c.status != 0 || c.workspace_bytes > most_workspace || !exact) continue;
      if (p.deterministic && c.determinism != kDnnDeterministic) continue;
      choices.push_back(c);
    }
    return ok_status();
  }
};

}  // namespace

std::string DnnProblem::to_string() const {
  constexpr const char* kDirections[] = {"forward", "towards_image", "towards_filter"};
  const auto axis = [](const DnnAxis& a) {
    return str_cat(a.in, ",", a.window, ",", a.out, ",", a.pad, ",", a.stride, ",", a.dilation);
  };
  return str_cat(kDirections[direction], " ", dtype_name(dtype), nchw ? " nchw " : " nhwc ", batch, ",", in_c, ",",
                 out_c, ",", groups, " ", axis(h), " ", axis(w), bias_relu ? " bias_relu" : "", tf32 ? " tf32" : "",
                 deterministic ? " deterministic" : "");
}

struct CardDnn::State {
  DnnCalls calls;
  Setup setup;
  DnnHandle handle = nullptr;
  Mutex mutex;
  std::map<DnnProblem, std::unique_ptr<Plan>> plans ARGOSY_GUARDED_BY(mutex);

  std::string key_of(const DnnProblem& p) const {
    return str_cat(p.to_string(), " | ", setup.card, " | cuDNN ", calls.version());
  }

  Status run(const Plan& plan, const DnnProblem& p, const DnnChoice& choice, const Pointers& at, Allocator& scratch) {
    if (const int status = calls.convolution_set_math(plan.convolution, choice.math); status != 0) {
      return not_supported(status) ? unimplemented("math ", choice.math) : failed("the choice of math", status);
    }
    std::size_t bytes = 0;
    int status = calls.workspace[p.direction](handle, plan.first, plan.second, plan.convolution, plan.result,
                                              choice.algorithm, &bytes);
    if (status != 0 || bytes > setup.most_workspace) return unimplemented("no workspace for ", choice.algorithm);
    Buffer workspace;
    if (bytes > 0) {
      auto memory = scratch.allocate(bytes);
      if (!memory.ok()) return unimplemented("no workspace of ", bytes, " bytes: ", memory.status().message());
      workspace = *std::move(memory);
    }
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = p.dtype == DType::kFloat64;
    const void* const alpha = wide ? static_cast<const void*>(&wide_one) : &one;
    const void* const beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
    status = p.bias_relu ? calls.convolve_bias_activation(handle, alpha, plan.image, at.first, plan.filter, at.second,
                                                          plan.convolution, choice.algorithm, workspace.data(), bytes,
                                                          beta, plan.output, at.result, plan.bias, at.bias,
                                                          plan.activation, plan.output, at.result)
                         : calls.convolve[p.direction](handle, alpha, plan.first, at.first, plan.second, at.second,
                                                       plan.convolution, choice.algorithm, workspace.data(), bytes,
                                                       beta, plan.result, at.result);
    if (not_supported(status)) return unimplemented("algorithm ", choice.algorithm, " does not do this");
    return status == 0 ? ok_status() : failed("a convolution", status);
  }

  // The kept choice, or the fastest by the clock, comes first.
  Status order(Plan& plan, const DnnProblem& p, const Pointers& at, Allocator& scratch, const Clock& clock) {
    if (setup.choices == nullptr || plan.choices.size() < 2) return ok_status();
    const std::string key = key_of(p);
    const auto bring_first = [&](const DnnAlgorithm& wanted) {
      const auto found = std::find_if(plan.choices.begin(), plan.choices.end(), [&](const DnnChoice& c) {
        return DnnAlgorithm{c.algorithm, c.math} == wanted;
      });
      if (found != plan.choices.end()) std::rotate(plan.choices.begin(), found, found + 1);
      return found != plan.choices.end();
    };
    if (const auto kept = setup.choices->find(key); kept && bring_first(*kept)) return ok_status();
    double best = std::numeric_limits<double>::infinity();
    DnnAlgorithm fastest;
    for (const DnnChoice& c : plan.choices) {
      constexpr int kRuns = 3;
      const auto once = [&] { return run(plan, p, c, at, scratch); };
      Status done = once();  // what is made at the first run is not timed
      Result<double> seconds = 0.0;
      for (int i = 0; done.ok() && i < kRuns; ++i) {
        seconds = clock(once);
        done = seconds.status();
        if (done.ok() && *seconds < best) {
          best = *seconds;
          fastest = {c.algorithm, c.math};
        }
      }
      if (!done.ok() && done.code() != Code::kUnimplemented) return done;
    }
    if (best == std::numeric_limits<double>::infinity()) return ok_status();
    bring_first(fastest);
    setup.choices->keep(key, fastest);
    return ok_status();
  }
};

CardDnn::CardDnn(std::unique_ptr<State> state) : state_(std::move(state)) {}
CardDnn::~CardDnn() {
  {
    MutexLock lock(state_->mutex);
    state_->plans.clear();
  }
  state_->calls.destroy(state_->handle);
}

Result<std::shared_ptr<CardDnn>> CardDnn::over(const DnnCalls& calls, Setup setup) {
  auto state = std::make_unique<State>();
  state->calls = calls;
  state->setup = std::move(setup);
  if (const int status = calls.create(&state->handle); status != 0) return failed("create", status);
  return std::shared_ptr<CardDnn>(new CardDnn(std::move(state)));
}

Result<std::shared_ptr<CardDnn>> CardDnn::open(Setup setup) {
  const LibraryWanted wanted = cudnn_wanted();
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<Library> library, Library::open(wanted));
  DnnCalls c;
  bool whole = true;
  const auto find = [&](auto& call, const char* name) { whole = library->find(&call, name) && whole; };
  find(c.version, "cudnnGetVersion");
  find(c.create, "cudnnCreate");
  find(c.destroy, "cudnnDestroy");
  find(c.set_stream, "cudnnSetStream");
  find(c.tensor_create, "cudnnCreateTensorDescriptor");
  find(c.tensor_destroy, "cudnnDestroyTensorDescriptor");
  find(c.tensor_set, "cudnnSetTensor4dDescriptor");
  find(c.filter_create, "cudnnCreateFilterDescriptor");
  find(c.filter_destroy, "cudnnDestroyFilterDescriptor");
  find(c.filter_set, "cudnnSetFilter4dDescriptor");
  find(c.convolution_create, "cudnnCreateConvolutionDescriptor");
  find(c.convolution_destroy, "cudnnDestroyConvolutionDescriptor");
  find(c.convolution_set, "cudnnSetConvolution2dDescriptor");
  find(c.convolution_set_groups, "cudnnSetConvolutionGroupCount");
  find(c.convolution_set_math, "cudnnSetConvolutionMathType");
  find(c.activation_create, "cudnnCreateActivationDescriptor");
  find(c.activation_destroy, "cudnnDestroyActivationDescriptor");
  find(c.activation_set, "cudnnSetActivationDescriptor");
  find(c.choose[kDnnForward], "cudnnGetConvolutionForwardAlgorithm_v7");
  find(c.choose[kDnnTowardsImage], "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  find(c.choose[kDnnTowardsFilter], "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  find(c.workspace[kDnnForward], "cudnnGetConvolutionForwardWorkspaceSize");
  find(c.workspace[kDnnTowardsImage], "cudnnGetConvolutionBackwardDataWorkspaceSize");
  find(c.workspace[kDnnTowardsFilter], "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  find(c.convolve[kDnnForward], "cudnnConvolutionForward");
  find(c.convolve[kDnnTowardsImage], "cudnnConvolutionBackwardData");
  find(c.convolve[kDnnTowardsFilter], "cudnnConvolutionBackwardFilter");
  find(c.convolve_bias_activation, "cudnnConvolutionBiasActivationForward");
  // 90500: 9.5.0. Without one of the calls it is none that we know.
  const int version = whole ? static_cast<int>(c.version() / 100) * 10 : 0;
  ARGOSY_RETURN_IF_ERROR(check_library_version(wanted, library->path(), version, 9000));
  return over(c, std::move(setup));
}

Status CardDnn::convolve(const DnnProblem& problem, const Pointers& at, Allocator& scratch, void* stream,
                         const Clock& clock) {
  MutexLock lock(state_->mutex);
  std::unique_ptr<Plan>& plan = state_->plans[problem];
  if (const int status = state_->calls.set_stream(state_->handle, stream); status != 0) {
    return failed("the choice of a stream", status);
  }
  if (plan == nullptr) {
    auto fresh = std::make_unique<Plan>(state_->calls);
    ARGOSY_RETURN_IF_ERROR(fresh->make(state_->handle, problem, state_->setup.most_workspace));
    ARGOSY_RETURN_IF_ERROR(state_->order(*fresh, problem, at, scratch, clock));
    plan = std::move(fresh);
  }
  for (const DnnChoice& choice : plan->choices) {
    const Status done = state_->run(*plan, problem, choice, at, scratch);
    if (done.code() != Code::kUnimplemented) return done;
  }
  return unimplemented("cuDNN knows no way for this convolution");
}

}  // namespace argosy::cuda
