// Slices of tensors in checkpoints of both formats, and pieces that become one checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "argosy/base/system/file.h"
#include "argosy/base/system/test_files.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/formats/checkpoint/slice_file.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

PartOf part(const char* spec) {
  const auto parsed = parse_slice_spec(spec);
  EXPECT_TRUE(parsed.ok() && parsed->has_value()) << spec << ": " << parsed.status().to_string();
  return parsed.ok() && *parsed ? **parsed : PartOf{};
}

// 0, 1, 2 … of this shape.
Tensor counted(const Shape& shape) {
  Tensor t = Tensor::zeros(DType::kInt32, shape);
  std::iota(t.values<std::int32_t>().begin(), t.values<std::int32_t>().end(), 0);
  return t;
}

std::vector<std::int32_t> ints(const Tensor& t) {
  return {t.values<std::int32_t>().begin(), t.values<std::int32_t>().end()};
}

TEST(SliceSpec, WordsAreReadOrRefused) {
  EXPECT_FALSE(parse_slice_spec("")->has_value());
  const PartOf p = part("10 20 0,5:-");
  EXPECT_EQ(p.whole.to_string(), "[10,20]");
  EXPECT_EQ(p.slice[0].length, 5);
  EXPECT_EQ(p.slice[1].length, -1);
  for (const char* bad : {"10", "10 a", "10 0,0", "10 5,6", "10 -:-", "x 0,1", "10 0,1,2", "10 -1,2", " ", "10  0,1",
                          "99999999999999999999 -", "4294967296 4294967296 -:-", "10 9223372036854775807,1"}) {
    EXPECT_FALSE(parse_slice_spec(bad).ok()) << bad;
  }
}

TEST(CheckpointParts, AnySliceOfAPartitionedTensor) {
  TempDirectory temp;
  const std::string prefix = temp.path("c");
  // Rows 0 to 2 and 3 to 4 of [4,3], the latter in two pieces of columns.
  const std::vector<NamedPart> parts = {{"w", Tensor::of<std::int32_t>({2, 3}, {0, 1, 2, 3, 4, 5}), part("4 3 0,2:-")},
                                        {"w", Tensor::of<std::int32_t>({2, 1}, {6, 9}), part("4 3 2,2:0,1")},
                                        {"w", Tensor::of<std::int32_t>({2, 2}, {7, 8, 10, 11}), part("4 3 2,2:1,2")},
                                        {"words", Tensor::vector<std::string>({"b", "c"}), part("3 1,2")},
                                        {"words", Tensor::vector<std::string>({"a"}), part("3 0,1")},
                                        {"whole", counted({5})}};
  ASSERT_TRUE(write_parts(prefix, parts, {.shards = 2}).ok());
  const auto reader = CheckpointReader::open(prefix);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->find("w")->slices, 3);
  EXPECT_EQ(ints(*reader->read("w")), ints(counted({4, 3})));
  EXPECT_EQ(ints(*reader->read_part("w", part("4 3 1,2:1,2"))), (std::vector<std::int32_t>{4, 5, 7, 8}));
  EXPECT_EQ(ints(*reader->read_part("whole", part("5 1,3"))), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(reader->read_part("words", part("3 0,2"))->data<std::string>()[1], "b");
  EXPECT_THAT(reader->read_part("w", part("4 4 -:-")).status().message(), HasSubstr("does not match"));
  EXPECT_TRUE(reader->verify().ok());
}

