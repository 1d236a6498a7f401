// Transformations of one element at a time.
#include "argosy/ops/dataset/dataset_kernel.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

Result<bool> map_result(Result<Element> result, bool preserve_cardinality, Element& out) {
  if (result.ok()) {
    out = *std::move(result);
    return true;
  }
  if (result.status().code() != Code::kOutOfRange) return std::move(result).status();
  if (!preserve_cardinality) return false;  // how a function ends the sequence early
  const Status& s = result.status();
  return invalid_argument("Function invocation produced OutOfRangeError: ", s.message()).with_where(s.where());
}

namespace {

class Map final : public UnaryDataset {
 public:
  Map(const DatasetArgs& a, DatasetPtr input, Captured f)
      : UnaryDataset(a, std::move(input)), f_(std::move(f)), preserve_(a.attrs().get_bool("preserve_cardinality")) {}
  std::int64_t cardinality() const override { return preserve_ ? input().cardinality() : kUnknownCardinality; }
  Status check_types() const override { return ok_status(); }  // a function's results, which were looked at
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Map>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Map> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      Element element;
      ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
      if (!some) return false;
      ARGOSY_ASSIGN_OR_RETURN(const bool mapped, map_result(d_->f_(std::move(element), context_), d_->preserve_, out));
      if (!mapped) end();
      return mapped;
    }
  };
  const Captured f_;
  const bool preserve_;
};

Result<DatasetPtr> make_map(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  Captured f = a.function("f");
  ARGOSY_RETURN_IF_ERROR(check_returns(f, a.types()));
  return DatasetPtr(std::make_shared<Map>(a, std::move(input), std::move(f)));
}

// Filter and TakeWhile: what to do with elements the predicate refuses.
class Predicated final : public UnaryDataset {
 public:
  Predicated(const DatasetArgs& a, DatasetPtr input, Captured f, bool ends)
      : UnaryDataset(a, std::move(input)), f_(std::move(f)), ends_(ends) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Predicated>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Predicated> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (true) {
        Element element;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) return false;
        ARGOSY_ASSIGN_OR_RETURN(const Element answer, d_->f_(element, context_));
        ARGOSY_ASSIGN_OR_RETURN(const bool wanted, bool_of(answer));
        if (wanted) {
          out = std::move(element);
          return true;
        }
        if (!d_->ends_) continue;
        end();
        return false;
      }
    }
  };
  const Captured f_;
  const bool ends_;
};

template <bool kEnds>
Result<DatasetPtr> make_predicated(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  return DatasetPtr(std::make_shared<Predicated>(a, std::move(input), a.function("predicate"), kEnds));
}

// Elements whose last component, a bool that they then lose, is true.
class ByLast final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  Status check_types() const override {
    std::vector<DType> left = input().types();
    left.pop_back();
    return same_types(types(), left);
  }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<ByLast>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<ByLast> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (true) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(out));
        if (!some) return false;
        ARGOSY_ASSIGN_OR_RETURN(const bool wanted, bool_of({out.back()}));
        out.pop_back();
        if (wanted) return true;
      }
    }
  };
};

Result<DatasetPtr> make_by_last(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  if (input->types().size() < 2 || input->types().back() != DType::kBool) {
    return invalid_argument("last component must be a bool scalar, beside others.");
  }
  return DatasetPtr(std::make_shared<ByLast>(a, std::move(input)));
}

// Scan: (state, element) -> (state, output); the new state is passed to the next element.
class Scan final : public UnaryDataset {
 public:
  Scan(const DatasetArgs& a, DatasetPtr input, Captured f, Element initial)
      : UnaryDataset(a, std::move(input)),
        f_(std::move(f)),
        initial_(std::move(initial)),
        preserve_(a.attrs().get_bool("preserve_cardinality")) {}
  std::int64_t cardinality() const override { return preserve_ ? input().cardinality() : kUnknownCardinality; }
  Status check_types() const override { return ok_status(); }  // a function's results, which were looked at
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Scan>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Scan> {
   public:
    Iterator(std::shared_ptr<const Scan> d, const IteratorContext& context, IteratorPtr input)
        : UnaryIterator(std::move(d), context, std::move(input)), state_(d_->initial_) {}
    Result<bool> next(Element& out) override {
      Element element;
      ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
      if (!some) return false;
      Element arguments = state_;
      arguments.insert(arguments.end(), element.begin(), element.end());
      Element both;
      ARGOSY_ASSIGN_OR_RETURN(const bool mapped,
                              map_result(d_->f_(std::move(arguments), context_), d_->preserve_, both));
      if (!mapped) {
        end();
        return false;
      }
      const auto border = both.begin() + static_cast<std::ptrdiff_t>(state_.size());
      state_.assign(both.begin(), border);
      out.assign(border, both.end());
      return true;
    }

   private:
    Element state_;
  };
  const Captured f_;
  const Element initial_;
  const bool preserve_;
};

Result<DatasetPtr> make_scan(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  Captured f = a.function("f");
  std::vector<DType> types = a.types("Tstate");
  const std::vector<DType> outputs = a.types();
  types.insert(types.end(), outputs.begin(), outputs.end());
  ARGOSY_RETURN_IF_ERROR(check_returns(f, types));
  return DatasetPtr(std::make_shared<Scan>(a, std::move(input), std::move(f), a.tensors("initial_state")));
}

}  // namespace

void add_maps(KernelRegistry& kernels) {
  add_dataset<make_map>(kernels, {"MapDataset", "ExperimentalMapDataset"});
  add_dataset<make_predicated<false>>(kernels, {"FilterDataset", "ParallelFilterDataset"});
  add_dataset<make_predicated<true>>(kernels, {"TakeWhileDataset", "ExperimentalTakeWhileDataset"});
  add_dataset<make_by_last>(kernels, {"FilterByLastComponentDataset"});
  add_dataset<make_scan>(kernels, {"ScanDataset", "ExperimentalScanDataset"});
}

}  // namespace argosy::datasets
