#include "argosy/ops/parsing/parsing.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using namespace std::string_literals;
Tensor words(const std::vector<std::string>& values) { return Tensor::vector(values); }

void is(const char* op, const std::vector<Tensor>& x, const AttrMap& attrs, const std::vector<Tensor>& y) {
  check({.op = op, .inputs = x, .attrs = attrs, .expect = y, .other_dtypes = false});
}
void fails(const char* op, const std::vector<Tensor>& x, const AttrMap& attrs, std::string unlike = "",
           Code code = Code::kInvalidArgument) {
  check({.op = op, .inputs = x, .attrs = attrs, .error = code, .unlike_tensorflow = std::move(unlike)});
}

TEST(ParsingOps, DecodeRaw) {
  const auto raw = [](DType d, bool little = true) { return AttrMap{{"out_type", d}, {"little_endian", little}}; };
  using enum DType;
  is("DecodeRaw", {words({"abcd", "efgh"})}, raw(kInt16),
     {Tensor::of<std::int16_t>({2, 2}, {25185, 25699, 26213, 26727})});
  is("DecodeRaw", {words({"abcd"})}, raw(kInt16, false), {Tensor::of<std::int16_t>({1, 2}, {24930, 25444})});
  is("DecodeRaw", {Tensor::scalar("\0\0\x80\x3f"s)}, raw(kFloat32), {Tensor::vector<float>({1})});
  is("DecodeRaw", {Tensor::scalar("\x3f\x80\0\0\xbf\x80\0\0"s)}, raw(kComplex64, false),
     {Tensor::vector<std::complex<float>>({{1, -1}})});
  is("DecodeRaw", {words({"\0\1\2"s})}, raw(kBool), {Tensor::of<bool>({1, 3}, {false, true, true})});
  is("DecodeRaw", {words({"", ""})}, raw(kInt64), {Tensor::zeros(kInt64, {2, 0})});
  is("DecodeRaw", {words({})}, raw(kInt64), {Tensor::zeros(kInt64, {0, 0})});
  for (const DType d : {kFloat16, kFloat64, kInt32, kUint16, kUint8, kInt8, kComplex128, kBfloat16}) {
    check({.op = "DecodeRaw",
           .inputs = {words({"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"})},
           .attrs = raw(d)});
  }
  fails("DecodeRaw", {words({"abcd", "ef"})}, raw(kInt16));
  fails("DecodeRaw", {words({"abc"})}, raw(kInt16));
  const auto padded = [&](std::int32_t length, const Tensor& y, bool little = true) {
    is("DecodePaddedRaw", {words({"abcd", "efg", "h"}), Tensor::scalar(length)}, raw(kInt16, little), {y});
  };
  padded(2, Tensor::of<std::int16_t>({3, 1}, {25185, 26213, 104}));
  padded(4, Tensor::of<std::int16_t>({3, 2}, {25185, 25699, 26213, 103, 104, 0}));
  padded(4, Tensor::of<std::int16_t>({3, 2}, {24930, 25444, 25958, 26368, 26624, 0}), false);
  for (const std::int32_t length : {0, 3, -2}) {
    fails("DecodePaddedRaw", {words({"abcd"}), Tensor::scalar(length)}, raw(kInt16));
  }
  fails("DecodePaddedRaw", {words({"abcd"}), Tensor::vector<std::int32_t>({2})}, raw(kInt16));
}

const std::string kZlib("\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27", 11);  // "abc"
const std::string kGzip("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4c\x4a\x06\0\xc2\x41\x24\x35\x03\0\0\0", 23);

TEST(ParsingOps, DecodeCompressed) {
  const auto as = [](const char* type) { return AttrMap{{"compression_type", type}}; };
  is("DecodeCompressed", {words({"abc", ""})}, as(""), {words({"abc", ""})});
  is("DecodeCompressed", {words({kZlib, ""})}, as("ZLIB"), {words({"abc", ""})});
  is("DecodeCompressed", {words({kGzip, kGzip + kGzip})}, as("GZIP"), {words({"abc", "abcabc"})});
  fails("DecodeCompressed", {words({"abc"})}, as("ZLIB"), "", Code::kDataLoss);
  fails("DecodeCompressed", {words({kZlib.substr(0, 6)})}, as("ZLIB"),
        "gives what there is of data that ends too early", Code::kDataLoss);
  fails("DecodeCompressed", {words({"abc"})}, as("BROTLI"));
}

const AttrMap kNoQuotes = {{"use_quote_delim", false}};

