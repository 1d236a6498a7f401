#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/diagonal/band.h"
#include "argosy/ops/layout/strided/strided_copy.h"

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
  // Sets and checks the band in matrices of the shape of input 0. Returns the shape of its diagonals.
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
    fill_elements(*y, c.input(2).raw());
    copy(x, *y, batch(x, band), band, false);
    return ok_status();
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
    if (y->raw() != x.raw()) copy_span(*y, 0, x, 0, x.elements());
    copy(*y, c.input(1), batch(x, band), band, true);
    return ok_status();
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
    fill_elements(*y, c.input(4).raw());
    copy(*y, x, batch(*y, band), band, true);
    return ok_status();
  }

  // Copies between matrices and rows of diagonals: each diagonal for all matrices at once.
  static void copy(const Tensor& matrices, const Tensor& diagonals, std::int64_t batch, const Band& band,
                   bool into_matrices) {
    const std::int64_t longest = band.longest(), matrix = band.rows * band.columns, row = band.count() * longest;
    for (std::int64_t d = band.upper; d >= band.lower; --d) {
      const Band::Place p = band.place(d);
      if (p.length <= 0) continue;
      const std::int64_t at = (band.upper - d) * longest + p.offset;
      Region region;
      region.add(batch, into_matrices ? matrix : row, into_matrices ? row : matrix);
      region.add(p.length, into_matrices ? band.columns + 1 : 1, into_matrices ? 1 : band.columns + 1);
      if (into_matrices) {
        copy_region(matrices, p.start, diagonals, at, region);
      } else {
        copy_region(diagonals, at, matrices, p.start, region);
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
