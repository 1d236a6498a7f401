// Datasets that pass on the elements of another.
#include <algorithm>
#include <optional>

#include "argosy/ops/dataset/elements/auto_shard.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// Parses a varint from the front of `text`.
std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 70 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    if (shift < 64) number |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

// True if the text can be parsed as fields of a protobuf message.
bool is_message(std::string_view text) {
  while (!text.empty()) {
    const auto tag = take_varint(text);
    if (!tag || *tag >> 3 == 0) return false;
    std::uint64_t bytes = 0;
    switch (*tag & 7) {
      case 0:
        if (!take_varint(text)) return false;
        break;
      case 1: bytes = 8; break;
      case 2: {
        const auto length = take_varint(text);
        if (!length) return false;
        bytes = *length;
        break;
      }
      case 5: bytes = 4; break;
      default: return false;
    }
    if (bytes > text.size()) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

// Hints for TensorFlow's optimizer and scheduler: returns the input dataset. Errors are TensorFlow's.
Result<DatasetPtr> make_same(const DatasetArgs& a) {
  for (const char* name : {"rewrite_name", "tag"}) {
    if (a.has(name) && a.tensor(name).shape().rank() != 0) return invalid_argument(name, " must be a scalar");
  }
  for (const char* name : {"max_intra_op_parallelism", "num_threads"}) {
    if (!a.has(name)) continue;
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, a.integer(name));
    if (count < 0) return invalid_argument("`", name, "` must be >= 0");
  }
  if (a.attrs().get_or<std::int64_t>("cpu_budget", 0) < 0) {
    return invalid_argument("CPU budget must be positive but is ", a.attrs().get_int("cpu_budget"), ".");
  }
  if (a.attrs().get_or<std::int64_t>("ram_budget", 0) < 0) {
    return invalid_argument("RAM budget must be positive but is ", a.attrs().get_int("ram_budget"), ".");
  }
  for (const char* name :
       {"transformations", "optimizations_enabled", "optimizations_disabled", "optimizations_default"}) {
    if (a.has(name) && a.tensor(name).shape().rank() != 1) return invalid_argument(name, " must be a vector");
  }
  if (!is_message(a.attrs().get_or<std::string>("serialized_options", ""))) {
    return invalid_argument("Could not parse serialized_options as valid Options.");
  }
  return a.dataset();
}

// A client of 1.15 says so by the names of its optimizer's rewrites, of which one changes what comes: a shuffle and
// what repeats it become one dataset, which draws in another order, that of 1.15's shuffle_and_repeat.
class Optimized final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  std::int64_t cardinality() const override { return input().cardinality(); }
  std::int64_t batch_size() const override { return input().batch_size(); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    IteratorContext inner = context;
    inner.repeats_shuffles = true;
    return input().iterate(inner);
  }
};

Result<DatasetPtr> make_optimized(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> rewrites, a.texts("optimizations"));
  if (std::find(rewrites.begin(), rewrites.end(), "shuffle_and_repeat_fusion") == rewrites.end()) return input;
  return DatasetPtr(std::make_shared<Optimized>(a, std::move(input)));
}

class AssertCardinality final : public UnaryDataset {
 public:
  AssertCardinality(const DatasetArgs& a, DatasetPtr input, std::int64_t count)
      : UnaryDataset(a, std::move(input)), count_(count) {}
  std::int64_t cardinality() const override { return count_; }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    // As in TensorFlow, nothing is asserted of the files of a shard.
    if (context.shard != nullptr && !context.shard->hinted) return input().iterate(context);
    return iterate_as<Iterator>(self<AssertCardinality>(), context);
  }

 private:
  static std::string elements(std::int64_t n) {
    if (n == kInfinite) return "an infinite number of elements";
    if (n == kUnknownCardinality) return "an unknown number of elements";
    return n == 1 ? "1 element" : str_cat(n, " elements");
  }
  class Iterator final : public UnaryIterator<AssertCardinality> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(out));
      if (some) ++count_;
      if (!some && count_ != d_->count_) {
        return failed_precondition("Input dataset was expected to contain ", elements(d_->count_),
                                   " but contained only ", elements(count_), ".");
      }
      if (some && d_->count_ != kInfinite && count_ > d_->count_) {
        return failed_precondition("Input dataset was expected to contain ", elements(d_->count_),
                                   " but contained at least ", elements(count_), ".");
      }
      return some;
    }

   private:
    std::int64_t count_ = 0;
  };
  const std::int64_t count_;
};

Result<DatasetPtr> make_assert_cardinality(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t count, a.integer("cardinality"));
  return DatasetPtr(std::make_shared<AssertCardinality>(a, std::move(input), count));
}

// Skips elements that fail.
class IgnoreErrors final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<IgnoreErrors>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<IgnoreErrors> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (true) {
        Result<bool> some = next_input(out);
        if (some.ok()) return some;
        if (context_.cancellation->cancelled()) return context_.cancellation->status();
      }
    }
  };
};

Result<DatasetPtr> make_ignore_errors(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  return DatasetPtr(std::make_shared<IgnoreErrors>(a, std::move(input)));
}

}  // namespace

void add_wrappers(KernelRegistry& kernels) {
  add_dataset<make_same>(
      kernels,
      {"OptionsDataset", "OptimizeDatasetV2", "ModelDataset", "MaxIntraOpParallelismDataset",
       "ExperimentalMaxIntraOpParallelismDataset", "PrivateThreadPoolDataset", "ExperimentalPrivateThreadPoolDataset",
       "AssertNextDataset", "AssertPrevDataset", "ExperimentalAssertNextDataset", "BytesProducedStatsDataset",
       "ExperimentalBytesProducedStatsDataset", "LatencyStatsDataset", "ExperimentalLatencyStatsDataset",
       "NonSerializableDataset", "ExperimentalNonSerializableDataset", "FinalizeDataset", "RewriteDataset"});
  add_dataset<make_optimized>(kernels, {"OptimizeDataset"});
  add_dataset<make_assert_cardinality>(kernels, {"AssertCardinalityDataset"});
  add_dataset<make_ignore_errors>(kernels, {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"});
}

}  // namespace argosy::datasets
