#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

namespace {

using Types = TypeList<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::string>;
using Place = std::vector<std::int64_t>;  // all axes but the last

template <typename T>
struct Sets {
  Place sizes;  // of those axes
  std::map<Place, std::set<T>> sets;
};

template <typename T>
Result<Sets<T>> dense(std::string_view op, const Tensor& t) {
  const Shape& shape = t.shape();
  if (shape.rank() < 2) return invalid_argument(op, ": Shape ", shape, " has rank ", shape.rank(), " < 2");
  Sets<T> s;
  s.sizes.assign(shape.sizes().begin(), shape.sizes().end() - 1);
  const std::int64_t width = shape.back();
  Poll poll(1024);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    poll();
    Place place(s.sizes.size());
    std::int64_t rest = i / width;
    for (std::size_t k = place.size(); k-- > 0;) {
      place[k] = rest % s.sizes[k];
      rest /= s.sizes[k];
    }
    s.sets[std::move(place)].insert(t.data<T>()[i]);
  }
  return s;
}

template <typename T>
Result<Sets<T>> sparse(std::string_view op, const Tensor& indices, const Tensor& values, const Tensor& shape,
                       bool validate) {
  if (indices.shape().rank() != 2 || values.shape().rank() != 1 || shape.shape().rank() != 1 ||
      indices.shape()[0] != values.elements() || indices.shape()[1] != shape.elements()) {
    return invalid_argument(op, ": indices ", indices.shape(), ", values ", values.shape(), " and shape ",
                            shape.shape(), " are not those of a sparse tensor");
  }
  const std::int64_t rank = shape.elements();
  if (rank < 2) return invalid_argument(op, ": Invalid rank ", rank, ": sets have 2 axes or more");
  Sets<T> s;
  const std::int64_t* const sizes = shape.data<std::int64_t>();
  for (std::int64_t k = 0; k < rank; ++k) {
    if (sizes[k] < 0) return invalid_argument(op, ": shape[", k, "] is ", sizes[k]);
  }
  s.sizes.assign(sizes, sizes + rank - 1);
  Poll poll(1024);
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    poll();
    const std::int64_t* const at = indices.data<std::int64_t>() + i * rank;
    for (std::int64_t k = 0; k < rank; ++k) {
      if (at[k] < 0 || at[k] >= sizes[k]) {
        return invalid_argument(op, ": indices[", i, "][", k, "] = ", at[k], " is out of bounds for ", sizes[k]);
      }
    }
    if (validate && i > 0 && !std::lexicographical_compare(at - rank, at, at, at + rank)) {
      return invalid_argument(op, ": indices[", i, "] is out of order, or repeated");
    }
    s.sets[Place(at, at + rank - 1)].insert(values.data<T>()[i]);
  }
  return s;
}

template <typename T>
std::vector<T> combine(const std::set<T>& a, const std::set<T>& b, const std::string& operation) {
  std::vector<T> result;
  const auto to = std::back_inserter(result);
  if (operation == "a-b") {
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to);
  } else if (operation == "b-a") {
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), to);
  } else if (operation == "intersection") {
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to);
  } else {
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), to);
  }
  return result;
}

template <typename T>
Status write(KernelContext& c, const Place& sizes, const std::map<Place, std::vector<T>>& results) {
  std::int64_t count = 0, longest = 0;
  for (const auto& [place, values] : results) {
    count += static_cast<std::int64_t>(values.size());
    longest = std::max(longest, static_cast<std::int64_t>(values.size()));
  }
  const auto rank = static_cast<std::int64_t>(sizes.size()) + 1;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, Shape{count, rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, Shape{count}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const shape, c.output(2, Shape{rank}));
  std::int64_t* at = indices->data<std::int64_t>();
  T* to = values->data<T>();
  for (const auto& [place, set] : results) {
    std::int64_t i = 0;
    for (const T& value : set) {
      at = std::copy(place.begin(), place.end(), at);
      *at++ = i++;
      *to++ = value;
    }
  }
  std::copy(sizes.begin(), sizes.end(), shape->data<std::int64_t>());
  shape->data<std::int64_t>()[rank - 1] = longest;
  return ok_status();
}

class SetOperation final : public Kernel {
 public:
  explicit SetOperation(const KernelInit& init)
      : op_(init.op.name),
        operation_(init.attrs.get_or("set_operation", std::string())),
        validate_(init.attrs.get_bool("validate_indices")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<SetOperation>(init);
    const std::string& o = kernel->operation_;
    if (o != "a-b" && o != "b-a" && o != "intersection" && o != "union" && init.op.name != "SetSize") {
      return invalid_argument(init.op.name, ": Invalid set_operation ", o);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status run(KernelContext& c) override {
    const DType dtype = op_.starts_with("Dense") ? c.input(0).dtype() : c.input(1).dtype();
    return dispatch<Types>(dtype, op_,
                           [&]<typename T>() -> Status { return op_ == "SetSize" ? sizes<T>(c) : combine_all<T>(c); });
  }

 private:
  template <typename T>
  Status sizes(KernelContext& c) {
    ARGOSY_ASSIGN_OR_RETURN(const Sets<T> s, sparse<T>(op_, c.input(0), c.input(1), c.input(2), validate_));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(s.sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    std::fill_n(y->data<std::int32_t>(), y->elements(), 0);
    const std::vector<std::int64_t> strides = shape.strides();
    for (const auto& [place, set] : s.sets) {
      std::int64_t at = 0;
      for (std::size_t k = 0; k < place.size(); ++k) at += place[k] * strides[k];
      y->data<std::int32_t>()[at] = static_cast<std::int32_t>(set.size());
    }
    return ok_status();
  }

  template <typename T>
  Status combine_all(KernelContext& c) {
    Sets<T> a, b;
    int next = 1;
    if (op_.starts_with("Dense")) {
      ARGOSY_ASSIGN_OR_RETURN(a, dense<T>(op_, c.input(0)));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(a, sparse<T>(op_, c.input(0), c.input(1), c.input(2), validate_));
      next = 3;
    }
    if (op_.starts_with("DenseToDense")) {
      ARGOSY_ASSIGN_OR_RETURN(b, dense<T>(op_, c.input(1)));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(b, sparse<T>(op_, c.input(next), c.input(next + 1), c.input(next + 2), validate_));
    }
    if (a.sizes != b.sizes) {
      return invalid_argument(op_, ": Mismatched shapes [", str_join(a.sizes), "] vs [", str_join(b.sizes), "]");
    }
    std::map<Place, std::vector<T>> results;
    const std::set<T> none;
    for (const auto* sets : {&a.sets, &b.sets}) {
      for (const auto& [place, set] : *sets) {
        if (results.contains(place)) continue;
        const auto in_a = a.sets.find(place), in_b = b.sets.find(place);
        results[place] =
            combine(in_a == a.sets.end() ? none : in_a->second, in_b == b.sets.end() ? none : in_b->second, operation_);
      }
    }
    return write(c, a.sizes, results);
  }

  const std::string op_, operation_;
  const bool validate_;
};

}  // namespace

void add_kernels_cpu_sets(KernelRegistry& kernels) {
  for (const char* op :
       {"SetSize", "DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation"}) {
    kernels.add(op, "cpu", SetOperation::make);
  }
}

}  // namespace argosy
