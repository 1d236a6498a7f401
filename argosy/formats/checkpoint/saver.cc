#include "argosy/formats/checkpoint/saver.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "argosy/formats/checkpoint/checkpoint_io.h"
#include "argosy/formats/checkpoint/chunked_io.h"

namespace argosy::tf {

namespace {

constexpr std::string_view kLock = ".argosy-saver";

// Held by an open file: it goes with the process, however that ends.
Result<File> lock_directory(const std::string& directory) {
  ARGOSY_ASSIGN_OR_RETURN(File file, File::append(join_path(directory, kLock)));
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return aborted("another saver is using ", directory)
        .with_id("ARG-CKPT-012")
        .with_hint("give each run a checkpoint folder of its own, or end the other run");
  }
  return file;  // a file system without locks is used without
}

// Copies with the whole team: the training waits for this.
void copy_all(std::span<const NamedTensor> from, std::span<const NamedTensor> to) {
  constexpr std::size_t kChunk = 4 << 20;
  struct Piece {
    char* to;
    const char* from;
    std::size_t bytes;
  };
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_plain(from[i].tensor.dtype())) {
      copy_elements(to[i].tensor, from[i].tensor);
      continue;
    }
    const std::size_t bytes = from[i].tensor.bytes();
    for (std::size_t at = 0; at < bytes; at += kChunk) {
      pieces.push_back(
          {to[i].tensor.raw_as<char>() + at, from[i].tensor.raw_as<const char>() + at, std::min(kChunk, bytes - at)});
    }
  }
  std::atomic<std::size_t> next = 0;
  parallel_for_whole(pieces.size() < 2 ? 1 : thread_budget(), 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      std::memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
    }
  });
}

}  // namespace

class Saver::Impl {
 public:
  Impl(SaverOptions options, File lock)
      : options_(std::move(options)), io_(options_.io_hook, options_.durable), lock_(std::move(lock)) {}

  ~Impl() {
    {
      const MutexLock hold(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  // What a crash left: temporary files, and data files that no index refers to.
  Status clean_up() {
    ARGOSY_ASSIGN_OR_RETURN(const auto names, list_directory(options_.directory));
    for (const std::string& name : names) {
      if (!name.starts_with(str_cat(options_.name, "-")) && !name.starts_with("checkpoint.tmp-")) continue;
      const std::string path = join_path(options_.directory, name);
      const std::size_t data = path.rfind(".data-");
      const bool orphan = data != std::string::npos && !file_exists(index_path(path.substr(0, data)));
      if (is_temporary(name) || orphan) ARGOSY_RETURN_IF_ERROR(io_.remove(path));
    }
    ARGOSY_ASSIGN_OR_RETURN(auto prefixes, list_checkpoints(options_.directory, options_.name));
    const MutexLock hold(mutex_);
    kept_ = std::move(prefixes);
    return ok_status();
  }

  Status save_now(std::int64_t step, std::span<const NamedTensor> tensors) {
    wait_until_idle();
    return run(step, tensors);
  }

  Status snapshot(std::int64_t step, std::span<const NamedTensor> tensors) {
    const std::int64_t start = now_nanos();
    wait_until_idle();  // the snapshot memory is in use until then
    std::vector<NamedTensor> copies = std::exchange(spare_, {});
    copies.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& from = tensors[i].tensor;
      NamedTensor& to = copies[i];
      if (!to.tensor.valid() || to.tensor.dtype() != from.dtype() || to.tensor.shape() != from.shape() ||
          !to.tensor.unique()) {
        ARGOSY_ASSIGN_OR_RETURN(to.tensor, Tensor::allocate(from.dtype(), from.shape(), host_allocator()));
        if (is_plain(from.dtype())) expect_filling(to.tensor.raw(), to.tensor.bytes());
      }
      to.name = tensors[i].name;
    }
    copy_all(tensors, copies);
    return enqueue(step, std::move(copies), options_.keep_snapshot_memory, start);
  }

  Status enqueue(std::int64_t step, std::vector<NamedTensor> tensors, bool keep_memory, std::int64_t start) {
    wait_until_idle();
    const MutexLock hold(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });  // throws where there is none: saves nothing
    job_.emplace(Job{step, std::move(tensors), keep_memory});
    status_.saving = true;
    status_.last_snapshot_seconds = seconds_since(start);
    changed_.notify_all();
    return ok_status();
  }

  Status wait() {
    wait_until_idle();
    const MutexLock hold(mutex_);
    return std::exchange(untold_, ok_status());
  }

  SaveStatus status() const {
    const MutexLock hold(mutex_);
    return status_;
  }
  std::vector<std::string> kept() const {
    const MutexLock hold(mutex_);
    return kept_;
  }

 private:
  struct Job {
    std::int64_t step;
    std::vector<NamedTensor> tensors;
    bool keep_memory;
  };

  void wait_until_idle() {
    const MutexLock hold(mutex_);
    while (job_) changed_.wait(mutex_);
  }

  void work() {
    set_thread_budget(options_.threads);
    for (;;) {
      Job* job = nullptr;
      {
        const MutexLock hold(mutex_);
        while (!job_ && !closing_) changed_.wait(mutex_);
        if (!job_) return;
        job = &*job_;  // stays in place until this thread resets it
      }
      Status status = run(job->step, job->tensors);
      contained("the report of a failed save", [&] {
        if (!status.ok()) ARGOSY_LOG(kWarning, "checkpoint of step ", job->step, " failed: ", status.to_string());
      });
      const MutexLock hold(mutex_);
      if (job->keep_memory) spare_ = std::move(job->tensors);
      untold_ = std::move(status);
      job_.reset();
      status_.saving = false;
      changed_.notify_all();
    }
  }

  // One save from start to end, on the caller's thread or on the saver's. Throws nothing.
  Status run(std::int64_t step, std::span<const NamedTensor> tensors) {
    const std::int64_t start = now_nanos();
    std::string prefix;
    Status status = guarded([&] {
      prefix = join_path(options_.directory, str_cat(options_.name, "-", step));
      return save_and_rotate(step, prefix, tensors);
    });
    const MutexLock hold(mutex_);
    if (status.ok()) {
      ++status_.saves;
      status_.last_step = step;
      status_.last_prefix = std::move(prefix);
      status_.last_seconds = seconds_since(start);
      status_.last_bytes = 0;
      for (const auto& t : tensors) status_.last_bytes += static_cast<std::int64_t>(t.tensor.bytes());
    } else {
      ++status_.failures;
      status_.last_error = copy_of(status);
    }
    return status;
  }

  Status save_and_rotate(std::int64_t step, const std::string& prefix, std::span<const NamedTensor> tensors) {
    if (step < 0) return invalid_argument("a checkpoint needs a step >= 0, not ", step).with_id("ARG-CKPT-009");
    WriteOptions write{.shards = options_.shards, .durable = options_.durable, .io_hook = options_.io_hook};
    ARGOSY_RETURN_IF_ERROR(write_checkpoint(prefix, tensors, write));
    if (options_.verify) {
      ARGOSY_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(prefix));
      ARGOSY_RETURN_IF_ERROR(reader.verify());
    }
    // From here on the new one is trusted, so older ones may go. The state file never names what is already gone.
    std::vector<std::string> keep = kept();
    std::erase(keep, prefix);
    keep.push_back(prefix);
    std::vector<std::string> remove;
    if (options_.max_to_keep > 0 && keep.size() > static_cast<std::size_t>(options_.max_to_keep)) {
      const auto cut = keep.end() - options_.max_to_keep;
      remove.assign(keep.begin(), cut);
      keep.erase(keep.begin(), cut);
    }
    ARGOSY_RETURN_IF_ERROR(
        io_.replace(join_path(options_.directory, "checkpoint"), checkpoint_state_text(options_.directory, keep)));
    for (const std::string& old : remove) {
      const Status removed = remove_checkpoint(old);
      if (!removed.ok()) ARGOSY_LOG(kWarning, "old checkpoint stays: ", removed.message());
    }
    const MutexLock hold(mutex_);
    kept_ = std::move(keep);
    return ok_status();
  }

