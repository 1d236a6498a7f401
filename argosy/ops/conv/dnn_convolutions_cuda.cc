#include "argosy/ops/conv/dnn_convolutions.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace argosy::cuda {

namespace {

constexpr int kMostAlgorithms = 16;

// One problem's descriptors, and the algorithms that may do it, best first.
struct Plan {
  DnnObject<DnnTensor> image, output, bias;
  DnnObject<DnnFilter> filter;
  DnnObject<DnnConvolution> convolution;
  DnnObject<DnnActivation> activation;
  const void *first = nullptr, *second = nullptr, *result = nullptr;  // those above, by the direction
  std::vector<DnnChoice> choices;
  bool ordered = false;

  Status make(const Dnn& dnn, DnnHandle handle, const DnnProblem& p, std::size_t most_workspace) {
    const DnnCalls& calls = dnn.calls();
    const int type = dnn_type(p.dtype), format = p.nchw ? kDnnNchw : kDnnNhwc;
    const int compute = p.dtype == DType::kFloat64 ? kDnnDouble : kDnnFloat;
    int status = image.make(calls.tensor_create, calls.tensor_destroy);
    const auto then = [&](auto&& call) {
      if (status == 0) status = call();
    };
    then([&] { return calls.tensor_set(image.get(), format, type, p.batch, p.in_c, p.h.in, p.w.in); });
    then([&] { return output.make(calls.tensor_create, calls.tensor_destroy); });
    then([&] { return calls.tensor_set(output.get(), format, type, p.batch, p.out_c, p.h.out, p.w.out); });
    then([&] { return filter.make(calls.filter_create, calls.filter_destroy); });
    then([&] {
      return calls.filter_set(filter.get(), type, format, p.out_c, p.in_c / p.groups, p.h.window, p.w.window);
    });
    then([&] { return convolution.make(calls.convolution_create, calls.convolution_destroy); });
    then([&] {
      return calls.convolution_set(convolution.get(), p.h.pad, p.w.pad, p.h.stride, p.w.stride, p.h.dilation,
                                   p.w.dilation, kDnnCrossCorrelation, compute);
    });
    then([&] { return calls.convolution_set_groups(convolution.get(), p.groups); });
    then([&] { return calls.convolution_set_math(convolution.get(), first_math(p)); });
    if (p.bias_relu) {
      then([&] { return bias.make(calls.tensor_create, calls.tensor_destroy); });
      then([&] { return calls.tensor_set(bias.get(), format, type, 1, p.out_c, 1, 1); });
      then([&] { return activation.make(calls.activation_create, calls.activation_destroy); });
      then([&] { return calls.activation_set(activation.get(), kDnnRelu, 1, 0); });
    }
    if (status != 0) return dnn.answer(str_cat("a descriptor of ", p.to_string()), status);
    const void *const x = image.get(), *const y = output.get(), *const f = filter.get();
    first = p.direction == kDnnTowardsImage ? f : x;
    second = p.direction == kDnnForward ? f : y;
    result = p.direction == kDnnForward ? y : p.direction == kDnnTowardsImage ? x : f;
    return choose(dnn, handle, p, most_workspace);
  }

  // Tensor cores where the dtype's numbers are theirs already; of float32 only where it was asked for.
  static int first_math(const DnnProblem& p) {
    if (p.dtype == DType::kFloat16 || p.dtype == DType::kBfloat16) return kDnnTensorOps;
    return p.dtype == DType::kFloat32 && !p.tf32 ? kDnnFmaMath : kDnnDefaultMath;
  }

