// Checkpoints of TensorFlow's first format: one table per file, with all tensors in it as slices (tensorflow/core/util/
// tensor_slice_writer.h). A checkpoint may be several such files. Written and read for the ops Save and Restore; our
// own checkpoints are of the second format (checkpoint.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/formats/checkpoint/checkpoint.h"

namespace argosy::tf {

// Writes one file atomically. INVALID_ARGUMENT: a tensor of 2 GiB or more; slices of one that overlap.
Status write_slice_file(const std::string& path, std::span<const NamedPart> parts);

// Reads a checkpoint of one or several such files. Thread-safe.
class SliceReader {
 public:
  // Reads the files completely. DATA_LOSS: a file is damaged. INVALID_ARGUMENT: the files contradict each other.
  static Result<SliceReader> open(std::span<const std::string> paths);

  SliceReader(SliceReader&&) noexcept;
  ~SliceReader();

  // Returns the shape of a tensor, with a slice of all of it. NOT_FOUND: no file has the tensor.
  Result<PartOf> whole(const std::string& name) const;
  Result<DType> dtype(const std::string& name) const;
  // Returns one slice. INVALID_ARGUMENT: the files do not hold all of it.
  Result<Tensor> read(const std::string& name, const PartOf& part) const;

 private:
  struct Impl;
  explicit SliceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
