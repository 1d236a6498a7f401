// What string kernels make is counted while they make it: results may be far larger than what they are made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"

namespace argosy {
namespace {

using testing::HasSubstr;

struct StringCase {
  std::string op;
  std::vector<Tensor> inputs;
  AttrMap attrs = {};
};

Result<std::vector<Tensor>> run(const StringCase& k) {
  Graph g;
  std::vector<Value> inputs;
  std::unordered_map<Endpoint, Tensor> feeds;
  for (const Tensor& t : k.inputs) {
    inputs.push_back(placeholder(g, t.dtype(), t.shape(), str_cat("x", inputs.size())));
    feeds[inputs.back().endpoint()] = t;
  }
  const Value y = g.add(k.op, inputs, k.attrs);
  ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  return evaluate(g, feeds, {y.endpoint()});
}

const std::string kText(1 << 20, 'a');
Tensor copies(std::int64_t n) {
  Tensor t = Tensor::zeros(DType::kString, {n});
  for (std::string& s : t.values<std::string>()) s = kText;
  return t;
}
Tensor one(std::string text) { return Tensor::scalar(std::move(text)); }
Tensor ints(std::int64_t n, std::int32_t value) {
  Tensor t = Tensor::zeros(DType::kInt32, {n});
  for (std::int32_t& i : t.values<std::int32_t>()) i = value;
  return t;
}

std::string compressed_zeros(std::size_t bytes) {
  const std::string zeros(bytes, '\0');
  std::string small(compressBound(bytes), '\0');
  uLongf size = small.size();
  EXPECT_EQ(
      compress(reinterpret_cast<Bytef*>(small.data()), &size, reinterpret_cast<const Bytef*>(zeros.data()), bytes),
      Z_OK);
  small.resize(size);
  return small;
}

std::vector<StringCase> cases() {
  const Tensor pattern = one("a"), rewrite = one(std::string(5000, 'b')), text = one(std::string(20'000, 'a'));
  return {
      {"StringJoin", std::vector<Tensor>(20, one(kText))},
      {"ReduceJoin", {copies(20), Tensor::scalar(std::int32_t{0})}},
      {"StringFormat", {copies(20)}, {{"template", "{}"}, {"placeholder", "{}"}, {"summarize", std::int64_t{-1}}}},
      {"AsString", {copies(20)}},
      {"RegexReplace", {text, pattern, rewrite}, {{"replace_global", true}}},
      {"RegexReplace",
       {one(kText), one("a*"), one("\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0")},
       {{"replace_global", false}}},
      {"StaticRegexReplace", {text}, {{"pattern", "a"}, {"rewrite", std::string(5000, 'b')}, {"replace_global", true}}},
      {"Substr", {one(kText), ints(20, 0), ints(20, 1 << 20)}},
      {"StringSplit", {copies(1), one("")}},
      {"UnsortedSegmentJoin", {copies(20), ints(20, 0), Tensor::scalar(std::int32_t{1})}},
      {"StringNGrams",
       {copies(20), Tensor::vector<std::int64_t>({0, 20})},
       {{"separator", " "},
        {"ngram_widths", std::vector<std::int64_t>{2}},
        {"left_pad", ""},
        {"right_pad", ""},
        {"pad_width", std::int64_t{0}},
        {"preserve_short_sequences", false}}},
      {"StringUpper", {copies(20)}},
      {"StringLower", {copies(20)}, {{"encoding", "utf-8"}}},
      {"StringStrip", {copies(20)}},
      {"EncodeBase64", {copies(20)}},
      {"UnicodeTranscode", {copies(2)}, {{"input_encoding", "UTF-8"}, {"output_encoding", "UTF-32-BE"}}},
      {"UnicodeEncode",
       {ints(1 << 21, 'a'), Tensor::vector<std::int64_t>({0, 1 << 21})},
       {{"output_encoding", "UTF-8"}}},
      {"UnicodeDecode", {copies(1)}, {{"input_encoding", "UTF-8"}}},
      {"DecodeCompressed", {one(compressed_zeros(20 << 20))}, {{"compression_type", "ZLIB"}}},
  };
}

TEST(StringBudget, ResultsAreCountedWhileTheyAreMade) {
  const std::int64_t before = host_budget().in_use();
  for (const StringCase& k : cases()) {
    {
      const auto limit = host_budget().with_limit(before + (8 << 20));
      const Status refused = run(k).status();
      EXPECT_EQ(refused.code(), Code::kResourceExhausted) << k.op << ": " << refused.to_string();
      EXPECT_EQ(refused.id(), "ARG-MEM-004") << k.op;
      EXPECT_THAT(refused.to_string(), HasSubstr("of its strings")) << k.op;
    }
    {
      const auto limit = host_budget().with_limit(before + (std::int64_t{1} << 30));
      const auto made = run(k);
      EXPECT_TRUE(made.ok()) << k.op << ": " << made.status().to_string();
    }
    EXPECT_EQ(host_budget().in_use(), before) << k.op;
  }
}

// Large results of patterns are made by other code than small ones: with a long rewrite in a short one's place.
TEST(StringBudget, LargeReplacementsAreThoseOfSmallOnes) {
  const std::string texts[] = {"abcabcabc, and some more of it", "h\xc3\x80llo\xe2\x82\xacx \xf0\x9f\x98\x80 bb b",
                               "\xff\x80 a\xc3 bad \xf0\x9f b \xed\xa0\x80 \xc0\x80 \xf5\x80\x80\x80 \xe0\x80\x80"};
  for (const std::string& text : texts) {
    for (const char* const pattern : {"b", "x*", "", "[^a]*", "(b)|c", "b*", ".", "^", "$", "\\b", "nothing"}) {
      for (const bool all : {true, false}) {
        const std::string rewrite(all ? 60'000 : 1'100'000, 'R');
        const auto replaced = [&](const std::string& with) {
          const auto y = run({"RegexReplace", {one(text), one(pattern), one(with)}, {{"replace_global", all}}});
          EXPECT_TRUE(y.ok()) << y.status().to_string();
          return y.ok() ? *(*y)[0].data<std::string>() : std::string();
        };
        std::string expected;
        for (const char c : replaced("\x01")) expected += c == '\x01' ? rewrite : std::string(1, c);
        EXPECT_TRUE(replaced(rewrite) == expected) << pattern << " in " << text << (all ? ", all" : "");
      }
    }
  }
  // A rewrite with a mistake, and one with a group that is not there.
  const std::string text = "b" + kText + "b";
  for (const char* const wrong : {"\\0\\q", "\\7"}) {
    const auto y = run({"RegexReplace", {one(text), one("b.*"), one(wrong)}, {{"replace_global", false}}});
    ASSERT_TRUE(y.ok()) << y.status().to_string();
    EXPECT_TRUE(*(*y)[0].data<std::string>() == text) << wrong;
  }
}

}  // namespace
}  // namespace argosy
