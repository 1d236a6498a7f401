#include "argosy/data/image/resized_dataset.h"

#include "argosy/data/image/image.h"

namespace argosy::data {

namespace {

class Resized final : public Dataset {
 public:
  Resized(std::unique_ptr<Dataset> from, std::int64_t size)
      : from_(std::move(from)), size_(size), components_(from_->components().begin(), from_->components().end()) {
    components_[0].shape = {size, size, components_[0].shape[2]};
  }

  std::int64_t size() const override { return from_->size(); }
  std::span<const Component> components() const override { return components_; }
  int classes() const override { return from_->classes(); }
  std::string describe() const override {
    return str_cat(from_->describe(), ", resized to ", size_, " x ", size_, " pixels");
  }

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    const Shape& shape = from_->components()[0].shape;
    const auto count = static_cast<std::int64_t>(indices.size());
    std::vector<Tensor> whole(to.begin(), to.end());
    ARGOSY_ASSIGN_OR_RETURN(whole[0], Tensor::allocate(DType::kFloat32, shape.inserted(0, count), host_allocator()));
    ARGOSY_RETURN_IF_ERROR(from_->fetch(indices, whole));
    const std::int64_t step = components_[0].shape.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      resize_floats(whole[0].data<float>() + i * shape.elements(), shape, size_, size_, to[0].data<float>() + i * step);
    }
    return ok_status();
  }

 private:
  const std::unique_ptr<Dataset> from_;
  const std::int64_t size_;
  std::vector<Component> components_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> resize_images(std::unique_ptr<Dataset> dataset, std::int64_t size) {
  const auto components = dataset->components();
  if (components.empty() || components[0].shape.rank() != 3 || components[0].dtype != DType::kFloat32) {
    return invalid_argument(dataset->describe(), " has no images to resize: ",
                            components.empty() ? std::string("it is empty")
                                               : str_cat("its first component, ", components[0].name, ", is ",
                                                         dtype_name(components[0].dtype), components[0].shape))
        .with_id("ARG-DATA-012");
  }
  if (size < 1 || size > 16384) return invalid_argument("images of ", size, " pixels").with_id("ARG-DATA-012");
  const Shape& shape = components[0].shape;
  if (shape[0] == size && shape[1] == size) return dataset;
  return std::unique_ptr<Dataset>(std::make_unique<Resized>(std::move(dataset), size));
}

}  // namespace argosy::data
