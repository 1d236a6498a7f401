// Kernel: how an op runs on one kind of device. KernelContext: what it sees while it runs.
//
// A kernel is made once per compiled node, from what is known then (attributes, dtypes, static shapes); it may keep
// what is costly to make (a oneDNN primitive). Its run() is called by many threads at once, for steps that overlap:
// state it changes is its own to guard. A stateless kernel is a plain function.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/op/definition/op_def.h"
#include "argosy/op/kernel/function_call.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/op/state/variable.h"

namespace argosy {

class Device;  // argosy/device/device.h
class KernelContext;
class CopyEngine;   // copies elements that the host may not touch: argosy/ops/layout/strided/strided_copy.h
class StepContext;  // what a step hands to kernels that meet others: argosy/op/kernel/step_context.h

// What is known when a kernel is made. Borrowed; valid during the call only.
struct KernelInit {
  const OpDef& op;                                     // of the node; outlives the kernel
  const AttrMap& attrs;                                // of the node
  std::string_view node;                               // its name, unique in the graph
  std::span<const DType> input_dtypes;                 // by input
  std::span<const DType> output_dtypes;                // by output
  std::span<const PartialShape> input_shapes;          // static knowledge; unknown sizes are possible
  std::span<const PartialShape> output_shapes;         // what is known when it is made
  std::span<const Tensor* const> constants;            // per input: its value when it is a constant, else null
  Device* device = nullptr;                            // where it will run; null in tests without one
  ResourceManager* resources = nullptr;                // of that device
  std::shared_ptr<ResourceManager> session = nullptr;  // what its session keeps for itself; null outside one
  std::shared_ptr<FunctionCalls> functions = nullptr;  // those of its graph; null outside a step

  // Null where input i is not known now.
  const Tensor* constant(int i) const { return constants.empty() ? nullptr : constants[i]; }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Computes the node. Concurrent runs of a step may call it at the same time.
  virtual Status run(KernelContext& c) = 0;
  // Run again with tensors in the same places, it starts the same work: what it started may be captured and replayed
  // without it. Not so where it counts something on the host (random numbers).
  virtual bool capturable() const { return true; }
};

// A kernel that waits (Recv, dequeue, collectives): it must not hold the thread. `done` is called exactly once, from
// any thread, also when the step is cancelled. The context stays valid until then. Its op says `async`.
class AsyncKernel : public Kernel {
 public:
  using Done = std::function<void(Status)>;  // receives the node's end, once
  // Starts; `done` may be called from any thread, also before this returns.
  virtual void run_async(KernelContext& c, Done done) = 0;
  Status run(KernelContext& c) final;  // waits; for tests and constant folding
};

using KernelFunction = Status (*)(KernelContext&);  // a kernel without state
// UNIMPLEMENTED with a reason declines: the next kernel of the list is tried. Any other error fails the graph.
using KernelFactory = Result<std::unique_ptr<Kernel>> (*)(const KernelInit&);

// One output slot of a running node, prepared by the executor.
struct OutputSlot {
  Tensor* tensor = nullptr;  // null: nobody reads this output
  bool planned = false;      // `tensor` already has its memory, dtype and shape, from the step's memory plan
  bool on_host = false;      // it belongs into the host's memory, whatever the device
};

// What a kernel sees of one run of its node.
class KernelContext {
 public:
  // Filled in by the executor; a kernel uses the functions below.
  struct Fields {
    const Tensor* const* inputs = nullptr;  // by input
    int num_inputs = 0;                     // of `inputs`
    OutputSlot* outputs = nullptr;          // by output
    int num_outputs = 0;                    // of `outputs`
    const DType* output_dtypes = nullptr;   // by output
    const bool* may_donate = nullptr;       // per input: this node is its last reader; null = none
    std::string_view node;                  // for errors
    Device* device = nullptr;               // that it runs on
    Allocator* allocator = nullptr;         // the device's memory
    Allocator* host_allocator = nullptr;    // where that is not the host's: of outputs that belong there
    ResourceManager* resources = nullptr;   // the device's
    StepContext* step = nullptr;            // null where a kernel runs outside a step
    CopyEngine* copy_engine = nullptr;      // of kernels of kind "layout", which want one
  };
  // `fields` are copied; what they point to outlives the context.
  explicit KernelContext(const Fields& fields) : f_(fields) {}

