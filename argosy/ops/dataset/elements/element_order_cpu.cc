// Datasets that select and order elements, but do not read them: repeat, take, skip, shard, concatenate, zip.
#include <algorithm>

#include "argosy/ops/dataset/elements/auto_shard.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// --- repeat, take, skip, shard ---------------------------------------------------------------------------------------

class Repeat final : public UnaryDataset {
 public:
  Repeat(const DatasetArgs& a, DatasetPtr input, std::int64_t count)
      : UnaryDataset(a, std::move(input)), count_(count) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (count_ < 0 && n != 0) return n == kUnknownCardinality ? kUnknownCardinality : kInfinite;
    return repeated_cardinality(n, count_);
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    if (context.repeats_shuffles && count_ != 0) {
      const DatasetPtr shuffle = repeated_shuffle(input(), std::max<std::int64_t>(count_, -1));
      if (shuffle != nullptr) return shuffle->iterate(context);
    }
    return IteratorPtr(std::make_unique<Iterator>(self<Repeat>(), context));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const Repeat> d, const IteratorContext& context) : d_(std::move(d)), context_(context) {}
    Result<bool> next(Element& out) override {
      while (d_->count_ < 0 ? !empty_ : done_ < d_->count_) {
        const bool first = input_ == nullptr;
        if (first) {
          ARGOSY_RETURN_IF_ERROR(not_ended(context_.cancellation));
          ARGOSY_ASSIGN_OR_RETURN(input_, d_->input().iterate(context_));
        }
        ARGOSY_ASSIGN_OR_RETURN(const bool some, input_->next(out));
        if (some) return true;
        input_ = nullptr;
        ++done_;
        empty_ = first;  // else it would go on for ever
      }
      return false;
    }
    bool ready() override { return input_ != nullptr && input_->ready(); }

   private:
    const std::shared_ptr<const Repeat> d_;
    const IteratorContext context_;
    IteratorPtr input_;
    std::int64_t done_ = 0;
    bool empty_ = false;
  };
  const std::int64_t count_;
};

// Every `stride`-th element from `skip` on, at most `take`; a negative take: all of them.
class Section final : public UnaryDataset {
 public:
  Section(const DatasetArgs& a, DatasetPtr input, std::int64_t skip, std::int64_t take, std::int64_t stride,
          bool non_empty)
      : UnaryDataset(a, std::move(input)), skip_(skip), take_(take), stride_(stride), non_empty_(non_empty) {}
  // Shard `index` of `count` of the input.
  Section(const DatasetPtr& input, std::int64_t count, std::int64_t index)
      : UnaryDataset("ShardDataset", input->types(), input->shapes(), input),
        skip_(index),
        take_(-1),
        stride_(count),
        non_empty_(true) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n == kUnknownCardinality) return take_ == 0 ? 0 : n;
    if (n == kInfinite) return take_ < 0 ? n : take_;
    const std::int64_t left = std::max<std::int64_t>(n - skip_, 0);
    const std::int64_t strided = left / stride_ + (left % stride_ != 0 ? 1 : 0);
    return take_ < 0 ? strided : std::min(strided, take_);
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Section>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Section> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      if (d_->take_ >= 0 && taken_ == d_->take_) {
        end();
        return false;
      }
      for (std::int64_t drop = taken_ == 0 ? d_->skip_ : d_->stride_ - 1; passed_ < drop; ++passed_) {
        Element dropped;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(dropped));
        if (!some) return false;
      }
      ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(out));
      if (!some) return false;
      passed_ = 0;
      if (++taken_ == 1 && d_->non_empty_) ARGOSY_RETURN_IF_ERROR(pass_other_shards());
      return true;
    }
    bool ready() override {
      return (d_->take_ >= 0 && taken_ == d_->take_) ||
             ((taken_ > 0 || d_->skip_ == 0) && d_->stride_ == 1 && input_ready());
    }

   private:
    // Skips the first elements of the shards after this one. INVALID_ARGUMENT if a shard has none.
    Status pass_other_shards() {
      for (; passed_ < d_->stride_ - 1 - d_->skip_; ++passed_) {
        Element dropped;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(dropped));
        if (some) continue;
        return invalid_argument("Could not apply FILE based sharding: the dataset only has ", d_->skip_ + 1 + passed_,
                                " file(s), which is not enough for the required ", d_->stride_, " shards/workers.");
      }
      return ok_status();
    }
    std::int64_t taken_ = 0, passed_ = 0;
  };
  const std::int64_t skip_, take_, stride_;
  const bool non_empty_;
};

