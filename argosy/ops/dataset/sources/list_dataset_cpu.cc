#include <algorithm>

#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

using Elements = std::shared_ptr<const std::vector<Element>>;

class List final : public DatasetValue {
 public:
  List(std::string op, std::vector<DType> types, std::vector<PartialShape> shapes, Elements elements)
      : DatasetValue(std::move(op), std::move(types), std::move(shapes)), elements_(std::move(elements)) {
    if (std::find(this->types().begin(), this->types().end(), DType::kVariant) == this->types().end()) return;
    for (const Element& e : *elements_) set_nesting(std::max(nesting(), nesting_around(e)));
  }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(elements_->size()); }
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>(elements_));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(Elements elements) : elements_(std::move(elements)) {}
    Result<bool> next(Element& out) override {
      if (i_ == elements_->size()) return false;
      out = (*elements_)[i_++];
      return true;
    }
    bool ready() override { return true; }

   private:
    const Elements elements_;
    std::size_t i_ = 0;
  };
  const Elements elements_;
};

}  // namespace

DatasetPtr list_dataset(std::string op, std::vector<DType> types, std::vector<PartialShape> shapes, Elements elements) {
  return std::make_shared<List>(std::move(op), std::move(types), std::move(shapes), std::move(elements));
}

}  // namespace argosy::datasets