  std::string_view node() const { return f_.node; }                // its name, for errors
  int num_inputs() const { return f_.num_inputs; }                 // data inputs
  int num_outputs() const { return f_.num_outputs; }               // of the node
  const Tensor& input(int i) const { return *f_.inputs[i]; }       // in this device's memory, but for host arguments
  DType output_dtype(int i) const { return f_.output_dtypes[i]; }  // of output i

  // The variable that input i refers to: a Ref(T) or a resource handle; the input keeps it alive during the call.
  // INVALID_ARGUMENT when it is none.
  Result<Variable*> variable(int i) const;
  // What the handle at input i names; NOT_FOUND, or INVALID_ARGUMENT where it is of another type.
  template <typename T>
  Result<std::shared_ptr<T>> resource(int i) const {
    ARGOSY_ASSIGN_OR_RETURN(const ResourceHandle* handle, resource_handle(i));
    auto typed = std::dynamic_pointer_cast<T>(handle->resource());
    if (!typed) return wrong_resource(*handle);
    return typed;
  }
  Result<const ResourceHandle*> resource_handle(int i) const;  // the handle at input i

  // Output i with this shape, ready to be written, not initialised. Its memory is planned, or fresh from the device, or
  // that of one of the inputs `may_reuse`. An input is reused if it has the same shape and element size and no other
  // reader; output and input then alias element by element.
  Result<Tensor*> output(int i, const Shape& shape, std::initializer_list<int> may_reuse = {}) {
    const OutputSlot& slot = f_.outputs[i];
    if (slot.planned && slot.tensor->shape() == shape) [[likely]]
      return slot.tensor;
    return allocate_output(i, shape, may_reuse);
  }
  // Output i is this tensor (shares its memory): Identity, Reshape, reads of variables. If the plan gave the output
  // memory of its own, the elements are copied there.
  void set_output(int i, Tensor tensor);

  // Device memory for the length of the call.
  Result<Buffer> scratch(std::size_t bytes) { return f_.allocator->allocate(bytes); }

  Device* device() const { return f_.device; }                  // null in some tests
  Allocator& allocator() const { return *f_.allocator; }        // of the device's memory
  ResourceManager& resources() const { return *f_.resources; }  // of the device
  StepContext* step() const { return f_.step; }                 // null outside of a step
  const Fields& fields() const { return f_; }                   // for contexts made of this one

 private:
  Result<Tensor*> allocate_output(int i, const Shape& shape, std::initializer_list<int> may_reuse);
  Status wrong_resource(const ResourceHandle& handle) const;
  Fields f_;
};

// The dtypes that a kernel takes for one type attribute: {"T", {kFloat32, kFloat64}}. What it does not name is free.
struct KernelTypes {
  std::string attr;           // whose value is looked at
  std::vector<DType> dtypes;  // that the kernel takes
};

// The kernels there are, per op and kind of device ("cpu"; emulated GPUs run those too), best first, plain reference
// last. Of kind "layout" are the CPU's of ops that only move elements, for devices that move them themselves.
class KernelRegistry {
 public:
  // A node whose attributes are not among `types` is not this kernel's.
  void add(std::string op, std::string_view kind, KernelFunction function, std::vector<KernelTypes> types = {});
  // Behind those that are there: the first that takes a node is chosen.
  void add(std::string op, std::string_view kind, KernelFactory factory, std::vector<KernelTypes> types = {});
  // Is there any kernel? What the placer asks.
  bool has(std::string_view op, std::string_view kind) const;
  // For these attributes? Where not, the dtype that no kernel takes; kInvalid: there is one, or no kernel at all.
  DType refused(std::string_view op, std::string_view kind, const AttrMap& attrs) const;
  // The first kernel that does not decline; UNIMPLEMENTED with every reason when none is left.
  Result<std::unique_ptr<Kernel>> make(const KernelInit& init, std::string_view kind) const;
  // The last of the list: what tests compare with.
  Result<std::unique_ptr<Kernel>> make_reference(const KernelInit& init, std::string_view kind) const;
  // The ops that have one, sorted.
  std::vector<std::string> ops(std::string_view kind) const;

 private:
  struct Entry {
    KernelFunction function = nullptr;
    KernelFactory factory = nullptr;
    std::vector<KernelTypes> types;
    DType refused(const AttrMap& attrs) const;
  };
  static Result<std::unique_ptr<Kernel>> make_one(const Entry& entry, const KernelInit& init);
  const std::vector<Entry>* find(std::string_view op, std::string_view kind) const;
  std::unordered_map<std::string, std::vector<Entry>> kernels_;  // key: "kind/op"
};

}  // namespace argosy
