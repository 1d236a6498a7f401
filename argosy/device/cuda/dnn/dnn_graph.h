// Graphs of operations for cuDNN, and plans that run them. A graph says what is to be computed of which tensors; the
// library's heuristics name engines that can, best first; a plan is one of them, ready to run.
//
// The newer interface of the library (its "backend" calls): engines for Hopper and later GPUs are found here alone, an
// engine says itself whether it is deterministic or narrows numbers, and plans can be made for a GPU that is only
// described, so that what the library takes is known without one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/device/cuda/dnn/dnn_calls.h"

namespace argosy::cuda {

// For whom engines are sought: the device of a handle, or one of these properties (JSON, version 9.8 and newer).
struct DnnTarget {
  DnnHandle handle = nullptr;
  std::string described = {};
};

// A descriptor of the library's graphs. Owns it; what it was given as attributes must live as long.
class DnnNode {
 public:
  DnnNode() = default;
  DnnNode(const DnnCalls& calls, int kind);
  ~DnnNode();
  DnnNode(DnnNode&& other) noexcept;
  DnnNode& operator=(DnnNode&& other) noexcept;

  void* get() const { return node_; }
  // 0, or the status of the first call that failed.
  int status() const { return status_; }
  void fail(int status) {
    if (status_ == 0) status_ = status;
  }

  void set(int attribute, int type, std::int64_t count, const void* values);
  void set_number(int attribute, int type, int value) { set(attribute, type, 1, &value); }  // an enumerator
  void set_int(int attribute, std::int64_t value);
  void set_ints(int attribute, std::span<const std::int64_t> values);
  void set_node(int attribute, const DnnNode& value);
  void finish();

 private:
  const DnnCalls* calls_ = nullptr;
  void* node_ = nullptr;
  int status_ = 0;
};

// Of four axes: n, c, h, w for images; out, in, h, w for filters. Distances in elements, in any order.
struct DnnTensorInfo {
  std::int64_t id = 0;  // what its memory is given by
  int type = kDnnFloat;
  std::array<std::int64_t, 4> sizes = {}, strides = {};
  std::int64_t alignment = 16;  // of its memory, in bytes
  bool inside = false;          // between two operations: it has no memory
};

struct DnnWindows {
  std::array<std::int64_t, 2> pad_before = {}, pad_after = {}, strides = {1, 1}, dilations = {1, 1};  // h, w
};

// An engine for a graph, with its settings.
struct DnnEngine {
  std::shared_ptr<DnnNode> configuration;
  std::int64_t number = -1;  // the library's
  unsigned notes = 0;        // bits: 1 << kDnnNoteTensorCore, ...
};

// Ready to run. Movable.
struct DnnPlan {
  std::shared_ptr<DnnNode> configuration;
  DnnNode node;
  std::int64_t workspace_bytes = 0;
};

// REQUIRES: `calls` outlives it. One thread at a time.
class DnnGraph {
 public:
  explicit DnnGraph(const DnnCalls& calls) : calls_(calls) {}

  // Tensors by the order in which they are added.
  using Tensor = int;
  Tensor tensor(const DnnTensorInfo& info);
  // By direction: image, filter -> output; filter, dy -> dx; image, dy -> df (dnn_calls.h). `type` of what is summed.
  void convolution(int direction, Tensor first, Tensor second, Tensor result, const DnnWindows& windows, int type);
  void add(Tensor x, Tensor b, Tensor y, int type);
  void relu(Tensor x, Tensor y, int type);

  // The engines that heuristics name, at most `most`, those with a note of `without` left out. An empty list: there is
  // no way. What the library refuses is status().
  std::vector<DnnEngine> engines(const DnnTarget& target, unsigned without, int most);
  // Makes the plan of an engine; may compile a kernel.
  int plan(const DnnTarget& target, const DnnEngine& engine, DnnPlan* plan) const;
  // 0, or the status of the first call that failed.
  int status() const { return status_; }

 private:
  DnnNode& keep(DnnNode node);
  void fail(int status) {
    if (status_ == 0) status_ = status;
  }
  void pointwise(int mode, Tensor x, const Tensor* b, Tensor y, int type);

  const DnnCalls& calls_;
  std::vector<std::unique_ptr<DnnNode>> nodes_;  // in the order made
  std::vector<DnnNode*> tensors_, operations_;
  DnnNode graph_, device_;
  int status_ = 0;
};

// Starts the plan on the handle's stream. `pointers` by `ids`; the workspace has what the plan says. The library's
// status.
int execute(const DnnCalls& calls, DnnHandle handle, const DnnPlan& plan, std::span<const std::int64_t> ids,
            std::span<void* const> pointers, void* workspace);

}  // namespace argosy::cuda
