// Kernel: how an op runs on one kind of device. KernelContext: the inputs, outputs and memory of one run.
//
// A kernel is made once per compiled node, from attributes, dtypes and static shapes. It may keep objects that are
// costly to make (a oneDNN primitive). Many threads call run() at once, for steps that overlap, so a kernel must guard
// the state that it changes. A stateless kernel is a plain function.
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
class StepContext;  // one run of a step, as kernels see it: argosy/op/kernel/step_context.h

// What is known when a kernel is made. The views are valid only during the factory's call.
struct KernelInit {
  const OpDef& op;                                     // of the node; outlives the kernel
  const AttrMap& attrs;                                // of the node
  std::string_view node;                               // its name, unique in the graph
  std::span<const DType> input_dtypes;                 // by input
  std::span<const DType> output_dtypes;                // by output
  std::span<const PartialShape> input_shapes;          // as known at compile time; sizes may be unknown
  std::span<const PartialShape> output_shapes;         // likewise
  std::span<const Tensor* const> constants;            // per input: its value when it is a constant, else null
  Device* device = nullptr;                            // where it will run; null in tests without one
  ResourceManager* resources = nullptr;                // of that device
  std::shared_ptr<ResourceManager> op_state = nullptr;  // the session's own resources; null outside a session
  std::shared_ptr<FunctionCalls> functions = nullptr;  // functions of its graph; null outside a step

  // The value of input i if it is a constant, else null.
  const Tensor* constant(int i) const { return constants.empty() ? nullptr : constants[i]; }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Computes the node. Concurrent runs of a step may call it at the same time.
  virtual Status run(KernelContext& c) = 0;
  // True if a run may be captured in a CUDA graph and replayed: with tensors at the same addresses, every run enqueues
  // the same work. False if a run changes state on the host, such as a counter of random numbers.
  virtual bool capturable() const { return true; }
};

// A kernel that waits (Recv, dequeue, collectives) without blocking the thread. It calls `done` exactly once, from any
// thread, also when the step is cancelled. The context stays valid until then. Its op sets OpDef::async.
class AsyncKernel : public Kernel {
 public:
  using Done = std::function<void(Status)>;  // receives the result of the run
  // Starts the run; `done` may be called from any thread, also before this returns.
  virtual void run_async(KernelContext& c, Done done) = 0;
  Status run(KernelContext& c) final;  // run_async(), then waits; for tests and constant folding
};

using KernelFunction = Status (*)(KernelContext&);  // a kernel without state
// UNIMPLEMENTED with a reason declines: the next kernel of the list is tried. Any other error fails the graph.
using KernelFactory = Result<std::unique_ptr<Kernel>> (*)(const KernelInit&);

// One output slot of a running node, prepared by the executor.
struct OutputSlot {
  Tensor* tensor = nullptr;  // null: nobody reads this output
  bool planned = false;      // `tensor` already has its memory, dtype and shape, from the step's memory plan
  bool on_host = false;      // it must be in host memory, on any device
};

// One run of a node: its inputs, outputs, memory and device.
class KernelContext {
 public:
  // Filled in by the executor; a kernel uses the functions below.
  struct Fields {
    const Tensor* const* inputs = nullptr;  // by input
    int num_inputs = 0;                     // of `inputs`
    OutputSlot* outputs = nullptr;          // by output
    int num_outputs = 0;                    // of `outputs`
    const DType* output_dtypes = nullptr;   // by output
    const bool* may_donate = nullptr;       // per input: the node reads it last, may reuse its buffer; null = none
    std::string_view node;                  // for errors
    Device* device = nullptr;               // the device that it runs on
    Allocator* allocator = nullptr;         // the device's memory
    Allocator* host_allocator = nullptr;    // for outputs in host memory, if `allocator` is not the host's
    ResourceManager* resources = nullptr;   // the device's
    StepContext* step = nullptr;            // null where a kernel runs outside a step
    CopyEngine* copy_engine = nullptr;      // of kernels of kind "layout", which want one
  };
  // Copies `fields`; what they point to must outlive the context.
  explicit KernelContext(const Fields& fields) : f_(fields) {}

  std::string_view node() const { return f_.node; }                // its name, for errors
  int num_inputs() const { return f_.num_inputs; }                 // data inputs
  int num_outputs() const { return f_.num_outputs; }               // of the node
  const Tensor& input(int i) const { return *f_.inputs[i]; }       // in device memory; host inputs are in host memory
  DType output_dtype(int i) const { return f_.output_dtypes[i]; }  // of output i