constexpr std::int64_t kShardHint = -1;  // as a number of shards: AutoShardDataset says it

class HintedShard final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    if (context.shard == nullptr || !context.shard->hinted) {
      return failed_precondition(
          "`tf.data.Dataset.shard(SHARD_HINT, ...)` can only be used in "
          "`tf.distribute.Strategy.experimental_distribute_dataset()` with "
          "`tf.data.experimental.AutoShardPolicy.HINT` policy.");
    }
    return shard_dataset(shared_input(), context.shard->count, context.shard->index)->iterate(context);
  }
};

// An empty dataset: skip(-1).
class Nothing final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  std::int64_t cardinality() const override { return 0; }
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>());
  }

 private:
  class Iterator final : public DatasetIterator {
    Result<bool> next(Element&) override { return false; }
    bool ready() override { return true; }
  };
};

Result<DatasetPtr> make_repeat(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, a.integer("count"));
  return DatasetPtr(std::make_shared<Repeat>(a, std::move(input), count));
}

Result<DatasetPtr> make_take(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, a.integer("count"));
  return DatasetPtr(std::make_shared<Section>(a, std::move(input), 0, count, 1, false));
}

Result<DatasetPtr> make_skip(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, a.integer("count"));
  if (count < 0) return DatasetPtr(std::make_shared<Nothing>(a, std::move(input)));
  return DatasetPtr(std::make_shared<Section>(a, std::move(input), count, -1, 1, false));
}

Result<DatasetPtr> make_shard(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t shards, a.integer("num_shards"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t index, a.integer("index"));
  if (shards == kShardHint) return DatasetPtr(std::make_shared<HintedShard>(a, std::move(input)));
  if (shards <= 0) {
    return invalid_argument("Number of shards must be greater than zero (currently num_shards = ", shards, ").");
  }
  if (index < 0 || index >= shards) {
    return invalid_argument("Index must be between 0 and ", shards - 1, " (currently index = ", index, ").");
  }
  return DatasetPtr(
      std::make_shared<Section>(a, std::move(input), index, -1, shards, a.attrs().get_bool("require_non_empty")));
}

// --- several inputs --------------------------------------------------------------------------------------------------

class Concatenate final : public DatasetValue {
 public:
  Concatenate(const DatasetArgs& a, DatasetPtr first, DatasetPtr second)
      : DatasetValue(a.op(), a.types(), a.shapes()), first_(std::move(first)), second_(std::move(second)) {}
  std::vector<DatasetPtr> inputs() const override { return {first_, second_}; }
  std::int64_t cardinality() const override {
    const std::int64_t n = first_->cardinality(), m = second_->cardinality();
    if (n == kInfinite || m == kInfinite) return kInfinite;
    if (n == kUnknownCardinality || m == kUnknownCardinality || n > INT64_MAX - m) return kUnknownCardinality;
    return n + m;
  }
  std::int64_t batch_size() const override {
    return first_->batch_size() == second_->batch_size() ? first_->batch_size() : -1;
  }
  Status check_types() const override { return same_types(types(), first_->types()); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    ARGOSY_ASSIGN_OR_RETURN(IteratorPtr first, first_->iterate(context));
    return IteratorPtr(std::make_unique<Iterator>(self<Concatenate>(), context, std::move(first)));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const Concatenate> d, const IteratorContext& context, IteratorPtr first)
        : d_(std::move(d)), context_(context), now_(std::move(first)) {}
    Result<bool> next(Element& out) override {
      while (now_ != nullptr) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, now_->next(out));
        if (some) return true;
        now_ = nullptr;
        if (std::exchange(in_second_, true)) break;
        ARGOSY_ASSIGN_OR_RETURN(now_, d_->second_->iterate(context_));
      }
      return false;
    }
    bool ready() override { return now_ == nullptr || now_->ready(); }

   private:
    const std::shared_ptr<const Concatenate> d_;
    const IteratorContext context_;
    IteratorPtr now_;
    bool in_second_ = false;
  };
  const DatasetPtr first_, second_;
};

