#include "argosy/formats/records/examples.h"

#include <gtest/gtest.h>

#include "argosy/formats/proto/serialized_tensor.h"

namespace argosy::tf {
namespace {

Feature floats(std::vector<float> values) { return {DType::kFloat32, {}, std::move(values), {}}; }
Feature ints(std::vector<std::int64_t> values) { return {DType::kInt64, {}, {}, std::move(values)}; }
Feature strings(std::vector<std::string> values) { return {DType::kString, std::move(values), {}, {}}; }

// What tf.train.Example writes for {"a": floats [1, 2]}.
const std::string kExample(
    "\x0a\x13\x0a\x11\x0a\x01"
    "a\x12\x0c\x12\x0a\x0a\x08\0\0\x80?\0\0\0@",
    21);

TEST(Examples, AreTheBytesOfTensorFlow) {
  EXPECT_EQ(serialize_example({{"a", floats({1, 2})}}), kExample);
  // Also as value by value, as older writers have it.
  const std::string unpacked(
      "\x0a\x13\x0a\x11\x0a\x01"
      "a\x12\x0c\x12\x0a\x0d\0\0\x80?\x0d\0\0\0@",
      21);
  for (const std::string& bytes : {kExample, unpacked}) {
    const auto read = parse_example(bytes);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ(read->at("a").floats, (std::vector<float>{1, 2}));
  }
}

TEST(Examples, GoThereAndBack) {
  const Features features = {{"i", ints({-1, 1})}, {"s", strings({"x", ""})}, {"none", Feature()}, {"f", floats({})}};
  const auto back = parse_example(serialize_example(features));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  ASSERT_EQ(back->size(), 4u);
  EXPECT_EQ(back->at("i").ints, features.at("i").ints);
  EXPECT_EQ(back->at("s").strings, features.at("s").strings);
  EXPECT_EQ(back->at("none").dtype, DType::kInvalid);
  const SequenceExample sequence = {{{"c", ints({7})}}, {{"l", {strings({"a"}), strings({})}}}};
  const auto again = parse_sequence_example(serialize_sequence_example(sequence));
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->context.at("c").ints, std::vector<std::int64_t>{7});
  ASSERT_EQ(again->lists.at("l").size(), 2u);
  EXPECT_EQ(again->lists.at("l")[0].strings, std::vector<std::string>{"a"});
}

TEST(Examples, DamagedBytesAndTextAreErrors) {
  EXPECT_EQ(parse_example(kExample.substr(0, 15)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(parse_sequence_example("\xff").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(example_from_json("{\"features\"").status().code(), Code::kInvalidArgument);
  const auto made = example_from_json(R"({"features":{"feature":{"a":{"floatList":{"value":[1,2]}}}}})");
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(parse_example(*made)->at("a").floats, (std::vector<float>{1, 2}));
}

TEST(SerializedTensors, GoThereAndBack) {
  for (const Tensor& t : {Tensor::vector<float>({1, 2}), Tensor::of<std::string>({1, 2}, {"ab", ""})}) {
    const auto bytes = serialize_tensor(t);
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    const auto back = parse_tensor(*bytes, 1 << 20);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(back->to_string(), t.to_string());
    EXPECT_EQ(parse_tensor(*bytes, 1).status().code(), Code::kResourceExhausted);
  }
  EXPECT_EQ(parse_tensor("zzzzz", 1 << 20).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy::tf
