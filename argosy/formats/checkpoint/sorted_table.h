// The sorted string table that a checkpoint's .index is: LevelDB's table format, which TensorFlow took over.
// Writing is LevelDB's own. Reading is ours, because LevelDB trusts the sizes that it reads, and an index may come
// from anywhere: here every length is checked against the file before anything is allocated for it.
// Format: data blocks of prefix-compressed entries, metaindex block, index block, 48-byte footer; each block is
// followed by one byte of compression type and a masked CRC-32C (leveldb doc/table_format.md).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "argosy/base/system/file.h"

namespace argosy::tf {

using TableEntry = std::pair<std::string, std::string>;

// Calls `entry` for every key and value, keys strictly ascending, and stops at its first error.
// DATA_LOSS names the file and the offset of what is damaged; UNIMPLEMENTED when blocks are compressed.
Status read_table(const File& file, const std::function<Status(std::string_view key, std::string_view value)>& entry);

// The bytes of a table as TensorFlow writes it (no compression, blocks of 256 KiB). REQUIRES: keys strictly ascending.
Result<std::string> build_table(std::span<const TableEntry> entries);

}  // namespace argosy::tf
