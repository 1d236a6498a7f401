// Makes a call: on its kernels alone, and as a graph in a session; and looks whether what comes of it may be.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "argosy/runtime/device_set/device_set.h"
#include "fuzz/op_calls/op_call.h"

namespace argosy::op_calls {

// How far a call came.
enum class Stage : unsigned char { kAttributes, kShape, kKernel, kRun, kThrough };
inline constexpr int kStages = 5;

struct Outcome {
  Stage stage = Stage::kAttributes;  // where it was refused, or kThrough
  Status status;
};

// Told of everything that must not be: outputs that the shape function did not foresee, kernels that disagree,
// exceptions. The first word says which.
using Complain = std::function<void(const std::string&)>;

// A check of ours failed, where that ends the step alone. (Some ops give INTERNAL for a wrong argument, as TensorFlow.)
bool is_bug(const Status& status);

// Does an attribute say what the outputs' shapes are?
bool claims_shapes(const OpDef& op);

// The shape function with all, part and nothing known; then the first kernel and the reference kernel.
Outcome run_on_kernels(const OpCall& call, const Complain& complain);
// The call's nodes in a graph, in a session of that device set.
Outcome run_in_session(const OpCall& call, const std::shared_ptr<DeviceSet>& device_set, const Complain& complain);

}  // namespace argosy::op_calls
