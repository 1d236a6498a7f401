// WAV files: sound as integers of 16 bits, the channels of a frame side by side. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::data {

// What a file holds. A view of its bytes.
struct WavFile {
  std::int64_t frames = 0, channels = 0;
  std::uint32_t sample_rate = 0;  // frames a second
  std::string_view samples;       // 2 bytes each, the low one first: frames * channels

  float sample(std::int64_t frame, std::int64_t channel) const;  // -1 … 1
};

// Takes samples of 16 bits without compression. INVALID_ARGUMENT says what else there is, or what is missing.
Result<WavFile> read_wav(std::string_view bytes);

// Bytes of the file of so many samples. INVALID_ARGUMENT where the format cannot say them.
Result<std::int64_t> wav_bytes(std::int64_t frames, std::int64_t channels, std::int64_t sample_rate);
// `samples`, frame by frame: -1 to 1, clipped beyond; NaN becomes 0. REQUIRES: wav_bytes() gives a size.
std::string encode_wav(const float* samples, std::int64_t frames, std::int64_t channels, std::uint32_t sample_rate);

}  // namespace argosy::data
