#include "argosy/ops/string/string.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/ops/string/summarize.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

Tensor strings(std::initializer_list<std::string> values) { return Tensor::vector<std::string>(values); }
Tensor counting(const Shape& shape) {
  Tensor t = Tensor::zeros(DType::kInt32, shape);
  for (std::int32_t i = 0; i < t.elements(); ++i) t.data<std::int32_t>()[i] = i;
  return t;
}

std::string summary(const Tensor& t, std::int64_t ends) {
  MadeStrings made;
  std::string text;
  const Status status = summarize(t, ends, made, text);
  return status.ok() ? text : status.to_string();
}

TEST(StringOps, Join) {
  check({.op = "StringJoin",
         .inputs = {Tensor::scalar("a"), strings({"b", "c"})},
         .attrs = {{"separator", "-"}},
         .expect = {strings({"a-b", "a-c"})}});
  check({.op = "StringJoin", .inputs = {}, .attrs = {{"N", 0}}, .expect = {Tensor::scalar("")}});
  check({.op = "StringJoin", .inputs = {strings({"a"}), strings({"b", "c"})}, .error = Code::kInvalidArgument});
  const Tensor m = Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"});
  const auto reduce = [&](std::initializer_list<std::int32_t> axes, Tensor expect, bool keep = false) {
    check({.op = "ReduceJoin",
           .inputs = {m, Tensor::vector(axes)},
           .attrs = {{"separator", "."}, {"keep_dims", keep}},
           .expect = {expect}});
  };
  reduce({0}, strings({"a.c", "b.d"}));
  reduce({-1}, strings({"a.b", "c.d"}));
  reduce({0, 1}, Tensor::scalar("a.c.b.d"));
  reduce({1, 0}, Tensor::scalar("a.b.c.d"));
  reduce({}, m);
  reduce({0}, Tensor::of<std::string>({1, 2}, {"a.c", "b.d"}), true);
  check({.op = "ReduceJoin",
         .inputs = {Tensor::of<std::string>({0, 2}, {}), Tensor::vector<std::int32_t>({0})},
         .expect = {strings({"", ""})}});
  check({.op = "ReduceJoin", .inputs = {m, Tensor::vector<std::int32_t>({2})}, .error = Code::kInvalidArgument});
  check({.op = "ReduceJoin", .inputs = {m, Tensor::vector<std::int32_t>({0, 0})}, .error = Code::kInvalidArgument});
}

TEST(StringOps, AsString) {
  const auto is = [](Tensor x, AttrMap attrs, std::initializer_list<std::string> expect) {
    check({.op = "AsString",
           .inputs = {std::move(x)},
           .attrs = attrs,
           .expect = {strings(expect)},
           .other_dtypes = false});
  };
  const auto floats = [](std::initializer_list<float> v) { return Tensor::vector<float>(v); };
  is(floats({1.5, -2.25, 1e20f, std::nanf(""), -0.f}), {},
     {"1.500000", "-2.250000", "100000002004087734272.000000", "nan", "-0.000000"});
  is(floats({1.5, 1e20f}), {{"scientific", true}}, {"1.500000e+00", "1.000000e+20"});
  is(floats({1.5, 1e20f, .1f}), {{"shortest", true}}, {"1.5", "1e+20", "0.1"});
  is(floats({1.5, 3.14159f}), {{"precision", 2}, {"width", 8}, {"fill", "0"}}, {"00001.50", "00003.14"});
  is(Tensor::vector<std::int32_t>({1, -20}), {{"width", 5}, {"fill", "-"}}, {"1    ", "-20  "});
  is(Tensor::vector<std::uint64_t>({~std::uint64_t{0}}), {}, {"18446744073709551615"});
  is(Tensor::vector<bool>({true, false}), {{"width", 8}}, {"true", "false"});
  is(strings({"ab", "c"}), {{"width", 5}, {"precision", 1}}, {"    a", "    c"});
  is(strings({"ab", "c"}), {{"precision", 1}}, {"ab", "c"});
  is(Tensor::vector<std::complex<float>>({{1, 2}}), {{"precision", 1}, {"width", 6}}, {"(   1.0,   2.0)"});
  const auto fails = [&](Tensor x, AttrMap attrs) {
    check({.op = "AsString", .inputs = {std::move(x)}, .attrs = attrs, .error = Code::kInvalidArgument});
  };
  fails(floats({1}), {{"scientific", true}, {"shortest", true}});
  fails(floats({1}), {{"fill", "x"}});
  fails(floats({1}), {{"fill", "%n"}});
  check({.op = "AsString",
         .inputs = {floats({1})},
         .attrs = {{"width", 1 << 30}},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "lets a gigabyte of blanks through"});
  fails(Tensor::scalar(1), {{"precision", 2}});
}

TEST(StringOps, Format) {
  check({.op = "StringFormat",
         .inputs = {Tensor::scalar(1), Tensor::vector<float>({1, 2, .5})},
         .attrs = {{"template", "a %s b %s"}},
         .expect = {Tensor::scalar("a 1 b [1 2 0.5]")}});
  check({.op = "StringFormat",
         .inputs = {Tensor::scalar(1)},
         .attrs = {{"template", "no"}},
         .error = Code::kInvalidArgument});
  check({.op = "StringFormat",
         .inputs = {Tensor::scalar(1)},
         .attrs = {{"placeholder", ""}},
         .error = Code::kInvalidArgument,
         .unlike_tensorflow = "puts the input behind the first character"});
  EXPECT_EQ(summary(counting({10}), 3), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(summary(counting({10}), -1), "[0 1 2 3 4 5 6 7 8 9]");
  EXPECT_EQ(summary(counting({10}), 0), "[ ...]");
  EXPECT_EQ(summary(counting({0}), 3), "[]");
  EXPECT_EQ(summary(counting({3, 4}), 2), "[[0 1 2 3]\n [4 5 6 7]\n [8 9 10 11]]");
  EXPECT_EQ(summary(counting({3, 3, 3}), 1),
            "[[[0 ... 2]\n  ...\n  [6 ... 8]]\n\n ...\n\n [[18 ... 20]\n  ...\n  [24 ... 26]]]");
  EXPECT_EQ(summary(Tensor::vector<float>({1e-7f, 1e10f, 123456789.f, 1 / 3.f}), 9),
            "[1e-07 1e+10 123456792 0.333333343]");
  EXPECT_EQ(summary(strings({"a\"b\n"}), 3), "[\"a\\\"b\\n\"]");
}

TEST(StringOps, ShardedNames) {
  check({.op = "ShardedFilename",
         .inputs = {Tensor::scalar("m"), Tensor::scalar(3), Tensor::scalar(10)},
         .expect = {Tensor::scalar("m-00003-of-00010")}});
  check({.op = "ShardedFilespec",
         .inputs = {Tensor::scalar("m"), Tensor::scalar(10)},
         .expect = {Tensor::scalar("m-?\?\?\?\?-of-00010")}});
  check({.op = "ShardedFilename",
         .inputs = {strings({"m"}), Tensor::scalar(3), Tensor::scalar(10)},
         .error = Code::kInvalidArgument});
}

}  // namespace
}  // namespace argosy
