#include <algorithm>
#include <limits>
#include <type_traits>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/fft/fft_line.h"

namespace argosy {

namespace {

using fft_parts::Line;
constexpr std::int64_t kGrain = 4096;  // numbers a thread
// The limit of a length: Eigen's indices are int, and a length with large prime factors is padded to up to four times
// as much.
constexpr std::int64_t kLongest = std::int64_t{1} << 28;

// Lines along one axis: elements are `inner` apart, and lines start anywhere in [0, inner) of each of `outer` blocks.
struct Lines {
  std::int64_t outer, n, inner;
};
Lines lines_along(const Shape& shape, int axis) {
  Lines l{1, shape[axis], 1};
  for (int i = 0; i < axis; ++i) l.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) l.inner *= shape[i];
  return l;
}

template <typename T>
void along_axis(const std::complex<T>* from, std::complex<T>* to, const Lines& l, bool inverse) {
  parallel_for(l.outer * l.inner, std::max<std::int64_t>(1, kGrain / l.n), [&](std::int64_t begin, std::int64_t end) {
    Line<T> line(l.n);
    std::vector<std::complex<T>> numbers(static_cast<std::size_t>(l.n));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i / l.inner * l.n * l.inner + i % l.inner;
      if (l.inner == 1) {
        line.transform(from + at, to + at, inverse);
        continue;
      }
      for (std::int64_t k = 0; k < l.n; ++k) numbers[static_cast<std::size_t>(k)] = from[at + k * l.inner];
      line.transform(numbers.data(), numbers.data(), inverse);
      for (std::int64_t k = 0; k < l.n; ++k) to[at + k * l.inner] = numbers[static_cast<std::size_t>(k)];
    }
  });
}

// Copies the first sizes[i] elements along each axis of x, contiguously.
template <typename E>
void crop(const Tensor& x, const Shape& sizes, E* to) {
  const std::vector<std::int64_t> strides = x.shape().strides();
  const E* const from = x.data<E>();
  const int rank = sizes.rank();
  const std::int64_t width = sizes.back();
  const std::int64_t rows = width == 0 ? 0 : sizes.elements() / width;
  std::vector<std::int64_t> at(static_cast<std::size_t>(rank), 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t offset = 0;
    for (int i = 0; i + 1 < rank; ++i) offset += at[static_cast<std::size_t>(i)] * strides[static_cast<std::size_t>(i)];
    std::copy_n(from + offset, width, to + r * width);
    for (int i = rank - 2; i >= 0 && ++at[static_cast<std::size_t>(i)] == sizes[i]; --i) {
      at[static_cast<std::size_t>(i)] = 0;
    }
  }
}

Status too_long(std::string_view op, std::int64_t n) {
  return invalid_argument(op, ": ", n, " numbers are too many for one transform: at most ", kLongest);
}

