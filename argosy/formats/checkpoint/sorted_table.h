// Sorted string tables: the format of a checkpoint's .index, which TensorFlow took over from LevelDB.
// LevelDB writes them. We read them ourselves, because LevelDB trusts the sizes in a file, and an index may come from
// anywhere. This reader checks every length against the file before it allocates memory for it.
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
// DATA_LOSS names the file and the offset of the damage. UNIMPLEMENTED: blocks are compressed.
Status read_table(const File& file, const std::function<Status(std::string_view key, std::string_view value)>& entry);

// The bytes of a table as TensorFlow writes it (no compression, blocks of 256 KiB). REQUIRES: keys strictly ascending.
Result<std::string> build_table(std::span<const TableEntry> entries);

}  // namespace argosy::tf
