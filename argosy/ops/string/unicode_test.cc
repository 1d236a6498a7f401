#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using namespace std::string_literals;
Tensor words(const std::vector<std::string>& values) { return Tensor::vector(values); }
Tensor ints(const std::vector<std::int64_t>& values) { return Tensor::vector(values); }
Tensor points(const std::vector<std::int32_t>& values) { return Tensor::vector(values); }

const std::string kMixed = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";  // é, the euro sign, a face

AttrMap from(const char* encoding, const char* errors = "replace", bool controls = false) {
  return {{"input_encoding", encoding},
          {"errors", errors},
          {"replacement_char", 65},
          {"replace_control_characters", controls}};
}

TEST(UnicodeOps, Decode) {
  const auto is = [](const std::vector<std::string>& x, const AttrMap& attrs, const std::vector<std::int64_t>& splits,
                     const std::vector<std::int32_t>& values, const std::vector<std::int64_t>& starts) {
    check({.op = "UnicodeDecodeWithOffsets",
           .inputs = {words(x)},
           .attrs = attrs,
           .expect = {ints(splits), points(values), ints(starts)}});
    check({.op = "UnicodeDecode", .inputs = {words(x)}, .attrs = attrs, .expect = {ints(splits), points(values)}});
  };
  is({kMixed, "", "ab"}, from("UTF-8", "strict"), {0, 3, 3, 5}, {233, 8364, 128512, 97, 98}, {0, 2, 5, 0, 1});
  is({"a\xff"
      "b"},
     from("UTF-8"), {0, 3}, {97, 65, 98}, {0, 1, 2});
  is({"\xe2\x82", "\xed\xa0\x80"}, from("UTF-8"), {0, 1, 4}, {65, 65, 65, 65}, {0, 0, 1, 2});
  is({"\xf4\x90\x80\x80", "\xc3("}, from("UTF-8", "ignore"), {0, 0, 1}, {40}, {1});
  is({"a\x01"
      "b"},
     from("UTF-8", "replace", true), {0, 3}, {97, 65, 98}, {0, 1, 2});
  is({"a\x01"
      "b"},
     from("UTF-8", "ignore", true), {0, 2}, {97, 98}, {0, 2});
  is({"a\x01"
      "b"},
     from("UTF-8", "strict", true), {0, 3}, {97, 65, 98}, {0, 1, 2});
  is({"\0\xe9\xd8=\xde\0"s, "a"}, from("UTF-16-BE"), {0, 2, 3}, {233, 128512, 65}, {0, 2, 0});
  is({"\xe9\x80"
      "a"},
     from("latin1"), {0, 3}, {233, 128, 97}, {0, 1, 2});
  check({.op = "UnicodeDecode",
         .inputs = {words({"ab"})},
         .attrs = {{"input_encoding", "UTF-8"}, {"Tsplits", DType::kInt32}},
         .expect = {points({0, 2}), points({97, 98})}});
  for (const char* op : {"UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeTranscode"}) {
    const auto fails = [&](AttrMap attrs) {
      if (op == "UnicodeTranscode"s) attrs.set("output_encoding", "UTF-8"s);
      check({.op = op, .inputs = {words({"a\xff"})}, .attrs = attrs, .error = Code::kInvalidArgument});
    };
    fails(from("UTF-8", "strict"));
    fails(from("nonsense"));
    fails({{"input_encoding", "UTF-8"}, {"replacement_char", 0x110000}});
  }
}

TEST(UnicodeOps, Encode) {
  const auto is = [](const std::vector<std::int32_t>& values, const std::vector<std::int64_t>& splits,
                     const char* encoding, const char* errors, const std::vector<std::string>& y) {
    check({.op = "UnicodeEncode",
           .inputs = {points(values), ints(splits)},
           .attrs = {{"output_encoding", encoding}, {"errors", errors}},
           .expect = {words(y)}});
  };
  const std::vector<std::int32_t> text = {104, 0x1f600, 0xe9};
  is(text, {0, 1, 1, 3}, "UTF-8", "strict", {"h", "", "\xf0\x9f\x98\x80\xc3\xa9"});
  is(text, {0, 1, 1, 3}, "UTF-16-BE", "replace", {"\0h"s, "", "\xd8=\xde\0\0\xe9"s});
  is(text, {0, 3}, "UTF-32-BE", "ignore", {"\0\0\0h\0\1\xf6\0\0\0\0\xe9"s});
  const std::vector<std::int32_t> bad = {104, 0x110000, 0xd800, -1, 65};
  is(bad, {0, 5}, "UTF-8", "replace",
     {"h\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
      "A"});
  is(bad, {0, 5}, "UTF-8", "ignore", {"hA"});
  const auto fails = [](const std::vector<std::int32_t>& values, const std::vector<std::int64_t>& splits) {
    check({.op = "UnicodeEncode",
           .inputs = {points(values), ints(splits)},
           .attrs = {{"output_encoding", "UTF-8"}, {"errors", "strict"}},
           .error = Code::kInvalidArgument});
  };
  fails(bad, {0, 5});
  fails({104}, {0, 2});
  fails({104}, {1, 1});
  fails({104, 105}, {0, 1});
  fails({104, 105}, {});
}

TEST(UnicodeOps, Transcode) {
  const auto is = [](const std::string& x, AttrMap attrs, const char* encoding, const std::string& y) {
    attrs.set("output_encoding", std::string(encoding));
    check({.op = "UnicodeTranscode", .inputs = {words({x})}, .attrs = attrs, .expect = {words({y})}});
  };
  is(kMixed, from("UTF-8", "strict"), "UTF-16-BE", "\0\xe9 \xac\xd8=\xde\0"s);
  is("a\xff"
     "b",
     from("UTF-8"), "UTF-8", "aAb");
  is("a\xff\x01"
     "b",
     from("UTF-8", "ignore", true), "UTF-8", "ab");
  is("\xff\xfe"
     "a\0"s,
     from("UTF-16"), "UTF-8", "a");
  is("a\xc3\xa9", from("UTF-8"), "UTF-32-BE", "\0\0\0a\0\0\0\xe9"s);
  AttrMap strict = from("UTF-8", "strict", true);
  strict.set("output_encoding", "UTF-8"s);
  check({.op = "UnicodeTranscode", .inputs = {words({"\x01"})}, .attrs = strict, .error = Code::kInvalidArgument});
}

TEST(UnicodeOps, Script) {
  check({.op = "UnicodeScript",
         .inputs = {points({65, 0x430, 0x4e00, 48, -1, 0x110000, 0xd800, 0x378})},
         .expect = {points({25, 8, 17, 0, -1, -1, 103, 103})}});
}

}  // namespace
}  // namespace argosy
