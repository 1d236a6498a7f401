// Shuffle: draws elements from a buffer of the next ones, in TensorFlow's order for TensorFlow's seeds. All elements of
// one epoch come before those of the next: the buffer is a ring whose slices are epochs.
#include <deque>

#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/seeds.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

constexpr std::size_t kMostEpochs = 3;                     // in the buffer at once
constexpr std::int64_t kWholeInput = kUnknownCardinality;  // as a buffer size: it grows to hold an epoch

class Shuffle final : public UnaryDataset {
 public:
  Shuffle(const DatasetArgs& a, DatasetPtr input, std::int64_t buffer, std::int64_t count,
          std::shared_ptr<SeedGenerator> seeds)
      : UnaryDataset(a, std::move(input)), buffer_(buffer), count_(count), seeds_(std::move(seeds)) {}
  // Repeats `once` `count` times as TensorFlow 1.15 does, with one random stream from its first seeds.
  Shuffle(const Shuffle& once, std::int64_t count)
      : UnaryDataset("ShuffleAndRepeatDataset", once.types(), once.shapes(), once.shared_input()),
        buffer_(once.buffer_),
        count_(count),
        seeds_(std::make_shared<SeedGenerator>(once.seeds_->first(), false)),
        one_stream_(true) {}
  Shuffle(const Shuffle& other, DatasetPtr input)
      : UnaryDataset(other.op(), other.types(), other.shapes(), std::move(input)),
        buffer_(other.buffer_),
        count_(other.count_),
        seeds_(other.seeds_) {}
  bool capturable() const { return op() == "ShuffleDataset" && seeds_->anew() && buffer_ != kWholeInput; }
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    return count_ == -1 && n != 0 ? kInfinite : repeated_cardinality(n, count_);
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    if (context.without_shuffles && op().starts_with("ShuffleDataset")) return input().iterate(context);
    if (context.repeats_shuffles && op() == "ShuffleAndRepeatDataset" && seeds_->anew()) {
      return std::make_shared<Shuffle>(*this, count_)->iterate(context);
    }
    return IteratorPtr(std::make_unique<Iterator>(self<Shuffle>(), context));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const Shuffle> d, const IteratorContext& context)
        : d_(std::move(d)),
          context_(context),
          words_(philox_of(next_seeds(*d_->seeds_, context))),
          held_(held_tuples(d_->types().size(), "a shuffle's buffer")) {}

    Result<bool> next(Element& out) override {
      ARGOSY_RETURN_IF_ERROR(fill());
      if (elements_ == 0) return false;
      for (; slices_.front().start == slices_.front().end; ++past_) slices_.pop_front();
      for (; past_ > 0; --past_) {
        if (d_->one_stream_) continue;
        words_ = PhiloxWords(philox_of(next_seeds(*d_->seeds_, context_)));  // every epoch has seeds of its own
      }
      Slice& slice = slices_.front();
      const std::int64_t offset = words_() % (slice.end - slice.start);
      Element& drawn = at(slice.start + offset);
      out = std::move(drawn);
      drawn = std::move(at(slice.start));
      ++slice.start;
      --elements_;
      return true;
    }

   private:
    struct Slice {
      std::int64_t start, end;  // positions in the ring, counted on for ever
    };

    Element& at(std::int64_t position) { return ring_[static_cast<std::size_t>(position) % ring_.size()]; }

    bool wants_more() const {
      if (input_ == nullptr && d_->count_ != -1 && epoch_ >= d_->count_) return false;
      if (slices_.size() > kMostEpochs && elements_ > 0) return false;
      return d_->buffer_ == kWholeInput ? input_ != nullptr || elements_ == 0 : elements_ < d_->buffer_;
    }

    Status fill() {
      while (wants_more()) {
        if (input_ == nullptr) {
          if (d_->input().cardinality() == 0) return ok_status();
          ARGOSY_RETURN_IF_ERROR(not_ended(context_.cancellation));  // an input may give nothing, epoch after epoch
          if (elements_ == 0) {
            past_ += std::ssize(slices_);
            slices_.clear();
          }
          const std::int64_t n = slices_.empty() ? 0 : slices_.back().end;
          slices_.push_back({n, n});
          ARGOSY_ASSIGN_OR_RETURN(input_, d_->input().iterate(context_));
          ++epoch_;
        }
        Element element;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, input_->next(element));
        if (some) {
          ARGOSY_RETURN_IF_ERROR(add(std::move(element)));
          continue;
        }
        input_ = nullptr;
        if (!gave_ && d_->count_ == -1) return ok_status();  // an empty input, for ever
      }
      return ok_status();
    }

    // The ring grows as it fills: the requested size may be far larger than the input.
    Status add(Element element) {
      ARGOSY_RETURN_IF_ERROR(held_.hold(elements_ + 1));
      if (elements_ == static_cast<std::int64_t>(ring_.size())) {
        const std::size_t most = d_->buffer_ == kWholeInput ? SIZE_MAX : static_cast<std::size_t>(d_->buffer_);
        std::vector<Element> larger(std::min(most, std::max<std::size_t>(16, 2 * ring_.size())));
        for (const Slice& s : slices_) {
          for (std::int64_t i = s.start; i < s.end; ++i) {
            larger[static_cast<std::size_t>(i) % larger.size()] = std::move(at(i));
          }
        }
        ring_ = std::move(larger);
      }
      gave_ = true;
      at(slices_.back().end++) = std::move(element);
      ++elements_;
      return ok_status();
    }

    const std::shared_ptr<const Shuffle> d_;
    const IteratorContext context_;
    IteratorPtr input_;
    PhiloxWords words_;
    HeldItems held_;
    std::vector<Element> ring_;
    std::deque<Slice> slices_;
    std::int64_t elements_ = 0, epoch_ = 0;
    std::int64_t past_ = 0;  // epochs that nothing is left of, and whose successors have not got their seeds yet
    bool gave_ = false;
  };

  const std::int64_t buffer_, count_;
  const std::shared_ptr<SeedGenerator> seeds_;
  const bool one_stream_ = false;
};

