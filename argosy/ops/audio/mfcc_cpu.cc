// Kernel of Mfcc: magnitudes are summed in overlapping triangles of equal width on the mel scale. The result is the
// first coefficients of the discrete cosine transform of the sums' logarithms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"

namespace argosy {

void add_mfcc(KernelRegistry& kernels);

namespace {

constexpr std::int64_t kMostBands = std::int64_t{1} << 28;

double mel_of(double hertz) { return 1127.0 * std::log1p(hertz / 700.0); }

// How a frequency is shared by two overlapping bands: band `below` gets this part, the band above the rest.
struct MelShare {
  std::int64_t below = -1;  // -1: what is below the first band is lost
  double part = 0;
};

struct MfccPlan {
  double low = 0, high = 0;  // hertz
  std::int64_t bands = 0, coefficients = 0;

  Status check(std::int64_t frequencies, std::int64_t sample_rate) const {
    const bool fits = bands >= 1 && bands <= kMostBands && coefficients >= 1 && coefficients <= bands &&
                      frequencies >= 2 && sample_rate > 0 && low >= 0 && high > low;
    if (fits) return ok_status();
    return invalid_argument("Mfcc initialization failed for channel count ", frequencies, ", sample rate ", sample_rate,
                            " and filterbank_channel_count ", bands);
  }
  double hertz_per_step(std::int64_t frequencies, std::int64_t sample_rate) const {
    return 0.5 * static_cast<double>(sample_rate) / static_cast<double>(frequencies - 1);
  }
  double centre(std::int64_t band) const {
    const double first = mel_of(low), spacing = (mel_of(high) - first) / static_cast<double>(bands + 1);
    return first + spacing * static_cast<double>(band + 1);
  }
};

// The index of a frequency; one too large for int32 is past all frequencies.
std::int64_t number_of(double index) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  return index < kMost ? static_cast<std::int64_t>(index) : std::numeric_limits<std::int32_t>::max();
}

class Mfcc final : public Kernel, public Workspace {
 public:
  explicit Mfcc(const MfccPlan& plan) : plan_(plan) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<Mfcc>(MfccPlan{.low = init.attrs.get_float("lower_frequency_limit"),
                                        .high = init.attrs.get_float("upper_frequency_limit"),
                                        .bands = init.attrs.get_int("filterbank_channel_count"),
                                        .coefficients = init.attrs.get_int("dct_coefficient_count")}));
  }

  Status run(KernelContext& c) override {
    const Tensor &x = c.input(0), &rate = c.input(1);
    if (x.shape().rank() != 3) return invalid_argument("spectrogram must be 3-dimensional, not of shape ", x.shape());
    if (rate.shape().rank() != 0)
      return invalid_argument("Input sample_rate should be a scalar tensor, got ", rate.shape(), " instead.");
    const std::int64_t frequencies = x.shape()[2];
    const std::int64_t sample_rate = *rate.data<std::int32_t>();
    ARGOSY_RETURN_IF_ERROR(plan_.check(frequencies, sample_rate));
    const std::int64_t sizes[] = {x.shape()[0], x.shape()[1], plan_.coefficients};
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();

    const std::int64_t lines = x.shape()[0] * x.shape()[1];
    // Frequency 0 is never used. For limits beyond the frequencies there are, TensorFlow returns zeros.
    const double step = plan_.hertz_per_step(frequencies, sample_rate);
    const std::int64_t first = number_of(1.5 + plan_.low / step), last = number_of(plan_.high / step);
    if (last >= frequencies) {
      std::fill_n(y->data<float>(), y->elements(), 0.0f);
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(const Buffer share_memory,
                            c.scratch(static_cast<std::size_t>(frequencies) * sizeof(MelShare)));
    auto* const shares = reinterpret_cast<MelShare*>(share_memory.data());
    fill_shares(shares, first, last, step);
    ARGOSY_ASSIGN_OR_RETURN(const Buffer cosine_memory,
                            c.scratch(static_cast<std::size_t>(plan_.bands) *
                                      static_cast<std::size_t>(plan_.coefficients) * sizeof(double)));
    auto* const cosines = reinterpret_cast<double*>(cosine_memory.data());
    fill_cosines(cosines);
    const std::int64_t work = frequencies + plan_.bands * (plan_.coefficients + 20);
    parallel_for(lines, std::max<std::int64_t>(1, 16384 / work), [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> bands(static_cast<std::size_t>(plan_.bands));
      for (std::int64_t i = begin; i < end; ++i) {
        fill_bands(bands, x.data<float>() + i * frequencies, shares, first, last);
        float* const to = y->data<float>() + i * plan_.coefficients;
        for (std::int64_t k = 0; k < plan_.coefficients; ++k) {
          double sum = 0;
          for (std::size_t b = 0; b < bands.size(); ++b)
            sum += cosines[k * plan_.bands + static_cast<std::int64_t>(b)] * bands[b];
          to[k] = static_cast<float>(sum);
        }
      }
    });
    return ok_status();
  }

  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    const PartialShape& x = init.input_shapes[0];
    if (!x.has_rank() || x.rank() != 3 || x[2] < 0) return std::nullopt;
    if (x[0] == 0 || x[1] == 0) return 0;
    return static_cast<std::uint64_t>(x[2]) * sizeof(MelShare) +
           static_cast<std::uint64_t>(plan_.bands) * static_cast<std::uint64_t>(plan_.coefficients) * sizeof(double);
  }

 private:
  void fill_shares(MelShare* shares, std::int64_t first, std::int64_t last, double step) const {
    std::int64_t band = 0;  // the first whose centre is not below the frequency
    for (std::int64_t i = first; i <= last; ++i) {
      const double mel = mel_of(static_cast<double>(i) * step);
      while (band < plan_.bands && plan_.centre(band) < mel) ++band;
      const double left = band == 0 ? mel_of(plan_.low) : plan_.centre(band - 1), right = plan_.centre(band);
      shares[i] = {band - 1, (right - mel) / (right - left)};
    }
  }

  void fill_cosines(double* cosines) const {
    const double norm = std::sqrt(2.0 / static_cast<double>(plan_.bands));
    const double step = std::numbers::pi / static_cast<double>(plan_.bands);
    for (std::int64_t k = 0; k < plan_.coefficients; ++k) {
      for (std::int64_t b = 0; b < plan_.bands; ++b)
        *cosines++ = norm * std::cos(static_cast<double>(k) * step * (static_cast<double>(b) + 0.5));
    }
  }

  // Computes the logarithm of each band's sum, for one window.
  void fill_bands(std::vector<double>& bands, const float* squares, const MelShare* shares, std::int64_t first,
                  std::int64_t last) const {
    constexpr double kLeast = 1e-12;
    std::fill(bands.begin(), bands.end(), 0.0);
    for (std::int64_t i = first; i <= last; ++i) {
      const double magnitude = std::sqrt(static_cast<double>(squares[i])), part = magnitude * shares[i].part;
      const std::int64_t below = shares[i].below;
      if (below >= 0) bands[static_cast<std::size_t>(below)] += part;
      if (below + 1 < plan_.bands) bands[static_cast<std::size_t>(below + 1)] += magnitude - part;
    }
    for (double& band : bands) band = std::log(band < kLeast ? kLeast : band);
  }

  const MfccPlan plan_;
};

}  // namespace

void add_mfcc(KernelRegistry& kernels) { kernels.add("Mfcc", "cpu", Mfcc::make); }

}  // namespace argosy
