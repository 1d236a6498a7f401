// TensorFlow V2 checkpoints ("tensor bundles"): `<prefix>.index` and `<prefix>.data-SSSSS-of-NNNNN`, byte-compatible
// with tf.train.Saver in both directions. Every byte of tensor data has a CRC-32C, checked before a read returns.
//
// Errors: DATA_LOSS names tensor, file and offset; NOT_FOUND names the nearest tensor name; FAILED_PRECONDITION lists
// every difference between the tensors asked for and the stored ones.
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
  std::optional<PartOf> part = {};  // the slice of the whole tensor; unset: all of it
};

// One tensor as the index describes it.
struct CheckpointEntry {
  std::string name;               // of the tensor
  DType dtype = DType::kInvalid;  // kInvalid: a type that we do not have, see dtype_number
  int dtype_number = 0;           // TensorFlow's number of the type (DataType)
  Shape shape;                    // of the whole tensor
  std::int64_t bytes = 0;         // in the data files; all slices together
  int slices = 0;                 // number of slices of a partitioned variable; 0: stored in one piece
};

// Options of CheckpointReader::read().
struct ReadOptions {
  Allocator* allocator = &host_allocator();  // allocates the returned tensor
};

// Keeps its files open, so a checkpoint that is deleted meanwhile can still be read. Thread-safe.
class CheckpointReader {
 public:
  // Reads and checks the whole index, opens the data files and checks that they are long enough.
  // Holds only the index in memory.
  // `piece`: true for one writer's piece of a checkpoint, before the merge: slices may be missing.
  static Result<CheckpointReader> open(const std::string& prefix, bool piece = false);

  CheckpointReader(CheckpointReader&&) noexcept;             // Afterwards the source may only be assigned to.
  CheckpointReader& operator=(CheckpointReader&&) noexcept;  // Afterwards the source may only be assigned to.
  ~CheckpointReader();

  const std::string& prefix() const;                         // what was opened
  std::span<const CheckpointEntry> entries() const;          // sorted by name
  const CheckpointEntry* find(std::string_view name) const;  // null where there is none

  // Returns a whole tensor. NOT_FOUND: there is no tensor of that name. DATA_LOSS: its bytes do not match their
  // checksum.
  Result<Tensor> read(const std::string& name, const ReadOptions& options = {}) const;
  // Returns several tensors, in the order of `names`. Reads in parallel with the calling thread's team.
  Result<std::vector<Tensor>> read(std::span<const std::string> names, const ReadOptions& options = {}) const;
  // Returns a slice of a tensor, however the stored tensor is partitioned. Reads only the stored slices that overlap
  // it. INVALID_ARGUMENT: the stored tensor does not have the shape `part.whole`.
  Result<Tensor> read_part(const std::string& name, const PartOf& part, const ReadOptions& options = {}) const;
  // Reads into the caller's tensors, which are in host memory. Names, dtypes and shapes must agree with the stored
  // ones. Else FAILED_PRECONDITION lists all differences, and nothing is written. After any other error the tensors may
  // be partly overwritten.
  Status read_into(std::span<const NamedTensor> to) const;

  // Reads everything and compares every checksum, with a bounded buffer.
  Status verify() const;

 private:
  struct Impl;
  explicit CheckpointReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Called before each file-system operation ("create", "write", "sync", "rename", "sync_directory", "remove") with its
// path. If it returns an error, the operation fails with it and is not done. For fault tests. Must be thread-safe.
using IoHook = std::function<Status(std::string_view operation, const std::string& path)>;

// Options of write_checkpoint() and write_parts().
struct WriteOptions {
  int shards = 1;       // number of data files, of about equal size
  bool durable = true;  // survives power loss once written (fdatasync and directory syncs)
  IoHook io_hook = {};  // fault injection, see IoHook
};

// Writes a checkpoint atomically: at every moment, also after a crash, `prefix` is the old or the complete new one.
// Temporary files are synced first, the index is renamed last. On an error temporary files are removed. Tensors are in
// host memory and must not change meanwhile. All dtypes but resources; variants only as StoredVariant.
// RESOURCE_EXHAUSTED (ARG-CKPT-010) before writing if the disk has less than 5 % more room than needed.
Status write_checkpoint(const std::string& prefix, std::span<const NamedTensor> tensors,
                        const WriteOptions& options = {});
// The same for slices of tensors. Other writers may hold the other slices; merge_checkpoints() joins the pieces.
Status write_parts(const std::string& prefix, std::span<const NamedPart> parts, const WriteOptions& options = {});

// Options of merge_checkpoints().
struct MergeOptions {
  bool delete_old_directories = true;  // removes the pieces' folders if they are empty after the merge
  bool allow_missing = false;          // ignores pieces that do not exist
  bool durable = true;                 // survives power loss once the call has returned
};
// Merges the pieces of several writers into one checkpoint. Data files are renamed, not copied. INVALID_ARGUMENT: two
// pieces have the same tensor, slices of one that overlap, or give a partitioned tensor different dtypes or shapes.
// No file is moved then. Whether the slices cover the tensor is checked when the checkpoint is read.
Status merge_checkpoints(std::span<const std::string> pieces, const std::string& prefix,
                         const MergeOptions& options = {});

// Returns "<prefix>.index".
std::string index_path(std::string_view prefix);
std::string data_path(std::string_view prefix, int shard, int shards);  // "<prefix>.data-00000-of-00001"

}  // namespace argosy::tf
