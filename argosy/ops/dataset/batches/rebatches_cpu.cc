// Batches of other sizes, and windows as batches. Also datasets from a list of tensors, and delayed elements.
#include <chrono>
#include <deque>

#include "argosy/base/threads/cancel_link.h"
#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"
#include "argosy/ops/file/matching.h"

namespace argosy::datasets {

namespace {

class SlidingWindow final : public UnaryDataset {
 public:
  SlidingWindow(const DatasetArgs& a, DatasetPtr input, std::int64_t size, std::int64_t shift, std::int64_t stride)
      : UnaryDataset(a, std::move(input)),
        size_(size),
        shift_(shift),
        stride_(stride),
        drop_(a.attrs().get_or<bool>("drop_remainder", true)) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n < 0) return n;
    const std::int64_t least = drop_ ? (size_ - 1) * stride_ + 1 : 1;
    return n < least ? 0 : (n - least) / shift_ + 1;
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<SlidingWindow>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<SlidingWindow> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      const std::int64_t span = (d_->size_ - 1) * d_->stride_ + 1;
      Element element;
      for (; skip_ > 0; --skip_) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) break;
      }
      while (static_cast<std::int64_t>(held_.size()) < span) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) break;
        ARGOSY_RETURN_IF_ERROR(counted_.hold(std::ssize(held_) + 1));
        held_.push_back(std::move(element));
      }
      const auto held = static_cast<std::int64_t>(held_.size());
      if (held == 0 || (d_->drop_ && held < span)) return false;
      BatchBuilder batch(d_->size_, *context_.memory);
      for (std::int64_t i = 0; i < held; i += d_->stride_) {
        ARGOSY_RETURN_IF_ERROR(batch.add(held_[static_cast<std::size_t>(i)]));
      }
      skip_ = std::max<std::int64_t>(0, d_->shift_ - held);
      held_.erase(held_.begin(), held_.begin() + std::min(d_->shift_, held));
      out = batch.take();
      return true;
    }

   private:
    HeldItems counted_ = held_tuples(d_->types().size(), "a sliding window");
    std::deque<Element> held_;
    std::int64_t skip_ = 0;
  };
  const std::int64_t size_, shift_, stride_;
  const bool drop_;
};

Result<DatasetPtr> make_sliding_window(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, a.integer("window_size"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t shift, a.integer("window_shift"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t stride, a.integer("window_stride"));
  if (size <= 0) return invalid_argument("Window size must be greater than zero.");
  if (shift <= 0) return invalid_argument("Window shift must be greater than zero.");
  if (stride <= 0) return invalid_argument("window_stride must be greater than zero.");
  if (size > INT32_MAX || stride > INT32_MAX)
    return invalid_argument("a window of ", size, " x ", stride, " is too large");
  return DatasetPtr(std::make_shared<SlidingWindow>(a, std::move(input), size, shift, stride));
}

// The rows of batches, in batches of these sizes, in turn.
class Rebatch final : public UnaryDataset {
 public:
  Rebatch(const DatasetArgs& a, DatasetPtr input, std::vector<std::int64_t> sizes, bool drop)
      : UnaryDataset(a, std::move(input)), sizes_(std::move(sizes)), drop_(drop) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Rebatch>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Rebatch> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      const std::int64_t wanted = d_->sizes_[turn_ % d_->sizes_.size()];
      BatchBuilder batch(wanted, *context_.memory);
      while (!batch.full()) {
        if (row_ == rows_) {
          ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(from_));
          if (!some) break;
          row_ = 0;
          ARGOSY_ASSIGN_OR_RETURN(rows_, rows_of(from_));
          continue;
        }
        Element row;
        for (const Tensor& t : from_) row.push_back(t.rows(row_, row_ + 1).reshaped(t.shape().removed(0)));
        ++row_;
        ARGOSY_RETURN_IF_ERROR(batch.add(row));
      }
      if (batch.rows() == 0 || (d_->drop_ && !batch.full())) return false;
      ++turn_;
      out = batch.take();
      return true;
    }

   private:
    static Result<std::int64_t> rows_of(const Element& element) {
      std::int64_t rows = -1;
      for (const Tensor& t : element) {
        if (t.shape().rank() == 0)
          return invalid_argument("Cannot rebatch dataset: each tensor should have rank >= 1.");
        if (rows >= 0 && t.shape()[0] != rows) {
          return invalid_argument("Input shapes do not have consistent batch dimensions: ", rows, " and ",
                                  t.shape()[0]);
        }
        rows = t.shape()[0];
      }
      return std::max<std::int64_t>(rows, 0);
    }
    Element from_;
    std::int64_t row_ = 0, rows_ = 0;
    std::size_t turn_ = 0;
  };
  const std::vector<std::int64_t> sizes_;
  const bool drop_;
};

