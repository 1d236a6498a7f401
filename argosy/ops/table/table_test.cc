#include "argosy/ops/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/system/file.h"
#include "argosy/base/system/test_files.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/table/table_state.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

Tensor ints(std::initializer_list<std::int64_t> v) { return Tensor::vector<std::int64_t>(v); }
Tensor words(std::initializer_list<const char*> list) {
  return Tensor::vector(std::vector<std::string>(list.begin(), list.end()));
}

class Tables : public testing::Test {
 protected:
  Result<std::vector<Tensor>> run(std::initializer_list<Value> values) {
    if (!graph_.status().ok()) return graph_.status();
    std::vector<Endpoint> fetches;
    for (const Value& v : values) fetches.push_back(v.endpoint());
    return evaluate(graph_, {}, fetches, {.resources = &resources_});
  }
  void expect(Value v, const Tensor& expected) {
    const auto out = run({v});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(difference(out->at(0), expected, 0), "");
  }
  Value of(Tensor t) { return constant(graph_, std::move(t)); }
  Graph graph_;
  ResourceManager resources_;
};

TEST_F(Tables, AreFilledOnceThenRead) {
  for (const char* v : {"V2", ""}) {
    SCOPED_TRACE(v);
    const auto op = [&](const char* name) { return str_cat(name, v); };
    const Value table =
        graph_.add(op("HashTable"), {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
    const Value find =
        graph_.add(op("LookupTableFind"), {table, of(words({"b", "x"})), of(Tensor::scalar(std::int64_t{-1}))});
    const auto fill = [&](Tensor keys, Tensor values) {
      return run({graph_.add(op("InitializeTable"), {table, of(std::move(keys)), of(std::move(values))}).control()})
          .status();
    };
    EXPECT_EQ(run({find}).status().code(), Code::kFailedPrecondition);
    EXPECT_EQ(fill(words({"a", "a"}), ints({1, 2})).code(), Code::kFailedPrecondition);
    ASSERT_TRUE(fill(words({"a", "b"}), ints({1, 2})).ok());
    EXPECT_TRUE(fill(words({"b", "a"}), ints({2, 1})).ok());
    EXPECT_THAT(fill(words({"a", "b", "c"}), ints({1, 2, 3})).message(), HasSubstr("already initialized"));
    expect(find, ints({2, -1}));
    expect(graph_.add(op("LookupTableSize"), {table}), Tensor::scalar(std::int64_t{2}));
    EXPECT_EQ(
        run({graph_.add(op("LookupTableInsert"), {table, of(words({"q"})), of(ints({1}))}).control()}).status().code(),
        Code::kUnimplemented);
  }
}

TEST_F(Tables, MayChange) {
  for (const char* name :
       {"MutableHashTableV2", "MutableHashTable", "MutableHashTableOfTensorsV2", "MutableHashTableOfTensors"}) {
    SCOPED_TRACE(name);
    const char* const v = std::string_view(name).ends_with("V2") ? "V2" : "";
    const auto op = [&](const char* of) { return str_cat(of, v); };
    const Value table = graph_.add(name, {}, {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kString}});
    const Value find = graph_.add(op("LookupTableFind"), {table, of(ints({1, 2, 3})), of(Tensor::scalar("?"))});
    const Value insert = graph_.add(op("LookupTableInsert"), {table, of(ints({1, 2, 1})), of(words({"a", "b", "c"}))});
    ASSERT_TRUE(run({insert.control()}).ok());
    expect(find, words({"c", "b", "?"}));
    ASSERT_TRUE(run({graph_.add(op("LookupTableImport"), {table, of(ints({3})), of(words({"d"}))}).control()}).ok());
    expect(find, words({"?", "?", "d"}));
    const Value all =
        graph_.add(op("LookupTableExport"), {table}, {{"Tkeys", DType::kInt64}, {"Tvalues", DType::kString}});
    expect(all, ints({3}));
    expect(all.output(1), words({"d"}));
    EXPECT_EQ(
        run({graph_.add(op("LookupTableFind"), {table, of(words({"a"})), of(Tensor::scalar("?"))})}).status().code(),
        Code::kInvalidArgument);
  }
  const Value table = mutable_hash_table(graph_, {.value_shape = {2}}, "pairs");
  ASSERT_TRUE(
      run({table_insert(table, of(words({"a", "b", "c"})), of(Tensor::of<std::int64_t>({3, 2}, {1, 2, 3, 4, 5, 6})))})
          .ok());
  ASSERT_TRUE(run({table_remove(table, of(words({"a", "x"})))}).ok());
  const Value find = table_find(table, of(words({"a", "c"}).reshaped({2, 1})), of(ints({0, 0})));
  EXPECT_EQ(find.shape().to_string(), "[2,1,2]");
  expect(find, Tensor::of<std::int64_t>({2, 1, 2}, {0, 0, 5, 6}));
  expect(table_size(table), Tensor::scalar(std::int64_t{2}));
}

// 4 * 2^62 is 0 where it overflows.
TEST_F(Tables, OfMoreValuesThanThereCanBe) {
  const Value table = mutable_hash_table(graph_, {.value_shape = {std::int64_t{1} << 62}}, "huge");
  const auto ran =
      run({table_insert(table, of(words({"a", "b", "c", "d"})), of(Tensor::zeros(DType::kInt64, {4, 0})))});
  EXPECT_EQ(ran.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(ran.status().message(), HasSubstr("a shape has 2^63 elements or more"));
}

TEST_F(Tables, WithKeysThatNobodyMayUse) {
  const Value empty = of(ints({0, 0})), deleted = of(ints({0, 1}));
  const AttrMap types = {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kFloat32}};
  const Value table = graph_.add("MutableDenseHashTableV2", {empty, deleted}, types);
  const auto insert = [&](std::initializer_list<std::int64_t> key) {
    return run({table_insert(table, of(ints(key).reshaped({1, 2})), of(Tensor::vector<float>({7})))}).status();
  };
  EXPECT_TRUE(insert({1, 2}).ok());
  EXPECT_THAT(insert({0, 0}).message(), HasSubstr("empty_key"));
  EXPECT_THAT(insert({0, 1}).message(), HasSubstr("deleted_key"));
  expect(table_find(table, of(Tensor::of<std::int64_t>({2, 2}, {1, 2, 2, 1})), of(Tensor::scalar(-1.f))),
         Tensor::vector<float>({7, -1}));
  const Value old = graph_.add("MutableDenseHashTable", {empty}, types);
  ASSERT_TRUE(
      run({graph_.add("LookupTableInsert", {old, of(ints({5, 5}).reshaped({1, 2})), of(Tensor::vector<float>({7}))})
               .control()})
          .ok());
  expect(graph_.add("LookupTableSize", {old}), Tensor::scalar(std::int64_t{1}));
  EXPECT_EQ(run({graph_.add("MutableDenseHashTableV2", {empty, empty}, types)}).status().code(),
            Code::kInvalidArgument);
}

TEST_F(Tables, WithoutNames) {
  const AttrMap types = {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kInt64}};
  for (const char* name : {"AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors"}) {
    SCOPED_TRACE(name);
    const Value table = graph_.add(name, {}, types);
    const Value fill = graph_.add("LookupTableImportV2", {table, of(ints({1})), of(ints({10}))}).control();
    Value find;
    {
      const auto after = graph_.control_dependencies({fill});
      find = table_find(table, of(ints({1, 2})), of(Tensor::scalar(std::int64_t{0})));
    }
    expect(find, ints({10, 0}));
  }
  const Value marks = of(Tensor::scalar(std::int64_t{-1}));
  const Value dense =
      graph_.add("AnonymousMutableDenseHashTable", {marks, of(Tensor::scalar(std::int64_t{-2}))}, types);
  expect(table_size(dense), Tensor::scalar(std::int64_t{0}));
}

