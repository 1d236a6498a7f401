#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Words = std::initializer_list<std::string>;
Tensor words(Words values) { return Tensor::vector<std::string>(values); }

void is(const char* op, Words x, const Tensor& y, const AttrMap& attrs = {}) {
  check({.op = op, .inputs = {words(x)}, .attrs = attrs, .expect = {y}, .other_dtypes = false});
}
void fails(const char* op, Words x, const AttrMap& attrs = {}) {
  check({.op = op, .inputs = {words(x)}, .attrs = attrs, .error = Code::kInvalidArgument});
}

TEST(TextOps, Case) {
  is("StringLower",
     {"\xc3\x80"
      "B c",
      ""},
     words({"\xc3\x80"
            "b c",
            ""}));
  is("StringLower",
     {"\xc3\x80"
      "B c",
      "\xff"
      "A"},
     words({"\xc3\xa0"
            "b c",
            "\xef\xbf\xbd"
            "a"}),
     {{"encoding", "utf-8"}});
  is("StringUpper", {"abcZ{`"}, words({"ABCZ{`"}));
  is("StringUpper",
     {"stra\xc3\x9f"
      "e"},
     words({"STRASSE"}), {{"encoding", "utf-8"}});
  fails("StringUpper", {"a"}, {{"encoding", "latin1"}});
  fails("StringLower", {"a"}, {{"encoding", "latin1"}});
}

TEST(TextOps, StripAndLength) {
  is("StringStrip", {"\t\v a b \n\r\f", "", "  ", "\xa0x"}, words({"a b", "", "", "\xa0x"}));
  is("StringLength", {"ab\xc3\x80", "", "\x80\xff"}, Tensor::vector<std::int32_t>({4, 0, 2}));
  is("StringLength", {"ab\xc3\x80", "", "\x80\xff"}, Tensor::vector<std::int32_t>({3, 0, 1}), {{"unit", "UTF8_CHAR"}});
  fails("StringLength", {"a"}, {{"unit", "WORD"}});
}

TEST(TextOps, Numbers) {
  const auto is_number = [](Words x, const Tensor& y) { is("StringToNumber", x, y, {{"out_type", y.dtype()}}); };
  const float inf = std::numeric_limits<float>::infinity();
  is_number({"1", " -2.5\n", "+3", "1e3", "inf", "-Infinity", "0x1F", "0x1p3", "1.", ".5", "1e999", "-0"},
            Tensor::vector<float>({1, -2.5, 3, 1000, inf, -inf, 31, 8, 1, .5, inf, -0.f}));
  is_number({"0.1", "NaN"}, Tensor::vector<double>({.1, std::numeric_limits<double>::quiet_NaN()}));
  is_number({"-2147483648", " +7 ", "007", "-0"}, Tensor::vector<std::int32_t>({-2147483647 - 1, 7, 7, 0}));
  is_number({"99999999999"}, Tensor::vector<std::int64_t>({99999999999}));
  is_number({"4294967295"}, Tensor::vector<std::uint32_t>({4294967295u}));
  is_number({"18446744073709551615"}, Tensor::vector<std::uint64_t>({~std::uint64_t{0}}));
  for (const char* bad : {"", "abc", "1 2", "  ", "1_000", "infx", "1e", "1f", "--1", "+-1"}) {
    for (const DType d : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kUint64}) {
      fails("StringToNumber", {bad}, {{"out_type", d}});
    }
  }
  fails("StringToNumber", {"2147483648"}, {{"out_type", DType::kInt32}});
  fails("StringToNumber", {"-1"}, {{"out_type", DType::kUint32}});
  fails("StringToNumber", {"1.5"}, {{"out_type", DType::kInt64}});
}

TEST(TextOps, Base64) {
  is("EncodeBase64", {"", "a", "ab", "abc", "\xff\xfe\xfd"}, words({"", "YQ", "YWI", "YWJj", "__79"}));
  is("EncodeBase64", {"", "a", "ab", "abc"}, words({"", "YQ==", "YWI=", "YWJj"}), {{"pad", true}});
  is("DecodeBase64", {"", "YQ", "YQ==", "YWI=", "YWJj", "__79", "YR"},
     words({"", "a", "a", "ab", "abc", "\xff\xfe\xfd", "a"}));
  for (const char* bad : {"YQ=", "//79", "Y", "YW Ji", "YQ===", "====", "Y=Q="}) fails("DecodeBase64", {bad});
}

