#include "argosy/data/dataset.h"

#include "argosy/base/system/file.h"
#include "argosy/data/files/cifar.h"
#include "argosy/data/files/image_folder.h"
#include "argosy/data/files/mnist.h"
#include "argosy/data/files/npy_dataset.h"
#include "argosy/data/synthetic.h"

namespace argosy::data {

Status Dataset::fetch(std::span<const std::int64_t> indices, std::span<const Tensor> to) const {
  const auto parts = components();
  if (to.size() != parts.size()) {
    return invalid_argument(describe(), " has ", parts.size(), " components, not ", to.size()).with_id("ARG-DATA-001");
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Shape expected = parts[i].shape.inserted(0, static_cast<std::int64_t>(indices.size()));
    if (to[i].dtype() != parts[i].dtype || to[i].shape() != expected) {
      return invalid_argument("component '", parts[i].name, "' of ", describe(), " is ", dtype_name(parts[i].dtype),
                              expected, ", the tensor to fill is ", dtype_name(to[i].dtype()), to[i].shape())
          .with_id("ARG-DATA-001");
    }
  }
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= size()) {
      return out_of_range("example ", index, " of ", describe(), ", which has ", size()).with_id("ARG-DATA-001");
    }
  }
  return fill(indices, to);
}

Result<std::unique_ptr<Dataset>> open_dataset(const std::string& source, const DatasetOptions& options) {
  if (options.split != "train" && options.split != "test") {
    return invalid_argument("a dataset is split into 'train' and 'test', there is no '", options.split, "'")
        .with_id("ARG-DATA-002");
  }
  if (source == "synthetic") return open_synthetic(options);
  if (!is_directory(source)) {
    return not_found("'", source, "' is neither a folder nor 'synthetic'")
        .with_id("ARG-DATA-003")
        .with_hint("give --data a folder, or --data synthetic");
  }
  if (looks_like_mnist(source)) return open_mnist(source, options);
  if (looks_like_cifar(source)) return open_cifar(source, options);
  if (looks_like_npy(source)) return open_npy_dataset(source, options);
  if (looks_like_image_folder(source)) return open_image_folder(source, options);
  return not_found("no data in ", source,
                   ": looked for train-images-idx3-ubyte[.gz] (MNIST), data_batch_1.bin (CIFAR-10), train.bin "
                   "(CIFAR-100), *.npy, and *.png or *.jpg in it or one folder below")
      .with_id("ARG-DATA-003")
      .with_hint("give --data the folder that holds the files, or --data synthetic");
}

}  // namespace argosy::data
