#include "argosy/formats/records/examples.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <limits>
#include <memory>

#include "argosy/formats/proto/example.pb.h"

namespace argosy::tf {

namespace {

Feature from_message(tensorflow::Feature& message) {
  Feature feature;
  switch (message.kind_case()) {
    case tensorflow::Feature::kBytesList: {
      feature.dtype = DType::kString;
      auto& values = *message.mutable_bytes_list()->mutable_value();
      for (std::string& value : values) feature.strings.push_back(std::move(value));
      break;
    }
    case tensorflow::Feature::kFloatList: {
      feature.dtype = DType::kFloat32;
      const auto& values = message.float_list().value();
      feature.floats.assign(values.begin(), values.end());
      break;
    }
    case tensorflow::Feature::kInt64List: {
      feature.dtype = DType::kInt64;
      const auto& values = message.int64_list().value();
      feature.ints.assign(values.begin(), values.end());
      break;
    }
    case tensorflow::Feature::KIND_NOT_SET: break;
  }
  return feature;
}

void to_message(const Feature& feature, tensorflow::Feature* message) {
  if (feature.dtype == DType::kString) {
    for (const std::string& value : feature.strings) message->mutable_bytes_list()->add_value(value);
    message->mutable_bytes_list();
  } else if (feature.dtype == DType::kFloat32) {
    message->mutable_float_list()->mutable_value()->Add(feature.floats.begin(), feature.floats.end());
  } else if (feature.dtype == DType::kInt64) {
    message->mutable_int64_list()->mutable_value()->Add(feature.ints.begin(), feature.ints.end());
  }
}

Features from_message(tensorflow::Features& message) {
  Features features;
  for (auto& [name, feature] : *message.mutable_feature()) features.emplace(name, from_message(feature));
  return features;
}
void to_message(const Features& features, tensorflow::Features* message) {
  for (const auto& [name, feature] : features) to_message(feature, &(*message->mutable_feature())[name]);
}

// The order of a map's entries on the wire is left to chance otherwise.
template <typename Message>
std::string in_order(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

template <typename Message>
bool read(std::string_view bytes, Message& message) {
  return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

Result<Features> parse_example(std::string_view bytes) {
  tensorflow::Example message;
  if (!read(bytes, message))
    return invalid_argument("Could not parse example input: ", bytes.size(), " bytes that are none");
  return from_message(*message.mutable_features());
}

Result<SequenceExample> parse_sequence_example(std::string_view bytes) {
  tensorflow::SequenceExample message;
  if (!read(bytes, message)) {
    return invalid_argument("Could not parse example input: ", bytes.size(), " bytes that are no SequenceExample");
  }
  SequenceExample example{from_message(*message.mutable_context()), {}};
  for (auto& [name, list] : *message.mutable_feature_lists()->mutable_feature_list()) {
    std::vector<Feature>& steps = example.lists[name];
    for (tensorflow::Feature& feature : *list.mutable_feature()) steps.push_back(from_message(feature));
  }
  return example;
}

std::string serialize_example(const Features& features) {
  tensorflow::Example message;
  to_message(features, message.mutable_features());
  return in_order(message);
}

std::string serialize_sequence_example(const SequenceExample& example) {
  tensorflow::SequenceExample message;
  to_message(example.context, message.mutable_context());
  for (const auto& [name, steps] : example.lists) {
    tensorflow::FeatureList& list = (*message.mutable_feature_lists()->mutable_feature_list())[name];
    for (const Feature& feature : steps) to_message(feature, list.add_feature());
  }
  return in_order(message);
}

// Straight to bytes, one value after the other, as TensorFlow writes them.
Result<std::string> example_from_json(std::string_view json) {
  namespace util = google::protobuf::util;
  const std::unique_ptr<util::TypeResolver> types(util::NewTypeResolverForDescriptorPool(
      "type.googleapis.com", google::protobuf::DescriptorPool::generated_pool()));
  std::string bytes;
  const auto status = util::JsonToBinaryString(types.get(), "type.googleapis.com/tensorflow.Example",
                                               {json.data(), json.size()}, &bytes);
  if (!status.ok()) return invalid_argument("Error while parsing JSON: ", status.message().ToString());
  return bytes;
}

}  // namespace argosy::tf