Result<DatasetPtr> make_concatenate(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr first, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr second, a.dataset("another_dataset"));
  if (first->types() != second->types()) {
    return invalid_argument("input dataset and dataset to concatenate have different output_types");
  }
  return DatasetPtr(std::make_shared<Concatenate>(a, std::move(first), std::move(second)));
}

class Zip final : public DatasetValue {
 public:
  Zip(const DatasetArgs& a, std::vector<DatasetPtr> inputs)
      : DatasetValue(a.op(), a.types(), a.shapes()), inputs_(std::move(inputs)) {}
  std::vector<DatasetPtr> inputs() const override { return inputs_; }
  std::int64_t cardinality() const override {
    std::int64_t least = kInfinite;
    for (const DatasetPtr& d : inputs_) {
      const std::int64_t n = d->cardinality();
      if (n == kUnknownCardinality) return n;
      if (n != kInfinite) least = least == kInfinite ? n : std::min(least, n);
    }
    return least;
  }
  std::int64_t batch_size() const override {
    const std::int64_t first = inputs_.empty() ? -1 : inputs_[0]->batch_size();
    const bool all =
        std::all_of(inputs_.begin(), inputs_.end(), [&](const auto& d) { return d->batch_size() == first; });
    return all ? first : -1;
  }
  Status check_types() const override {
    std::vector<DType> all;
    for (const DatasetPtr& d : inputs_) all.insert(all.end(), d->types().begin(), d->types().end());
    return same_types(types(), all);
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    std::vector<IteratorPtr> inputs;
    for (const DatasetPtr& d : inputs_) {
      ARGOSY_ASSIGN_OR_RETURN(IteratorPtr i, d->iterate(context));
      inputs.push_back(std::move(i));
    }
    return IteratorPtr(std::make_unique<Iterator>(std::move(inputs)));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::vector<IteratorPtr> inputs) : inputs_(std::move(inputs)) {}
    // Asks all inputs, even if one fails or ends, so that they stay at the same element.
    Result<bool> next(Element& out) override {
      Element all;
      Status failed;
      bool ended = inputs_.empty();
      for (const IteratorPtr& input : inputs_) {
        Element part;
        const Result<bool> some = input->next(part);
        if (!some.ok() && failed.ok()) failed = some.status();
        if (some.ok() && !*some) {
          ended = true;
          break;
        }
        all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
      }
      if (ended) {
        inputs_.clear();
        return false;
      }
      if (!failed.ok()) return failed;
      out = std::move(all);
      return true;
    }
    bool ready() override {
      return std::all_of(inputs_.begin(), inputs_.end(), [](const IteratorPtr& i) { return i->ready(); });
    }

   private:
    std::vector<IteratorPtr> inputs_;
  };
  const std::vector<DatasetPtr> inputs_;
};

Result<DatasetPtr> make_zip(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(auto inputs, a.dataset_list("input_datasets"));
  return DatasetPtr(std::make_shared<Zip>(a, std::move(inputs)));
}

}  // namespace

DatasetPtr shard_dataset(DatasetPtr input, std::int64_t count, std::int64_t index) {
  return std::make_shared<Section>(input, count, index);
}

void add_orders(KernelRegistry& kernels) {
  add_dataset<make_repeat>(kernels, {"RepeatDataset"});
  add_dataset<make_take>(kernels, {"TakeDataset"});
  add_dataset<make_skip>(kernels, {"SkipDataset"});
  add_dataset<make_shard>(kernels, {"ShardDataset"});
  add_dataset<make_concatenate>(kernels, {"ConcatenateDataset"});
  add_dataset<make_zip>(kernels, {"ZipDataset"});
}

}  // namespace argosy::datasets
