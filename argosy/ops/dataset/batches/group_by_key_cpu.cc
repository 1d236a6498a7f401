// Elements by their keys.
#include <map>
#include <set>

#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// --- windows of elements with one key, each reduced to a dataset -----------------------------------------------------

class GroupByWindow final : public UnaryDataset {
 public:
  GroupByWindow(const DatasetArgs& a, DatasetPtr input)
      : UnaryDataset(a, std::move(input)),
        key_(a.function("key_func", "key_func_other_arguments")),
        reduce_(a.function("reduce_func", "reduce_func_other_arguments")),
        size_(a.function("window_size_func", "window_size_func_other_arguments")) {}
  Status check_types() const override { return ok_status(); }  // of what a function makes: as they come
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<GroupByWindow>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<GroupByWindow> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (true) {
        if (flushing_ != nullptr) {
          ARGOSY_ASSIGN_OR_RETURN(const bool some, flushing_->next(out));
          if (some) return true;
          flushing_ = nullptr;
        }
        Element element;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (some) {
          ARGOSY_RETURN_IF_ERROR(add(std::move(element)));
        } else if (groups_.empty()) {
          return false;
        } else {
          ARGOSY_RETURN_IF_ERROR(flush(groups_.begin()->first));  // what is left, in the order of keys
        }
      }
    }

   private:
    struct Group {
      std::int64_t size = 0;
      std::shared_ptr<ElementList> elements;
    };
    Status add(Element element) {
      ARGOSY_ASSIGN_OR_RETURN(const Element answer, d_->key_(element, context_));
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t key, int_of(answer, "`key_func`"));
      auto found = groups_.find(key);
      if (found == groups_.end()) {
        ARGOSY_ASSIGN_OR_RETURN(const Element sized, d_->size_({Tensor::scalar(key)}, context_));
        ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, int_of(sized, "`window_size_func`"));
        if (size <= 0) return invalid_argument("Window size must be greater than zero, but got ", size, ".");
        auto elements = std::make_shared<ElementList>(d_->input().types().size(), "elements grouped by key");
        found = groups_.emplace(key, Group{size, std::move(elements)}).first;
      }
      ARGOSY_RETURN_IF_ERROR(found->second.elements->add(std::move(element)));
      if (found->second.elements->size() < found->second.size) return ok_status();
      return flush(key);
    }
    Status flush(std::int64_t key) {
      auto group = groups_.extract(key);
      DatasetPtr window = list_dataset("GroupByWindowDataset", d_->input().types(), d_->input().shapes(),
                                       ElementList::shared(std::move(group.mapped().elements)));
      ARGOSY_ASSIGN_OR_RETURN(const Element returned,
                              d_->reduce_({Tensor::scalar(key), dataset_handle(std::move(window))}, context_));
      ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr reduced, dataset_of(returned));
      ARGOSY_RETURN_IF_ERROR(same_types(d_->types(), reduced->types()));
      ARGOSY_ASSIGN_OR_RETURN(flushing_, reduced->iterate(context_));
      return ok_status();
    }
    std::map<std::int64_t, Group> groups_;
    IteratorPtr flushing_;
  };
  const Captured key_, reduce_, size_;
};

Result<DatasetPtr> make_group_by_window(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  return DatasetPtr(std::make_shared<GroupByWindow>(a, std::move(input)));
}

// --- one element per key ---------------------------------------------------------------------------------------------

class GroupByReducer final : public UnaryDataset {
 public:
  GroupByReducer(const DatasetArgs& a, DatasetPtr input)
      : UnaryDataset(a, std::move(input)),
        key_(a.function("key_func", "key_func_other_arguments")),
        init_(a.function("init_func", "init_func_other_arguments")),
        reduce_(a.function("reduce_func", "reduce_func_other_arguments")),
        finalize_(a.function("finalize_func", "finalize_func_other_arguments")) {}
  Status check_types() const override { return ok_status(); }  // a function's results, which were looked at
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<GroupByReducer>(), context);
  }
  Status check() const { return check_returns(finalize_, types()); }

 private:
  class Iterator final : public UnaryIterator<GroupByReducer> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (true) {
        Element element;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) break;
        ARGOSY_ASSIGN_OR_RETURN(const Element answer, d_->key_(element, context_));
        ARGOSY_ASSIGN_OR_RETURN(const std::int64_t key, int_of(answer, "`key_func`"));
        auto found = states_.find(key);
        if (found == states_.end()) {
          ARGOSY_ASSIGN_OR_RETURN(Element fresh, d_->init_({Tensor::scalar(key)}, context_));
          ARGOSY_RETURN_IF_ERROR(held_.hold(std::ssize(states_) + 1));
          found = states_.emplace(key, std::move(fresh)).first;
        }
        Element arguments = found->second;
        arguments.insert(arguments.end(), element.begin(), element.end());
        ARGOSY_ASSIGN_OR_RETURN(found->second, d_->reduce_(std::move(arguments), context_));
      }
      if (states_.empty()) return false;
      const auto first = states_.extract(states_.begin());
      ARGOSY_ASSIGN_OR_RETURN(out, d_->finalize_(first.mapped(), context_));
      return true;
    }

   private:
    HeldItems held_ = held_tuples(d_->types().size() + 1, "states reduced by key");
    std::map<std::int64_t, Element> states_;
  };
  const Captured key_, init_, reduce_, finalize_;
};

Result<DatasetPtr> make_group_by_reducer(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  auto dataset = std::make_shared<GroupByReducer>(a, std::move(input));
  ARGOSY_RETURN_IF_ERROR(dataset->check());
  return DatasetPtr(std::move(dataset));
}

// --- every element once ----------------------------------------------------------------------------------------------

class Unique final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Unique>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Unique> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (true) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(out));
        if (!some) return false;
        auto [at, fresh] = seen_.insert(content(out));
        if (!fresh) continue;
        seen_bytes_ += kEntry + static_cast<std::int64_t>(at->capacity());
        ARGOSY_RETURN_IF_ERROR(held_.hold(seen_bytes_));
        return true;
      }
    }

   private:
    static std::string content(const Element& element) {
      std::string all;
      for (const Tensor& t : element) {
        all += t.shape().to_string();
        if (t.dtype() == DType::kString) {
          for (const std::string& s : t.values<std::string>()) all += str_cat(s.size(), ":", s);
        } else {
          all.append(t.raw_as<char>(), t.bytes());
        }
      }
      return all;
    }
    static constexpr std::int64_t kEntry = 80;  // of the set
    std::set<std::string> seen_;
    std::int64_t seen_bytes_ = 0;
    HeldItems held_{HostUse::kBuffers, 1, "elements that were met"};
  };
};

Result<DatasetPtr> make_unique_elements(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  for (const DType d : input->types()) {
    if (d != DType::kInt32 && d != DType::kInt64 && d != DType::kString) {
      return invalid_argument(
          "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
          "component.");
    }
  }
  return DatasetPtr(std::make_shared<Unique>(a, std::move(input)));
}

}  // namespace

void add_groups(KernelRegistry& kernels) {
  add_dataset<make_group_by_window>(kernels, {"GroupByWindowDataset", "ExperimentalGroupByWindowDataset"});
  add_dataset<make_group_by_reducer>(kernels, {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"});
  add_dataset<make_unique_elements>(kernels, {"UniqueDataset", "ExperimentalUniqueDataset"});
}

}  // namespace argosy::datasets
