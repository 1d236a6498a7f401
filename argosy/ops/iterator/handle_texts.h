// Strings that name iterators of every kind: ops that convert a handle to a string and back. Internal to the family.
#pragma once

#include <string>
#include <vector>

#include "argosy/ops/iterator/iterator_state.h"

namespace argosy::datasets {

inline constexpr char kSeparator = '\n';  // no name contains it

inline std::vector<DType> types_of(const KernelInit& init) {
  return init.attrs.get<std::vector<DType>>("output_types");
}
inline std::vector<PartialShape> shapes_of(const KernelInit& init) {
  return init.attrs.get<std::vector<PartialShape>>("output_shapes");
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
  c.set_output(0, Tensor::scalar(str_cat(container, kSeparator, name)));
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
    const std::string& text = *c.input(0).data<std::string>();
    const std::size_t at = text.find(kSeparator);
    if (at == std::string::npos) {
      return invalid_argument("Could not parse string_handle as a valid ResourceHandle");
    }
    const std::string container = text.substr(0, at), name = text.substr(at + 1);
    ARGOSY_ASSIGN_OR_RETURN(auto state, c.resources().find<State>(container, name));
    if (!types_.empty()) {
      ARGOSY_RETURN_IF_ERROR(check_elements(types_, shapes_, state->types(), state->shapes()));
    }
    c.set_output(0, Tensor::scalar(ResourceHandle(container, name, std::move(state))));
    return ok_status();
  }

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

}  // namespace argosy::datasets
