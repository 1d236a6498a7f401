// RecordInput: endless batches of records from all files that match a pattern. Each epoch has every record once: files
// in random order, records drawn at random from a buffer. In TensorFlow, which reads with several threads, the order is
// not deterministic; here it follows from the seed.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

#include "argosy/base/mutex.h"
#include "argosy/formats/records/record.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/file/matching.h"

namespace argosy {

namespace {

class RecordInput final : public Kernel {
 public:
  explicit RecordInput(const AttrMap& attrs)
      : pattern_(attrs.get_string("file_pattern")),
        shift_(attrs.get_float("file_shuffle_shift_ratio")),
        buffer_size_(attrs.get_int("file_buffer_size")),
        batch_(attrs.get_int("batch_size")),
        chance_(static_cast<std::uint64_t>(attrs.get_int("file_random_seed"))) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const AttrMap& attrs = init.attrs;
    if (const std::string& kind = attrs.get_string("compression_type"); !kind.empty() && kind != "NONE") {
      return unimplemented("RecordInput: files compressed by ", kind, " cannot be read")
          .with_hint("use TFRecordDataset, or files that are not compressed");
    }
    for (const char* name : {"file_buffer_size", "batch_size"}) {
      if (attrs.get_int(name) < 1)
        return invalid_argument("RecordInput: ", name, " must be positive, not ", attrs.get_int(name));
    }
    return std::unique_ptr<Kernel>(std::make_unique<RecordInput>(attrs));
  }

  Status run(KernelContext& c) override ARGOSY_EXCLUDES(mutex_) {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(std::array{batch_}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    MutexLock lock(mutex_);
    for (std::string& record : y->values<std::string>()) {
      ARGOSY_RETURN_IF_ERROR(fill(c));
      const std::size_t at = std::uniform_int_distribution<std::size_t>(0, buffer_.size() - 1)(chance_);
      std::swap(buffer_[at], buffer_.back());
      record = std::move(buffer_.back());
      buffer_.pop_back();
    }
    return ok_status();
  }

 private:
  // As many records as the epoch still has, or the buffer holds: one at least.
  Status fill(const KernelContext& c) ARGOSY_REQUIRES(mutex_) {
    ARGOSY_RETURN_IF_ERROR(read_ahead());
    if (!buffer_.empty()) return ok_status();
    ARGOSY_RETURN_IF_ERROR(begin_epoch(c));
    ARGOSY_RETURN_IF_ERROR(read_ahead());
    if (!buffer_.empty()) return ok_status();
    return invalid_argument("RecordInput: none of the ", files_.size(), " files at ", pattern_, " has a record");
  }

  Status read_ahead() ARGOSY_REQUIRES(mutex_) {
    while (static_cast<std::int64_t>(buffer_.size()) < buffer_size_) {
      if (!reader_) {
        if (next_ == files_.size()) break;
        ARGOSY_ASSIGN_OR_RETURN(tf::RecordReader opened, tf::RecordReader::open(files_[next_++]));
        reader_.emplace(std::move(opened));
      }
      auto record = reader_->next();
      if (!record.ok()) {  // the rest of this file is lost; later runs go on with the others
        reader_.reset();
        return std::move(record).status();
      }
      if (*record) {
        buffer_.emplace_back(**record);
      } else {
        reader_.reset();
      }
    }
    return ok_status();
  }

  Status begin_epoch(const KernelContext& c) ARGOSY_REQUIRES(mutex_) {
    ARGOSY_ASSIGN_OR_RETURN(files_, matching_files(c, pattern_));
    if (files_.empty()) return not_found("Found no files at ", pattern_);
    for (std::string& file : files_) {
      ARGOSY_ASSIGN_OR_RETURN(file, allowed_file(c, file));
    }
    next_ = 0;
    std::shuffle(files_.begin(), files_.end(), chance_);
    const double share = shift_ - std::floor(shift_);  // of the files, moved from the front to the end
    if (share > 0 && share < 1) {
      const auto by = static_cast<std::ptrdiff_t>(share * static_cast<double>(files_.size()));
      std::rotate(files_.begin(), files_.begin() + by, files_.end());
    }
    return ok_status();
  }

  const std::string pattern_;
  const double shift_;
  const std::int64_t buffer_size_, batch_;
  Mutex mutex_;
  std::mt19937_64 chance_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::string> files_ ARGOSY_GUARDED_BY(mutex_);  // of this epoch
  std::size_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;            // the first that is not opened yet
  std::optional<tf::RecordReader> reader_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::string> buffer_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

void add_record_input(KernelRegistry& kernels) { kernels.add("RecordInput", "cpu", RecordInput::make); }

}  // namespace argosy