Result<DatasetPtr> make_rebatch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  const Tensor given = a.tensors("batch_sizes")[0];
  ARGOSY_ASSIGN_OR_RETURN(const bool drop, a.boolean("drop_remainder"));
  if (given.shape().rank() > 1) return invalid_argument("`batch_sizes` must be a scalar or a vector.");
  const auto values = given.values<std::int64_t>();
  if (values.empty()) return invalid_argument("`batch_sizes` must not be empty.");
  for (const std::int64_t n : values) {
    if (n <= 0) return invalid_argument("`batch_sizes` must be positive, not ", n);
  }
  return DatasetPtr(
      std::make_shared<Rebatch>(a, std::move(input), std::vector<std::int64_t>(values.begin(), values.end()), drop));
}

// Splits every element into `parts` parts with equally many rows; the last part may have fewer, or none.
class SplitBatches final : public UnaryDataset {
 public:
  SplitBatches(const DatasetArgs& a, DatasetPtr input, std::int64_t parts)
      : UnaryDataset(a, std::move(input)), parts_(parts) {}
  SplitBatches(const Rebatch& other, std::int64_t parts)
      : UnaryDataset("RebatchDataset", other.types(), other.shapes(), other.shared_input()), parts_(parts) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    return repeated_cardinality(n, parts_);
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<SplitBatches>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<SplitBatches> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      if (part_ == d_->parts_) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(whole_));
        if (!some) return false;
        for (const Tensor& t : whole_) {
          if (t.shape().rank() == 0) {
            return invalid_argument("Cannot rebatch dataset: each tensor should have rank >= 1.");
          }
        }
        part_ = 0;
      }
      out.clear();
      for (const Tensor& t : whole_) {
        const std::int64_t rows = t.shape()[0], size = rows / d_->parts_ + (rows % d_->parts_ != 0 ? 1 : 0);
        const std::int64_t begin = size == 0 || part_ <= rows / size ? std::min(rows, part_ * size) : rows;
        out.push_back(t.rows(begin, std::min(rows, begin + size)));
      }
      if (++part_ == d_->parts_) whole_.clear();
      return true;
    }

   private:
    Element whole_;
    std::int64_t part_ = d_->parts_;
  };
  const std::int64_t parts_;
};

Result<DatasetPtr> make_split_batches(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t parts, a.integer("num_replicas"));
  if (parts <= 0) return invalid_argument("num_replicas must be greater than zero, not ", parts);
  return DatasetPtr(std::make_shared<SplitBatches>(a, std::move(input), parts));
}

// Delays each element after it is asked for.
class Sleep final : public UnaryDataset {
 public:
  Sleep(const DatasetArgs& a, DatasetPtr input, std::int64_t microseconds)
      : UnaryDataset(a, std::move(input)), microseconds_(microseconds) {}
  std::int64_t cardinality() const override { return input().cardinality(); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Sleep>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Sleep> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      Mutex mutex;
      CondVar woken;
      bool cancelled = false;
      CancelLink link(context_.cancellation, [&] {
        MutexLock lock(mutex);
        cancelled = true;
        woken.notify_all();
      });
      if (link.too_late()) return context_.cancellation->status();
      {
        MutexLock lock(mutex);
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(d_->microseconds_);
        while (!cancelled && std::chrono::steady_clock::now() < until) woken.wait_until(mutex, until);
      }
      link.end();
      if (context_.cancellation->cancelled()) return context_.cancellation->status();
      return next_input(out);
    }
  };
  const std::int64_t microseconds_;
};

