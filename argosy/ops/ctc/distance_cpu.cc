#include <algorithm>
#include <numeric>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/ctc/frames.h"

namespace argosy::ctc {

namespace {

// One side: sequences as the rows of a sparse tensor, the last axis running along a sequence.
struct Side {
  const Tensor& indices;
  const Tensor& values;
  std::vector<std::int64_t> shape;

  static Result<Side> read(KernelContext& c, int first, std::string_view name) {
    Side s{.indices = c.input(first), .values = c.input(first + 1), .shape = {}};
    const Tensor& shape = c.input(first + 2);
    if (s.indices.shape().rank() != 2 || s.values.shape().rank() != 1 || shape.shape().rank() != 1) {
      return invalid_argument("EditDistance: ", name, " is indices of rank 2, values and shape of rank 1, not ",
                              s.indices.shape(), ", ", s.values.shape(), " and ", shape.shape());
    }
    if (s.values.elements() != s.indices.shape()[0] || shape.elements() != s.indices.shape()[1]) {
      return invalid_argument("EditDistance: ", name, " has indices ", s.indices.shape(), " for ", s.values.elements(),
                              " values and a shape of ", shape.elements(), " sizes");
    }
    s.shape.assign(shape.data<std::int64_t>(), shape.data<std::int64_t>() + shape.elements());
    for (const std::int64_t size : s.shape) {
      if (size < 0) return invalid_argument("EditDistance: ", name, "_shape has a negative size: ", size);
    }
    return s;
  }

  std::int64_t count() const { return values.elements(); }
  std::size_t axes() const { return shape.size(); }
  // The indices of the sequence that entry i belongs to.
  std::span<const std::int64_t> key(std::int64_t i) const {
    return {indices.data<std::int64_t>() + i * static_cast<std::int64_t>(axes()), axes() - 1};
  }
  // The end of the sequence that begins at entry i.
  std::int64_t end(std::int64_t i) const {
    std::int64_t next = i;
    while (next < count() && std::ranges::equal(key(next), key(i))) ++next;
    return next;
  }
};

// Returns the Levenshtein distance, with one row of the table in memory.
template <typename T>
std::int64_t distance(std::span<const T> a, std::span<const T> b) {
  std::vector<std::int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    check_interrupted();
    std::int64_t diagonal = row[0];
    row[0] = static_cast<std::int64_t>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

class EditDistance final : public Kernel {
 public:
  explicit EditDistance(bool normalize) : normalize_(normalize) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<EditDistance>(init.attrs.get_bool("normalize")));
  }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Side guess, Side::read(c, 0, "hypothesis"));
    ARGOSY_ASSIGN_OR_RETURN(const Side truth, Side::read(c, 3, "truth"));
    if (guess.axes() != truth.axes() || truth.axes() < 2) {
      return invalid_argument("EditDistance: hypothesis and truth must have one rank of at least 2, not ", guess.axes(),
                              " and ", truth.axes());
    }
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i + 1 < truth.axes(); ++i) sizes.push_back(std::max(guess.shape[i], truth.shape[i]));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    std::fill_n(y->data<float>(), y->elements(), 0.0f);
    if (guess.values.dtype() == DType::kString) return fill<std::string>(guess, truth, *y);
    if (guess.values.dtype() == DType::kBool) return fill<bool>(guess, truth, *y);
    return dispatch<NumberTypes>(guess.values.dtype(), "EditDistance",
                                 [&]<typename T>() { return fill<T>(guess, truth, *y); });
  }

 private:
  // Walks through the sequences of both sides together, in order; a sequence may be missing on one side.
  template <typename T>
  Status fill(const Side& guess, const Side& truth, const Tensor& y) const {
    std::int64_t g = 0, t = 0;
    while (g < guess.count() || t < truth.count()) {
      const bool has_guess = g < guess.count(), has_truth = t < truth.count();
      const auto order = [&] {
        return std::lexicographical_compare_three_way(guess.key(g).begin(), guess.key(g).end(), truth.key(t).begin(),
                                                      truth.key(t).end());
      };
      const bool take_guess = has_guess && (!has_truth || order() <= 0);
      const bool take_truth = has_truth && (!has_guess || order() >= 0);
      const auto key = take_guess ? guess.key(g) : truth.key(t);
      const std::int64_t guess_end = take_guess ? guess.end(g) : g, truth_end = take_truth ? truth.end(t) : t;
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t at, place(y.shape(), key));
      const auto part = [](const Side& side, std::int64_t begin, std::int64_t end) {
        return std::span(side.values.data<T>() + begin, static_cast<std::size_t>(end - begin));
      };
      const auto edits = static_cast<float>(distance<T>(part(truth, t, truth_end), part(guess, g, guess_end)));
      const auto length = static_cast<float>(truth_end - t);
      // An empty truth is infinitely far.
      y.data<float>()[at] = normalize_ ? edits / length : edits;
      g = guess_end;
      t = truth_end;
    }
    return ok_status();
  }

  static Result<std::int64_t> place(const Shape& shape, std::span<const std::int64_t> key) {
    std::int64_t at = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      const std::int64_t k = key[static_cast<std::size_t>(i)];
      if (k < 0 || k >= shape[i]) {
        return internal_error("EditDistance: sequence [", str_join(key), "] would be written outside of the output ",
                              shape);
      }
      at = at * shape[i] + k;
    }
    return at;
  }

  const bool normalize_;
};

}  // namespace

void add_edit_distance(KernelRegistry& kernels) { kernels.add("EditDistance", "cpu", EditDistance::make); }

}  // namespace argosy::ctc
