// Serialised Summary messages: the outputs of the ops ScalarSummary, HistogramSummary …, and the contents of event
// files. As parsed messages they equal TensorFlow's, except for the compressed bytes of images (another PNG encoder).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Returns a summary with one scalar per tag. INVALID_ARGUMENT: the shapes of the two tensors differ.
Result<std::string> scalar_summary(const Tensor& tags, const Tensor& values);
// `node`: the name of the summary op, for the error about an element that is not finite.
Result<std::string> histogram_summary(std::string_view tag, const Tensor& values, std::string_view node);
// `images`: uint8, half, float or double [n,height,width,1|3|4], of which the first `most` are taken. Floats are scaled
// image by image (image_scaling.h); pixels that are not finite become `bad_color`, a uint8 vector.
Result<std::string> image_summary(std::string_view tag, const Tensor& images, std::int64_t most,
                                  const Tensor& bad_color);
// `sounds`: float [n,frames] or [n,frames,channels] in [-1, 1]. The first `most` are written as 16-bit WAV.
Result<std::string> audio_summary(std::string_view tag, const Tensor& sounds, float sample_rate, std::int64_t most);
// `metadata`: a serialised SummaryMetadata. Fields that cannot be parsed are left out.
Result<std::string> tensor_summary(std::string_view tag, const Tensor& tensor, std::string_view metadata);
// Returns the summary of the op TensorSummary (V1), whose value has the node's name in place of a tag.
Result<std::string> node_tensor_summary(std::string_view node, const Tensor& tensor);
// Returns one summary with all values of these, as MergeSummary does. INVALID_ARGUMENT: a tag occurs twice.
Result<std::string> merged_summary(std::span<const std::string> summaries);

}  // namespace argosy::tf
