// Convolutions by cuDNN: what is asked of it for a convolution, and the answers kept by problem.
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

// One convolution: of images of one layout, and a filter [out, in, h, w] (nchw) or [out, h, w, in].
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
  // In a line: what a choice is known by, beside GPU and library.
  std::string to_string() const;
};

// A problem as a graph, and the engines that may compute it, best first. float32 is computed in float32 unless
// problem.tf32; sums of 16-bit numbers are float32. Where deterministic results are asked for, other engines are left
// out.
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
    std::string gpu;                                // "sm_90 NVIDIA H100": part of what a choice is known by
    std::shared_ptr<DnnChoices> choices = nullptr;  // null: nothing is timed, the library's own order holds
    std::size_t most_workspace = std::size_t{512} << 20;
    // For tests of the library: of each problem's engines only the one at this place, best first, is used.
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
  // UNIMPLEMENTED: no engine does this problem, as far as is known; nothing need be made ready for convolve().
  Status offers(const DnnProblem& problem, void* stream);
  // Seconds that `work` takes on the device, itself and all before it done.
  using Clock = std::function<Result<double>(const std::function<Status()>& work)>;
  // Starts the convolution on `stream`. UNIMPLEMENTED: no engine does this problem within the workspace there is.
  // The workspace is `scratch`'s for the length of the call: its memory is given back in the stream's order. With
  // choices to keep, a problem met first is timed by `clock`. An engine that refuses when it is started is not
  // tried again.
  Status convolve(const DnnProblem& problem, const Pointers& at, Allocator& scratch, void* stream, const Clock& clock);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
