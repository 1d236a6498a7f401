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

// One file, whole or not at all. Below 2 GiB a tensor.
Status write_slice_file(const std::string& path, std::span<const NamedPart> parts);

// Tensors of several files together. Thread-safe.
class SliceReader {
 public:
  // Reads all of the files. DATA_LOSS names what is damaged, INVALID_ARGUMENT what does not fit together.
  static Result<SliceReader> open(std::span<const std::string> paths);

  SliceReader(SliceReader&&) noexcept;
  ~SliceReader();

  // NOT_FOUND when no file has it.
  Result<PartOf> whole(const std::string& name) const;
  Result<DType> dtype(const std::string& name) const;
  // INVALID_ARGUMENT when the files do not have all of it.
  Result<Tensor> read(const std::string& name, const PartOf& part) const;

 private:
  struct Impl;
  explicit SliceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
