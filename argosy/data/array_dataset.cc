#include "argosy/data/array_dataset.h"

#include <cstring>

namespace argosy::data {

namespace {

class ArrayDataset final : public Dataset {
 public:
  ArrayDataset(std::string description, std::vector<ArrayComponent> arrays, int classes)
      : description_(std::move(description)), arrays_(std::move(arrays)), classes_(classes) {
    for (const ArrayComponent& a : arrays_) {
      components_.push_back({a.name, a.as_float ? DType::kFloat32 : a.values.dtype(), a.values.shape().removed(0)});
    }
  }

  std::int64_t size() const override { return arrays_.front().values.shape()[0]; }
  std::span<const Component> components() const override { return components_; }
  int classes() const override { return classes_; }
  std::string describe() const override { return description_; }

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    for (std::size_t c = 0; c < arrays_.size(); ++c) {
      const Tensor& from = arrays_[c].values;
      const auto row = static_cast<std::size_t>(components_[c].shape.elements());
      const std::size_t row_bytes = row * element_bytes(from.dtype());
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto* source = from.raw_as<const std::uint8_t>() + static_cast<std::size_t>(indices[i]) * row_bytes;
        if (arrays_[c].as_float) {
          const ByteScale s = *arrays_[c].as_float;
          float* target = to[c].raw_as<float>() + i * row;
          for (std::size_t k = 0; k < row; ++k) target[k] = static_cast<float>(source[k]) * s.scale + s.offset;
        } else if (row_bytes > 0) {
          std::memcpy(to[c].raw_as<std::uint8_t>() + i * row_bytes, source, row_bytes);
        }
      }
    }
    return ok_status();
  }

 private:
  std::string description_;
  std::vector<ArrayComponent> arrays_;
  std::vector<Component> components_;
  int classes_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> make_array_dataset(std::string description, std::vector<ArrayComponent> components,
                                                    int classes) {
  if (components.empty()) return invalid_argument(description, ": no components").with_id("ARG-DATA-004");
  const Tensor& first = components.front().values;
  for (const ArrayComponent& c : components) {
    if (c.values.shape().rank() < 1 || !is_plain(c.values.dtype()) ||
        (c.as_float && c.values.dtype() != DType::kUint8)) {
      return invalid_argument(description, ": component '", c.name, "' is ", dtype_name(c.values.dtype()),
                              c.values.shape(), ", which holds no examples")
          .with_id("ARG-DATA-004");
    }
    if (c.values.shape()[0] != first.shape()[0]) {
      return invalid_argument(description, ": '", components.front().name, "' has ", first.shape()[0],
                              " examples but '", c.name, "' has ", c.values.shape()[0])
          .with_id("ARG-DATA-004");
    }
  }
  return std::unique_ptr<Dataset>(
      std::make_unique<ArrayDataset>(std::move(description), std::move(components), classes));
}

}  // namespace argosy::data
