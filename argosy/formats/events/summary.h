// TensorFlow's Summary messages, serialised: what the ops ScalarSummary, HistogramSummary … give, and event files hold.
// Equal to TensorFlow's as parsed messages; images are compressed by another encoder.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// One value per tag. INVALID_ARGUMENT unless both tensors have one shape.
Result<std::string> scalar_summary(const Tensor& tags, const Tensor& values);
// `node`: for the message of the error, when an element is not finite.
Result<std::string> histogram_summary(std::string_view tag, const Tensor& values, std::string_view node);
// uint8, half, float or double [n,height,width,1|3|4]; floats are scaled image by image, pixels that are not finite
// take `bad_color`, a uint8 vector.
Result<std::string> image_summary(std::string_view tag, const Tensor& images, std::int64_t most,
                                  const Tensor& bad_color);
// float [n,frames] or [n,frames,channels], -1 to 1, as 16-bit WAV.
Result<std::string> audio_summary(std::string_view tag, const Tensor& sounds, float sample_rate, std::int64_t most);
// `metadata`: a serialised SummaryMetadata; what cannot be parsed of it is left out.
Result<std::string> tensor_summary(std::string_view tag, const Tensor& tensor, std::string_view metadata);
// The old form: by the node's name.
Result<std::string> node_tensor_summary(std::string_view node, const Tensor& tensor);
// All values of these summaries; INVALID_ARGUMENT for a tag that comes twice.
Result<std::string> merged_summary(std::span<const std::string> summaries);

}  // namespace argosy::tf
