#include "argosy/ops/summary/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/data/image/image.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor words(std::initializer_list<const char*> list) {
  std::vector<std::string> all(list.begin(), list.end());
  return Tensor::vector(all);
}
Tensor word(const std::string& w) { return Tensor::scalar(w); }

// The bytes of messages: field and wire type, length, content.
const std::string kScalarA(
    "\n\x08\n\x01"
    "a\x15\x00\x00\xc0\x3f",
    10);  // tag "a", 1.5
const std::string kScalarB(
    "\n\x08\n\x01"
    "b\x15\x00\x00\x00\x40",
    10);  // tag "b", 2

TEST(Summary, Scalars) {
  check({.op = "ScalarSummary", .inputs = {word("a"), Tensor::scalar(1.5f)}, .expect = {word(kScalarA)}});
  check({.op = "ScalarSummary",
         .inputs = {words({"a", "b"}), Tensor::vector<float>({1.5f, 2})},
         .expect = {word(kScalarA + kScalarB)}});
  check({.op = "ScalarSummary",
         .inputs = {words({"a"}), Tensor::scalar(1.5f)},
         .error = Code::kInvalidArgument,
         .error_contains = "not the same shape"});
}

TEST(Summary, Histograms) {
  for (const auto& values : {Tensor::vector<float>({1, 2, -1}), Tensor::zeros(DType::kFloat32, {0}),
                             Tensor::of<float>({2, 2}, {3e4f, -3e4f, 0, 1e-3f})}) {
    check({.op = "HistogramSummary", .inputs = {word("h"), values}, .other_dtypes = values.elements() != 4});
  }
  for (const float bad : {NAN, INFINITY}) {
    check({.op = "HistogramSummary",
           .inputs = {word("h"), Tensor::vector<float>({1, bad})},
           .error = Code::kInvalidArgument,
           .error_contains = "istogram for: HistogramSummary"});
  }
  check({.op = "HistogramSummary",
         .inputs = {words({"h"}), Tensor::vector<float>({1})},
         .error = Code::kInvalidArgument,
         .error_contains = "tag must be scalar"});
}

TEST(Summary, Merged) {
  check({.op = "MergeSummary", .inputs = {word(kScalarA), word(kScalarB)}, .expect = {word(kScalarA + kScalarB)}});
  check({.op = "MergeSummary", .inputs = {Tensor::vector<std::string>({kScalarB, kScalarA})}});
  check({.op = "MergeSummary",
         .inputs = {word(kScalarA), word(kScalarA)},
         .error = Code::kInvalidArgument,
         .error_contains = "Duplicate tag a found in summary inputs"});
  check({.op = "MergeSummary",
         .inputs = {word("\xff\xff")},
         .error = Code::kInvalidArgument,
         .error_contains = "Could not parse one of the summary inputs"});
}

TEST(Summary, Tensors) {
  const std::string named(
      "\x12\x01"
      "d",
      3);  // display_name "d"
  check({.op = "TensorSummaryV2", .inputs = {word("t"), Tensor::vector<float>({1, 2}), word(named)}});
  check({.op = "TensorSummaryV2", .inputs = {word("t"), words({"x", ""}), word("")}});
  check({.op = "TensorSummary", .inputs = {Tensor::vector<float>({1, 2})}, .attrs = {{"description", "d"}}});
  check({.op = "TensorSummaryV2",
         .inputs = {words({"t"}), Tensor::scalar(1.f), word("")},
         .error = Code::kInvalidArgument,
         .error_contains = "tag must be scalar"});
}

TEST(Summary, Sounds) {
  const Tensor two = Tensor::of<float>({2, 5}, {0, .5f, -.5f, 1, -1, 2, -2, .00001f, .3f, 0});
  check({.op = "AudioSummaryV2", .inputs = {word("s"), two, Tensor::scalar(44100.f)}});
  check({.op = "AudioSummaryV2", .inputs = {word("s"), two, Tensor::scalar(8000.5f)}, .attrs = {{"max_outputs", 1}}});
  check({.op = "AudioSummaryV2", .inputs = {word("s"), two.reshaped({1, 5, 2}), Tensor::scalar(100.f)}});
  for (const float rate : {2.877f, 2.5f, 3.5f, 0.2f}) {  // rounded, halves to even, but never to 0
    check({.op = "AudioSummaryV2", .inputs = {word("s"), two, Tensor::scalar(rate)}});
  }
  check({.op = "AudioSummary",
         .inputs = {word("s"), two},
         .attrs = {{"sample_rate", 44100.f}},
         .unlike_tensorflow = "TensorFlow has only the newer one left"});
  check({.op = "AudioSummaryV2",
         .inputs = {word("s"), two, Tensor::scalar(0.f)},
         .error = Code::kInvalidArgument,
         .error_contains = "sample_rate must be > 0"});
  check({.op = "AudioSummaryV2",
         .inputs = {word("s"), Tensor::vector<float>({1}), Tensor::scalar(1.f)},
         .error = Code::kInvalidArgument,
         .error_contains = "Tensor must be 3-D or 2-D"});
}

// Images are compressed by an encoder of our own: what is in them is looked at.
TEST(Summary, Images) {
  const std::string encoder =
      "the PNG in it is another encoder's: tests/oracle/state_programs/summary.py compares pixels";
  Tensor bytes = Tensor::zeros(DType::kUint8, {2, 2, 2, 3});
  for (int i = 0; i < 24; ++i) bytes.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(10 * i);
  check({.op = "ImageSummary", .inputs = {word("i"), bytes}, .other_dtypes = false, .unlike_tensorflow = encoder});
  const auto out = evaluate_op(*builtin_ops().find("ImageSummary"), {{"max_images", 1}}, {word("i"), bytes});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  const std::string& summary = *out->at(0).data<std::string>();
  EXPECT_THAT(summary, testing::HasSubstr("i/image"));
  EXPECT_THAT(summary, testing::Not(testing::HasSubstr("i/image/0")));
  const std::size_t png = summary.find("\x89PNG");
  ASSERT_NE(png, std::string::npos);
  const auto image = data::decode_image(std::string_view(summary).substr(png), 3);
  ASSERT_TRUE(image.ok()) << image.status().to_string();
  EXPECT_EQ(difference(*image, bytes.rows(0, 1).reshaped({2, 2, 3}), 0), "");
  for (const Shape& bad : {Shape{2, 2, 2, 2}, Shape{2, 2, 3}}) {
    check({.op = "ImageSummary",
           .inputs = {word("i"), Tensor::zeros(DType::kUint8, bad)},
           .error = Code::kInvalidArgument,
           .error_contains = "Tensor must be 4-D with last dim 1, 3, or 4"});
  }
}

TEST(Summary, Builders) {
  Graph g;
  const Value x =
      g.add("Const", {}, {{"value", Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 4})}, {"dtype", DType::kFloat32}});
  const Value rate = g.add("Const", {}, {{"value", Tensor::scalar(8.f)}, {"dtype", DType::kFloat32}});
  const Value all = merge_summaries(
      {histogram_summary("h", x), image_summary("i", x), scalar_summary("s", rate),
       audio_summary(
           "a",
           g.add("Reshape",
                 {x, g.add("Const", {}, {{"value", Tensor::vector<std::int32_t>({1, 4})}, {"dtype", DType::kInt32}})}),
           rate)});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  EXPECT_TRUE(evaluate(g, {}, {all.endpoint()}).ok());
}

}  // namespace
}  // namespace argosy