  Status choose(const Dnn& dnn, DnnHandle handle, const DnnProblem& p, std::size_t most_workspace) {
    DnnChoice found[kMostAlgorithms] = {};
    int count = 0;
    const int status = dnn.calls().choose[p.direction](handle, first, second, convolution.get(), result,
                                                       kMostAlgorithms, &count, found);
    if (status != 0) return dnn.answer(str_cat("to choose for ", p.to_string()), status);
    for (int i = 0; i < std::min(count, kMostAlgorithms); ++i) {
      DnnChoice c = found[i];
      // What it writes there for float32 may be the default, whatever was asked for: with that it would round to
      // TensorFloat-32. An algorithm that has no other way refuses when it is started.
      if (p.dtype == DType::kFloat32 && !p.tf32) c.math = kDnnFmaMath;
      if (c.status != 0 || c.workspace_bytes > most_workspace) continue;
      if (p.deterministic && c.determinism != kDnnDeterministic) continue;
      const bool twice = std::any_of(choices.begin(), choices.end(), [&](const DnnChoice& known) {
        return known.algorithm == c.algorithm && known.math == c.math;
      });
      if (!twice) choices.push_back(c);
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

struct DnnConvolutions::State {
  const std::shared_ptr<Dnn> dnn;
  const Setup setup;
  DnnPlans<DnnProblem, Plan> plans;
  const DnnCalls& calls = dnn->calls();

  std::string key_of(const DnnProblem& p) const {
    return str_cat(p.to_string(), " | ", setup.card, " | cuDNN ", calls.version());
  }

  Result<Plan*> plan_of(DnnHandle handle, const DnnProblem& p) {
    return plans.of(p, [&](Plan& plan) {
      Status made = plan.make(*dnn, handle, p, setup.most_workspace);
      return made.code() == Code::kUnimplemented ? ok_status() : made;  // a plan without choices
    });
  }

  // `refused`: set where the library does not do it.
  Status run(DnnHandle handle, const Plan& plan, const DnnProblem& p, const DnnChoice& choice, const Pointers& at,
             Allocator& scratch, bool* refused) {
    const auto answer = [&](std::string_view what, int status) {
      Status said = dnn->answer(str_cat(what, " of ", p.to_string(), " by algorithm ", choice.algorithm), status);
      *refused = said.code() == Code::kUnimplemented;
      return said;
    };
    if (const int status = calls.convolution_set_math(plan.convolution.get(), choice.math); status != 0) {
      return answer("the choice of math", status);
    }
    std::size_t bytes = 0;
    int status = calls.workspace[p.direction](handle, plan.first, plan.second, plan.convolution.get(), plan.result,
                                              choice.algorithm, &bytes);
    if (status != 0) return answer("the size of a workspace", status);
    if (bytes > setup.most_workspace) return unimplemented("no workspace for ", choice.algorithm);
    Buffer workspace;
    if (bytes > 0) {
      auto memory = scratch.allocate(bytes);
      if (!memory.ok()) return unimplemented("no workspace of ", bytes, " bytes: ", memory.status().message());
      workspace = *std::move(memory);
    }
    const void *const alpha = dnn_one(p.dtype), *const beta = dnn_zero(p.dtype);
    const DnnConvolution convolution = plan.convolution.get();
    status = p.bias_relu
                 ? calls.convolve_bias_activation(handle, alpha, plan.image.get(), at.first, plan.filter.get(),
                                                  at.second, convolution, choice.algorithm, workspace.data(), bytes,
                                                  beta, plan.output.get(), at.result, plan.bias.get(), at.bias,
                                                  plan.activation.get(), plan.output.get(), at.result)
                 : calls.convolve[p.direction](handle, alpha, plan.first, at.first, plan.second, at.second, convolution,
                                               choice.algorithm, workspace.data(), bytes, beta, plan.result, at.result);
    return status == 0 ? ok_status() : answer("a convolution", status);
  }

  // The kept choice, or the fastest by the clock, comes first.
  Status order(DnnHandle handle, Plan& plan, const DnnProblem& p, const Pointers& at, Allocator& scratch,
               const Clock& clock) {
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
      bool refused = false;
      const auto once = [&] { return run(handle, plan, p, c, at, scratch, &refused); };
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

DnnConvolutions::DnnConvolutions(std::shared_ptr<Dnn> dnn, Setup setup)
    : state_(new State{.dnn = std::move(dnn), .setup = std::move(setup), .plans = {}}) {}
DnnConvolutions::~DnnConvolutions() = default;

Status DnnConvolutions::offers(const DnnProblem& problem, void* stream) {
  return state_->dnn->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const Plan* const plan, state_->plan_of(handle, problem));
    return plan->choices.empty() ? unimplemented("cuDNN knows no way for this convolution") : ok_status();
  });
}

Status DnnConvolutions::convolve(const DnnProblem& problem, const Pointers& at, Allocator& scratch, void* stream,
                                 const Clock& clock) {
  State& s = *state_;
  return s.dnn->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(Plan* const plan, s.plan_of(handle, problem));
    if (!plan->ordered) {
      ARGOSY_RETURN_IF_ERROR(s.order(handle, *plan, problem, at, scratch, clock));
      plan->ordered = true;
    }
    for (auto choice = plan->choices.begin(); choice != plan->choices.end();) {
      bool refused = false;
      const Status done = s.run(handle, *plan, problem, *choice, at, scratch, &refused);
      if (done.code() != Code::kUnimplemented) return done;
      choice = refused ? plan->choices.erase(choice) : std::next(choice);
    }
    return unimplemented("cuDNN knows no way for this convolution");
  });
}

}  // namespace argosy::cuda
