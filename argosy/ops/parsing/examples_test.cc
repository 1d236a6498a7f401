#include "argosy/formats/records/examples.h"

#include <gtest/gtest.h>

#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using tf::Feature;
using Strings = std::vector<std::string>;
using Types = std::vector<DType>;
using Shapes = std::vector<PartialShape>;
using enum DType;

Tensor words(const Strings& values) { return Tensor::vector(values); }
Tensor ints(const std::vector<std::int64_t>& values) { return Tensor::vector(values); }
Tensor floats(const std::vector<float>& values) { return Tensor::vector(values); }
Feature f(std::vector<float> values) { return {kFloat32, {}, std::move(values), {}}; }
Feature i(std::vector<std::int64_t> values) { return {kInt64, {}, {}, std::move(values)}; }
Feature s(Strings values) { return {kString, std::move(values), {}, {}}; }

const std::string kA = tf::serialize_example({{"a", f({1, 2})}, {"b", i({3})}, {"c", s({"x", "y"})}});
const std::string kB = tf::serialize_example({{"a", f({5})}, {"c", Feature()}});
const std::string kNothing = tf::serialize_example({});

// What a ParseExampleV2 is asked for.
struct Wanted {
  Strings sparse = {}, dense = {}, ragged = {};
  Types sparse_types = {}, ragged_types = {}, splits = {};
  std::vector<Tensor> defaults = {};
  Shapes shapes = {};
  Strings names = {};
};
OpCase v2(const Tensor& serialized, const Wanted& w) {
  OpCase c{.op = "ParseExampleV2"};
  c.inputs = {serialized, words(w.names), words(w.sparse), words(w.dense), words(w.ragged)};
  c.inputs.insert(c.inputs.end(), w.defaults.begin(), w.defaults.end());
  Types dense_types;
  for (const Tensor& t : w.defaults) dense_types.push_back(t.dtype());
  c.attrs = {{"num_sparse", static_cast<std::int64_t>(w.sparse.size())},
             {"sparse_types", w.sparse_types},
             {"Tdense", dense_types},
             {"ragged_value_types", w.ragged_types},
             {"ragged_split_types", w.splits},
             {"dense_shapes", w.shapes}};
  return c;
}
void is(const Tensor& serialized, const Wanted& w, std::vector<Tensor> y) {
  OpCase c = v2(serialized, w);
  c.expect = std::move(y);
  check(c);
}
void fails(const Tensor& serialized, const Wanted& w) {
  OpCase c = v2(serialized, w);
  c.error = Code::kInvalidArgument;
  check(c);
}

TEST(ExampleOps, Sparse) {
  const Wanted w{.sparse = {"a", "b"}, .sparse_types = {kFloat32, kInt64}};
  is(words({kA, kB}), w,
     {Tensor::of<std::int64_t>({3, 2}, {0, 0, 0, 1, 1, 0}), Tensor::of<std::int64_t>({1, 2}, {0, 0}), floats({1, 2, 5}),
      ints({3}), ints({2, 2}), ints({2, 1})});
  is(Tensor::scalar(kA), w,
     {Tensor::of<std::int64_t>({2, 1}, {0, 1}), Tensor::of<std::int64_t>({1, 1}, {0}), floats({1, 2}), ints({3}),
      ints({2}), ints({1})});
  is(words({kB}), {.sparse = {"c"}, .sparse_types = {kString}},
     {Tensor::zeros(kInt64, {0, 2}), words({}), ints({1, 0})});
  is(words({}), {.sparse = {"c"}, .sparse_types = {kString}}, {Tensor::zeros(kInt64, {0, 2}), words({}), ints({0, 0})});
  fails(words({kA}), {.sparse = {"a"}, .sparse_types = {kInt64}});
  fails(words({"\x0a\x05"
               "ab"}),
        {.sparse = {"a"}, .sparse_types = {kFloat32}});
  fails(words({kA}), {.sparse = {"a"}, .sparse_types = {kFloat32}, .names = {"one", "two"}});
  fails(Tensor::of<std::string>({1, 1}, {kA}), {.sparse = {"a"}, .sparse_types = {kFloat32}});
}

