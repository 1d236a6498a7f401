#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using Words = std::initializer_list<std::string>;
using Numbers = std::vector<std::int64_t>;
Tensor words(Words values) { return Tensor::vector<std::string>(values); }
Tensor ints(const Numbers& values) { return Tensor::vector<std::int64_t>(values); }

TEST(PieceOps, Substr) {
  const auto is = [](const Tensor& x, const Tensor& pos, const Tensor& len, const Tensor& y,
                     const char* unit = "BYTE") {
    check({.op = "Substr", .inputs = {x, pos, len}, .attrs = {{"unit", unit}}, .expect = {y}, .other_dtypes = false});
  };
  const auto one = [&](const char* x, std::int32_t pos, std::int32_t len, const char* y, const char* unit = "BYTE") {
    is(Tensor::scalar(x), Tensor::scalar(pos), Tensor::scalar(len), Tensor::scalar(y), unit);
  };
  one("hello", 0, 2, "he");
  one("hello", 2, 100, "llo");
  one("hello", 2, -1, "llo");
  one("hello", 5, 1, "");
  one("hello", -5, 2, "he");
  one("hello", -1, 2, "o");
  const char* const accents = "h\xc3\x80llo\xe2\x82\xacx";
  one(accents, 1, 3, "\xc3\x80ll", "UTF8_CHAR");
  one(accents, -2, 1, "\xe2\x82\xac", "UTF8_CHAR");
  one(accents, 7, 3, "", "UTF8_CHAR");
  one(accents, 2, -1, "", "UTF8_CHAR");
  one("\x80\x80"
      "a\xff\xc3",
      1, 2, "a\xff", "UTF8_CHAR");
  is(words({"hello", "abc"}), Tensor::scalar(1), Tensor::scalar(2), words({"el", "bc"}));
  is(words({"hello", "abc"}), ints({1, 0}), ints({2, 1}), words({"el", "a"}));
  is(Tensor::scalar("hello"), ints({1, 2}), ints({2, 1}), words({"el", "l"}));
  is(words({"hello", "abcd"}), Tensor::of<std::int32_t>({2, 2}, {1, 2, 0, 0}),
     Tensor::of<std::int32_t>({2, 2}, {2, 1, 1, 2}), Tensor::of<std::string>({2, 2}, {"el", "c", "h", "ab"}));
  is(Tensor::of<std::string>({2, 2}, {"hello", "world", "abcde", "fghij"}), Tensor::of<std::int32_t>({2, 1}, {1, 2}),
     Tensor::of<std::int32_t>({2, 1}, {2, 1}), Tensor::of<std::string>({2, 2}, {"el", "or", "c", "h"}));
  const auto fails = [](const Tensor& x, const Tensor& pos, const Tensor& len, const char* unit) {
    check({.op = "Substr", .inputs = {x, pos, len}, .attrs = {{"unit", unit}}, .error = Code::kInvalidArgument});
  };
  for (const char* unit : {"BYTE", "UTF8_CHAR"}) {
    for (const std::int32_t pos : {6, -6, 100, -2147483647}) {
      fails(Tensor::scalar("hello"), Tensor::scalar(pos), Tensor::scalar(1), unit);
    }
  }
  fails(words({"hello", "abc"}), ints({1, 2}), ints({2}), "BYTE");
  fails(words({"hello", "abc"}), ints({1, 2, 3}), ints({2, 2, 2}), "BYTE");
}

TEST(PieceOps, Split) {
  const auto is = [](const char* op, const AttrMap& attrs, const char* separator, const Numbers& rows, Words pieces,
                     const Numbers& shape, Words x) {
    Tensor indices = Tensor::zeros(DType::kInt64, {static_cast<std::int64_t>(rows.size()), 2});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto* at = indices.data<std::int64_t>() + 2 * i;
      at[0] = rows[i];
      at[1] = i > 0 && rows[i - 1] == rows[i] ? at[-1] + 1 : 0;
    }
    check({.op = op,
           .inputs = {words(x), Tensor::scalar(separator)},
           .attrs = attrs,
           .expect = {indices, words(pieces), ints(shape)}});
  };
  const Words commas = {"a,b,,c", "", ",x", "y;z,"};
  is("StringSplit", {}, ",", {0, 0, 0, 2, 3}, {"a", "b", "c", "x", "y;z"}, {4, 3}, commas);
  is("StringSplit", {}, ",;", {0, 0, 0, 2, 3, 3}, {"a", "b", "c", "x", "y", "z"}, {4, 3}, commas);
  is("StringSplit", {{"skip_empty", false}}, ",", {0, 0, 0, 0, 2, 2, 3, 3}, {"a", "b", "", "c", "", "x", "y;z", ""},
     {4, 4}, commas);
  is("StringSplit", {}, "", {0, 0, 2, 2}, {"a", "b", "\xc3", "\xa0"}, {3, 2}, {"ab", "", "\xc3\xa0"});
  is("StringSplit", {}, ",", {}, {}, {0, 0}, {});
  const Words arrows = {"a<>b<><>c", "", "<>x", "y<>"};
  is("StringSplitV2", {}, "<>", {0, 0, 0, 0, 1, 2, 2, 3, 3}, {"a", "b", "", "c", "", "", "x", "y", ""}, {4, 4}, arrows);
  is("StringSplitV2", {{"maxsplit", 0}}, "<>", {0, 1, 2, 3}, {"a<>b<><>c", "", "<>x", "y<>"}, {4, 1}, arrows);
  is("StringSplitV2", {{"maxsplit", 1}}, "<>", {0, 0, 1, 2, 2, 3, 3}, {"a", "b<><>c", "", "", "x", "y", ""}, {4, 2},
     arrows);
  const Words spaces = {"  a b \t c ", "", " ", "y\n\vz"};
  is("StringSplitV2", {}, "", {0, 0, 0, 3, 3}, {"a", "b", "c", "y", "z"}, {4, 3}, spaces);
  is("StringSplitV2", {{"maxsplit", 0}}, "", {0, 1, 2, 3}, {"  a b \t c ", "", " ", "y\n\vz"}, {4, 1}, spaces);
  is("StringSplitV2", {{"maxsplit", 1}}, "", {0, 0, 3, 3}, {"a", "b \t c ", "y", "z"}, {4, 2}, spaces);
  is("StringSplitV2", {{"maxsplit", 2}}, "", {0, 0, 0, 3, 3, 3}, {"a", "b", "c ", "y", "z", ""}, {4, 3}, spaces);
  for (const char* op : {"StringSplit", "StringSplitV2"}) {
    check({.op = op, .inputs = {Tensor::scalar("a"), Tensor::scalar(",")}, .error = Code::kInvalidArgument});
    check({.op = op, .inputs = {words({"a"}), words({","})}, .error = Code::kInvalidArgument});
  }
}

