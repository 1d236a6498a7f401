// TensorFlow V2 checkpoints ("tensor bundles"): `<prefix>.index` and `<prefix>.data-SSSSS-of-NNNNN`, byte-compatible
// with tf.train.Saver in both directions. Every byte of tensor data has a CRC-32C; nothing is handed out unchecked.
//
// Errors: DATA_LOSS names tensor, file and offset; NOT_FOUND names the nearest tensor name; FAILED_PRECONDITION lists
// every difference between what is wanted and what is there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/formats/checkpoint/slice_spec.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// A tensor by its name.
struct NamedTensor {
  std::string name;  // as in the checkpoint
  Tensor tensor;     // in host memory
};

// A tensor to write, or one slice of the tensor of that name.
struct NamedPart {
  std::string name;                 // of the whole tensor
  Tensor tensor;                    // the part, or all
  std::optional<PartOf> part = {};  // where it lies in the whole; unset: it is all
};

// One tensor as the index describes it.
struct CheckpointEntry {
  std::string name;               // of the tensor
  DType dtype = DType::kInvalid;  // kInvalid: a type that we do not have, see dtype_number
  int dtype_number = 0;           // TensorFlow's
  Shape shape;                    // of the whole tensor
  std::int64_t bytes = 0;         // in the data files; of all slices together
  int slices = 0;                 // of a partitioned variable; 0: in one piece
};

// Of CheckpointReader::read().
struct ReadOptions {
  Allocator* allocator = &host_allocator();  // of the tensor that is made
};

// Keeps its files open, so a checkpoint that is deleted meanwhile can still be read. Thread-safe.
class CheckpointReader {
 public:
  // Reads and checks the whole index, opens the data files and checks that they are long enough.
  // Costs memory for the index alone.
  // `piece`: of a checkpoint that others have more of; then slices may be missing.
  static Result<CheckpointReader> open(const std::string& prefix, bool piece = false);

  CheckpointReader(CheckpointReader&&) noexcept;             // The other one may only be assigned to.
  CheckpointReader& operator=(CheckpointReader&&) noexcept;  // The other one may only be assigned to.
  ~CheckpointReader();

  const std::string& prefix() const;                         // what was opened
  std::span<const CheckpointEntry> entries() const;          // sorted by name
  const CheckpointEntry* find(std::string_view name) const;  // null where there is none

  // NOT_FOUND where there is none; DATA_LOSS where bytes do not match their checksum.
  Result<Tensor> read(const std::string& name, const ReadOptions& options = {}) const;
  // All at once, in parallel on the calling thread's team, in the order of the names.
  Result<std::vector<Tensor>> read(std::span<const std::string> names, const ReadOptions& options = {}) const;
  // A slice of a tensor, however it is partitioned here: only the pieces that have some of it are read.
  // INVALID_ARGUMENT when the stored tensor has not the shape `part.whole`.
  Result<Tensor> read_part(const std::string& name, const PartOf& part, const ReadOptions& options = {}) const;
  // Into host memory that the caller has: names, dtypes and shapes must fit, else FAILED_PRECONDITION lists all
  // differences and nothing is touched. After any other error the tensors hold parts of the data.
  Status read_into(std::span<const NamedTensor> to) const;

  // Reads everything and compares every checksum, with a bounded buffer.
  Status verify() const;

 private:
  struct Impl;
  explicit CheckpointReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Called before each file-system operation ("create", "write", "sync", "rename", "sync_directory", "remove") with its
// path; an error takes the place of the operation. Lets tests break every step; must be thread-safe.
using IoHook = std::function<Status(std::string_view operation, const std::string& path)>;

// Of writing a checkpoint.
struct WriteOptions {
  int shards = 1;       // data files, of about equal size
  bool durable = true;  // survive power loss once written (fdatasync and directory syncs)
  IoHook io_hook = {};  // called at each operation on files; tests fail one
};

// Writes a checkpoint. At every moment, also after a crash, `prefix` is either the old checkpoint or all of the new
// one: temporary files are synced first, the index is renamed last. On an error temporary files are removed. Tensors
// lie in host memory and must not change meanwhile. All dtypes but resources; variants only as StoredVariant.
// RESOURCE_EXHAUSTED (ARG-CKPT-010) before writing if the disk has less than 5 % more room than needed.
Status write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors,
                        const WriteOptions& options = {});
// The same for slices of tensors. Other writers may hold the other slices; merge_checkpoints() joins the pieces.
Status write_parts(const std::string& prefix, std::span<const NamedPart> parts, const WriteOptions& options = {});

// Of merging what several wrote.
struct MergeOptions {
  bool delete_old_directories = true;  // those the pieces lay in, if they are empty by then
  bool allow_missing = false;          // pieces that are not there are passed over
  bool durable = true;                 // safe on the disk when the call returns
};
// The pieces that several writers left become one checkpoint: data files are renamed, not copied. INVALID_ARGUMENT when
// two pieces have one tensor, or slices of it that do not fit together.
Status merge_checkpoints(std::span<const std::string> pieces, const std::string& prefix,
                         const MergeOptions& options = {});

// "<prefix>.index", "<prefix>.data-00000-of-00001".
std::string index_path(std::string_view prefix);
std::string data_path(std::string_view prefix, int shard, int shards);  // "<prefix>.data-00000-of-00001"

}  // namespace argosy::tf
