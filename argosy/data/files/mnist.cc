#include "argosy/data/files/mnist.h"

#include <algorithm>

#include "argosy/base/system/file.h"
#include "argosy/data/array_dataset.h"
#include "argosy/data/files/idx.h"
#include "argosy/data/files/labels.h"

namespace argosy::data {

namespace {

constexpr float kMean = 0.1307f;
constexpr float kDeviation = 0.3081f;

// Returns the path of the file in the first spelling that exists: '-' or '.' before idx, with or without .gz; "": none.
std::string find_idx(const std::string& directory, std::string_view start, std::string_view end) {
  for (const char separator : {'-', '.'}) {
    for (const std::string_view suffix : {"", ".gz"}) {
      std::string path = join_path(directory, str_cat(start, separator, end, suffix));
      if (file_exists(path)) return path;
    }
  }
  return {};
}

}  // namespace

bool looks_like_mnist(const std::string& directory) {
  return !find_idx(directory, "train-images", "idx3-ubyte").empty() ||
         !find_idx(directory, "t10k-images", "idx3-ubyte").empty();
}

Result<std::unique_ptr<Dataset>> open_mnist(const std::string& directory, const DatasetOptions& options) {
  const std::string start = options.split == "train" ? "train" : "t10k";
  const std::string image_path = find_idx(directory, start + "-images", "idx3-ubyte");
  const std::string label_path = find_idx(directory, start + "-labels", "idx1-ubyte");
  if (image_path.empty() || label_path.empty()) {
    return not_found(directory, " has no ", start, image_path.empty() ? "-images-idx3-ubyte" : "-labels-idx1-ubyte",
                     " (with or without .gz)")
        .with_id("ARG-DATA-003");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor images, read_idx(image_path));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor bytes, read_idx(label_path));
  if (images.dtype() != DType::kUint8 || images.shape().rank() != 3) {
    return data_loss(image_path, " holds ", dtype_name(images.dtype()), images.shape(), ", not uint8 images")
        .with_id("ARG-DATA-005");
  }
  if (bytes.dtype() != DType::kUint8 || bytes.shape().rank() != 1) {
    return data_loss(label_path, " holds ", dtype_name(bytes.dtype()), bytes.shape(), ", not uint8 labels")
        .with_id("ARG-DATA-005");
  }
  const ByteScale scale =
      options.normalize ? ByteScale{1.0f / (255.0f * kDeviation), -kMean / kDeviation} : ByteScale{};
  const Labels labels = labels_from_bytes(bytes.values<std::uint8_t>());
  return make_array_dataset(
      str_cat("MNIST ", options.split, ", ", images.shape()[0], " examples from ", directory),
      {{"image", images.reshaped(images.shape().inserted(3, 1)), scale}, {"label", labels.values}},
      std::max(labels.classes, 10));
}

}  // namespace argosy::data