TEST(PieceOps, NGrams) {
  const Tensor data = words({"a", "b", "c", "d", "e", "f"});
  const auto with = [](const Numbers& widths, std::int64_t pad, bool keep_short) {
    return AttrMap{{"separator", "|"}, {"ngram_widths", widths}, {"left_pad", "L"},
                   {"right_pad", "R"}, {"pad_width", pad},       {"preserve_short_sequences", keep_short}};
  };
  const auto is = [&](const Numbers& splits, const AttrMap& attrs, Words grams, const Numbers& ends) {
    check({.op = "StringNGrams", .inputs = {data, ints(splits)}, .attrs = attrs, .expect = {words(grams), ints(ends)}});
  };
  is({0, 4, 4, 6}, with({3}, 0, false), {"a|b|c", "b|c|d"}, {0, 2, 2, 2});
  is({0, 4, 4, 6}, with({3}, 0, true), {"a|b|c", "b|c|d", "e|f"}, {0, 2, 2, 3});
  is({0, 4, 6}, with({3}, 1, false), {"L|a|b", "a|b|c", "b|c|d", "c|d|R", "L|e|f", "e|f|R"}, {0, 4, 6});
  is({0, 1, 6}, with({1, 2}, -1, false),
     {"a", "L|a", "a|R", "b", "c", "d", "e", "f", "L|b", "b|c", "c|d", "d|e", "e|f", "f|R"}, {0, 3, 14});
  is({0, 1, 6}, with({}, 2, true), {"L|L|a|R|R", "L|L|b|c|d|e|f|R|R"}, {0, 1, 2});
  const auto fails = [&](const Numbers& splits, const AttrMap& attrs) {
    check({.op = "StringNGrams", .inputs = {data, ints(splits)}, .attrs = attrs, .error = Code::kInvalidArgument});
  };
  fails({1, 6}, with({2}, 0, false));
  fails({0, 5}, with({2}, 0, false));
  fails({0, 4, 3, 6}, with({2}, 0, false));
  fails({0, 9, 6}, with({2}, 0, false));
  fails({0, 6}, with({0}, 0, false));
}

TEST(PieceOps, SegmentJoin) {
  const auto is = [](const Tensor& x, const Tensor& ids, std::int32_t segments, const Tensor& y) {
    check({.op = "UnsortedSegmentJoin",
           .inputs = {x, ids, Tensor::scalar(segments)},
           .attrs = {{"separator", ","}},
           .expect = {y},
           .other_dtypes = false});
  };
  is(words({"a", "b", "c"}), ints({1, 0, 1}), 3, words({"b", "a,c", ""}));
  is(words({"", "b", ""}), ints({0, 0, 0}), 1, words({"b,"}));
  is(Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"}), ints({0, 0}), 1,
     Tensor::of<std::string>({1, 2}, {"a,c", "b,d"}));
  const auto fails = [](const Tensor& x, const Tensor& ids, std::int32_t segments) {
    check({.op = "UnsortedSegmentJoin", .inputs = {x, ids, Tensor::scalar(segments)}, .error = Code::kInvalidArgument});
  };
  fails(words({"a", "b"}), ints({0, -1}), 1);
  fails(words({"a", "b"}), ints({0, 1}), 1);
  fails(words({"a", "b"}), ints({0}), 1);
  fails(Tensor::scalar("a"), Tensor::scalar(std::int64_t{0}), 1);
  fails(words({"a"}), ints({0}), -1);
}

}  // namespace
}  // namespace argosy