TEST(ParsingOps, Csv) {
  const auto ints = [](std::vector<std::int32_t> v) { return Tensor::vector(v); };
  const Tensor none = ints({});
  const auto records = [](const std::vector<std::string>& lines) { return words(lines); };
  is("DecodeCSV", {records({"1,2.5,x", "3,,y"}), ints({0}), Tensor::vector<float>({9}), words({"d"})}, {},
     {ints({1, 3}), Tensor::vector<float>({2.5, 9}), words({"x", "y"})});
  is("DecodeCSV", {records({" 12 "}), Tensor::vector<std::int64_t>({4})}, {}, {Tensor::vector<std::int64_t>({12})});
  is("DecodeCSV", {records({"1e3"}), Tensor::vector<double>({4})}, {}, {Tensor::vector<double>({1000})});
  is("DecodeCSV", {Tensor::of<std::string>({2, 1}, {"1", "2"}), Tensor::scalar(4)}, {},
     {Tensor::of<std::int32_t>({2, 1}, {1, 2})});
  is("DecodeCSV", {records({"\"a,\"\"b\",\" c \""}), words({"d"}), words({"e"})}, {},
     {words({"a,\"b"}), words({" c "})});
  is("DecodeCSV", {records({"a\"b"}), words({"d"})}, kNoQuotes, {words({"a\"b"})});
  is("DecodeCSV", {records({"\na,b"}), words({"d"}), words({"e"})}, {}, {words({"a"}), words({"b"})});
  is("DecodeCSV", {records({"NA,1"}), ints({4}), ints({5})}, {{"na_value", "NA"}}, {ints({4}), ints({1})});
  is("DecodeCSV", {records({"1,"}), ints({4}), ints({5})}, {}, {ints({1}), ints({5})});
  is("DecodeCSV", {records({"7|8"}), ints({4}), ints({5})}, {{"field_delim", "|"}}, {ints({7}), ints({8})});
  is("DecodeCSV", {records({"7,8,9"}), ints({4}), ints({5})}, {{"select_cols", std::vector<std::int64_t>{0, 2}}},
     {ints({7}), ints({9})});
  const auto refuses = [](const std::string& record, const std::vector<Tensor>& defaults, const AttrMap& attrs = {}) {
    std::vector<Tensor> inputs = {words({record})};
    inputs.insert(inputs.end(), defaults.begin(), defaults.end());
    fails("DecodeCSV", inputs, attrs);
  };
  refuses(",2", {none, none});
  refuses("", {ints({5})});
  refuses("1,2", {none});
  refuses("1", {none, none});
  refuses("x", {ints({4})});
  refuses("99999999999", {ints({4})});
  refuses("1", {ints({4, 5})});
  refuses("1", {Tensor::of<std::int32_t>({1, 1}, {4})});
  for (const char* bad : {"\"a", "\"a\"b", "a\"b", "a\r\n"}) refuses(bad, {words({"d"})});
  refuses("7", {ints({4})}, {{"field_delim", "||"}});
  refuses("7", {ints({4})}, {{"field_delim", ""}});
  refuses("7,8", {ints({4}), ints({4})}, {{"select_cols", std::vector<std::int64_t>{1, 0}}});
  refuses("7,8", {ints({4}), ints({4})}, {{"select_cols", std::vector<std::int64_t>{1}}});
}

TEST(ParsingOps, Tensors) {
  const std::string two("\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\0\0\x80\x3f\0\0\0\x40", 18);  // float [1, 2]
  is("SerializeTensor", {Tensor::vector<float>({1, 2})}, {}, {Tensor::scalar(two)});
  is("ParseTensor", {Tensor::scalar(two)}, {{"out_type", DType::kFloat32}}, {Tensor::vector<float>({1, 2})});
  is("SerializeTensor", {Tensor::of<std::string>({1, 2}, {"ab", ""})}, {},
     {Tensor::scalar("\x08\x07\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02\x42\x02"
                     "ab\x42\0"s)});
  check({.op = "SerializeTensor", .inputs = {Tensor::of<bool>({2, 1}, {true, false})}});
  fails("ParseTensor", {Tensor::scalar(two)}, {{"out_type", DType::kInt32}});
  fails("ParseTensor", {Tensor::scalar("zzzzz")}, {{"out_type", DType::kInt32}});
  fails("ParseTensor", {Tensor::scalar("")}, {{"out_type", DType::kInt32}});  // a type of 0
  fails("ParseTensor", {words({two})}, {{"out_type", DType::kFloat32}});
}

TEST(ParsingOps, Json) {
  is("DecodeJSONExample", {words({R"({"features":{"feature":{"a":{"int64List":{"value":["3"]}}}}})", "{}"})}, {},
     {words({"\x0a\x0b\x0a\x09\x0a\x01"
             "a\x12\x04\x1a\x02\x08\x03",
             ""})});
  fails("DecodeJSONExample", {words({"{\"features\""})}, {});
  fails("DecodeJSONExample", {words({"{\"x\":1}"})}, {});
}

TEST(ParsingOps, Builders) {
  Graph graph;
  const Value records = graph.add("Const", {}, {{"value", words({"1,a"})}, {"dtype", DType::kString}});
  const Value one = graph.add("Const", {}, {{"value", Tensor::vector<std::int32_t>({0})}, {"dtype", DType::kInt32}});
  const auto columns = decode_csv(records, {one, records}, {.field_delim = ";"});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].dtype(), DType::kInt32);
  EXPECT_EQ(columns[1].dtype(), DType::kString);
  EXPECT_EQ(parse_tensor(serialize_tensor(one), DType::kInt32).dtype(), DType::kInt32);
  EXPECT_EQ(decode_raw(records, DType::kInt16).shape().rank(), 2);
}

}  // namespace
}  // namespace argosy
