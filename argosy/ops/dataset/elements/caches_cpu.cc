// Cache: the elements of the first whole pass, in memory or in a file, for all later ones.
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/ops/dataset/elements/memory_cache.h"
#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// The dtypes of a cached element: the cache may be another dataset's.
std::vector<DType> types_of(const Element& element) {
  std::vector<DType> types;
  for (const Tensor& t : element) types.push_back(t.dtype());
  return types;
}

// A pass that also stores its elements; the cache is complete at its end.
class CachingIterator : public DatasetIterator {
 public:
  CachingIterator(IteratorPtr input, std::size_t components)
      : input_(std::move(input)), elements_(std::make_shared<ElementList>(components, "a dataset's cache")) {}
  Result<bool> next(Element& out) override {
    if (input_ == nullptr) return false;
    ARGOSY_ASSIGN_OR_RETURN(const bool some, input_->next(out));
    if (some) {
      ARGOSY_RETURN_IF_ERROR(elements_->add(out));
      return true;
    }
    input_ = nullptr;
    ARGOSY_RETURN_IF_ERROR(complete(std::move(elements_)));
    return false;
  }

 protected:
  virtual Status complete(std::shared_ptr<ElementList> elements) = 0;

 private:
  IteratorPtr input_;
  std::shared_ptr<ElementList> elements_;
};

class InMemory final : public UnaryDataset {
 public:
  InMemory(const DatasetArgs& a, DatasetPtr input, std::shared_ptr<MemoryCache> cache)
      : UnaryDataset(a, std::move(input)), cache_(std::move(cache)) {}
  std::int64_t cardinality() const override { return input().cardinality(); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    if (auto elements = cache_->get(context)) {
      if (!elements->empty()) ARGOSY_RETURN_IF_ERROR(same_types(types(), types_of(elements->front())));
      return list_dataset(op(), types(), shapes(), std::move(elements))->iterate(context);
    }
    ARGOSY_ASSIGN_OR_RETURN(IteratorPtr inner, input().iterate(context));
    return IteratorPtr(std::make_unique<Iterator>(std::move(inner), types().size(), cache_, context));
  }

 private:
  class Iterator final : public CachingIterator {
   public:
    Iterator(IteratorPtr input, std::size_t components, std::shared_ptr<MemoryCache> cache,
             const IteratorContext& context)
        : CachingIterator(std::move(input), components), cache_(std::move(cache)), context_(context) {}
    Status complete(std::shared_ptr<ElementList> elements) override {
      cache_->set(context_, ElementList::shared(std::move(elements)));
      return ok_status();
    }

   private:
    const std::shared_ptr<MemoryCache> cache_;
    const IteratorContext context_;
  };
  const std::shared_ptr<MemoryCache> cache_;
};

// A checkpoint by that name, with a tensor per component of each element.
class InFile final : public UnaryDataset {
 public:
  InFile(const DatasetArgs& a, DatasetPtr input, std::string prefix)
      : UnaryDataset(a, std::move(input)), prefix_(std::move(prefix)) {}
  std::int64_t cardinality() const override { return input().cardinality(); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    if (file_exists(tf::index_path(prefix_))) {
      ARGOSY_ASSIGN_OR_RETURN(tf::CheckpointReader reader, tf::CheckpointReader::open(prefix_));
      return IteratorPtr(std::make_unique<FileCacheReader>(std::move(reader), types()));
    }
    ARGOSY_ASSIGN_OR_RETURN(IteratorPtr inner, input().iterate(context));
    return IteratorPtr(std::make_unique<FileCacheWriter>(std::move(inner), prefix_, types().size()));
  }

 private:
  // "       7_0": what TensorFlow names component 0 of element 7.
  static std::string key(std::size_t element, std::size_t component, std::size_t components) {
    const std::string e = std::to_string(element), c = std::to_string(component);
    const std::size_t width = std::to_string(components).size();
    return str_cat(std::string(8 - std::min<std::size_t>(e.size(), 8), ' '), e, "_",
                   std::string(width - std::min(c.size(), width), ' '), c);
  }
  class FileCacheWriter final : public CachingIterator {
   public:
    FileCacheWriter(IteratorPtr input, std::string prefix, std::size_t components)
        : CachingIterator(std::move(input), components), prefix_(std::move(prefix)), components_(components) {}
    Status complete(std::shared_ptr<ElementList> list) override {
      std::vector<Element>& elements = list->elements();
      std::vector<tf::NamedTensor> tensors;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        for (std::size_t k = 0; k < components_; ++k) {
          tensors.push_back({key(i, k, components_), std::move(elements[i][k])});
        }
      }
      return tf::write_checkpoint(prefix_, tensors, {.durable = false});
    }

   private:
    const std::string prefix_;
    const std::size_t components_;
  };
  class FileCacheReader final : public DatasetIterator {
   public:
    FileCacheReader(tf::CheckpointReader reader, std::vector<DType> types)
        : reader_(std::move(reader)), types_(std::move(types)), components_(types_.size()) {}
    Result<bool> next(Element& out) override {
      if (reader_.find(key(i_, 0, components_)) == nullptr) return false;
      Element element;
      for (std::size_t k = 0; k < components_; ++k) {
        ARGOSY_ASSIGN_OR_RETURN(Tensor t, reader_.read(key(i_, k, components_)));
        element.push_back(std::move(t));
      }
      ARGOSY_RETURN_IF_ERROR(same_types(types_, types_of(element)));
      ++i_;
      out = std::move(element);
      return true;
    }

   private:
    const tf::CheckpointReader reader_;
    const std::vector<DType> types_;
    const std::size_t components_;
    std::size_t i_ = 0;
  };
  const std::string prefix_;
};

Result<DatasetPtr> make_cache(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(std::string filename, a.text("filename"));
  if (!filename.empty()) {
    // The files have this name and more; those, too, must not lead out by a link.
    ARGOSY_RETURN_IF_ERROR(allowed_file(a.context(), tf::index_path(filename)).status());
    ARGOSY_RETURN_IF_ERROR(allowed_file(a.context(), tf::data_path(filename, 0, 1)).status());
    ARGOSY_ASSIGN_OR_RETURN(filename, allowed_file(a.context(), filename));
    return DatasetPtr(std::make_shared<InFile>(a, std::move(input), std::move(filename)));
  }
  std::shared_ptr<MemoryCache> cache;
  if (a.op() == "CacheDatasetV2") {
    auto shared = a.resource<MemoryCache>("cache");
    if (shared.ok()) cache = *std::move(shared);
  }
  if (cache == nullptr) cache = std::make_shared<MemoryCache>();
  return DatasetPtr(std::make_shared<InMemory>(a, std::move(input), std::move(cache)));
}

}  // namespace

void add_caches(KernelRegistry& kernels) { add_dataset<make_cache>(kernels, {"CacheDataset", "CacheDatasetV2"}); }

}  // namespace argosy::datasets
