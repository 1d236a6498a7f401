#include "argosy/ops/conv/gpu/dnn_convolutions.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "argosy/device/cuda/dnn/dnn_graph_numbers.h"

namespace argosy::cuda {

namespace {

constexpr int kMostEngines = 32;
constexpr int kMostTimed = 12;  // the heuristics' first are rarely far from the best

constexpr std::int64_t kFirst = 1, kSecond = 2, kResult = 3, kBias = 4, kSum = 5, kBiased = 6;

unsigned unwanted_notes(const DnnProblem& p) {
  const auto bit = [](int note) { return 1u << note; };
  unsigned notes = bit(kDnnNoteSumsNarrowed);
  if (p.dtype == DType::kFloat32 && !p.tf32) notes |= bit(kDnnNoteTensorCore) | bit(kDnnNoteInputsNarrowed);
  if (p.deterministic) notes |= bit(kDnnNoteNotDeterministic);
  return notes;
}

// One problem, and its engines; their plans are made when they are wanted.
struct Way {
  DnnEngine engine;
  int place = 0;  // DnnChoice::place
  bool tried = false, usable = false;
  DnnPlan plan = {};
};
struct Ways {
  std::unique_ptr<DnnConvolutionGraph> convolution;
  std::vector<Way> ways;  // best first
  bool ordered = false;   // by the clock
};

}  // namespace

std::string DnnProblem::to_string() const {
  constexpr const char* kDirections[] = {"forward", "towards_image", "towards_filter"};
  const auto axis = [](const DnnAxis& a) {
    return str_cat(a.in, ",", a.window, ",", a.out, ",", a.pad, ",", a.pad_after, ",", a.stride, ",", a.dilation);
  };
  return str_cat(kDirections[direction], " ", dtype_name(dtype), nchw ? " nchw " : " nhwc ", batch, ",", in_c, ",",
                 out_c, ",", groups, " ", axis(h), " ", axis(w), bias_relu ? " bias_relu" : "", tf32 ? " tf32" : "",
                 deterministic ? " deterministic" : "", alignment < 16 ? str_cat(" aligned ", alignment) : "");
}

DnnConvolutionGraph::DnnConvolutionGraph(const DnnCalls& calls, const DnnProblem& p, const DnnTarget& target)
    : graph(calls), ids{kFirst, kSecond, kResult} {
  const int type = dnn_type(p.dtype), summed = p.dtype == DType::kFloat64 ? kDnnDouble : kDnnFloat;
  const auto tensor = [&](std::int64_t id, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    return DnnTensorInfo{.id = id,
                         .type = type,
                         .sizes = {n, c, h, w},
                         .strides = p.nchw ? std::array{c * h * w, h * w, w, std::int64_t{1}}
                                           : std::array{h * w * c, std::int64_t{1}, w * c, c},
                         .alignment = p.alignment};
  };
  const auto image = [&](std::int64_t id) { return tensor(id, p.batch, p.in_c, p.h.in, p.w.in); };
  const auto filter = [&](std::int64_t id) { return tensor(id, p.out_c, p.in_c / p.groups, p.h.window, p.w.window); };
  const auto output = [&](std::int64_t id) { return tensor(id, p.batch, p.out_c, p.h.out, p.w.out); };
  const DnnWindows windows{.pad_before = {p.h.pad, p.w.pad},
                           .pad_after = {p.h.pad_after, p.w.pad_after},
                           .strides = {p.h.stride, p.w.stride},
                           .dilations = {p.h.dilation, p.w.dilation}};
  const auto first = graph.tensor(p.direction == kDnnTowardsImage ? filter(kFirst) : image(kFirst));
  const auto second = graph.tensor(p.direction == kDnnForward ? filter(kSecond) : output(kSecond));
  const auto result = graph.tensor(p.direction == kDnnForward        ? output(kResult)
                                   : p.direction == kDnnTowardsImage ? image(kResult)
                                                                     : filter(kResult));
  if (p.bias_relu) {
    const auto between = [&](std::int64_t id) {
      DnnTensorInfo info = output(id);
      info.inside = true;
      info.type = summed;
      return graph.tensor(info);
    };
    const auto sum = between(kSum), biased = between(kBiased);
    const auto bias = graph.tensor(tensor(kBias, 1, p.out_c, 1, 1));
    graph.convolution(p.direction, first, second, sum, windows, summed);
    graph.add(sum, bias, biased, summed);
    graph.relu(biased, result, summed);
    ids.push_back(kBias);
  } else {
    graph.convolution(p.direction, first, second, result, windows, summed);
  }
  const bool uneven = p.h.pad != p.h.pad_after || p.w.pad != p.w.pad_after;
  // cuDNN 9.19 on an H100 computes wrong gradients for such padding: of the filter by its first engine, of the image by
  // two others. The caller adds the padding to the image instead.
  if (uneven && p.direction != kDnnForward) return;
  engines = graph.engines(target, unwanted_notes(p), kMostEngines);
  // For uneven padding, cuDNN sometimes has only its slowest engine, but has others for an image with the padding
  // added. The caller tries that next.
  if (uneven) std::erase_if(engines, [](const DnnEngine& engine) { return engine.number == 0; });
}

struct DnnConvolutions::State {
  const std::shared_ptr<Dnn> dnn;
  const Setup setup;
  DnnPlans<DnnProblem, Ways> plans;
  const DnnCalls& calls = dnn->calls();

