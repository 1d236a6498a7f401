// DnnGraph: a graph of operations for cuDNN, and plans that run it. The graph states operations on tensors. The
// library's heuristics name engines that can run it, best first. A plan is one engine, ready to run.
//
// This is the library's newer "backend" interface. Reasons to use it:
// * Only it has engines for Hopper and later GPUs.
// * An engine states whether it is deterministic or narrows numbers.
// * Plans can be made for a GPU given by its properties, so a test needs no GPU.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/device/cuda/dnn/dnn_calls.h"

namespace argosy::cuda {

// The GPU to find engines for: the device of a handle, or one with these properties (JSON, version 9.8 and newer).
struct DnnTarget {
  DnnHandle handle = nullptr;
  std::string described = {};
};

// A descriptor of the library's graph interface; owned. Descriptors given to it as attributes must outlive it.
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

// A tensor of four axes: n, c, h, w for images; out, in, h, w for filters. Strides in elements, in any order.
struct DnnTensorInfo {
  std::int64_t id = 0;  // names its memory in execute()
  int type = kDnnFloat;
  std::array<std::int64_t, 4> sizes = {}, strides = {};
  std::int64_t alignment = 16;  // of its memory, in bytes
  bool inside = false;          // an intermediate value without memory
};

struct DnnWindows {
  std::array<std::int64_t, 2> pad_before = {}, pad_after = {}, strides = {1, 1}, dilations = {1, 1};  // h, w
};

// An engine for a graph, with its configuration.
struct DnnEngine {
  std::shared_ptr<DnnNode> configuration;
  std::int64_t number = -1;  // the library's number of the engine
  unsigned notes = 0;        // bits: 1 << kDnnNoteTensorCore, ...
};

// An engine ready to run. Movable.
struct DnnPlan {
  std::shared_ptr<DnnNode> configuration;
  DnnNode node;
  std::int64_t workspace_bytes = 0;
};

// REQUIRES: `calls` outlives it. One thread at a time.
class DnnGraph {
 public:
  explicit DnnGraph(const DnnCalls& calls) : calls_(calls) {}

  // The number of a tensor, in the order of the calls of tensor().
  using Tensor = int;
  Tensor tensor(const DnnTensorInfo& info);
  // Adds a convolution. By direction: image, filter -> output; filter, dy -> dx; image, dy -> df (dnn_calls.h). `type`:
  // of the accumulation.
  void convolution(int direction, Tensor first, Tensor second, Tensor result, const DnnWindows& windows, int type);
  void add(Tensor x, Tensor b, Tensor y, int type);
  void relu(Tensor x, Tensor y, int type);

  // At most `most` engines that the heuristics name, without those that have a note of `without`. Empty: no engine, and
  // status() is the reason if the library refused the graph.
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

// Starts the plan on the handle's stream. pointers[i] is the memory of tensor ids[i]. `workspace` has
// plan.workspace_bytes bytes. Returns the library's status.
int execute(const DnnCalls& calls, DnnHandle handle, const DnnPlan& plan, std::span<const std::int64_t> ids,
            std::span<void* const> pointers, void* workspace);

}  // namespace argosy::cuda
