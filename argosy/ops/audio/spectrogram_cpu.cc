// Kernel: a window of sound times a raised cosine, padded to a power of two, transformed; squares of magnitudes.
#include <bit>
#include <cmath>
#include <numbers>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/audio/audio.h"
#include "argosy/ops/fft/fft_line.h"

namespace argosy {

void add_spectrogram(KernelRegistry& kernels);

namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 28;  // as of Fourier transforms

class Spectrogram final : public Kernel, public Workspace {
 public:
  Spectrogram(std::int64_t window, std::int64_t stride, bool squared)
      : window_(window), stride_(stride), squared_(squared) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::int64_t window = init.attrs.get_int("window_size"), stride = init.attrs.get_int("stride");
    ARGOSY_RETURN_IF_ERROR(check_spectrogram(window, stride));
    return std::unique_ptr<Kernel>(
        std::make_unique<Spectrogram>(window, stride, init.attrs.get_bool("magnitude_squared")));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() != 2) return invalid_argument("input must be 2-dimensional, not of shape ", x.shape());
    const std::int64_t samples = x.shape()[0], channels = x.shape()[1];
    const auto n = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window_)));
    const std::int64_t windows = samples < window_ ? 0 : 1 + (samples - window_) / stride_, frequencies = 1 + n / 2;
    const std::int64_t sizes[] = {channels, windows, frequencies};
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    if (n > kLongest) return invalid_argument(n, " numbers are too many for one transform: at most ", kLongest);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(window_) * sizeof(double)));
    auto* const hann = reinterpret_cast<double*>(memory.data());
    const double step = 2 * std::numbers::pi / static_cast<double>(window_);
    for (std::int64_t i = 0; i < window_; ++i) hann[i] = 0.5 - 0.5 * std::cos(step * static_cast<double>(i));
    parallel_for(channels * windows, std::max<std::int64_t>(1, 4096 / n), [&](std::int64_t begin, std::int64_t end) {
      fft_parts::Line<double> line(n);
      std::vector<double> padded(static_cast<std::size_t>(n), 0.0);
      std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(frequencies));
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t channel = k / windows;
        const float* const from = x.data<float>() + k % windows * stride_ * channels + channel;
        for (std::int64_t i = 0; i < window_; ++i)
          padded[static_cast<std::size_t>(i)] = static_cast<double>(from[i * channels]) * hann[i];
        line.halve(padded.data(), spectrum.data());
        float* to = y->data<float>() + k * frequencies;
        for (const std::complex<double> z : spectrum) {
          const auto square = static_cast<float>(z.real() * z.real() + z.imag() * z.imag());
          *to++ = squared_ ? square : std::sqrt(square);
        }
      }
    });
    return ok_status();
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit&) override {
    return static_cast<std::uint64_t>(window_) * sizeof(double);
  }

 private:
  const std::int64_t window_, stride_;
  const bool squared_;
};

}  // namespace

void add_spectrogram(KernelRegistry& kernels) { kernels.add("AudioSpectrogram", "cpu", Spectrogram::make); }

}  // namespace argosy