TEST(TextTables, LinesAndColumns) {
  TempDirectory temp;
  const std::string path = temp.path("t");
  File file = *File::create(path);
  ASSERT_TRUE(file.write("10\tten\r\n20\ttwenty\n30\tthirty").ok());
  ASSERT_TRUE(file.close().ok());
  const auto read = [&](const TextTable& text, DType key, DType value) {
    return read_text_table(path, text, key, value);
  };
  const auto rows = read({.key_column = 1, .value_column = 0}, DType::kString, DType::kInt64);
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(difference(rows->first, words({"ten", "twenty", "thirty"}), 0), "");
  EXPECT_EQ(difference(rows->second, ints({10, 20, 30}), 0), "");
  const auto numbered =
      read({.key_column = TextTable::kNumber, .value_column = TextTable::kLine, .lines = 2, .offset = 5}, DType::kInt64,
           DType::kString);
  ASSERT_TRUE(numbered.ok()) << numbered.status().to_string();
  EXPECT_EQ(difference(numbered->first, ints({5, 6}), 0), "");
  EXPECT_EQ(numbered->second.data<std::string>()[0], "10\tten");
  EXPECT_FALSE(read({.key_column = 2}, DType::kString, DType::kString).ok());
  EXPECT_FALSE(read({.key_column = 1}, DType::kInt64, DType::kString).ok());
  EXPECT_FALSE(read({.lines = 4}, DType::kString, DType::kString).ok());
  EXPECT_FALSE(read({.key_column = TextTable::kNumber}, DType::kString, DType::kString).ok());
}

}  // namespace
}  // namespace argosy