TEST(TextOps, Hashes) {
  const Words text = {"",
                      "a",
                      "hello",
                      "hello world",
                      std::string(20, 'x'),
                      std::string(40, 'y'),
                      std::string(70, 'z'),
                      std::string(200, 'w')};
  const std::int64_t many = std::int64_t{1} << 62;
  is("StringToHashBucket", text,
     Tensor::vector<std::int64_t>({105434511174508091, 2996632905371535868, 1331861223480393034, 936430787915428847,
                                   2648813785153059629, 2760375234777655417, 3167011311279653072, 2813016474444713456}),
     {{"num_buckets", many}});
  is("StringToHashBucketFast", text,
     Tensor::vector<std::int64_t>({1936946117179621455, 3694432073954588131, 3786372426573024488, 1769834696496558107,
                                   3621402210320469444, 276292113409495006, 4496752230148318907, 526236191678461824}),
     {{"num_buckets", many}});
  is("StringToHashBucketStrong", text,
     Tensor::vector<std::int64_t>({443797209252341627, 546566331822570742, 2957200328589801622, 1015233985318741638,
                                   407717789338964422, 546253200436764653, 1832372458757605447, 1981523007529005139}),
     {{"num_buckets", many}, {"key", std::vector<std::int64_t>{1, 2}}});
  fails("StringToHashBucketFast", {"a"}, {{"num_buckets", 0}});
  fails("StringToHashBucketStrong", {"a"}, {{"num_buckets", 3}, {"key", std::vector<std::int64_t>{1}}});
}

TEST(TextOps, Fingerprints) {
  const Tensor method = Tensor::scalar("farmhash64");
  const auto gives = [&](const Tensor& x, std::vector<std::uint8_t> y) {
    const auto rows = static_cast<std::int64_t>(y.size() / 8);
    check({.op = "Fingerprint",
           .inputs = {x, method},
           .expect = {Tensor::vector(y).reshaped({rows, 8})},
           .other_dtypes = false});
  };
  const std::vector<std::uint8_t> of_nothing = {79, 64, 144, 47, 59, 106, 225, 154};
  std::vector<std::uint8_t> of_two = {105, 243, 231, 116, 160, 179, 165, 36};
  of_two.insert(of_two.end(), of_nothing.begin(), of_nothing.end());
  gives(words({"abc", ""}), of_two);
  gives(words({"abc", ""}).reshaped({2, 1}), of_two);
  gives(words({"a", "b", "c", "d"}).reshaped({2, 2}),
        {122, 64, 59, 169, 136, 60, 55, 83, 52, 252, 224, 38, 64, 226, 155, 60});
  gives(Tensor::of<float>({2, 2}, {1, 2, 3, 4}),
        {223, 178, 164, 36, 10, 49, 237, 154, 174, 215, 15, 51, 84, 145, 74, 9});
  gives(Tensor::of<std::int64_t>({1, 2, 1}, {1, 2}), {13, 174, 106, 137, 46, 191, 85, 144});
  gives(Tensor::vector<bool>({true, false}), {62, 88, 126, 177, 19, 76, 162, 71, 84, 75, 233, 245, 237, 86, 96, 190});
  gives(Tensor::zeros(DType::kFloat32, {1, 0}), of_nothing);
  gives(Tensor::zeros(DType::kFloat32, {0, 2}), {});
  const auto refuses = [](const Tensor& x, const Tensor& by) {
    check({.op = "Fingerprint", .inputs = {x, by}, .error = Code::kInvalidArgument});
  };
  refuses(Tensor::scalar("a"), method);
  refuses(words({"a"}), Tensor::scalar("md5"));
  refuses(words({"a"}), words({"farmhash64"}));
}

TEST(TextOps, Patterns) {
  const auto replace = [](const char* pattern, const char* rewrite, bool all, const char* y) {
    const AttrMap more = {{"replace_global", all}};
    check({.op = "RegexReplace",
           .inputs = {words({"abcabc"}), Tensor::scalar(pattern), Tensor::scalar(rewrite)},
           .attrs = more,
           .expect = {words({y})}});
    is("StaticRegexReplace", {"abcabc"}, words({y}),
       {{"replace_global", all}, {"pattern", pattern}, {"rewrite", rewrite}});
  };
  replace("(b)", "<\\1>", true, "a<b>ca<b>c");
  replace("(b)", "<\\1>", false, "a<b>cabc");
  replace("x*", "-", true, "-a-b-c-a-b-c-");
  replace("", "-", true, "-a-b-c-a-b-c-");
  check({.op = "RegexFullMatch",
         .inputs = {words({"abc", "xabc", ""}), Tensor::scalar("a.*")},
         .expect = {Tensor::vector<bool>({true, false, false})}});
  is("StaticRegexFullMatch", {"s3://x", "gs:/y"}, Tensor::vector<bool>({true, false}), {{"pattern", "^s3://.*"}});
  fails("StaticRegexFullMatch", {"a"}, {{"pattern", "(b"}});
  fails("StaticRegexReplace", {"a"}, {{"pattern", "(b"}, {"rewrite", ""}});
  for (const Tensor& bad : {Tensor::scalar("(b"), words({"b"})}) {
    check({.op = "RegexFullMatch", .inputs = {words({"a"}), bad}, .error = Code::kInvalidArgument});
    check({.op = "RegexReplace", .inputs = {words({"a"}), bad, Tensor::scalar("")}, .error = Code::kInvalidArgument});
  }
}

}  // namespace
}  // namespace argosy