TEST(CheckpointParts, PiecesBecomeOne) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("made")).ok());
  const std::string a = temp.path("made/a"), b = temp.path("made/b"), all = temp.path("all");
  ASSERT_TRUE(write_parts(a, std::vector<NamedPart>{{"w", counted({2}), part("4 0,2")}, {"x", counted({3})}}).ok());
  ASSERT_TRUE(
      write_parts(b, std::vector<NamedPart>{{"w", counted({2}), part("4 2,2")}, {"y", counted({1})}}, {.shards = 2})
          .ok());
  // A piece alone cannot give all, but what it has.
  EXPECT_FALSE(CheckpointReader::open(a).ok());
  const auto piece = CheckpointReader::open(a, true);
  ASSERT_TRUE(piece.ok()) << piece.status().to_string();
  EXPECT_THAT(piece->read("w").status().message(), HasSubstr("sufficient slices"));
  EXPECT_THAT(piece->read_part("w", part("4 1,2")).status().message(), HasSubstr("sufficient slices"));
  EXPECT_EQ(ints(*piece->read_part("w", part("4 1,1"))), (std::vector<std::int32_t>{1}));

  const std::vector<std::string> pieces = {a, b, temp.path("none")};
  EXPECT_EQ(merge_checkpoints(pieces, all).code(), Code::kInvalidArgument);
  ASSERT_TRUE(merge_checkpoints(pieces, all, {.allow_missing = true}).ok());
  EXPECT_FALSE(file_exists(temp.path("made")));
  const auto merged = CheckpointReader::open(all);
  ASSERT_TRUE(merged.ok()) << merged.status().to_string();
  EXPECT_EQ(merged->entries().size(), 3u);
  EXPECT_EQ(ints(*merged->read("w")), (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(ints(*merged->read("y")), (std::vector<std::int32_t>{0}));
  EXPECT_TRUE(merged->verify().ok());
  EXPECT_EQ(merge_checkpoints(std::vector<std::string>{all, all}, temp.path("twice")).code(), Code::kInvalidArgument);
}

// Pieces whose slices overlap would be renamed, and the merged checkpoint then refused by every reader.
TEST(CheckpointParts, PiecesThatOverlapAreLeftAsTheyAre) {
  TempDirectory temp;
  ASSERT_TRUE(make_directories(temp.path("made")).ok());
  const std::string a = temp.path("made/a"), b = temp.path("made/b"), all = temp.path("all");
  ASSERT_TRUE(write_parts(a, std::vector<NamedPart>{{"w", counted({3}), part("4 0,3")}}).ok());
  for (const char* slice : {"4 2,2", "4 1,2", "4 0,3", "4 -"}) {
    const PartOf p = part(slice);
    const std::int64_t length = p.slice[0].length < 0 ? 4 : p.slice[0].length;
    ASSERT_TRUE(write_parts(b, std::vector<NamedPart>{{"w", counted({length}), p}}).ok());
    const Status refused = merge_checkpoints(std::vector<std::string>{a, b}, all);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << slice;
    EXPECT_THAT(refused.message(), HasSubstr("'w'")) << slice;
    EXPECT_FALSE(file_exists(index_path(all))) << slice;
    EXPECT_TRUE(CheckpointReader::open(a, true).ok()) << slice;
    EXPECT_TRUE(CheckpointReader::open(b, true).ok()) << slice;
  }
}

// What readers refuse is not written.
TEST(CheckpointParts, MoreSlicesThanCanBeReadAreRefused) {
  TempDirectory temp;
  const auto slices = [&](const std::string& prefix, int first, int count) {
    std::vector<NamedPart> parts;
    for (int i = first; i < first + count; ++i) {
      parts.push_back({"w", Tensor::vector<std::int32_t>({i}), part(str_cat("5000 ", i, ",1").c_str())});
    }
    return write_parts(prefix, parts, {.durable = false});
  };
  EXPECT_EQ(slices(temp.path("many"), 0, 4097).code(), Code::kInvalidArgument);
  const std::vector<std::string> pieces = {temp.path("a"), temp.path("b")};
  ASSERT_TRUE(slices(pieces[0], 0, 4096).ok());
  ASSERT_TRUE(slices(pieces[1], 4096, 1).ok());
  EXPECT_THAT(merge_checkpoints(pieces, temp.path("all")).message(), HasSubstr("4097 slices"));
  EXPECT_TRUE(CheckpointReader::open(pieces[0], true).ok());
}

TEST(CheckpointParts, WhatDoesNotFitIsRefused) {
  TempDirectory temp;
  const auto write = [&](std::vector<NamedPart> parts) { return write_parts(temp.path("c"), parts).code(); };
  EXPECT_EQ(write({{"w", counted({2}), part("4 0,3")}}), Code::kInvalidArgument);
  EXPECT_EQ(write({{"w", counted({2}), part("4 0,2")}, {"w", counted({2}), part("4 1,2")}}), Code::kInvalidArgument);
  EXPECT_EQ(write({{"w", counted({2}), part("4 0,2")}, {"w", counted({2}), part("5 2,2")}}), Code::kInvalidArgument);
  EXPECT_EQ(write({{"w", counted({2}), part("4 0,2")}, {"w", counted({2})}}), Code::kInvalidArgument);
  EXPECT_EQ(list_directory(temp.path("."))->size(), 0u);
}

TEST(SliceFile, RoundTripsEveryDtypeInSlices) {
  TempDirectory temp;
  std::vector<NamedPart> parts;
  for (int d = 1; d <= static_cast<int>(DType::kUint64); ++d) {
    const auto dtype = static_cast<DType>(d);
    if (!is_plain(dtype) || dtype_name(dtype).starts_with("q")) continue;
    Tensor t = Tensor::zeros(dtype, {3});
    for (std::size_t i = 0; i < t.bytes(); ++i) t.raw_as<char>()[i] = dtype == DType::kBool ? i % 2 : (i * 7) % 113;
    parts.push_back({str_cat("t", d), t});
  }
  parts.push_back({"words", Tensor::vector<std::string>({"", "abc"})});
  parts.push_back({"sliced", counted({2, 2}), part("4 2 2,2:-")});
  const std::string one = temp.path("one"), two = temp.path("two");
  ASSERT_TRUE(write_slice_file(one, parts).ok());
  ASSERT_TRUE(write_slice_file(two, std::vector<NamedPart>{{"sliced", counted({2, 2}), part("4 2 0,2:-")}}).ok());
  const auto reader = SliceReader::open(std::vector<std::string>{one, two});
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  for (const NamedPart& p : parts) {
    if (p.part) continue;
    const auto back = reader->read(p.name, *reader->whole(p.name));
    ASSERT_TRUE(back.ok()) << p.name << ": " << back.status().to_string();
    ASSERT_EQ(back->dtype(), p.tensor.dtype());
    if (p.tensor.dtype() == DType::kString) {
      EXPECT_EQ(back->data<std::string>()[1], "abc");
    } else {
      EXPECT_EQ(std::memcmp(back->raw(), p.tensor.raw(), p.tensor.bytes()), 0) << p.name;
    }
  }
  EXPECT_EQ(ints(*reader->read("sliced", part("4 2 1,2:1,1"))), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(reader->read("none", part("1 -")).status().code(), Code::kNotFound);
  const std::vector<NamedPart> crossing = {{"w", counted({2}), part("4 0,2")}, {"w", counted({2}), part("4 1,2")}};
  EXPECT_EQ(write_slice_file(temp.path("three"), crossing).code(), Code::kInvalidArgument);
  EXPECT_FALSE(file_exists(temp.path("three")));
  const auto half = SliceReader::open(std::vector<std::string>{one});
  EXPECT_EQ(half->read("sliced", *half->whole("sliced")).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(SliceReader::open(std::vector<std::string>{temp.path("none")}).ok());
}

}  // namespace
}  // namespace argosy::tf
