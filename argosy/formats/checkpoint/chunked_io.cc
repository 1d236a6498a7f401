#include "argosy/formats/checkpoint/chunked_io.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/formats/proto/crc32c.h"

namespace argosy::tf {

namespace {

constexpr std::int64_t kChunk = 8 << 20;    // a unit of work for a thread
constexpr std::int64_t kPiece = 256 << 10;  // checksummed while still in its cache
constexpr std::int64_t kWorthAThread = 1 << 20;

struct Chunk {
  std::size_t run;
  std::int64_t begin, bytes;
};

// work(chunk) gives the checksum of the chunk. Threads take chunks as they come, because their costs differ; a run's
// checksum is then combined from those of its chunks.
template <typename AnyRun, typename Work>
Result<std::vector<std::uint32_t>> for_each_chunk(std::span<const AnyRun> runs, std::size_t* failed, Work&& work) {
  std::vector<Chunk> chunks;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    total += runs[i].bytes;
    for (std::int64_t begin = 0; begin < runs[i].bytes; begin += kChunk) {
      chunks.push_back({i, begin, std::min(kChunk, runs[i].bytes - begin)});
    }
  }
  std::vector<std::uint32_t> chunk_crcs(chunks.size());
  std::atomic<std::size_t> next = 0;
  Mutex mutex;
  Status error;
  std::size_t error_run = runs.size();
  const std::int64_t workers = std::clamp<std::int64_t>(total / kWorthAThread, 1, thread_budget());
  parallel_for_whole(workers, 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < chunks.size(); i = next++) {
      Result<std::uint32_t> crc = work(chunks[i]);
      if (crc.ok()) {
        chunk_crcs[i] = *crc;
        continue;
      }
      const MutexLock lock(mutex);
      if (chunks[i].run < error_run) {
        error_run = chunks[i].run;
        error = std::move(crc).status();
      }
    }
  });
  if (!error.ok()) {
    if (failed != nullptr) *failed = error_run;
    return error;
  }
  std::vector<std::uint32_t> crcs(runs.size(), 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::uint32_t& crc = crcs[chunks[i].run];
    crc = chunks[i].begin == 0 ? chunk_crcs[i]
                               : crc32c_combine(crc, chunk_crcs[i], static_cast<std::uint64_t>(chunks[i].bytes));
  }
  return crcs;
}

constexpr std::uintptr_t kLargePage = 2 << 20;

}  // namespace

void expect_filling(void* memory, std::size_t bytes) {
  const auto start = (reinterpret_cast<std::uintptr_t>(memory) + kLargePage - 1) & ~(kLargePage - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) & ~(kLargePage - 1);
  if (start < end) (void)::madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
}

Result<std::vector<std::uint32_t>> read_runs(std::span<const Run> runs, std::size_t* failed) {
  return for_each_chunk(runs, failed, [&](const Chunk& chunk) -> Result<std::uint32_t> {
    const Run& run = runs[chunk.run];
    std::vector<char> buffer(run.memory == nullptr ? static_cast<std::size_t>(std::min(kPiece, chunk.bytes)) : 0);
    std::uint32_t crc = 0;
    for (std::int64_t at = chunk.begin; at < chunk.begin + chunk.bytes; at += kPiece) {
      const auto n = static_cast<std::size_t>(std::min(kPiece, chunk.begin + chunk.bytes - at));
      char* to = run.memory == nullptr ? buffer.data() : run.memory + at;
      ARGOSY_RETURN_IF_ERROR(run.file->read_at(run.offset + at, to, n));
      crc = crc32c_extend(crc, to, n);
    }
    return crc;
  });
}

Result<std::vector<std::uint32_t>> write_runs(std::span<const OutputRun> runs) {
  return for_each_chunk(runs, nullptr, [&](const Chunk& chunk) -> Result<std::uint32_t> {
    const OutputRun& run = runs[chunk.run];
    std::uint32_t crc = 0;
    for (std::int64_t at = chunk.begin; at < chunk.begin + chunk.bytes; at += kPiece) {
      const auto n = static_cast<std::size_t>(std::min(kPiece, chunk.begin + chunk.bytes - at));
      crc = crc32c_extend(crc, run.memory + at, n);
      ARGOSY_RETURN_IF_ERROR(run.file->write_at(run.offset + at, run.memory + at, n));
    }
    // Only a hint: the disk starts now instead of at the sync.
    (void)::sync_file_range(run.file->descriptor(), run.offset + chunk.begin, chunk.bytes, SYNC_FILE_RANGE_WRITE);
    return crc;
  });
}

}  // namespace argosy::tf
