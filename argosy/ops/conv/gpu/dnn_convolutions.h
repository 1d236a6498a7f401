// DnnConvolutions: builds and runs cuDNN graphs for convolutions, and caches them by problem.
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "argosy/device/cuda/dnn/dnn.h"
#include "argosy/device/cuda/dnn/dnn_graph.h"
#include "argosy/ops/conv/gpu/dnn_axis.h"
#include "argosy/ops/conv/gpu/dnn_choices.h"
#include "argosy/tensor/buffer.h"
#include "argosy/tensor/dtype.h"

namespace argosy::cuda {

// One convolution: images of one layout, and a filter [out, in, h, w] (nchw) or [out, h, w, in].
struct DnnProblem {
  int direction = kDnnForward;
  DType dtype = DType::kFloat32;
  bool nchw = false;
  int batch = 0, in_c = 0, out_c = 0, groups = 1;
  DnnAxis h, w;
  bool bias_relu = false;  // forward: relu(convolution + bias) as one call
  bool tf32 = false, deterministic = false;
  int alignment = 16;  // of all operands, in bytes
  auto operator<=>(const DnnProblem&) const = default;
  // One line of text: the problem's part of the key of a choice; GPU and library are the rest.
  std::string to_string() const;
};

// A problem as a cuDNN graph, with the engines that may compute it, best first. float32 is computed in float32 unless
// problem.tf32; sums of 16-bit numbers are float32. If deterministic results are asked for, engines that do not promise
// them are left out.
struct DnnConvolutionGraph {
  DnnGraph graph;
  std::vector<std::int64_t> ids;  // of first, second, result, bias
  std::vector<DnnEngine> engines;
  DnnConvolutionGraph(const DnnCalls& calls, const DnnProblem& problem, const DnnTarget& target);
};

// The convolutions of one device. Thread-safe.
class DnnConvolutions {
 public:
  struct Setup {
    std::string gpu;                                // "sm_90 NVIDIA H100": part of the key of a choice
    std::shared_ptr<DnnChoices> choices = nullptr;  // null: no timing; cuDNN's own order
    std::size_t most_workspace = std::size_t{512} << 20;
    // For tests of cuDNN: of each problem's engines, use only the one at this position, best first.
    std::optional<int> only_place = {};
  };
  DnnConvolutions(std::shared_ptr<Dnn> dnn, Setup setup);
  ~DnnConvolutions();
  DnnConvolutions(const DnnConvolutions&) = delete;
  DnnConvolutions& operator=(const DnnConvolutions&) = delete;

  struct Pointers {
    const void *first, *second, *bias;  // operands in the order of dnn_calls.h
    void* result;
  };
  // OK if convolve() is expected to succeed; its caller may then prepare operands. UNIMPLEMENTED if no engine is known
  // to compute the problem.
  Status offers(const DnnProblem& problem, void* stream);
  // Returns the seconds that `work` takes on the device. Waits for all work before it, and for `work`.
  using Clock = std::function<Result<double>(const std::function<Status()>& work)>;
  // Starts the convolution on `stream`. The workspace is allocated from `scratch`, and freed in the stream's order when
  // the call returns. If there are choices to keep, `clock` times the engines of a new problem. An engine that refuses
  // to start is not tried again. UNIMPLEMENTED if no engine computes the problem within the workspace that there is.
  Status convolve(const DnnProblem& problem, const Pointers& at, Allocator& scratch, void* stream, const Clock& clock);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