Result<DatasetPtr> make_shuffle(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t buffer, a.integer("buffer_size"));
  const bool whole = buffer == kWholeInput && a.op().starts_with("ShuffleDataset");
  if (buffer <= 0 && !whole) {
    return invalid_argument("buffer_size must be greater than zero", whole ? "" : " or UNKNOWN_CARDINALITY");
  }
  std::int64_t count = 1;
  if (a.op().starts_with("ShuffleAndRepeat")) {
    ARGOSY_ASSIGN_OR_RETURN(count, a.integer("count"));
    if (count <= 0 && count != -1) return invalid_argument("count must be greater than zero or equal to -1.");
  }
  if (a.op() == "ShuffleDatasetV2") {
    ARGOSY_ASSIGN_OR_RETURN(auto shared, a.resource<SeedGenerator>("seed_generator"));
    return DatasetPtr(std::make_shared<Shuffle>(a, std::move(input), buffer, count, std::move(shared)));
  }
  std::shared_ptr<SeedGenerator> seeds;
  if (a.op().ends_with("V2") || a.op().ends_with("V3")) {
    // The generator that is an input, unless it is a dummy.
    auto shared = a.resource<SeedGenerator>("seed_generator");
    if (shared.ok()) seeds = *std::move(shared);
  }
  if (seeds == nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const Seeds given, seeds_of(a));
    seeds = std::make_shared<SeedGenerator>(given, a.attrs().get_bool("reshuffle_each_iteration"));
  }
  return DatasetPtr(std::make_shared<Shuffle>(a, std::move(input), buffer, count, std::move(seeds)));
}

}  // namespace

DatasetPtr repeated_shuffle(const DatasetValue& dataset, std::int64_t count) {
  const auto* const once = dynamic_cast<const Shuffle*>(&dataset);
  if (once == nullptr || !once->capturable()) return nullptr;
  return std::make_shared<Shuffle>(*once, count);
}

DatasetPtr shuffle_of(const DatasetValue& shuffle, DatasetPtr input) {
  const auto* const other = dynamic_cast<const Shuffle*>(&shuffle);
  if (other == nullptr || !shuffle.op().starts_with("ShuffleDataset")) return nullptr;
  return std::make_shared<Shuffle>(*other, std::move(input));
}

void add_shuffles(KernelRegistry& kernels) {
  add_dataset<make_shuffle>(kernels, {"ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3",
                                      "ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2"});
}

}  // namespace argosy::datasets
