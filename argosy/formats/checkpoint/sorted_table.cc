#include "argosy/formats/checkpoint/sorted_table.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include "argosy/formats/proto/crc32c.h"
#include "argosy/formats/proto/wire.h"

namespace argosy::tf {

namespace {

constexpr std::int64_t kFooter = 48;
constexpr std::uint64_t kMagic = 0xdb4775248b80fb57u;
constexpr std::int64_t kTrailer = 5;               // compression type and checksum
constexpr std::uint64_t kMostBlock = 64 << 20;     // writers aim at 256 KiB
constexpr std::uint64_t kMostKeyBytes = 64 << 20;  // prefix compression can promise more than the file holds

struct Handle {
  std::uint64_t offset = 0, bytes = 0;
};

bool take_handle(std::string_view& from, Handle& handle) {
  return take_varint(from, handle.offset) && take_varint(from, handle.bytes);
}

using EntryFn = std::function<Status(std::string_view key, std::string_view value)>;

class TableReader {
 public:
  TableReader(const File& file, std::int64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}

  Status read(const EntryFn& entry) {
    ARGOSY_RETURN_IF_ERROR(read_footer());
    std::string block;
    ARGOSY_RETURN_IF_ERROR(read_block(metaindex_, block));
    ARGOSY_RETURN_IF_ERROR(read_block(index_, block));
    // Blocks lie back to back from the start of the file, so no byte of it escapes the checks.
    std::uint64_t expected = 0;
    std::string data;
    std::string last_key;
    bool first = true;
    std::string separator;
    ARGOSY_RETURN_IF_ERROR(walk(block, index_.offset, separator, [&](std::string_view, std::string_view value) {
      Handle handle;
      if (!take_handle(value, handle) || !value.empty() || handle.offset != expected) {
        return damaged(index_.offset, "the index block points to nowhere");
      }
      ARGOSY_RETURN_IF_ERROR(read_block(handle, data));
      expected = handle.offset + handle.bytes + kTrailer;
      std::string key;
      return walk(data, handle.offset, key, [&](std::string_view k, std::string_view v) {
        if (!first && k <= last_key) return damaged(handle.offset, "keys are not in order");
        first = false;
        last_key = k;
        key_bytes_ += k.size();
        if (key_bytes_ > kMostKeyBytes + 4 * static_cast<std::uint64_t>(file_bytes_)) {
          return damaged(handle.offset, "keys expand to more than 64 MiB and four times the file");
        }
        return entry(k, v);
      });
    }));
    if (metaindex_.offset != expected || index_.offset != expected + metaindex_.bytes + kTrailer ||
        index_.offset + index_.bytes + kTrailer + kFooter != static_cast<std::uint64_t>(file_bytes_)) {
      return damaged(metaindex_.offset, "blocks do not lie back to back");
    }
    return ok_status();
  }

 private:
  Status damaged(std::uint64_t offset, std::string_view what) const {
    return data_loss(file_.path(), ": byte ", offset, ": ", what, " (a sorted table of ", file_bytes_, " bytes)")
        .with_id("ARG-CKPT-001");
  }

  Status read_footer() {
    char footer[kFooter];
    if (file_bytes_ < kFooter) return damaged(0, "too short to be a table");
    ARGOSY_RETURN_IF_ERROR(file_.read_at(file_bytes_ - kFooter, footer, kFooter));
    const auto at = static_cast<std::uint64_t>(file_bytes_ - kFooter);
    if (get_u64(footer + kFooter - 8) != kMagic) return damaged(at, "no table magic at the end");
    std::string_view handles(footer, kFooter - 8);
    if (!take_handle(handles, metaindex_) || !take_handle(handles, index_) ||
        handles.find_first_not_of('\0') != std::string_view::npos) {
      return damaged(at, "the footer is damaged");
    }
    return ok_status();
  }

  // The block without its trailer.
  Status read_block(const Handle& handle, std::string& block) const {
    const auto room = static_cast<std::uint64_t>(file_bytes_ - kFooter);
    if (handle.offset > room || handle.bytes > room - handle.offset || room - handle.offset - handle.bytes < kTrailer) {
      return damaged(handle.offset, str_cat("a block of ", handle.bytes, " bytes would pass the end of the file"));
    }
    if (handle.bytes > kMostBlock) return damaged(handle.offset, str_cat("a block of ", handle.bytes, " bytes"));
    block.resize(handle.bytes + kTrailer);
    ARGOSY_RETURN_IF_ERROR(file_.read_at(static_cast<std::int64_t>(handle.offset), block.data(), block.size()));
    const std::uint32_t computed = crc32c({block.data(), handle.bytes + 1});
    if (!crc_agrees(unmask_crc(get_u32(block.data() + handle.bytes + 1)), computed)) {
      return damaged(handle.offset, "a block fails its checksum");
    }
    const int compression = block[handle.bytes];
    block.resize(handle.bytes);
    if (compression == 0) return ok_status();
    return unimplemented(file_.path(), ": byte ", handle.offset, ": a block compressed with method ", compression,
                         ", which TensorFlow never writes")
        .with_id("ARG-CKPT-002")
        .with_hint("write the checkpoint again with tf.train.Saver");
  }

  // Entries of one block: shared prefix length, own length, value length, own part of the key, value; then restarts.
  template <typename Fn>
  Status walk(std::string_view block, std::uint64_t offset, std::string& key, Fn&& entry) const {
    if (block.size() < 4) return damaged(offset, "a block without restarts");
    const std::uint64_t restarts = get_u32(block.data() + block.size() - 4);
    if (restarts > (block.size() - 4) / 4) return damaged(offset, "a block with too many restarts");
    block.remove_suffix(4 + 4 * restarts);
    key.clear();
    while (!block.empty()) {
      std::uint64_t shared = 0, own = 0, value = 0;
      if (!take_varint(block, shared) || !take_varint(block, own) || !take_varint(block, value) ||
          shared > key.size() || own > block.size() || value > block.size() - own) {
        return damaged(offset, "an entry passes the end of its block");
      }
      key.resize(shared);
      key += block.substr(0, own);
      ARGOSY_RETURN_IF_ERROR(entry(std::string_view(key), block.substr(own, value)));
      block.remove_prefix(own + value);
    }
    return ok_status();
  }

  const File& file_;
  std::int64_t file_bytes_;
  std::uint64_t key_bytes_ = 0;
  Handle metaindex_, index_;
};

class StringFile final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

}  // namespace

Status read_table(const File& file, const EntryFn& entry) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t bytes, file.size());
  return TableReader(file, bytes).read(entry);
}

Result<std::string> build_table(std::span<const TableEntry> entries) {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = 262144;
  StringFile file;
  leveldb::TableBuilder builder(options, &file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  const leveldb::Status status = builder.Finish();
  if (!status.ok()) return internal_error("building a table of ", entries.size(), " entries: ", status.ToString());
  return std::move(file.bytes);
}

}  // namespace argosy::tf
