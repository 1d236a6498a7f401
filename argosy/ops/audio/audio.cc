#include "argosy/ops/audio/audio.h"

#include <bit>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

// Reads the attribute `name`: at least -1, which means all that there is.
Result<std::int64_t> wanted(const ShapeContext& c, const char* name) {
  const std::int64_t n = c.attrs().get_int(name);
  if (n == -1) return kUnknownSize;
  if (n < 0) return invalid_argument(c.op().name, ": ", name, " must be >= -1, got ", n);
  return n;
}

Status decode_wav_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t channels, wanted(c, "desired_channels"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t frames, wanted(c, "desired_samples"));
  c.set_output(0, PartialShape{frames, channels});
  c.set_output(1, PartialShape::scalar());
  return ok_status();
}

Status encode_wav_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 2).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  return scalar_output(c);
}

// [samples, channels] to [channels, windows, frequencies].
Status spectrogram_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 2));
  const std::int64_t window = c.attrs().get_int("window_size"), stride = c.attrs().get_int("stride");
  ARGOSY_RETURN_IF_ERROR(check_spectrogram(window, stride));
  std::int64_t windows = kUnknownSize;
  if (x[0] >= 0) windows = x[0] < window ? 0 : 1 + (x[0] - window) / stride;
  const auto transform = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window)));
  c.set_output(0, PartialShape{x[1], windows, 1 + transform / 2});
  return ok_status();
}

// [channels, windows, frequencies] to [channels, windows, coefficients].
Status mfcc_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 3));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const std::int64_t coefficients = c.attrs().get_int("dct_coefficient_count");
  if (coefficients < 0) return invalid_argument("Dimension ", coefficients, " must be >= 0");
  c.set_output(0, PartialShape{x[0], x[1], coefficients});
  return ok_status();
}

}  // namespace

Status check_spectrogram(std::int64_t window, std::int64_t stride) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;
  if (window >= 2 && window <= kLongest && stride >= 1) return ok_status();
  return invalid_argument("Spectrogram initialization failed for window size ", window, " and stride ", stride);
}

void define_audio(OpRegistry& ops) {
  ops.add({.name = "DecodeWav",
           .doc = "The samples of a WAV file of 16 bits.",
           .inputs = {"contents: string"},
           .outputs = {"audio: float", "sample_rate: int32"},
           .attrs = {"desired_channels: int = -1", "desired_samples: int = -1"},
           .shape = decode_wav_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "whole: a file is one value"});
  ops.add({.name = "EncodeWav",
           .doc = "Samples as a WAV file of 16 bits.",
           .inputs = {"audio: float", "sample_rate: int32"},
           .outputs = {"contents: string"},
           .shape = encode_wav_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "whole: a file is one value"});
  ops.add({.name = "AudioSpectrogram",
           .doc = "Magnitudes of the frequencies in windows of a sound.",
           .inputs = {"input: float"},
           .outputs = {"spectrogram: float"},
           .attrs = {"window_size: int", "stride: int", "magnitude_squared: bool = false"},
           .shape = spectrogram_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "whole: windows overlap"});
  ops.add({.name = "Mfcc",
           .doc = "Mel-frequency cepstral coefficients of a spectrogram.",
           .inputs = {"spectrogram: float", "sample_rate: int32"},
           .outputs = {"output: float"},
           .attrs = {"upper_frequency_limit: float = 4000", "lower_frequency_limit: float = 20",
                     "filterbank_channel_count: int = 40", "dct_coefficient_count: int = 13"},
           .shape = mfcc_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .sharding = "c t 1, . -> c t 1"});
}

Sound decode_wav(Value contents, std::int64_t channels, std::int64_t frames) {
  if (!contents.valid()) return {};
  const Value y =
      contents.graph().add("DecodeWav", {contents}, {{"desired_channels", channels}, {"desired_samples", frames}});
  return {y.output(0), y.output(1)};
}

Value encode_wav(Value audio, Value sample_rate) {
  return audio.valid() ? audio.graph().add("EncodeWav", {audio, sample_rate}) : Value();
}

}  // namespace argosy
