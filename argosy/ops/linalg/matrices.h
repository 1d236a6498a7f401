// Batches of matrices as Eigen sees them: views of tensors, conversions, loops over matrices. Private to the kernels of
// this folder.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <complex>
#include <new>

#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"

namespace argosy::linalg {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using ConstMap = Eigen::Map<const Matrix<T>>;
template <typename T>
using Map = Eigen::Map<Matrix<T>>;
// The scalar types that kernels compute in. Narrower dtypes are converted to these and back: that costs less than a
// decomposition, and Eigen's decompositions need not be compiled for four more types.
using Types = TypeList<double, std::complex<double>>;

// One run of a kernel: its inputs and outputs as float64 or complex128. Integer tensors stay as they are.
class MatrixCall {
 public:
  static Result<MatrixCall> start(KernelContext& c);
  // The workspace of a call: its converted inputs and outputs. nullopt: a shape is unknown.
  static std::optional<std::uint64_t> bytes(const KernelInit& init);
  const Tensor& input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  DType dtype() const { return inputs_[0].dtype(); }
  // The node's own dtypes, before conversion.
  DType input_dtype(int i) const { return c_.input(i).dtype(); }
  DType output_dtype(int i) const;
  // Output i, to be written: float64 or complex128 (finish() converts it), or an integer output itself.
  Result<Tensor> output(int i, const Shape& shape);
  // Converts the outputs to the node's dtypes. Call it last.
  Status finish();

 private:
  explicit MatrixCall(KernelContext& c) : c_(c) {}
  KernelContext& c_;
  std::vector<Tensor> inputs_;
  std::vector<std::pair<Tensor, Tensor>> narrow_;  // computed, output
};

// A tensor's shape as a batch of matrices: the leading axes, and how many matrices of which size.
struct Stack {
  std::vector<std::int64_t> batch;
  std::int64_t count = 1, rows = 0, columns = 0;
  Shape with(std::initializer_list<std::int64_t> last) const;
  std::int64_t elements() const { return rows * columns; }
};
Result<Stack> stack_of(std::string_view op, const Tensor& t);
Result<Stack> square_stack_of(std::string_view op, const Tensor& t);
// INVALID_ARGUMENT unless both have the same batch axes.
Status same_batch(std::string_view op, const Stack& a, const Stack& b);

// Calls fn(i) -> Status for every matrix of a batch, in parallel, and returns the first error. `work`: arithmetic
// operations for one matrix.
template <typename Fn>
Status for_each(std::int64_t count, double work, Fn&& fn) {
  Mutex mutex;
  Status first;
  const auto grain = static_cast<std::int64_t>(std::max(1.0, 50000 / std::max(work, 1.0)));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      check_interrupted();
      Status status;
      try {
        status = fn(i);
      } catch (const std::bad_alloc&) {
        status = resource_exhausted("no memory left for the factors of a matrix");
      }
      if (status.ok()) continue;
      MutexLock lock(mutex);
      if (first.ok()) first = std::move(status);
      return;
    }
  });
  return first;
}
inline double cube(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

// A kernel made of a function: MatrixKernel calls it with the op's name and attributes, and the call.
struct MatrixOp {
  std::string name;
  AttrMap attrs;
};
using MatrixFunction = Status (*)(const MatrixOp& op, MatrixCall& c);
template <MatrixFunction kFunction>
class MatrixKernel final : public Kernel, public Workspace {
 public:
  explicit MatrixKernel(MatrixOp op) : op_(std::move(op)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MatrixKernel>(MatrixOp{init.op.name, init.attrs}));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(MatrixCall call, MatrixCall::start(c));
    ARGOSY_RETURN_IF_ERROR(kFunction(op_, call));
    return call.finish();
  }
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override { return MatrixCall::bytes(init); }

 private:
  const MatrixOp op_;
};

void add_cholesky(KernelRegistry& kernels);
void add_lu(KernelRegistry& kernels);
void add_qr(KernelRegistry& kernels);
void add_svd(KernelRegistry& kernels);
void add_eigen(KernelRegistry& kernels);
void add_solve(KernelRegistry& kernels);
void add_least_squares(KernelRegistry& kernels);
void add_functions(KernelRegistry& kernels);
void add_bands(KernelRegistry& kernels);

}  // namespace argosy::linalg
