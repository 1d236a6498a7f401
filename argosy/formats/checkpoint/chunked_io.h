// Moving many runs of bytes between memory and files with all of the calling thread's team, checksums on the way.
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

// Fills the memory of every run and gives the checksum of each. The error is that of the first run that failed;
// `failed` then tells which.
Result<std::vector<std::uint32_t>> read_runs(std::span<const Run> runs, std::size_t* failed);

struct OutputRun {
  File* file = nullptr;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  const char* memory = nullptr;
};

// Memory that is about to be filled for the first time: in large pages, where the system has them, the filling costs
// a third. A hint; small and odd parts stay as they are.
void expect_filling(void* memory, std::size_t bytes);

// Writes every run, starts the system's write-back behind it and gives the checksum of each.
Result<std::vector<std::uint32_t>> write_runs(std::span<const OutputRun> runs);

}  // namespace argosy::tf