Result<DatasetPtr> make_sleep(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t microseconds, a.integer("sleep_microseconds"));
  constexpr std::int64_t kMost = 3'600'000'000;
  return DatasetPtr(std::make_shared<Sleep>(a, std::move(input), std::clamp<std::int64_t>(microseconds, 0, kMost)));
}

// A dataset of the tensors, each element taking as many as there are types.
Result<DatasetPtr> make_list(const DatasetArgs& a) {
  const std::vector<Tensor> tensors = a.tensors("tensors");
  const std::size_t components = a.types().size();
  if (tensors.size() % components != 0) {
    return invalid_argument("ListDataset: ", tensors.size(), " tensors are no elements of ", components, " components");
  }
  auto elements = std::make_shared<std::vector<Element>>();
  for (std::size_t i = 0; i < tensors.size(); i += components) {
    elements->emplace_back(tensors.begin() + static_cast<std::ptrdiff_t>(i),
                           tensors.begin() + static_cast<std::ptrdiff_t>(i + components));
    for (std::size_t k = 0; k < components; ++k) {
      if (elements->back()[k].dtype() != a.types()[k]) {
        return invalid_argument("ListDataset: component ", k, " of element ", i / components, " is ",
                                dtype_name(elements->back()[k].dtype()), ", not ", dtype_name(a.types()[k]));
      }
    }
  }
  return list_dataset(a.op(), a.types(), a.shapes(), std::move(elements));
}

// The dataset of patterns that no file matches.
class NoFiles final : public DatasetValue {
 public:
  explicit NoFiles(std::string op) : DatasetValue(std::move(op), {DType::kString}, {PartialShape::scalar()}) {}
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>());
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Result<bool> next(Element&) override { return not_found("Don't find any matched files"); }
  };
};

Result<DatasetPtr> make_matching_files(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(const auto patterns, a.texts("patterns"));
  auto elements = std::make_shared<std::vector<Element>>();
  for (const std::string& pattern : patterns) {
    ARGOSY_ASSIGN_OR_RETURN(const auto paths, matching_files(a.context(), pattern));
    for (const std::string& path : paths) elements->push_back({Tensor::scalar(path)});
  }
  if (elements->empty()) return DatasetPtr(std::make_shared<NoFiles>(a.op()));
  return list_dataset(a.op(), {DType::kString}, {PartialShape::scalar()}, std::move(elements));
}

// All inputs must have the same elements; the first one is used.
Result<DatasetPtr> make_choose_fastest(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(auto inputs, a.dataset_list("input_datasets"));
  return std::move(inputs.front());
}

}  // namespace

DatasetPtr split_batches(const DatasetValue& rebatch, std::int64_t parts) {
  const auto* const other = dynamic_cast<const Rebatch*>(&rebatch);
  return other == nullptr ? nullptr : std::make_shared<SplitBatches>(*other, parts);
}

void add_resized(KernelRegistry& kernels) {
  add_dataset<make_sliding_window>(kernels, {"SlidingWindowDataset", "ExperimentalSlidingWindowDataset"});
  add_dataset<make_rebatch>(kernels, {"RebatchDatasetV2"});
  add_dataset<make_split_batches>(kernels, {"RebatchDataset", "ExperimentalRebatchDataset"});
  add_dataset<make_sleep>(kernels, {"SleepDataset", "ExperimentalSleepDataset"});
  add_dataset<make_list>(kernels, {"ListDataset"});
  add_dataset<make_matching_files>(kernels, {"MatchingFilesDataset", "ExperimentalMatchingFilesDataset"});
  add_dataset<make_choose_fastest>(kernels, {"ChooseFastestDataset", "ExperimentalChooseFastestDataset"});
}

}  // namespace argosy::datasets