class Fft final : public Kernel, public Workspace {
 public:
  Fft(std::string op, int axes, bool inverse, bool real)
      : op_(std::move(op)), axes_(axes), inverse_(inverse), real_(real) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& op = init.op.name;
    const int axes = op.ends_with("2D") ? 2 : op.ends_with("3D") ? 3 : 1;
    return std::unique_ptr<Kernel>(
        std::make_unique<Fft>(op, axes, op.starts_with("I"), op.find("RFFT") != std::string::npos));
  }

  Status run(KernelContext& c) override {
    const Shape& in = c.input(0).shape();
    if (in.rank() < axes_) {
      return invalid_argument(op_, ": input must have rank of at least ", axes_, ", not shape ", in);
    }
    const DType dtype = inverse_ || !real_ ? c.input(0).dtype() : c.output_dtype(0);
    return dtype == DType::kComplex128 ? run_with<double>(c) : run_with<float>(c);
  }

  // Real transforms copy the part of the input that they read. Its size is unknown without a constant fft_length.
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    if (!real_) return 0;
    const auto in = init.input_shapes[0].full();
    const Tensor* const length = init.constant(1);
    if (!in.ok() || length == nullptr || length->elements() != axes_ || in->rank() < axes_) return std::nullopt;
    std::uint64_t read = 1;
    for (int i = 0; i < in->rank(); ++i) {
      const int axis = i - (in->rank() - axes_);
      const std::int64_t n = axis < 0 ? (*in)[i] : length->data<std::int32_t>()[axis];
      read *= static_cast<std::uint64_t>(axis == axes_ - 1 && inverse_ ? n / 2 + 1 : n);
    }
    const bool wide = element_bytes(init.input_dtypes[0]) == (inverse_ ? 16 : 8);
    return read * (inverse_ ? 2 : 1) * (wide ? sizeof(double) : sizeof(float));
  }

 private:
  template <typename T>
  Status run_with(KernelContext& c) {
    return real_ ? run_real<T>(c) : run_complex<T>(c);
  }

  template <typename T>
  Status run_complex(KernelContext& c) {
    using C = std::complex<T>;
    const Shape& shape = c.input(0).shape();
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (shape.elements() == 0) return ok_status();
    const C* from = c.input(0).data<C>();
    for (int axis = shape.rank() - 1; axis >= shape.rank() - axes_; --axis) {
      const Lines lines = lines_along(shape, axis);
      if (lines.n > kLongest) return too_long(op_, lines.n);
      along_axis<T>(from, y->data<C>(), lines, inverse_);
      from = y->data<C>();
    }
    return ok_status();
  }

  // The sizes of the input that are read, and the output's shape.
  struct Sizes {
    Shape read, output;
  };
  Result<Sizes> sizes(KernelContext& c) const {
    const Tensor& length = c.input(1);
    const Shape& in = c.input(0).shape();
    if (length.shape() != Shape({axes_})) {
      return invalid_argument(op_, ": fft_length must have shape [", axes_, "], not ", length.shape());
    }
    const bool wide = c.input(0).dtype() == DType::kComplex128 || c.input(0).dtype() == DType::kFloat64;
    const bool wide_output = c.output_dtype(0) == DType::kComplex128 || c.output_dtype(0) == DType::kFloat64;
    if (wide != wide_output) {
      return invalid_argument(op_, ": ", dtype_name(c.input(0).dtype()), " does not become ",
                              dtype_name(c.output_dtype(0)));
    }
    std::vector<std::int64_t> read(in.sizes().begin(), in.sizes().end()), output = read;
    bool none = false;
    for (int i = 0; i < in.rank() - axes_; ++i) none = none || in[i] == 0;
    for (int i = 0; i < axes_; ++i) {
      const std::int64_t n = length.data<std::int32_t>()[i];
      if (n < 0) return invalid_argument(op_, ": fft_length[", i, "] must be >= 0, not ", n);
      const bool last = i == axes_ - 1;
      const std::int64_t half = n / 2 + 1;
      const auto axis = static_cast<std::size_t>(in.rank() - axes_ + i);
      const std::int64_t wanted = last && inverse_ ? half : n;
      if (!none && (wanted > in[static_cast<int>(axis)] || (n == 0 && !inverse_))) {
        return invalid_argument(op_, ": input dimension ", axis, " must have length of at least ",
                                std::max<std::int64_t>(wanted, 1), ", not ", in[static_cast<int>(axis)]);
      }
      if (n > kLongest) return too_long(op_, n);
      read[axis] = wanted;
      output[axis] = last && !inverse_ && n > 0 ? half : n;
    }
    Sizes s;
    ARGOSY_ASSIGN_OR_RETURN(s.read, Shape::make(read));
    ARGOSY_ASSIGN_OR_RETURN(s.output, Shape::make(output));
    return s;
  }

  template <typename T>
  Status run_real(KernelContext& c) {
    using C = std::complex<T>;
    ARGOSY_ASSIGN_OR_RETURN(const Sizes s, sizes(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, s.output));
    if (y->elements() == 0) return ok_status();
    const std::int64_t n = inverse_ ? s.output.back() : s.read.back();
    const std::int64_t half = n / 2 + 1;
    const std::int64_t lines = y->elements() / y->shape().back();
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / n);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(s.read.elements()) *
                                                           (inverse_ ? sizeof(C) : sizeof(T))));
    if (!inverse_) {
      T* const x = reinterpret_cast<T*>(memory.data());
      crop<T>(c.input(0), s.read, x);
      C* const to = y->data<C>();
      parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
        Line<T> line(n);
        for (std::int64_t i = begin; i < end; ++i) line.halve(x + i * n, to + i * half);
      });
      for (int axis = s.output.rank() - 2; axis >= s.output.rank() - axes_; --axis) {
        along_axis<T>(to, to, lines_along(s.output, axis), false);
      }
      return ok_status();
    }
    C* const x = reinterpret_cast<C*>(memory.data());
    crop<C>(c.input(0), s.read, x);
    for (int axis = s.read.rank() - axes_; axis < s.read.rank() - 1; ++axis) {
      along_axis<T>(x, x, lines_along(s.read, axis), true);
    }
    T* const to = y->data<T>();
    parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
      Line<T> line(n);
      for (std::int64_t i = begin; i < end; ++i) line.restore(x + i * half, to + i * n);
    });
    return ok_status();
  }

  const std::string op_;
  const int axes_;
  const bool inverse_, real_;
};

}  // namespace

void add_kernels_cpu_fft(KernelRegistry& kernels) {
  for (const char* suffix : {"", "2D", "3D"}) {
    for (const char* op : {"FFT", "IFFT", "RFFT", "IRFFT"}) {
      kernels.add(std::string(op) + suffix, "cpu", Fft::make);
    }
  }
}

}  // namespace argosy
