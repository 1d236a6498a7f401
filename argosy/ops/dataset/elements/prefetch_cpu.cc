#include "argosy/ops/dataset/elements/prefetch_iterator.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// The lengths of the buffer if the user gives none.
constexpr std::size_t kFirstLength = 2, kLongest = 16;

class Prefetch final : public UnaryDataset {
 public:
  Prefetch(const DatasetArgs& a, DatasetPtr input, std::int64_t length)
      : UnaryDataset(a, std::move(input)), length_(length) {}
  std::int64_t cardinality() const override { return input().cardinality(); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    const auto open = [&](const IteratorContext& inner) { return input().iterate(inner); };
    if (length_ == 0) return open(context);  // as the caller needs them
    PrefetchIterator::Options options{static_cast<std::size_t>(length_), 0, {}, types().size()};
    if (length_ < 0) options = {kFirstLength, kLongest, {}, types().size()};
    auto iterator = std::make_unique<PrefetchIterator>(context, std::move(options));
    ARGOSY_RETURN_IF_ERROR(iterator->open(open));
    return IteratorPtr(std::move(iterator));
  }

 private:
  const std::int64_t length_;
};

Result<DatasetPtr> make_prefetch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t length, a.integer("buffer_size"));
  if (length < -1) return invalid_argument("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
  return DatasetPtr(std::make_shared<Prefetch>(a, std::move(input), length));
}

}  // namespace

void add_prefetch(KernelRegistry& kernels) { add_dataset<make_prefetch>(kernels, {"PrefetchDataset"}); }

}  // namespace argosy::datasets
