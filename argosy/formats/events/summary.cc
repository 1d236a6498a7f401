#include "argosy/formats/events/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "argosy/data/files/wav.h"
#include "argosy/data/image/image.h"
#include "argosy/formats/events/histogram.h"
#include "argosy/formats/events/image_scaling.h"
#include "argosy/formats/proto/event.pb.h"
#include "argosy/formats/proto/tensor_proto.h"

namespace argosy::tf {

namespace {

// "tag/image" when there may be one only, else "tag/image/3".
std::string numbered(std::string_view tag, const char* what, std::int64_t most, std::int64_t i) {
  return most > 1 ? str_cat(tag, "/", what, "/", i) : str_cat(tag, "/", what);
}

Status set_tensor(tensorflow::Summary::Value* value, const Tensor& tensor) {
  return to_proto(tensor, value->mutable_tensor());
}

}  // namespace

Result<std::string> scalar_summary(const Tensor& tags, const Tensor& values) {
  if (!(tags.shape() == values.shape())) {
    return invalid_argument("tags and values are not the same shape: ", tags.shape(), " != ", values.shape());
  }
  tensorflow::Summary summary;
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes>(values.dtype(), "ScalarSummary", [&]<typename T>() {
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      auto* value = summary.add_value();
      value->set_tag(tags.data<std::string>()[i]);
      value->set_simple_value(static_cast<float>(values.data<T>()[i]));
    }
    return ok_status();
  }));
  return summary.SerializeAsString();
}

Result<std::string> histogram_summary(std::string_view tag, const Tensor& values, std::string_view node) {
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes>(values.dtype(), "HistogramSummary", [&]<typename T>() -> Status {
    for (const T& element : values.values<T>()) {
      const auto number = static_cast<double>(element);
      if (std::isnan(number)) return invalid_argument("Nan in summary histogram for: ", node);
      if (std::isinf(number)) return invalid_argument("Infinity in Histogram for: ", node);
    }
    return ok_status();
  }));
  ARGOSY_ASSIGN_OR_RETURN(const Histogram h, make_histogram(values));
  tensorflow::Summary summary;
  auto* value = summary.add_value();
  value->set_tag(std::string(tag));
  to_proto(h, *value->mutable_histo());
  return summary.SerializeAsString();
}

Result<std::string> image_summary(std::string_view tag, const Tensor& images, std::int64_t most,
                                  const Tensor& bad_color) {
  const Shape& shape = images.shape();
  if (shape.rank() != 4 || (shape[3] != 1 && shape[3] != 3 && shape[3] != 4)) {
    return invalid_argument("Tensor must be 4-D with last dim 1, 3, or 4, not ", shape);
  }
  if (bad_color.dtype() != DType::kUint8 || bad_color.shape().rank() != 1) {
    return invalid_argument("bad_color must be a vector of uint8, not ", dtype_name(bad_color.dtype()),
                            bad_color.shape());
  }
  const bool floats = images.dtype() != DType::kUint8;
  if (floats && !is_floating(images.dtype())) return unsupported_dtype("ImageSummary", images.dtype());
  if (floats && bad_color.elements() < shape[3]) {
    return invalid_argument("expected depth <= bad_color.size, got depth = ", shape[3],
                            ", bad_color.size = ", bad_color.elements());
  }
  constexpr std::int64_t kMostPixels = std::numeric_limits<std::int32_t>::max();
  if (shape[1] > kMostPixels / std::max<std::int64_t>(shape[2] * shape[3], 1)) {
    return invalid_argument("images of shape ", shape, " are too large for a summary");
  }
  const Shape one = shape.removed(0);
  tensorflow::Summary summary;
  for (std::int64_t i = 0; i < std::min(shape[0], most); ++i) {
    Tensor pixels = images.rows(i, i + 1).reshaped(one);
    if (floats) pixels = scale_image(pixels, bad_color.values<std::uint8_t>());
    auto* value = summary.add_value();
    value->set_tag(numbered(tag, "image", most, i));
    auto* image = value->mutable_image();
    image->set_height(static_cast<std::int32_t>(one[0]));
    image->set_width(static_cast<std::int32_t>(one[1]));
    image->set_colorspace(static_cast<std::int32_t>(one[2]));
    ARGOSY_ASSIGN_OR_RETURN(std::string png, data::encode_png(pixels));
    image->set_encoded_image_string(std::move(png));
  }
  return summary.SerializeAsString();
}

Result<std::string> audio_summary(std::string_view tag, const Tensor& sounds, float sample_rate, std::int64_t most) {
  const Shape& shape = sounds.shape();
  if (shape.rank() != 2 && shape.rank() != 3) return invalid_argument("Tensor must be 3-D or 2-D, got: ", shape);
  if (!(sample_rate > 0.0f)) return invalid_argument("sample_rate must be > 0");
  const std::int64_t frames = shape[1];
  const std::int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  if (shape[0] > 0 && frames * channels == 0) return invalid_argument("audio is null");
  constexpr std::int64_t kMostSamples = (std::int64_t{1} << 31) / 4;
  if (channels > 0xffff || frames > kMostSamples / std::max<std::int64_t>(channels, 1) || sample_rate > 4e9f) {
    return invalid_argument("sounds of shape ", shape, " at ", sample_rate, " Hz are too large for a WAV file");
  }
  const auto rate =
      static_cast<std::uint32_t>(std::max(1LL, std::llrint(sample_rate)));  // halves to the even neighbour
  tensorflow::Summary summary;
  for (std::int64_t i = 0; i < std::min(shape[0], most); ++i) {
    auto* value = summary.add_value();
    value->set_tag(numbered(tag, "audio", most, i));
    auto* audio = value->mutable_audio();
    audio->set_sample_rate(sample_rate);
    audio->set_num_channels(channels);
    audio->set_length_frames(frames);
    audio->set_encoded_audio_string(
        data::encode_wav(sounds.data<float>() + i * frames * channels, frames, channels, rate));
    audio->set_content_type("audio/wav");
  }
  return summary.SerializeAsString();
}

Result<std::string> tensor_summary(std::string_view tag, const Tensor& tensor, std::string_view metadata) {
  tensorflow::Summary summary;
  auto* value = summary.add_value();
  value->set_tag(std::string(tag));
  ARGOSY_RETURN_IF_ERROR(set_tensor(value, tensor));
  (void)value->mutable_metadata()->ParseFromArray(metadata.data(), static_cast<int>(metadata.size()));
  return summary.SerializeAsString();
}

Result<std::string> node_tensor_summary(std::string_view node, const Tensor& tensor) {
  tensorflow::Summary summary;
  auto* value = summary.add_value();
  value->set_node_name(std::string(node));
  ARGOSY_RETURN_IF_ERROR(set_tensor(value, tensor));
  return summary.SerializeAsString();
}

Result<std::string> merged_summary(std::span<const std::string> summaries) {
  tensorflow::Summary all;
  std::set<std::string> tags;
  for (const std::string& bytes : summaries) {
    tensorflow::Summary summary;
    if (!summary.ParseFromString(bytes)) return invalid_argument("Could not parse one of the summary inputs");
    for (auto& value : *summary.mutable_value()) {
      // Values without a tag, named by their node, may occur several times.
      if (!value.tag().empty() && !tags.insert(value.tag()).second) {
        return invalid_argument("Duplicate tag ", value.tag(), " found in summary inputs");
      }
      *all.add_value() = std::move(value);
    }
  }
  return all.SerializeAsString();
}

}  // namespace argosy::tf
