// Reads and writes WAV files of 16-bit integer samples, with interleaved channels. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::data {

// The content of a file. `samples` is a view of the file's bytes, which outlive it.
struct WavFile {
  std::int64_t frames = 0, channels = 0;
  std::uint32_t sample_rate = 0;  // frames a second
  std::string_view samples;       // frames * channels samples of 2 bytes, little-endian

  float sample(std::int64_t frame, std::int64_t channel) const;  // -1 … 1
};

// Reads a file of uncompressed 16-bit samples. INVALID_ARGUMENT: it has another format, or something is missing.
Result<WavFile> read_wav(std::string_view bytes);

// Returns the size in bytes of a file with so many samples. INVALID_ARGUMENT: the format cannot hold them.
Result<std::int64_t> wav_bytes(std::int64_t frames, std::int64_t channels, std::int64_t sample_rate);
// Returns the file. `samples`: frame by frame, clipped to -1 … 1; NaN becomes 0. REQUIRES: wav_bytes() returns a size.
std::string encode_wav(const float* samples, std::int64_t frames, std::int64_t channels, std::uint32_t sample_rate);

}  // namespace argosy::data
