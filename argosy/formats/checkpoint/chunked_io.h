// Parallel reads and writes of contiguous byte ranges ("runs") of files, in chunks, by the calling thread's team. The
// CRC-32C of each run is computed on the way.
// Internal to argosy/formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "argosy/base/system/file.h"

namespace argosy::tf {

// One run of bytes in a file. `memory` may be null when reading: then only the checksum is computed.
struct Run {
  const File* file = nullptr;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  char* memory = nullptr;
};

// Reads every run into its memory. Returns the CRC-32C of each. On errors returns that of the first run in the list
// that failed, and sets `*failed` to its index; `failed` may be null.
Result<std::vector<std::uint32_t>> read_runs(std::span<const Run> runs, std::size_t* failed);

struct OutputRun {
  File* file = nullptr;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  const char* memory = nullptr;
};

// Asks the system for huge pages (MADV_HUGEPAGE) for memory that is about to be written for the first time: the writes
// then take a third of the time. A hint, for the aligned 2 MiB pages inside the range.
void expect_filling(void* memory, std::size_t bytes);

// Writes every run and returns the CRC-32C of each. Starts the write-back of each chunk, and does not wait for it.
Result<std::vector<std::uint32_t>> write_runs(std::span<const OutputRun> runs);

}  // namespace argosy::tf
