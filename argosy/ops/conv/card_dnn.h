// Convolutions by cuDNN: what is asked of it for a convolution, and the answers kept by problem.
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <string>

#include "argosy/base/status.h"
#include "argosy/device/cuda/dnn_calls.h"
#include "argosy/ops/conv/dnn_choices.h"
#include "argosy/tensor/buffer.h"
#include "argosy/tensor/dtype.h"

namespace argosy::cuda {

struct DnnAxis {
  int in = 0, window = 0, out = 0, pad = 0, stride = 1, dilation = 1;
  auto operator<=>(const DnnAxis&) const = default;
};
// One convolution: of images of one layout, and a filter [out, in, h, w] (nchw) or [out, h, w, in].
struct DnnProblem {
  int direction = kDnnForward;
  DType dtype = DType::kFloat32;
  bool nchw = false;
  int batch = 0, in_c = 0, out_c = 0, groups = 1;
  DnnAxis h, w;
  bool bias_relu = false;  // forward: relu(convolution + bias) as one call
  bool tf32 = false, deterministic = false;
  auto operator<=>(const DnnProblem&) const = default;
  // In a line: what a choice is known by, beside card and library.
  std::string to_string() const;
};

// cuDNN on one device. Thread-safe.
class CardDnn {
 public:
  struct Setup {
    std::string card;                               // "sm_90 NVIDIA H100": part of what a choice is known by
    std::shared_ptr<DnnChoices> choices = nullptr;  // null: nothing is timed, the library's own order holds
    std::size_t most_workspace = std::size_t{512} << 20;
  };
  // Over calls of one's own: tests.
  static Result<std::shared_ptr<CardDnn>> over(const DnnCalls& calls, Setup setup);
  // The library as found (library.h), where it is 9.0 or newer.
  static Result<std::shared_ptr<CardDnn>> open(Setup setup);
  ~CardDnn();
  CardDnn(const CardDnn&) = delete;
  CardDnn& operator=(const CardDnn&) = delete;

  struct Pointers {
    const void *first, *second, *bias;  // operands in the order of dnn_calls.h
    void* result;
  };
  // Seconds that `work` takes on the device, itself and all before it done.
  using Clock = std::function<Result<double>(const std::function<Status()>& work)>;
  // Starts the convolution on `stream`. UNIMPLEMENTED: no algorithm does this problem within the workspace there is.
  // The workspace is `scratch`'s for the length of the call: its memory is given back in the stream's order. With
  // choices to keep, a problem met first is timed by `clock`.
  Status convolve(const DnnProblem& problem, const Pointers& at, Allocator& scratch, void* stream, const Clock& clock);

 private:
  struct State;
  explicit CardDnn(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
