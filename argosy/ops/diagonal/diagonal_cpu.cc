#include "argosy/op/kernel.h"
#include "argosy/ops/diagonal/band.h"

namespace argosy {

namespace {

using diagonal_parts::Band;

class Diagonal final : public Kernel {
 public:
  explicit Diagonal(const KernelInit& init) : op_(init.op.name), align_(init.attrs.get_or("align", std::string())) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Diagonal>(init));
  }
  Status run(KernelContext& c) override {
    if (op_.starts_with("MatrixDiagPart")) return part(c);
    return op_.starts_with("MatrixSetDiag") ? set(c) : diag(c);
  }

 private:
  Result<Band> read_band(const Tensor& k) const {
    if (k.shape().rank() > 1 || k.elements() < 1 || k.elements() > 2) {
      return invalid_argument(op_, ": k must be one number or two, not of shape ", k.shape());
    }
    Band band;
    band.lower = k.data<std::int32_t>()[0];
    band.upper = k.data<std::int32_t>()[k.elements() - 1];
    diagonal_parts::set_alignment(band, align_);
    ARGOSY_RETURN_IF_ERROR(diagonal_parts::check_band(op_, band.lower, band.upper));
    return band;
  }
  Status expect_scalar(const Tensor& t, const char* what) const {
    if (t.shape().rank() == 0) return ok_status();
    return invalid_argument(op_, ": ", what, " must be a scalar, not of shape ", t.shape());
  }
  // The band in matrices of input 0's shape, checked; and the shape of its diagonals.
  Result<Shape> band_of(const Tensor& x, Band& band) const {
    const Shape& shape = x.shape();
    if (shape.rank() < 2) return invalid_argument(op_, ": the input must have rank 2 or more, not shape ", shape);
    band.rows = shape[shape.rank() - 2];
    band.columns = shape.back();
    ARGOSY_RETURN_IF_ERROR(diagonal_parts::check_inside(op_, band));
    std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end() - 2);
    if (band.count() > 1) sizes.push_back(band.count());
    sizes.push_back(band.longest());
    return Shape::make(sizes);
  }
  static std::int64_t batch(const Tensor& matrices, const Band& band) {
    const std::int64_t each = band.rows * band.columns;
    return each == 0 ? 0 : matrices.elements() / each;
  }

  Status part(KernelContext& c) {
    const Tensor& x = c.input(0);
    ARGOSY_RETURN_IF_ERROR(expect_scalar(c.input(2), "padding_value"));
    ARGOSY_ASSIGN_OR_RETURN(Band band, read_band(c.input(1)));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, band_of(x, band));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    return dispatch_size(x.dtype(), op_, [&]<typename T>() {
      std::fill_n(y->raw_as<T>(), y->elements(), *c.input(2).raw_as<T>());
      copy<T>(x.raw_as<T>(), y->raw_as<T>(), batch(x, band), band, false);
      return ok_status();
    });
  }

  Status set(KernelContext& c) {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(Band band, read_band(c.input(2)));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, band_of(x, band));
    if (!(shape == c.input(1).shape())) {
      return invalid_argument(op_, ": diagonals of shape ", c.input(1).shape(), " for matrices of shape ", x.shape(),
                              ", which want ", shape);
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    return dispatch_size(x.dtype(), op_, [&]<typename T>() {
      if (y->raw() != x.raw()) std::copy_n(x.raw_as<T>(), x.elements(), y->raw_as<T>());
      copy<T>(y->raw_as<T>(), c.input(1).raw_as<T>(), batch(x, band), band, true);
      return ok_status();
    });
  }

  Status diag(KernelContext& c) {
    const Tensor& x = c.input(0);
    const char* const names[] = {"num_rows", "num_cols", "padding_value"};
    for (int i = 0; i < 3; ++i) ARGOSY_RETURN_IF_ERROR(expect_scalar(c.input(i + 2), names[i]));
    ARGOSY_ASSIGN_OR_RETURN(Band band, read_band(c.input(1)));
    band.rows = *c.input(2).data<std::int32_t>();
    band.columns = *c.input(3).data<std::int32_t>();
    const int rank = x.shape().rank();
    const bool several = band.count() > 1;
    if (rank < (several ? 2 : 1) || (several && x.shape()[rank - 2] != band.count())) {
      return invalid_argument(op_, ": ", band.count(), " diagonals do not have the shape ", x.shape());
    }
    ARGOSY_RETURN_IF_ERROR(diagonal_parts::fit_matrix(op_, x.shape().back(), band));
    std::vector<std::int64_t> sizes(x.shape().sizes().begin(), x.shape().sizes().end() - (several ? 2 : 1));
    sizes.insert(sizes.end(), {band.rows, band.columns});
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    return dispatch_size(x.dtype(), op_, [&]<typename T>() {
      std::fill_n(y->raw_as<T>(), y->elements(), *c.input(4).raw_as<T>());
      copy<T>(y->raw_as<T>(), x.raw_as<T>(), batch(*y, band), band, true);
      return ok_status();
    });
  }

  // Between matrices and rows of diagonals.
  template <typename T>
  static void copy(T* matrices, T* diagonals, std::int64_t batch, const Band& band, bool into_matrices) {
    const std::int64_t longest = band.longest();
    for (std::int64_t b = 0; b < batch; ++b, matrices += band.rows * band.columns) {
      for (std::int64_t d = band.upper; d >= band.lower; --d, diagonals += longest) {
        const Band::Place p = band.place(d);
        for (std::int64_t i = 0; i < p.length; ++i) {
          T& m = matrices[p.start + i * (band.columns + 1)];
          T& v = diagonals[p.offset + i];
          (into_matrices ? m : v) = into_matrices ? v : m;
        }
      }
    }
  }

  const std::string op_, align_;
};

}  // namespace

void add_kernels_cpu_diagonal(KernelRegistry& kernels) {
  for (const char* version : {"V2", "V3"}) {
    for (const char* op : {"MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"}) {
      kernels.add(std::string(op) + version, "cpu", Diagonal::make);
    }
  }
}

}  // namespace argosy