TEST(ExampleOps, Dense) {
  const auto a = [](const Tensor& fallback, PartialShape shape) {
    return Wanted{.dense = {"a"}, .defaults = {fallback}, .shapes = {std::move(shape)}};
  };
  is(words({kA, kA}), a(floats({}), {2}), {Tensor::of<float>({2, 2}, {1, 2, 1, 2})});
  is(words({kA, kNothing}), a(floats({8, 9}), {2}), {Tensor::of<float>({2, 2}, {1, 2, 8, 9})});
  is(Tensor::scalar(kA), a(floats({}), {2}), {floats({1, 2})});
  is(words({kA}), {.dense = {"b"}, .defaults = {ints({})}, .shapes = {PartialShape::scalar()}}, {ints({3})});
  is(words({kA}), {.dense = {"c"}, .defaults = {words({})}, .shapes = {{2, 1}}},
     {Tensor::of<std::string>({1, 2, 1}, {"x", "y"})});
  is(words({kA, kB, kNothing}), a(floats({-1}), {-1}), {Tensor::of<float>({3, 2}, {1, 2, 5, -1, -1, -1})});
  is(words({kA, tf::serialize_example({{"a", f({5, 6, 7, 8})}})}), a(floats({-1}), {-1, 2}),
     {Tensor::of<float>({2, 2, 2}, {1, 2, -1, -1, 5, 6, 7, 8})});
  is(Tensor::scalar(kA), a(floats({-1}), {-1}), {floats({1, 2})});
  fails(words({kA, kNothing}), a(floats({}), {2}));
  fails(words({kA, kB}), a(floats({}), {2}));
  fails(words({kA}), a(ints({}), {2}));
  fails(words({kA}), a(floats({}), {-1}));
  fails(words({kA}), a(floats({1, 2}), {-1}));
  fails(words({kB}), a(floats({-1}), {-1, 2}));
  fails(words({kA}), a(floats({1, 2, 3}), {2}));
  fails(words({kA}), a(floats({}), {2, -1}));
}

TEST(ExampleOps, Ragged) {
  const Wanted w{.ragged = {"a"}, .ragged_types = {kFloat32}, .splits = {kInt32}};
  is(words({kA, kB, kNothing}), w, {floats({1, 2, 5}), Tensor::vector<std::int32_t>({0, 2, 3, 3})});
  is(Tensor::scalar(kA), w, {floats({1, 2}), Tensor::vector<std::int32_t>({})});
}

TEST(ExampleOps, OlderForms) {
  const Tensor indices = Tensor::of<std::int64_t>({2, 2}, {0, 0, 0, 1});
  const AttrMap types = {{"sparse_types", Types{kFloat32}}, {"dense_shapes", Shapes{{1}}}, {"Tdense", Types{kInt64}}};
  AttrMap v1 = types;
  v1.set("Nsparse", std::int64_t{1});
  v1.set("Ndense", std::int64_t{1});
  check({.op = "ParseExample",
         .inputs = {words({kA}), words({}), Tensor::scalar("a"), Tensor::scalar("b"), ints({})},
         .attrs = v1,
         .expect = {indices, floats({1, 2}), ints({1, 2}), Tensor::of<std::int64_t>({1, 1}, {3})}});
  check({.op = "ParseExample",
         .inputs = {words({kB}), words({"row"}), Tensor::scalar("a"), Tensor::scalar("b"), ints({})},
         .attrs = v1,
         .error = Code::kInvalidArgument});
  AttrMap single = types;
  single.set("num_sparse", std::int64_t{1});
  single.set("sparse_keys", Strings{"a"});
  single.set("dense_keys", Strings{"b"});
  check({.op = "ParseSingleExample",
         .inputs = {Tensor::scalar(kA), ints({})},
         .attrs = single,
         .expect = {Tensor::of<std::int64_t>({2, 1}, {0, 1}), floats({1, 2}), ints({2}), ints({3})}});
  check({.op = "ParseSingleExample",
         .inputs = {words({kA}), ints({})},
         .attrs = single,
         .error = Code::kInvalidArgument});
}

// --- sequences -------------------------------------------------------------------------------------------------------

const std::string kSteps = tf::serialize_sequence_example(
    {{{"c", i({1})}, {"e", i({2})}, {"g", i({3, 4})}},
     {{"l", {f({1, 2}), f({3})}}, {"d", {i({1}), i({2}), i({3})}}, {"r", {f({8}), f({})}}}});
const std::string kOneStep = tf::serialize_sequence_example({{}, {{"l", {f({5})}}}});

OpCase sequence(const Tensor& serialized, bool may_miss) {
  return {.op = "ParseSequenceExampleV2",
          .inputs = {serialized, words({}), words({"c"}), words({"e"}), words({"g"}), words({"l"}), words({"d"}),
                     words({"r"}), Tensor::vector<bool>({may_miss}), ints({7})},
          .attrs = {{"Ncontext_sparse", 1},
                    {"context_sparse_types", Types{kInt64}},
                    {"context_dense_shapes", Shapes{{1}}},
                    {"context_ragged_value_types", Types{kInt64}},
                    {"context_ragged_split_types", Types{kInt64}},
                    {"Nfeature_list_sparse", 1},
                    {"Nfeature_list_dense", 1},
                    {"feature_list_sparse_types", Types{kFloat32}},
                    {"feature_list_dense_types", Types{kInt64}},
                    {"feature_list_dense_shapes", Shapes{{1}}},
                    {"feature_list_ragged_value_types", Types{kFloat32}},
                    {"feature_list_ragged_split_types", Types{kInt32}}}};
}

