// GeneratorDataset: elements that functions make. state = init(), then next(state) until it fails with OUT_OF_RANGE,
// then finalize(state).
#include "argosy/ops/dataset/dataset_kernel.h"

namespace argosy::datasets {

namespace {

class Generator final : public DatasetValue {
 public:
  explicit Generator(const DatasetArgs& a)
      : DatasetValue(a.op(), a.types(), a.shapes()),
        init_(a.function("init_func", "init_func_other_args")),
        next_(a.function("next_func", "next_func_other_args")),
        finalize_(a.function("finalize_func", "finalize_func_other_args")) {}
  Status check() const { return check_returns(next_, types()); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return IteratorPtr(std::make_unique<Iterator>(self<Generator>(), context));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const Generator> d, const IteratorContext& context)
        : d_(std::move(d)), context_(context) {}
    ~Iterator() override {
      // If the iterator is destroyed early, it calls finalize, and ignores its error: no caller is left.
      if (begun_ && !ended_) static_cast<void>(d_->finalize_(state_, context_).ok());
    }
    Result<bool> next(Element& out) override {
      if (ended_) return false;
      if (!begun_) {
        ARGOSY_ASSIGN_OR_RETURN(state_, d_->init_({}, context_));
        begun_ = true;
      }
      auto element = d_->next_(state_, context_);
      if (element.ok()) {
        out = *std::move(element);
        return true;
      }
      if (element.status().code() != Code::kOutOfRange) return std::move(element).status();
      ended_ = true;
      ARGOSY_RETURN_IF_ERROR(d_->finalize_(state_, context_).status());
      return false;
    }

   private:
    const std::shared_ptr<const Generator> d_;
    const IteratorContext context_;
    Element state_;
    bool begun_ = false, ended_ = false;
  };
  const Captured init_, next_, finalize_;
};

Result<DatasetPtr> make_generator(const DatasetArgs& a) {
  auto dataset = std::make_shared<Generator>(a);
  ARGOSY_RETURN_IF_ERROR(dataset->check());
  return DatasetPtr(std::move(dataset));
}

}  // namespace

void add_generators(KernelRegistry& kernels) { add_dataset<make_generator>(kernels, {"GeneratorDataset"}); }

}  // namespace argosy::datasets
