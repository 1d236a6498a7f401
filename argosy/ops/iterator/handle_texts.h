// Strings that name iterators of every kind: ops that convert a handle to a string and back. Internal to the family.
// A string is a ResourceHandleProto, as in TensorFlow: names are those of a device, so it says which one.
#pragma once

#include <string>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/formats/proto/serialized_handle.h"
#include "argosy/ops/iterator/iterator_state.h"

namespace argosy::datasets {

inline std::vector<DType> types_of(const KernelInit& init) {
  return init.attrs.get<std::vector<DType>>("output_types");
}
inline std::vector<PartialShape> shapes_of(const KernelInit& init) {
  return init.attrs.get<std::vector<PartialShape>>("output_shapes");
}

// The full name of the device that a kernel runs on; "": it has none.
inline std::string device_name(const KernelContext& c) {
  return c.device() != nullptr ? c.device()->spec().name.to_string() : std::string();
}

template <typename State>
Status to_string_handle(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto state, c.resource<State>(0));
  ARGOSY_RETURN_IF_ERROR(state->exists());
  ARGOSY_ASSIGN_OR_RETURN(const ResourceHandle* handle, c.resource_handle(0));
  std::string container = handle->container(), name = handle->name();
  if (container.empty()) {  // register it, so that the string finds it
    container = "localhost";
    name = str_cat("AnonymousIterator/", reinterpret_cast<std::uintptr_t>(state.get()));
    ARGOSY_RETURN_IF_ERROR(c.resources().template find_or_make<State>(container, name, [&] { return state; }).status());
  }
  c.set_output(0, Tensor::scalar(tf::serialize_handle({device_name(c), container, name})));
  return ok_status();
}

template <typename State>
class FromString final : public Kernel {
 public:
  explicit FromString(const KernelInit& init) : types_(types_of(init)), shapes_(shapes_of(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<FromString>(init));
  }
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0) return invalid_argument("string_handle must be a scalar");
    ARGOSY_ASSIGN_OR_RETURN(const tf::NamedHandle handle, tf::parse_handle(*c.input(0).data<std::string>()));
    if (const std::string here = device_name(c); handle.device != here) {
      return invalid_argument("Attempted create an iterator on device \"", here, "\" from handle defined on device \"",
                              handle.device, "\"");
    }
    ARGOSY_ASSIGN_OR_RETURN(auto state, c.resources().find<State>(handle.container, handle.name));
    if (!types_.empty()) {
      ARGOSY_RETURN_IF_ERROR(check_elements(types_, shapes_, state->types(), state->shapes()));
    }
    c.set_output(0, Tensor::scalar(ResourceHandle(handle.container, handle.name, std::move(state))));
    return ok_status();
  }

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

}  // namespace argosy::datasets
