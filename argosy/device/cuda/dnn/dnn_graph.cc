#include "argosy/device/cuda/dnn/dnn_graph.h"

#include <algorithm>
#include <utility>

#include "argosy/device/cuda/dnn/dnn_graph_numbers.h"

namespace argosy::cuda {

DnnNode::DnnNode(const DnnCalls& calls, int kind) : calls_(&calls) { fail(calls.graph_create(kind, &node_)); }
DnnNode::~DnnNode() {
  if (node_ != nullptr) calls_->graph_destroy(node_);
}
DnnNode::DnnNode(DnnNode&& other) noexcept
    : calls_(other.calls_), node_(std::exchange(other.node_, nullptr)), status_(other.status_) {}
DnnNode& DnnNode::operator=(DnnNode&& other) noexcept {
  std::swap(calls_, other.calls_);
  std::swap(node_, other.node_);
  std::swap(status_, other.status_);
  return *this;
}

void DnnNode::set(int attribute, int type, std::int64_t count, const void* values) {
  if (status_ == 0) fail(calls_->graph_set(node_, attribute, type, count, values));
}
void DnnNode::set_int(int attribute, std::int64_t value) { set(attribute, dnn_type_of::kInt64, 1, &value); }
void DnnNode::set_ints(int attribute, std::span<const std::int64_t> values) {
  set(attribute, dnn_type_of::kInt64, static_cast<std::int64_t>(values.size()), values.data());
}
void DnnNode::set_node(int attribute, const DnnNode& value) {
  fail(value.status());
  void* const node = value.get();
  set(attribute, dnn_type_of::kDescriptor, 1, &node);
}
void DnnNode::finish() {
  if (status_ == 0) fail(calls_->graph_finish(node_));
}

DnnNode& DnnGraph::keep(DnnNode node) {
  fail(node.status());
  nodes_.push_back(std::make_unique<DnnNode>(std::move(node)));
  return *nodes_.back();
}

DnnGraph::Tensor DnnGraph::tensor(const DnnTensorInfo& info) {
  DnnNode node(calls_, dnn_kind::kTensor);
  node.set_int(dnn_attr::kTensorId, info.id);
  node.set_number(dnn_attr::kTensorType, dnn_type_of::kDataType, info.type);
  node.set_ints(dnn_attr::kTensorSizes, info.sizes);
  node.set_ints(dnn_attr::kTensorStrides, info.strides);
  node.set_int(dnn_attr::kTensorAlignment, info.alignment);
  node.set(dnn_attr::kTensorInside, dnn_type_of::kBoolean, 1, &info.inside);
  node.finish();
  tensors_.push_back(&keep(std::move(node)));
  return static_cast<Tensor>(tensors_.size()) - 1;
}

void DnnGraph::convolution(int direction, Tensor first, Tensor second, Tensor result, const DnnWindows& windows,
                           int type) {
  DnnNode how(calls_, dnn_kind::kConvolution);
  how.set_int(dnn_attr::kConvolutionAxes, 2);
  how.set_number(dnn_attr::kConvolutionType, dnn_type_of::kDataType, type);
  how.set_number(dnn_attr::kConvolutionMode, dnn_type_of::kConvolutionMode, kDnnCrossCorrelation);
  how.set_ints(dnn_attr::kConvolutionPadBefore, windows.pad_before);
  how.set_ints(dnn_attr::kConvolutionPadAfter, windows.pad_after);
  how.set_ints(dnn_attr::kConvolutionStrides, windows.strides);
  how.set_ints(dnn_attr::kConvolutionDilations, windows.dilations);
  how.finish();

  struct Form {
    int kind, convolution, first, second, result, alpha, beta;
  };
  using namespace dnn_attr;
  static constexpr Form kForms[] = {
      {dnn_kind::kConvolutionForward, kForwardConvolution, kForwardImage, kForwardFilter, kForwardResult, kForwardAlpha,
       kForwardBeta},
      {dnn_kind::kConvolutionTowardsImage, kImageConvolution, kImageFilter, kImageGradient, kImageResult, kImageAlpha,
       kImageBeta},
      {dnn_kind::kConvolutionTowardsFilter, kFilterConvolution, kFilterImage, kFilterGradient, kFilterResult,
       kFilterAlpha, kFilterBeta},
  };
  const Form& form = kForms[direction];
  const auto tensor = [&](Tensor t) -> const DnnNode& { return *tensors_[static_cast<std::size_t>(t)]; };
  DnnNode operation(calls_, form.kind);
  operation.set_node(form.convolution, keep(std::move(how)));
  operation.set_node(form.first, tensor(first));
  operation.set_node(form.second, tensor(second));
  operation.set_node(form.result, tensor(result));
  // Factors of the result, and of the earlier content of its memory (alpha and beta).
  if (type == kDnnDouble) {
    const double one = 1, zero = 0;
    operation.set(form.alpha, dnn_type_of::kDouble, 1, &one);
    operation.set(form.beta, dnn_type_of::kDouble, 1, &zero);
  } else {
    const float one = 1, zero = 0;
    operation.set(form.alpha, dnn_type_of::kFloat, 1, &one);
    operation.set(form.beta, dnn_type_of::kFloat, 1, &zero);
  }
  operation.finish();
  operations_.push_back(&keep(std::move(operation)));
}

void DnnGraph::pointwise(int mode, Tensor x, const Tensor* b, Tensor y, int type) {
  DnnNode how(calls_, dnn_kind::kPointwise);
  how.set_number(dnn_attr::kPointwiseMode, dnn_type_of::kPointwiseMode, mode);
  how.set_number(dnn_attr::kPointwiseType, dnn_type_of::kDataType, type);
  how.finish();
  DnnNode operation(calls_, dnn_kind::kPointwiseOperation);
  operation.set_node(dnn_attr::kPointwiseOf, keep(std::move(how)));
  operation.set_node(dnn_attr::kPointwiseX, *tensors_[static_cast<std::size_t>(x)]);
  if (b != nullptr) operation.set_node(dnn_attr::kPointwiseB, *tensors_[static_cast<std::size_t>(*b)]);
  operation.set_node(dnn_attr::kPointwiseY, *tensors_[static_cast<std::size_t>(y)]);
  operation.finish();
  operations_.push_back(&keep(std::move(operation)));
}
void DnnGraph::add(Tensor x, Tensor b, Tensor y, int type) { pointwise(kDnnPointwiseAdd, x, &b, y, type); }
void DnnGraph::relu(Tensor x, Tensor y, int type) { pointwise(kDnnPointwiseRelu, x, nullptr, y, type); }

std::vector<DnnEngine> DnnGraph::engines(const DnnTarget& target, unsigned without, int most) {
  std::vector<void*> operations;
  for (const DnnNode* operation : operations_) operations.push_back(operation->get());
  if (status_ != 0) return {};
  if (target.handle == nullptr) {
    device_ = DnnNode(calls_, dnn_kind::kDevice);
    device_.set(dnn_attr::kDeviceText, dnn_type_of::kText, static_cast<std::int64_t>(target.described.size()) + 1,
                target.described.c_str());
    device_.finish();
    fail(device_.status());
  }
  graph_ = DnnNode(calls_, dnn_kind::kGraph);
  graph_.set(dnn_attr::kGraphOperations, dnn_type_of::kDescriptor, static_cast<std::int64_t>(operations.size()),
             operations.data());
  if (target.handle != nullptr) graph_.set(dnn_attr::kGraphHandle, dnn_type_of::kHandle, 1, &target.handle);
  graph_.finish();
  fail(graph_.status());
  if (status_ != 0) return {};

  std::vector<DnnEngine> found;
  for (const int mode : {kDnnHeuristicsFast, kDnnHeuristicsFallback}) {
    DnnNode heuristics(calls_, dnn_kind::kHeuristics);
    heuristics.set_node(dnn_attr::kHeuristicsGraph, graph_);
    heuristics.set_number(dnn_attr::kHeuristicsMode, dnn_type_of::kHeuristicsMode, mode);
    if (target.handle == nullptr) heuristics.set_node(dnn_attr::kHeuristicsDevice, device_);
    heuristics.finish();
    if (heuristics.status() != 0) continue;  // it has no answer: the other may
    std::int64_t count = 0;
    if (calls_.graph_get(heuristics.get(), dnn_attr::kHeuristicsResults, dnn_type_of::kDescriptor, 0, &count,
                         nullptr) != 0) {
      continue;
    }
    std::vector<std::shared_ptr<DnnNode>> configurations;
    std::vector<void*> nodes;
    for (std::int64_t i = 0; i < count; ++i) {
      configurations.push_back(std::make_shared<DnnNode>(calls_, dnn_kind::kConfiguration));
      nodes.push_back(configurations.back()->get());
    }
    // The library may return fewer than it announced.
    std::int64_t filled = 0;
    if (count == 0 || calls_.graph_get(heuristics.get(), dnn_attr::kHeuristicsResults, dnn_type_of::kDescriptor, count,
                                       &filled, nodes.data()) != 0) {
      continue;
    }
    for (std::int64_t i = 0; i < std::min(filled, count) && static_cast<int>(found.size()) < most; ++i) {
      DnnEngine engine{.configuration = configurations[static_cast<std::size_t>(i)]};
      const DnnNode node(calls_, dnn_kind::kEngine);
      void* at = node.get();
      std::int64_t one = 0, notes = 0;
      int list[kDnnNotes] = {};
      if (calls_.graph_get(engine.configuration->get(), dnn_attr::kConfigurationEngine, dnn_type_of::kDescriptor, 1,
                           &one, &at) != 0 ||
          calls_.graph_get(at, dnn_attr::kEngineNumber, dnn_type_of::kInt64, 1, &one, &engine.number) != 0 ||
          calls_.graph_get(at, dnn_attr::kEngineNotes, dnn_type_of::kNumericalNote, kDnnNotes, &notes, list) != 0) {
        continue;
      }
      for (std::int64_t n = 0; n < std::min<std::int64_t>(notes, kDnnNotes); ++n) engine.notes |= 1u << list[n];
      if ((engine.notes & without) == 0) found.push_back(std::move(engine));
    }
  }
  return found;
}

int DnnGraph::plan(const DnnTarget& target, const DnnEngine& engine, DnnPlan* plan) const {
  plan->configuration = engine.configuration;
  plan->node = DnnNode(calls_, dnn_kind::kPlan);
  if (target.handle != nullptr) {
    plan->node.set(dnn_attr::kPlanHandle, dnn_type_of::kHandle, 1, &target.handle);
  } else {
    plan->node.set_node(dnn_attr::kPlanDevice, device_);
  }
  plan->node.set_node(dnn_attr::kPlanConfiguration, *engine.configuration);
  plan->node.finish();
  if (plan->node.status() != 0) return plan->node.status();
  std::int64_t one = 0;
  return calls_.graph_get(plan->node.get(), dnn_attr::kPlanWorkspace, dnn_type_of::kInt64, 1, &one,
                          &plan->workspace_bytes);
}

int execute(const DnnCalls& calls, DnnHandle handle, const DnnPlan& plan, std::span<const std::int64_t> ids,
            std::span<void* const> pointers, void* workspace) {
  DnnNode pack(calls, dnn_kind::kPack);
  pack.set_ints(dnn_attr::kPackIds, ids);
  pack.set(dnn_attr::kPackPointers, dnn_type_of::kPointer, static_cast<std::int64_t>(pointers.size()), pointers.data());
  pack.set(dnn_attr::kPackWorkspace, dnn_type_of::kPointer, 1, &workspace);
  pack.finish();
  return pack.status() != 0 ? pack.status() : calls.graph_execute(handle, plan.node.get(), pack.get());
}

}  // namespace argosy::cuda
