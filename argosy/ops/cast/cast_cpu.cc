#include <cmath>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/forward_input.h"
#include "argosy/ops/cast/cast_loops.h"
#include "argosy/ops/cast/convert.h"
#include "argosy/ops/cast/spans.h"
#include "argosy/ops/elementwise/elementwise_kernels.h"

namespace argosy {

namespace {

using CastTypes =
    TypeList<float, double, bfloat16, float16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
             std::uint16_t, std::uint32_t, std::uint64_t, bool, std::complex<float>, std::complex<double>>;

using Span = UnarySpan;

template <typename From, typename To>
void cast_span(const void* x, void* y, std::int64_t n) {
  const auto* const from = static_cast<const From*>(x);
  auto* const to = static_cast<To*>(y);
  for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
}

template <DType half>
void widen_span(const void* x, void* y, std::int64_t n) {
  widen(half, x, static_cast<float*>(y), n);
}
template <DType half>
void narrow_span(const void* x, void* y, std::int64_t n) {
  narrow(half, static_cast<const float*>(x), y, n);
}

}  // namespace

UnarySpan find_cast_span(DType from, DType to) {
  using enum DType;
  if (from == kBfloat16 && to == kFloat32) return widen_span<kBfloat16>;
  if (from == kFloat16 && to == kFloat32) return widen_span<kFloat16>;
  if (from == kFloat32 && to == kBfloat16) return narrow_span<kBfloat16>;
  if (from == kFloat32 && to == kFloat16) return narrow_span<kFloat16>;
  for (const casting::CastRow& row : casting::cast_rows()) {
    if (row.from == from && row.to == to) return row.span;
  }
  Span span = nullptr;
  const Status found = dispatch<CastTypes>(from, "Cast", [&]<typename From>() {
    return dispatch<CastTypes>(to, "Cast", [&]<typename To>() {
      span = cast_span<From, To>;
      return ok_status();
    });
  });
  return found.ok() ? span : nullptr;
}

namespace {

// The lowest mantissa bits, those the 16-bit type lacks, cleared: what rounds then is exact.
float truncated(float x, DType to) {
  const std::uint32_t mask = to == DType::kBfloat16 ? 0xffff0000u : 0xffffe000u;
  return std::isfinite(x) ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & mask) : x;
}
double truncated(double x, DType to) {
  const std::uint64_t mask = to == DType::kBfloat16 ? ~((1ull << 45) - 1) : ~((1ull << 42) - 1);
  return std::isfinite(x) ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & mask) : x;
}

class Cast final : public Kernel {
 public:
  explicit Cast(Span span, std::size_t from_bytes, std::size_t to_bytes)
      : span_(span),
        from_bytes_(static_cast<std::int64_t>(from_bytes)),
        to_bytes_(static_cast<std::int64_t>(to_bytes)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType from = init.input_dtypes[0];
    const DType to = init.output_dtypes[0];
    const bool truncate = init.attrs.get_bool("Truncate") && (to == DType::kBfloat16 || to == DType::kFloat16) &&
                          (from == DType::kFloat32 || from == DType::kFloat64);
    Span span = nullptr;
    if (from != to) {
      span = truncate ? (from == DType::kFloat32 ? find_truncating<float>(to) : find_truncating<double>(to))
                      : find_cast_span(from, to);
      if (span == nullptr) return unimplemented("Cast ", dtype_name(from), " to ", dtype_name(to), " is not supported");
    }
    return std::unique_ptr<Kernel>(std::make_unique<Cast>(span, element_bytes(from), element_bytes(to)));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (span_ == nullptr) return forward_input(c, 0, x);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const auto* const from = static_cast<const std::byte*>(x.raw());
    auto* const to = static_cast<std::byte*>(y->raw());
    parallel_for(x.elements(), grain_of(Work::kArithmetic), [&](std::int64_t begin, std::int64_t end) {
      span_(from + begin * from_bytes_, to + begin * to_bytes_, end - begin);
    });
    return ok_status();
  }

 private:
  template <typename From>
  static Span find_truncating(DType to) {
    return to == DType::kBfloat16 ? truncating<From, bfloat16> : truncating<From, float16>;
  }
  template <typename From, typename To>
  static void truncating(const void* x, void* y, std::int64_t n) {
    const auto* const from = static_cast<const From*>(x);
    auto* const to = static_cast<To*>(y);
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(truncated(from[i], dtype_of<To>()));
  }

  const Span span_;
  const std::int64_t from_bytes_, to_bytes_;
};

Status bitcast(KernelContext& c) {
  const Tensor& x = c.input(0);
  const DType to = c.output_dtype(0);
  const auto from_bytes = static_cast<std::int64_t>(element_bytes(x.dtype()));
  const auto to_bytes = static_cast<std::int64_t>(element_bytes(to));
  Shape shape = x.shape();
  if (from_bytes > to_bytes) {
    shape = shape.inserted(shape.rank(), from_bytes / to_bytes);
  } else if (from_bytes < to_bytes) {
    if (shape.rank() == 0 || shape.back() != to_bytes / from_bytes) {
      return invalid_argument("Bitcast: from ", from_bytes, " to ", to_bytes, " bytes, the last axis must be ",
                              to_bytes / from_bytes, ", not ", shape);
    }
    shape = shape.removed(shape.rank() - 1);
  }
  c.set_output(0, Tensor(to, std::move(shape), x.buffer()));
  return ok_status();
}

}  // namespace

void add_kernels_cpu_cast(KernelRegistry& kernels) {
  kernels.add("Cast", "cpu", Cast::make);
  kernels.add("Bitcast", "cpu", bitcast);
  void add_kernels_cpu_complex(KernelRegistry&);
  add_kernels_cpu_complex(kernels);
}

}  // namespace argosy
