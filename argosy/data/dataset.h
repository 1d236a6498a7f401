// Dataset: examples by index. An example has components (image, label …). All examples have the same dtype and shape of
// each component. So a batch is one tensor per component, which the caller allocates and the dataset fills.
// Datasets are immutable; all methods are thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// One component of an example; `shape` is of one example, without the batch axis.
struct Component {
  std::string name;               // "image", "label"
  DType dtype = DType::kFloat32;  // of an example
  Shape shape;                    // of an example
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;                      // examples
  virtual std::span<const Component> components() const = 0;  // equal for all examples
  // Labels are below this; 0 when there are no classes.
  virtual int classes() const { return 0; }
  virtual std::string describe() const = 0;  // "MNIST train, 60000 examples from data/mnist"
  // True if images are resized to the shape in components() when they are fetched, whatever the size in their files.
  virtual bool resizes_images() const { return false; }

  // Writes example indices[i] to row i of every tensor. `to` has one tensor per component, of its dtype and of shape
  // [indices.size(), component.shape…]. After an error the rows are unspecified.
  Status fetch(std::span<const std::int64_t> indices, std::span<const Tensor> to) const;

 protected:
  // Implements fetch(), which has checked the arguments. REQUIRES: indices are in range, and tensors are as above.
  virtual Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const = 0;
};

// Which split of a folder to open, how images are read, and what to make up for "synthetic".
struct DatasetOptions {
  std::string split = "train";     // or "test"
  bool normalize = true;           // MNIST: mean 0.1307, deviation 0.3081. Otherwise pixels are 0 … 1
  int image_size = 64;             // image folder and synthetic: height and width
  int channels = 3;                // the same: 1 or 3
  std::int64_t examples = 10'000;  // synthetic
  int classes = 10;                // synthetic
  std::uint64_t seed = 0;          // synthetic
};

// Opens "synthetic", or a folder by its content:
//   * MNIST's IDX files (.gz or not), CIFAR-10 or CIFAR-100 binaries;
//   * .npy files;
//   * images: a sub-folder is a class; train/ and test/ may be above the classes.
// NOT_FOUND lists what was looked for.
Result<std::unique_ptr<Dataset>> open_dataset(const std::string& source, const DatasetOptions& options = {});

}  // namespace argosy::data