  // Index first: without it the data files are nothing, and the next saver clears them away.
  Status remove_checkpoint(const std::string& prefix) const {
    ARGOSY_RETURN_IF_ERROR(io_.remove(index_path(prefix)));
    ARGOSY_ASSIGN_OR_RETURN(const auto names, list_directory(options_.directory));
    const std::string data = str_cat(prefix, ".data-");
    for (const std::string& name : names) {
      const std::string path = join_path(options_.directory, name);
      if (path.starts_with(data)) ARGOSY_RETURN_IF_ERROR(io_.remove(path));
    }
    return ok_status();
  }

  // Constant after construction.
  const SaverOptions options_;
  const CheckpointIo io_;
  const File lock_;
  std::thread thread_;  // started and joined by the caller's thread

  // Snapshot memory between saves: handed over under the mutex, used by the caller's thread while no job is there.
  std::vector<NamedTensor> spare_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<Job> job_ ARGOSY_GUARDED_BY(mutex_);
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  Status untold_ ARGOSY_GUARDED_BY(mutex_);
  SaveStatus status_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::string> kept_ ARGOSY_GUARDED_BY(mutex_);  // oldest first
};

Saver::Saver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Saver::~Saver() = default;

Result<std::unique_ptr<Saver>> Saver::open(SaverOptions options) {
  while (options.directory.size() > 1 && options.directory.ends_with('/')) options.directory.pop_back();
  if (options.directory.empty() || options.name.empty() || options.name.find('/') != std::string::npos) {
    return invalid_argument("a saver needs a folder and a name without '/', not '", options.directory, "' and '",
                            options.name, "'")
        .with_id("ARG-CKPT-009");
  }
  ARGOSY_RETURN_IF_ERROR(make_directories(options.directory));
  ARGOSY_ASSIGN_OR_RETURN(File lock, lock_directory(options.directory));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(lock));
  ARGOSY_RETURN_IF_ERROR(impl->clean_up());
  return std::unique_ptr<Saver>(new Saver(std::move(impl)));
}

Status Saver::save(std::int64_t step, std::span<const NamedTensor> tensors) { return impl_->save_now(step, tensors); }
Status Saver::save_async(std::int64_t step, std::span<const NamedTensor> tensors) {
  return guarded([&] { return impl_->snapshot(step, tensors); });
}
Status Saver::save_async_owned(std::int64_t step, std::vector<NamedTensor> tensors) {
  return guarded([&] { return impl_->enqueue(step, std::move(tensors), false, now_nanos()); });
}
Status Saver::wait() { return impl_->wait(); }
SaveStatus Saver::status() const { return impl_->status(); }
std::vector<std::string> Saver::kept() const { return impl_->kept(); }

}  // namespace argosy::tf