TEST(ExampleOps, Sequences) {
  OpCase both = sequence(words({kSteps, kOneStep}), true);
  both.expect = {Tensor::of<std::int64_t>({1, 2}, {0, 0}),
                 ints({1}),
                 ints({2, 1}),
                 Tensor::of<std::int64_t>({2, 1}, {2, 7}),
                 ints({3, 4}),
                 ints({0, 2, 2}),
                 Tensor::of<std::int64_t>({4, 3}, {0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}),
                 floats({1, 2, 3, 5}),
                 ints({2, 2, 2}),
                 Tensor::of<std::int64_t>({2, 3, 1}, {1, 2, 3, 0, 0, 0}),
                 ints({3, 0}),
                 floats({8}),
                 Tensor::vector<std::int32_t>({0, 2, 2}),
                 Tensor::vector<std::int32_t>({0, 1, 1})};
  check(both);
  OpCase one = sequence(Tensor::scalar(kSteps), true);
  one.unlike_tensorflow = "leaves the outer splits of one example unwritten";
  check(one);
  const auto refuses = [](OpCase c) {
    c.error = Code::kInvalidArgument;
    check(c);
  };
  refuses(sequence(words({kSteps, kOneStep}), false));
  refuses(sequence(words({"\x0a\x05"
                          "ab"}),
                   true));
  OpCase uneven = sequence(words({kSteps}), true);
  uneven.inputs[6] = words({"l"});
  refuses(uneven);
  OpCase wide = sequence(words({kSteps}), true);
  wide.attrs.set("feature_list_dense_shapes", Shapes{{2}});
  refuses(wide);
}

TEST(ExampleOps, OlderFormsOfSequences) {
  check({.op = "ParseSequenceExample",
         .inputs = {words({kSteps, kOneStep}), words({})},
         .attrs = {{"feature_list_dense_missing_assumed_empty", Strings{"d"}},
                   {"context_sparse_keys", Strings{"c"}},
                   {"context_dense_keys", Strings{}},
                   {"feature_list_sparse_keys", Strings{"l"}},
                   {"feature_list_dense_keys", Strings{"d"}},
                   {"Ncontext_sparse", 1},
                   {"Nfeature_list_sparse", 1},
                   {"Nfeature_list_dense", 1},
                   {"context_sparse_types", Types{kInt64}},
                   {"feature_list_dense_types", Types{kInt64}},
                   {"feature_list_sparse_types", Types{kFloat32}},
                   {"feature_list_dense_shapes", Shapes{{1}}}},
         .expect = {Tensor::of<std::int64_t>({1, 2}, {0, 0}), ints({1}), ints({2, 1}),
                    Tensor::of<std::int64_t>({4, 3}, {0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}), floats({1, 2, 3, 5}),
                    ints({2, 2, 2}), Tensor::of<std::int64_t>({2, 3, 1}, {1, 2, 3, 0, 0, 0}), ints({3, 0})}});
  const auto single = [](const std::string& bytes, const Strings& may_miss) {
    return OpCase{.op = "ParseSingleSequenceExample",
                  .inputs = {Tensor::scalar(bytes), words(may_miss), Tensor::scalar("c"), Tensor::scalar("c"),
                             Tensor::scalar("l"), Tensor::scalar("d"), ints({7}), Tensor::scalar("name")},
                  .attrs = {{"Ncontext_sparse", 1},
                            {"Ncontext_dense", 1},
                            {"Nfeature_list_sparse", 1},
                            {"Nfeature_list_dense", 1},
                            {"Tcontext_dense", Types{kInt64}},
                            {"context_sparse_types", Types{kInt64}},
                            {"context_dense_shapes", Shapes{{1}}},
                            {"feature_list_sparse_types", Types{kFloat32}},
                            {"feature_list_dense_types", Types{kInt64}},
                            {"feature_list_dense_shapes", Shapes{{1}}}}};
  };
  OpCase one = single(kSteps, {});
  one.expect = {Tensor::of<std::int64_t>({1, 1}, {0}),
                ints({1}),
                ints({1}),
                ints({1}),
                Tensor::of<std::int64_t>({3, 2}, {0, 0, 0, 1, 1, 0}),
                floats({1, 2, 3}),
                ints({2, 2}),
                Tensor::of<std::int64_t>({3, 1}, {1, 2, 3})};
  check(one);
  check(single(kOneStep, {"d"}));
  OpCase missing = single(kOneStep, {});
  missing.error = Code::kInvalidArgument;
  check(missing);
}

}  // namespace
}  // namespace argosy
