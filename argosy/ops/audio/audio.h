// Sound: WAV files to samples and back, spectrograms and cepstral coefficients. What tf.audio and tf.signal's older
// ops have.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// A decoded file.
struct Sound {
  Value audio;        // float [frames, channels], -1 to 1
  Value sample_rate;  // int32: frames a second
};

// The samples of a WAV file of 16 bits. `channels`, `frames`: how many are wanted; -1: as many as there are.
Sound decode_wav(Value contents, std::int64_t channels = -1, std::int64_t frames = -1);
// A WAV file of 16 bits, from float [frames, channels] and a scalar int32.
Value encode_wav(Value audio, Value sample_rate);

// INVALID_ARGUMENT for a window or a stride that AudioSpectrogram does not accept.
Status check_spectrogram(std::int64_t window, std::int64_t stride);

}  // namespace argosy
