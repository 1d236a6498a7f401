// Layout ops with kernels of their own on a GPU: layout_cuda.cu.
#include <array>

#include "argosy/base/checked.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/tensor/ints.h"

namespace argosy {

void add_kernels_cuda_layout_parts(KernelRegistry& kernels);

namespace {

constexpr const char* kModule = "layout";

Status band_part(KernelContext& c) {
  const Tensor& x = c.input(0);
  const Shape& shape = x.shape();
  if (shape.rank() < 2) {
    return invalid_argument("MatrixBandPart: the input must have rank 2 or more, not shape ", shape);
  }
  if (c.input(1).shape().rank() != 0 || c.input(2).shape().rank() != 0) {
    return invalid_argument("MatrixBandPart: num_lower and num_upper must be scalars, not of shape ",
                            c.input(1).shape(), " and ", c.input(2).shape());
  }
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t lower, to_int64(c.input(1), "MatrixBandPart: num_lower"));
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t upper, to_int64(c.input(2), "MatrixBandPart: num_upper"));
  if (lower > rows || upper > columns) {
    return invalid_argument("MatrixBandPart: num_lower ", lower, " and num_upper ", upper, " for an input of shape ",
                            shape);
  }
  if (lower < 0) lower = rows;
  if (upper < 0) upper = columns;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape, {0}));
  const std::int64_t n = x.elements();
  return cuda::launch(c, {kModule, str_cat("band_part_", cuda::size_suffix(x.dtype()))}, cuda::grid_for(n), n, rows,
                      columns, lower, upper, x.raw(), y->raw());
}

// As in layout_cuda.cu.
struct Sequences {
  std::int64_t seq_size, seq_stride, batch_size, batch_stride;
};

class ReverseSequence final : public Kernel {
 public:
  explicit ReverseSequence(const KernelInit& init)
      : seq_(init.attrs.get_int("seq_dim")),
        batch_(init.attrs.get_int("batch_dim")),
        capturable_(cuda::reads_constants_only(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ReverseSequence>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor &x = c.input(0), &lengths = c.input(1);
    const std::int64_t rank = x.shape().rank();
    if (seq_ < 0 || batch_ < 0 || seq_ >= rank || batch_ >= rank || seq_ == batch_) {
      return invalid_argument("ReverseSequence: seq_dim ", seq_, " and batch_dim ", batch_,
                              " must be two axes of the input, whose shape is ", x.shape());
    }
    const int seq = static_cast<int>(seq_), batch = static_cast<int>(batch_);
    if (lengths.shape().rank() != 1 || lengths.elements() != x.shape()[batch]) {
      return invalid_argument("ReverseSequence: seq_lengths must be a vector of ", x.shape()[batch],
                              " lengths, not of shape ", lengths.shape());
    }
    if (lengths.dtype() == DType::kInt32) {
      for (const std::int32_t n : lengths.values<std::int32_t>()) {
        if (n < 0 || n > x.shape()[seq]) {
          return invalid_argument("ReverseSequence: a length of ", n, " for axis ", seq, " of ", x.shape());
        }
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const std::int64_t n = x.elements();
    if (n == 0) return ok_status();
    const auto strides = x.shape().strides();
    const Sequences sequences{x.shape()[seq], strides[static_cast<std::size_t>(seq)], x.shape()[batch],
                              strides[static_cast<std::size_t>(batch)]};
    ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu there, cuda::OnGpu::of(c, 1));
    const std::string kernel = str_cat("reverse_sequence_", cuda::size_suffix(x.dtype()), "_",
                                       lengths.dtype() == DType::kInt32 ? "i32" : "i64");
    return cuda::launch(c, {kModule, kernel}, cuda::grid_for(n), n, x.raw(), y->raw(), there.data(), sequences);
  }

 private:
  const std::int64_t seq_, batch_;
  const bool capturable_;
};

// As in layout_cuda.cu.
struct Frame {
  static constexpr int kMaxRank = 8;
  int rank, edge;
  std::array<std::int64_t, kMaxRank> sizes, before, after, strides;
};

class MirrorPadGrad final : public Kernel {
 public:
  explicit MirrorPadGrad(const KernelInit& init)
      : edge_(init.attrs.get_string("mode") == "REFLECT" ? 1 : 0), capturable_(cuda::reads_constants_only(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MirrorPadGrad>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor &dy = c.input(0), &paddings = c.input(1);
    const int rank = dy.shape().rank();
    if (paddings.shape() != Shape({rank, 2})) {
      return invalid_argument("MirrorPadGrad: paddings must be [", rank, ",2], not ", paddings.shape());
    }
    if (rank > Frame::kMaxRank) {
      return unimplemented("MirrorPadGrad of rank ", rank, "; a GPU does ", Frame::kMaxRank)
          .with_hint("place the node on a CPU");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Ints flat, read_ints(paddings.reshaped({2 * rank}), "paddings"));
    Frame frame{rank, edge_, {}, {}, {}, {}};
    const auto strides = dy.shape().strides();
    std::vector<std::int64_t> sizes;
    for (int i = 0; i < rank; ++i) {
      const auto a = static_cast<std::size_t>(i);
      frame.before[a] = flat[2 * i];
      frame.after[a] = flat[2 * i + 1];
      const auto both = checked_add(frame.before[a], frame.after[a]);
      if (frame.before[a] < 0 || frame.after[a] < 0 || !both || *both > dy.shape()[i]) {
        return invalid_argument("MirrorPadGrad: paddings ", frame.before[a], " and ", frame.after[a], " exceed axis ",
                                i, " of ", dy.shape());
      }
      frame.sizes[a] = dy.shape()[i] - *both;
      frame.strides[a] = strides[a];
      const std::int64_t most = std::max<std::int64_t>(frame.sizes[a] - edge_, 0);
      if (std::max(frame.before[a], frame.after[a]) > most) {
        return invalid_argument("MirrorPadGrad: paddings ", frame.before[a], " and ", frame.after[a], " of axis ", i,
                                " exceed the ", most, " elements there are to mirror");
      }
      sizes.push_back(frame.sizes[a]);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    const std::int64_t n = dx->elements();
    return cuda::launch(c, {kModule, str_cat("mirror_back_", cuda::type_suffix(dy.dtype()))}, cuda::grid_for(n), n,
                        dy.raw(), dx->raw(), frame);
  }

 private:
  const int edge_;
  const bool capturable_;
};

}  // namespace

void add_kernels_cuda_layout_parts(KernelRegistry& kernels) {
  using enum DType;
  std::vector<DType> moved = {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16,     kInt64,
                              kUint8,   kUint16,  kUint32,  kUint64,   kBool, kComplex64, kComplex128};
  kernels.add("MatrixBandPart", "cuda", cuda::make_launching<band_part>, {{"T", moved}});
  kernels.add("MatrixBandPart", "cuda", cuda::make_on_host, {{"T", {kInt32}}});
  kernels.add("ReverseSequence", "cuda", ReverseSequence::make, {{"T", moved}, {"Tlen", {kInt32, kInt64}}});
  kernels.add("ReverseSequence", "cuda", cuda::make_on_host, {{"T", {kInt32}}, {"Tlen", {kInt32}}});
  kernels.add("MirrorPadGrad", "cuda", MirrorPadGrad::make, {{"T", cuda::kFloatingTypes}});
}

}  // namespace argosy
