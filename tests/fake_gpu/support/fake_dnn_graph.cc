#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "argosy/device/cuda/dnn/dnn_graph_numbers.h"
#include "argosy/ops/conv/gpu/windows_cuda.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "tests/fake_gpu/support/fake_dnn_internal.h"

namespace argosy::cuda::fake {

namespace {

struct Attribute {
  int type = 0;
  std::vector<std::byte> bytes;
  std::int64_t count = 0;
};
struct Node {
  int kind = 0;
  bool finished = false;
  std::map<int, Attribute> attributes = {};
  const FakeDnn::Engine* engine = nullptr;  // configurations, engines

  template <typename T>
  std::vector<T> values(int attribute) const {
    const auto at = attributes.find(attribute);
    if (at == attributes.end()) return {};
    std::vector<T> found(at->second.bytes.size() / sizeof(T));
    std::memcpy(found.data(), at->second.bytes.data(), at->second.bytes.size());
    return found;
  }
  template <typename T>
  T value(int attribute) const {
    const std::vector<T> all = values<T>(attribute);
    EXPECT_EQ(all.size(), 1u) << attribute;
    return all.empty() ? T{} : all[0];
  }
  const Node& node(int attribute) const { return *static_cast<const Node*>(value<void*>(attribute)); }
};

std::size_t bytes_of(int type) {
  switch (type) {
    case dnn_type_of::kBoolean:
    case dnn_type_of::kText: return 1;
    case dnn_type_of::kInt64:
    case dnn_type_of::kDouble:
    case dnn_type_of::kHandle:
    case dnn_type_of::kPointer:
    case dnn_type_of::kDescriptor: return 8;
    default: return 4;
  }
}

// Attributes of each kind that must be there, and others that may be, with their types.
struct Form {
  std::map<int, int> wanted, possible = {};
};
const std::map<int, Form>& forms() {
  using namespace dnn_attr;
  namespace t = dnn_type_of;
  static const std::map<int, Form> all = {
      {dnn_kind::kTensor,
       {{{kTensorId, t::kInt64},
         {kTensorType, t::kDataType},
         {kTensorSizes, t::kInt64},
         {kTensorStrides, t::kInt64},
         {kTensorAlignment, t::kInt64}},
        {{kTensorInside, t::kBoolean}}}},
      {dnn_kind::kConvolution,
       {{{kConvolutionAxes, t::kInt64},
         {kConvolutionType, t::kDataType},
         {kConvolutionMode, t::kConvolutionMode},
         {kConvolutionPadBefore, t::kInt64},
         {kConvolutionPadAfter, t::kInt64},
         {kConvolutionStrides, t::kInt64},
         {kConvolutionDilations, t::kInt64}}}},
      {dnn_kind::kConvolutionForward,
       {{{kForwardConvolution, t::kDescriptor},
         {kForwardImage, t::kDescriptor},
         {kForwardFilter, t::kDescriptor},
         {kForwardResult, t::kDescriptor},
         {kForwardAlpha, t::kFloat},
         {kForwardBeta, t::kFloat}}}},
      {dnn_kind::kConvolutionTowardsImage,
       {{{kImageConvolution, t::kDescriptor},
         {kImageFilter, t::kDescriptor},
         {kImageGradient, t::kDescriptor},
         {kImageResult, t::kDescriptor},
         {kImageAlpha, t::kFloat},
         {kImageBeta, t::kFloat}}}},
      {dnn_kind::kConvolutionTowardsFilter,
       {{{kFilterConvolution, t::kDescriptor},
         {kFilterImage, t::kDescriptor},
         {kFilterGradient, t::kDescriptor},
         {kFilterResult, t::kDescriptor},
         {kFilterAlpha, t::kFloat},
         {kFilterBeta, t::kFloat}}}},
      {dnn_kind::kPointwise, {{{kPointwiseMode, t::kPointwiseMode}, {kPointwiseType, t::kDataType}}}},
      {dnn_kind::kPointwiseOperation,
       {{{kPointwiseOf, t::kDescriptor}, {kPointwiseX, t::kDescriptor}, {kPointwiseY, t::kDescriptor}},
        {{kPointwiseB, t::kDescriptor}}}},
      {dnn_kind::kGraph, {{{kGraphOperations, t::kDescriptor}, {kGraphHandle, t::kHandle}}}},
      {dnn_kind::kHeuristics, {{{kHeuristicsGraph, t::kDescriptor}, {kHeuristicsMode, t::kHeuristicsMode}}}},
      {dnn_kind::kConfiguration, {}},
      {dnn_kind::kEngine, {}},
      {dnn_kind::kPlan, {{{kPlanHandle, t::kHandle}, {kPlanConfiguration, t::kDescriptor}}}},
      {dnn_kind::kPack, {{{kPackIds, t::kInt64}, {kPackPointers, t::kPointer}, {kPackWorkspace, t::kPointer}}}},
  };
  return all;
}

int create(int kind, void** out) {
  if (!forms().contains(kind)) return kDnnNotSupported;
  *out = new Node{.kind = kind};
  const std::lock_guard lock(counting);
  ++fake->live_objects;
  return 0;
}
int destroy(void* node) {
  delete static_cast<Node*>(node);
  const std::lock_guard lock(counting);
  --fake->live_objects;
  return 0;
}

int set(void* to, int attribute, int type, std::int64_t count, const void* values) {
  Node& node = *static_cast<Node*>(to);
  EXPECT_FALSE(node.finished) << "attribute " << attribute << " of a finished descriptor";
  const Form& form = forms().at(node.kind);
  const auto known = form.wanted.contains(attribute) ? form.wanted.find(attribute) : form.possible.find(attribute);
  if (known == form.possible.end() || node.finished || count < 1) return kDnnBadParameter;
  // Factors are double where what is summed is.
  if (known->second != type && !(known->second == dnn_type_of::kFloat && type == dnn_type_of::kDouble)) {
    return kDnnBadParameter;
  }
  const auto* const from = static_cast<const std::byte*>(values);
  node.attributes[attribute] = {type, {from, from + bytes_of(type) * static_cast<std::size_t>(count)}, count};
  return 0;
}

// --- what a convolution is of

struct Convolution {
  int direction = kDnnForward;
  const Node *how = nullptr, *image = nullptr, *filter = nullptr, *output = nullptr;
};
Convolution convolution_of(const Node& op) {
  using namespace dnn_attr;
  switch (op.kind) {
    case dnn_kind::kConvolutionForward:
      return {kDnnForward, &op.node(kForwardConvolution), &op.node(kForwardImage), &op.node(kForwardFilter),
              &op.node(kForwardResult)};
    case dnn_kind::kConvolutionTowardsImage:
      return {kDnnTowardsImage, &op.node(kImageConvolution), &op.node(kImageResult), &op.node(kImageFilter),
              &op.node(kImageGradient)};
    default:
      return {kDnnTowardsFilter, &op.node(kFilterConvolution), &op.node(kFilterImage), &op.node(kFilterResult),
              &op.node(kFilterGradient)};
  }
}
std::vector<std::int64_t> sizes(const Node& tensor) { return tensor.values<std::int64_t>(dnn_attr::kTensorSizes); }
std::vector<std::int64_t> strides(const Node& tensor) { return tensor.values<std::int64_t>(dnn_attr::kTensorStrides); }
std::int64_t id_of(const Node& tensor) { return tensor.value<std::int64_t>(dnn_attr::kTensorId); }
bool inside(const Node& tensor) {
  const std::vector<char> said = tensor.values<char>(dnn_attr::kTensorInside);
  return !said.empty() && said[0] != 0;
}
bool channels_first(const Node& tensor) {
  return strides(tensor)[1] == sizes(tensor)[2] * sizes(tensor)[3] && strides(tensor)[1] > 1;
}

GpuAxis axis_of(const Convolution& c, int axis) {
  const auto at = [&](int attribute) {
    return c.how->values<std::int64_t>(attribute).at(static_cast<std::size_t>(axis));
  };
  const auto size = [&](const Node& tensor) { return sizes(tensor).at(static_cast<std::size_t>(axis) + 2); };
  return {.in = size(*c.image),
          .window = size(*c.filter),
          .stride = at(dnn_attr::kConvolutionStrides),
          .dilation = at(dnn_attr::kConvolutionDilations),
          .out = size(*c.output),
          .pad = at(dnn_attr::kConvolutionPadBefore)};
}
std::int64_t pad_after(const Convolution& c, int axis) {
  return c.how->values<std::int64_t>(dnn_attr::kConvolutionPadAfter).at(static_cast<std::size_t>(axis));
}

// What is computed with. Gradients take the padding after for the one before: cuDNN 9.19 on an H100 has engines that do.
GpuAxis computed_axis(const Convolution& c, int axis) {
  GpuAxis a = axis_of(c, axis);
  if (c.direction != kDnnForward) a.pad = pad_after(c, axis);
  return a;
}

// Do the sizes follow from each other, as the library wants it?
bool sound(const Convolution& c) {
  for (const int axis : {0, 1}) {
    const GpuAxis a = axis_of(c, axis);
    const i64 reach = (a.window - 1) * a.dilation + 1;
    if (a.pad < 0 || pad_after(c, axis) < 0 || a.in + a.pad + pad_after(c, axis) < reach) return false;
    if ((a.in + a.pad + pad_after(c, axis) - reach) / a.stride + 1 != a.out) return false;
  }
  const i64 groups = sizes(*c.image)[1] / sizes(*c.filter)[1];
  return sizes(*c.image)[0] == sizes(*c.output)[0] && sizes(*c.output)[1] == sizes(*c.filter)[0] &&
         sizes(*c.image)[1] == groups * sizes(*c.filter)[1] && sizes(*c.filter)[0] % groups == 0;
}
bool pads_unlike(const Convolution& c) {
  return axis_of(c, 0).pad != pad_after(c, 0) || axis_of(c, 1).pad != pad_after(c, 1);
}
bool is_convolution(const Node& op) {
  return op.kind >= dnn_kind::kConvolutionForward && op.kind <= dnn_kind::kConvolutionTowardsImage;
}

std::vector<const Node*> operations(const Node& graph) {
  std::vector<const Node*> all;
  for (void* const node : graph.values<void*>(dnn_attr::kGraphOperations)) all.push_back(static_cast<Node*>(node));
  return all;
}
const Node& graph_of(const Node& plan_or_heuristics) {
  return plan_or_heuristics.kind == dnn_kind::kHeuristics
             ? plan_or_heuristics.node(dnn_attr::kHeuristicsGraph)
             : plan_or_heuristics.node(dnn_attr::kPlanConfiguration).node(dnn_attr::kHeuristicsGraph);
}

int finish_heuristics(const Node& heuristics) {
  const std::vector<const Node*> ops = operations(graph_of(heuristics));
  const Convolution c = convolution_of(*ops[0]);
  if (heuristics.value<int>(dnn_attr::kHeuristicsMode) == kDnnHeuristicsFast) {
    const std::lock_guard lock(counting);
    ++fake->graphs;
  }
  if (ops.size() > 1 && !fake->fuses) return kDnnNotSupported;
  if (pads_unlike(c) && !fake->pads_unlike) return kDnnNotSupported;
  const Node& image = inside(*c.output) ? *c.image : *c.output;
  const bool first = channels_first(*c.image) || channels_first(image);
  if (fake->only_format >= 0 && first != (fake->only_format == kDnnNchw)) return kDnnNotSupported;
  return 0;
}

int finish(void* at) {
  Node& node = *static_cast<Node*>(at);
  EXPECT_FALSE(node.finished);
  for (const auto& [attribute, type] : forms().at(node.kind).wanted) {
    if (!node.attributes.contains(attribute)) return kDnnBadParameter;
  }
  for (const auto& [attribute, value] : node.attributes) {
    if (value.type != dnn_type_of::kDescriptor) continue;
    for (void* const child : node.values<void*>(attribute)) {
      if (child == nullptr || (!static_cast<Node*>(child)->finished && node.kind != dnn_kind::kPlan)) {
        return kDnnBadParameter;
      }
    }
  }
  if (is_convolution(node)) {
    if (!sound(convolution_of(node))) return kDnnBadParameter;
    const bool wide = convolution_of(node).how->value<int>(dnn_attr::kConvolutionType) == kDnnDouble;
    const int alpha = node.kind == dnn_kind::kConvolutionForward        ? dnn_attr::kForwardAlpha
                      : node.kind == dnn_kind::kConvolutionTowardsImage ? dnn_attr::kImageAlpha
                                                                        : dnn_attr::kFilterAlpha;
    if ((node.attributes.at(alpha).type == dnn_type_of::kDouble) != wide) return kDnnBadParameter;
  }
  if (node.kind == dnn_kind::kHeuristics) {
    if (const int status = finish_heuristics(node); status != 0) return status;
  }
  if (node.kind == dnn_kind::kPlan) {
    const Node& configuration = node.node(dnn_attr::kPlanConfiguration);
    EXPECT_NE(configuration.engine, nullptr);
    const auto told = fake->plan_status_of.find(configuration.engine->number);
    if (told != fake->plan_status_of.end()) return told->second;
  }
  node.finished = true;
  return 0;
}

int get(void* at, int attribute, int type, std::int64_t most, std::int64_t* found, void* values) {
  Node& node = *static_cast<Node*>(at);
  const auto answer = [&](const auto& list) {
    *found = static_cast<std::int64_t>(list.size());
    for (std::size_t i = 0; i < list.size() && static_cast<std::int64_t>(i) < most; ++i) {
      std::memcpy(static_cast<std::byte*>(values) + i * sizeof list[i], &list[i], sizeof list[i]);
    }
    return 0;
  };
  switch (node.kind) {
    case dnn_kind::kHeuristics: {
      EXPECT_TRUE(node.finished);
      if (attribute != dnn_attr::kHeuristicsResults || type != dnn_type_of::kDescriptor) return kDnnBadParameter;
      const bool fast = node.value<int>(dnn_attr::kHeuristicsMode) == kDnnHeuristicsFast;
      *found = fast ? static_cast<std::int64_t>(fake->engines.size()) : 0;
      for (std::int64_t i = 0; i < std::min(most, *found); ++i) {
        Node& configuration = *static_cast<Node**>(values)[i];
        EXPECT_EQ(configuration.kind, dnn_kind::kConfiguration);
        configuration.engine = &fake->engines[static_cast<std::size_t>(i)];
        configuration.attributes[dnn_attr::kHeuristicsGraph] = node.attributes.at(dnn_attr::kHeuristicsGraph);
      }
      return 0;
    }
    case dnn_kind::kConfiguration:
      if (attribute != dnn_attr::kConfigurationEngine || node.engine == nullptr) return kDnnBadParameter;
      static_cast<Node*>(*static_cast<void**>(values))->engine = node.engine;
      *found = 1;
      return 0;
    case dnn_kind::kEngine:
      if (attribute == dnn_attr::kEngineNumber) return answer(std::vector<std::int64_t>{node.engine->number});
      return attribute == dnn_attr::kEngineNotes ? answer(node.engine->notes) : kDnnBadParameter;
    case dnn_kind::kPlan:
      if (attribute != dnn_attr::kPlanWorkspace || !node.finished) return kDnnBadParameter;
      return answer(std::vector<std::int64_t>{node.node(dnn_attr::kPlanConfiguration).engine->workspace_bytes});
    default: return kDnnBadParameter;
  }
}

// --- execution

GpuImage image_of(const Node& tensor) {
  const std::vector<std::int64_t> s = strides(tensor);
  return {.n = s[0], .h = s[2], .w = s[3], .c = s[1]};
}

// Our kernels read filters as [h, w, in, out].
Region own_filter(const Node& filter) {
  const std::vector<std::int64_t> n = sizes(filter), s = strides(filter);
  Region r;
  r.add(n[0], 1, s[0]);
  r.add(n[1], n[0], s[1]);
  r.add(n[2], n[3] * n[1] * n[0], s[2]);
  r.add(n[3], n[1] * n[0], s[3]);
  return r;
}

std::int64_t elements_of(const Node& tensor) {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes(tensor)) n *= size;
  return n;
}

// Memory by id. With a bias: relu(convolution + bias).
Status convolve(CudaDevice& device, const Convolution& conv, const std::map<std::int64_t, void*>& memory,
                const void* bias, void* result) {
  KernelContext c({.node = "fake", .device = &device, .allocator = &device.allocator()});
  const DType dtype = dtype_of(conv.filter->value<int>(dnn_attr::kTensorType));
  const std::size_t bytes = element_bytes(dtype);
  const auto at = [&](const Node& tensor) { return memory.at(id_of(tensor)); };
  const GpuConv g{.batch = sizes(*conv.image)[0],
                  .in_c = sizes(*conv.image)[1],
                  .out_c = sizes(*conv.output)[1],
                  .groups = sizes(*conv.image)[1] / sizes(*conv.filter)[1],
                  .h = computed_axis(conv, 0),
                  .w = computed_axis(conv, 1),
                  .in = image_of(*conv.image),
                  .out = image_of(*conv.output),
                  .activation = bias != nullptr ? 1 : 0,
                  .alpha = 0};
  const std::int64_t filter_elements = elements_of(*conv.filter);
  ARGOSY_ASSIGN_OR_RETURN(const Buffer turned, c.scratch(static_cast<std::size_t>(filter_elements) * bytes));
  GpuCopyEngine copy_engine(c);
  const std::string suffix(type_suffix(dtype));
  if (conv.direction != kDnnTowardsFilter)
    copy_engine.move(turned.data(), at(*conv.filter), bytes, own_filter(*conv.filter));
  ARGOSY_RETURN_IF_ERROR(copy_engine.status());
  if (conv.direction == kDnnForward) {
    return launch(c, {"conv", "conv_forward_" + suffix}, grid_for(elements_of(*conv.output)), g,
                  static_cast<const void*>(at(*conv.image)), turned.data(), bias, result);
  }
  if (conv.direction == kDnnTowardsImage) {
    return launch(c, {"conv", "conv_backward_input_" + suffix}, grid_for(elements_of(*conv.image)), g,
                  static_cast<const void*>(at(*conv.output)), turned.data(), result);
  }
  const LaunchShape shape{.grid = {.x = static_cast<unsigned>(filter_elements)}, .block = {.x = 32}};
  ARGOSY_RETURN_IF_ERROR(launch(c, {"conv", "conv_backward_filter_" + suffix}, shape, g,
                                static_cast<const void*>(at(*conv.image)), static_cast<const void*>(at(*conv.output)),
                                turned.data()));
  Region back = own_filter(*conv.filter);
  std::swap(back.to, back.from);
  copy_engine.move(result, turned.data(), bytes, back);
  return copy_engine.status();
}

int execute(DnnHandle handle, void* plan_at, void* pack_at) {
  const Node &plan = *static_cast<Node*>(plan_at), &pack = *static_cast<Node*>(pack_at);
  EXPECT_TRUE(plan.finished && pack.finished);
  expect_stream(*handle);
  const FakeDnn::Engine& engine = *plan.node(dnn_attr::kPlanConfiguration).engine;
  const std::vector<const Node*> ops = operations(graph_of(plan));
  {
    const std::lock_guard lock(counting);
    fake->tried.push_back(engine.number);
    if (const auto told = fake->status_of.find(engine.number); told != fake->status_of.end()) return told->second;
    ++fake->convolutions;
    if (ops.size() > 1) ++fake->fused;
  }
  EXPECT_EQ(pack.value<void*>(dnn_attr::kPackWorkspace) != nullptr, engine.workspace_bytes > 0);
  const std::vector<std::int64_t> ids = pack.values<std::int64_t>(dnn_attr::kPackIds);
  const std::vector<void*> pointers = pack.values<void*>(dnn_attr::kPackPointers);
  EXPECT_EQ(ids.size(), pointers.size());
  std::map<std::int64_t, void*> memory;
  for (std::size_t i = 0; i < std::min(ids.size(), pointers.size()); ++i) memory[ids[i]] = pointers[i];
  if (handle->device == nullptr) return 0;

  const Convolution conv = convolution_of(*ops[0]);
  const Node* result = conv.direction == kDnnForward        ? conv.output
                       : conv.direction == kDnnTowardsImage ? conv.image
                                                            : conv.filter;
  const void* bias = nullptr;
  if (ops.size() > 1) {
    EXPECT_EQ(ops.size(), 3u);
    const auto mode = [](const Node& op) {
      return op.node(dnn_attr::kPointwiseOf).value<int>(dnn_attr::kPointwiseMode);
    };
    EXPECT_EQ(mode(*ops[1]), kDnnPointwiseAdd);
    EXPECT_EQ(mode(*ops[2]), kDnnPointwiseRelu);
    EXPECT_TRUE(inside(*conv.output));
    EXPECT_EQ(&ops[1]->node(dnn_attr::kPointwiseX), conv.output);
    EXPECT_EQ(&ops[2]->node(dnn_attr::kPointwiseX), &ops[1]->node(dnn_attr::kPointwiseY));
    bias = memory.at(id_of(ops[1]->node(dnn_attr::kPointwiseB)));
    result = &ops[2]->node(dnn_attr::kPointwiseY);
  }
  for (const Node* tensor : {conv.image, conv.filter, static_cast<const Node*>(result)}) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.at(id_of(*tensor)));
    EXPECT_EQ(address % static_cast<std::uintptr_t>(tensor->value<std::int64_t>(dnn_attr::kTensorAlignment)), 0u);
  }
  const Status done = convolve(*handle->device, conv, memory, bias, memory.at(id_of(*result)));
  EXPECT_TRUE(done.ok()) << done.to_string();
  return done.ok() ? 0 : 5000;
}

}  // namespace

void add_graphs(DnnCalls& calls) {
  calls.graph_create = create;
  calls.graph_destroy = destroy;
  calls.graph_set = set;
  calls.graph_get = get;
  calls.graph_finish = finish;
  calls.graph_execute = execute;
}

}  // namespace argosy::cuda::fake