  std::string key_of(const DnnProblem& p) const {
    return str_cat(p.to_string(), " | ", setup.gpu, " | cuDNN ", calls.version());
  }

  Result<Ways*> ways_of(DnnHandle handle, const DnnProblem& p) {
    return plans.of(p, [&](Ways& ways) { return make(ways, p, handle); });
  }
  // Leaves the list of engines empty if cuDNN refuses the problem.
  Status make(Ways& ways, const DnnProblem& p, DnnHandle handle) const {
    ways.convolution = std::make_unique<DnnConvolutionGraph>(calls, p, DnnTarget{.handle = handle});
    const int status = ways.convolution->graph.status();
    if (const Status answer = dnn->answer(str_cat("the convolution ", p.to_string()), status); !answer.ok()) {
      return answer.code() == Code::kUnimplemented ? ok_status() : answer;
    }
    int place = 0;
    for (const DnnEngine& engine : ways.convolution->engines) {
      if (!setup.only_place || *setup.only_place == place) ways.ways.push_back({.engine = engine, .place = place});
      ++place;
    }
    return ok_status();
  }

  bool usable(const Ways& ways, Way& way, DnnHandle handle) const {
    if (!way.tried) {
      way.tried = true;
      way.usable = ways.convolution->graph.plan({.handle = handle}, way.engine, &way.plan) == 0 &&
                   static_cast<std::uint64_t>(way.plan.workspace_bytes) <= setup.most_workspace;
    }
    return way.usable;
  }

  Status run(DnnHandle handle, const Ways& ways, Way& way, const DnnProblem& p, const Pointers& at,
             Allocator& scratch) const {
    if (!usable(ways, way, handle)) return unimplemented("engine ", way.engine.number, " cannot be had");
    Buffer workspace;
    if (const auto bytes = static_cast<std::size_t>(way.plan.workspace_bytes); bytes > 0) {
      auto memory = scratch.allocate(bytes);
      if (!memory.ok()) return unimplemented("no workspace of ", bytes, " bytes: ", memory.status().message());
      workspace = *std::move(memory);
    }
    void* const pointers[] = {const_cast<void*>(at.first), const_cast<void*>(at.second), at.result,
                              const_cast<void*>(at.bias)};
    const int status = execute(calls, handle, way.plan, ways.convolution->ids,
                               std::span(pointers, ways.convolution->ids.size()), workspace.data());
    Status answer = dnn->answer(str_cat("the convolution ", p.to_string()), status);
    if (answer.code() == Code::kUnimplemented) way.usable = false;
    return answer;
  }

  // Puts the kept choice, or the fastest by the clock, first.
  Status order(DnnHandle handle, Ways& ways, const DnnProblem& p, const Pointers& at, Allocator& scratch,
               const Clock& clock) const {
    if (std::exchange(ways.ordered, true) || setup.choices == nullptr || ways.ways.size() < 2) return ok_status();
    const std::string key = key_of(p);
    const auto bring_first = [&](const DnnChoice& wanted) {
      const auto found = std::find_if(ways.ways.begin(), ways.ways.end(), [&](const Way& way) {
        return DnnChoice{static_cast<int>(way.engine.number), way.place} == wanted;
      });
      if (found == ways.ways.end()) return false;
      std::rotate(ways.ways.begin(), found, found + 1);
      return true;
    };
    if (const auto kept = setup.choices->find(key); kept && bring_first(*kept)) return ok_status();
    double best = std::numeric_limits<double>::infinity();
    DnnChoice fastest;
    int timed = 0;
    for (Way& way : ways.ways) {
      if (timed == kMostTimed) break;
      constexpr int kRuns = 3;
      const auto once = [&] { return run(handle, ways, way, p, at, scratch); };
      Status done = once();  // what is made at the first run is not timed
      if (done.ok()) ++timed;
      Result<double> seconds = 0.0;
      for (int i = 0; done.ok() && i < kRuns; ++i) {
        seconds = clock(once);
        done = seconds.status();
        if (done.ok() && *seconds < best) {
          best = *seconds;
          fastest = {static_cast<int>(way.engine.number), way.place};
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
  State& s = *state_;
  return s.dnn->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(Ways* const ways, s.ways_of(handle, problem));
    for (Way& way : ways->ways) {
      if (s.usable(*ways, way, handle)) return ok_status();
    }
    return unimplemented("cuDNN knows no way for this convolution");
  });
}

Status DnnConvolutions::convolve(const DnnProblem& problem, const Pointers& at, Allocator& scratch, void* stream,
                                 const Clock& clock) {
  State& s = *state_;
  return s.dnn->on(stream, [&](DnnHandle handle) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(Ways* const ways, s.ways_of(handle, problem));
    ARGOSY_RETURN_IF_ERROR(s.order(handle, *ways, problem, at, scratch, clock));
    for (Way& way : ways->ways) {
      const Status done = s.run(handle, *ways, way, problem, at, scratch);
      if (done.code() != Code::kUnimplemented) return done;
    }
    return unimplemented("cuDNN knows no way for this convolution");
  });
}

}  // namespace argosy::cuda