  // The variable behind input i, which is a Ref(T) or a resource handle; the input keeps it alive during the call.
  // INVALID_ARGUMENT: input i is neither. FAILED_PRECONDITION: the variable does not exist.
  Result<Variable*> variable(int i) const;
  // The resource behind input i. FAILED_PRECONDITION: it does not exist. INVALID_ARGUMENT: no handle, or another type.
  template <typename T>
  Result<std::shared_ptr<T>> resource(int i) const {
    ARGOSY_ASSIGN_OR_RETURN(const ResourceHandle* handle, resource_handle(i));
    auto typed = std::dynamic_pointer_cast<T>(handle->resource());
    if (!typed) return wrong_resource(*handle);
    return typed;
  }
  Result<const ResourceHandle*> resource_handle(int i) const;  // the handle at input i

  // Returns output i with this shape, uninitialised. Its memory comes from the step's memory plan, from the allocator,
  // or from one of the inputs `may_reuse`. An input is reused if it has the same shape and element size and no other
  // reader. Output and input then alias element by element.
  Result<Tensor*> output(int i, const Shape& shape, std::initializer_list<int> may_reuse = {}) {
    const OutputSlot& slot = f_.outputs[i];
    if (slot.planned && slot.tensor->shape() == shape) [[likely]]
      return slot.tensor;
    return allocate_output(i, shape, may_reuse);
  }
  // Makes this tensor output i, sharing its memory: Identity, Reshape, reads of variables. If the memory plan gave the
  // output its own memory, the elements are copied there.
  void set_output(int i, Tensor tensor);

  // Allocates device memory, for the duration of the run.
  Result<Buffer> scratch(std::size_t bytes) { return f_.allocator->allocate(bytes); }

  Device* device() const { return f_.device; }                  // null in some tests
  Allocator& allocator() const { return *f_.allocator; }        // of the device's memory
  ResourceManager& resources() const { return *f_.resources; }  // of the device
  StepContext* step() const { return f_.step; }                 // null outside of a step
  const Fields& fields() const { return f_; }                   // for contexts that wrap this one
  // For executors that use one context for many kernels, one after the other: changing some fields is cheaper than
  // copying all of them.
  Fields& fields_for_next_kernel() { return f_; }

 private:
  Result<Tensor*> allocate_output(int i, const Shape& shape, std::initializer_list<int> may_reuse);
  Status wrong_resource(const ResourceHandle& handle) const;
  Fields f_;
};

// The dtypes that a kernel takes for one type attribute: {"T", {kFloat32, kFloat64}}. Attributes that no KernelTypes
// names may have any dtype.
struct KernelTypes {
  std::string attr;           // the attribute's name
  std::vector<DType> dtypes;  // the dtypes that the kernel takes
};

// The kernels of each op and kind of device, best first, the plain reference kernel last. Emulated GPUs run the kind
// "cpu". The kind "layout" has the CPU kernels of ops that only move elements, for devices with a CopyEngine.
class KernelRegistry {
 public:
  // Adds a kernel behind the existing ones. It does not take nodes whose dtypes are not among `types`.
  void add(std::string op, std::string_view kind, KernelFunction function, std::vector<KernelTypes> types = {});
  // The same for a kernel with a factory. make() chooses the first kernel that takes a node.
  void add(std::string op, std::string_view kind, KernelFactory factory, std::vector<KernelTypes> types = {});
  // True if the op has a kernel of this kind. The placer calls it.
  bool has(std::string_view op, std::string_view kind) const;
  // The dtype in `attrs` that no kernel of the op takes. kInvalid: some kernel takes the attributes, or has() is false.
  DType refused(std::string_view op, std::string_view kind, const AttrMap& attrs) const;
  // Makes the first kernel that does not decline. UNIMPLEMENTED, with every reason, if all decline.
  Result<std::unique_ptr<Kernel>> make(const KernelInit& init, std::string_view kind) const;
  // Makes the last kernel that takes the dtypes (the last of all if none does). Tests compare the others with it.
  Result<std::unique_ptr<Kernel>> make_reference(const KernelInit& init, std::string_view kind) const;
  // The ops that have a kernel of this kind, sorted.
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
