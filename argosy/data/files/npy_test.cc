#include "argosy/data/files/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "argosy/base/system/test_files.h"
#include "argosy/data/dataset.h"
#include "argosy/data/test_data.h"

namespace argosy::data {
namespace {

std::string npy_file(int version, std::string header, std::string_view content) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const auto n = static_cast<std::uint32_t>(header.size());
  bytes.append(reinterpret_cast<const char*>(&n), version == 1 ? 2 : 4);
  return bytes + header + std::string(content);
}

TEST(Npy, RoundTripsEveryPlainDtypeAndShape) {
  TempDirectory temp;
  std::mt19937 random(2);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8,
                            DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16, DType::kUint32,
                            DType::kUint64, DType::kBool, DType::kComplex64, DType::kComplex128}) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{0}, Shape{3, 1, 5}}) {
      const Tensor t = Tensor::zeros(dtype, shape);
      for (std::size_t i = 0; i < t.bytes(); ++i) {
        t.raw_as<char>()[i] = static_cast<char>(dtype == DType::kBool ? random() % 2 : random());
      }
      ASSERT_TRUE(write_npy(temp.path("x.npy"), t).ok());
      EXPECT_EQ(temp.read("x.npy").size() % 64, t.bytes() % 64);  // data begins at a multiple of 64
      const auto read = read_npy(temp.path("x.npy"));
      ASSERT_TRUE(read.ok()) << read.status().to_string();
      EXPECT_EQ(read->dtype(), dtype);
      EXPECT_EQ(read->shape(), shape);
      EXPECT_TRUE(t.bytes() == 0 || std::memcmp(read->raw(), t.raw(), t.bytes()) == 0) << dtype_name(dtype);
    }
  }
  EXPECT_EQ(write_npy(temp.path("x"), Tensor::scalar("text")).code(), Code::kUnimplemented);
}

TEST(Npy, ReadsWhatNumPyWrites) {
  TempDirectory temp;
  const std::string two_floats("\0\0\x80\x3f\0\0\0\x40", 8);
  const auto values = [&](int version, const std::string& header, std::string_view content) {
    temp.write("n.npy", npy_file(version, header, content));
    return read_npy(temp.path("n.npy"));
  };
  for (const int version : {1, 2, 3}) {
    const auto read = values(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n", two_floats);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->data<float>()[1], 2.0f);
  }
  const auto big = values(1, "{'shape':(1,1),\"descr\":'>i4','fortran_order':False}", std::string("\0\0\1\2", 4));
  ASSERT_TRUE(big.ok()) << big.status().to_string();
  EXPECT_EQ(big->data<std::int32_t>()[0], 0x102);
  const auto flags = values(1, "{'descr': '|b1', 'fortran_order': True, 'shape': (2,)}\n", std::string("\7\0", 2));
  ASSERT_TRUE(flags.ok()) << flags.status().to_string();
  EXPECT_EQ(flags->raw_as<char>()[0], 1);
}

TEST(Npy, RefusesWhatItCannotRead) {
  TempDirectory temp;
  const auto code = [&](int version, const std::string& header, std::string_view content = "12345678") {
    temp.write("n.npy", npy_file(version, header, content));
    return read_npy(temp.path("n.npy")).status().code();
  };
  EXPECT_EQ(code(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2,1), }"), Code::kUnimplemented);
  EXPECT_EQ(code(1, "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }"), Code::kUnimplemented);
  EXPECT_EQ(code(1, "{'descr': '', 'fortran_order': False, 'shape': (1,), }"), Code::kUnimplemented);
  EXPECT_EQ(code(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), Code::kDataLoss);
  EXPECT_EQ(code(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"), Code::kDataLoss);
  EXPECT_EQ(code(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), Code::kDataLoss);
  EXPECT_EQ(code(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,4), }"), Code::kDataLoss);
  EXPECT_EQ(code(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), Code::kDataLoss);
  EXPECT_EQ(code(1, "{'descr': '<f4', 'fortran_order': False}"), Code::kDataLoss);
  EXPECT_EQ(code(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"), Code::kDataLoss);
  EXPECT_EQ(code(1, "__import__('os')"), Code::kDataLoss);
}

TEST(Npy, EveryCutIsRefusedAndNoFlipCrashes) {
  TempDirectory temp;
  ASSERT_TRUE(write_npy(temp.path("x.npy"), Tensor::of<float>({2, 2}, {1, 2, 3, 4})).ok());
  const std::string whole = temp.read("x.npy");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    temp.write("cut.npy", whole.substr(0, n));
    EXPECT_EQ(read_npy(temp.path("cut.npy")).status().code(), Code::kDataLoss) << n;
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    temp.write("flip.npy", flipped);
    const auto read = read_npy(temp.path("flip.npy"));
    if (read.ok()) {
      EXPECT_EQ(read->bytes(), 16u);
    }
  }
}

TEST(NpyDataset, TakesTheFilesOfItsSplit) {
  TempDirectory temp;
  ASSERT_TRUE(write_npy(temp.path("y_train.npy"), Tensor::vector<std::int64_t>({2, 0, 1})).ok());
  ASSERT_TRUE(write_npy(temp.path("x_train.npy"), Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6})).ok());
  ASSERT_TRUE(write_npy(temp.path("x_test.npy"), Tensor::of<double>({1, 2}, {7, 8})).ok());
  const auto train = open_dataset(temp.path());
  ASSERT_TRUE(train.ok()) << train.status().to_string();
  EXPECT_EQ((*train)->components()[0].name, "x");
  EXPECT_EQ((*train)->classes(), 3);
  const auto batch = batch_for(**train, 1);
  const std::int64_t index = 1;
  ASSERT_TRUE((*train)->fetch(std::span(&index, 1), batch).ok());
  EXPECT_EQ(batch[0].data<double>()[1], 4);
  EXPECT_EQ(batch[1].data<std::int64_t>()[0], 0);
  EXPECT_EQ((*open_dataset(temp.path(), {.split = "test"}))->components().size(), 1u);
  ASSERT_TRUE(write_npy(temp.path("y_test.npy"), Tensor::scalar(1.0f)).ok());
  EXPECT_EQ(open_dataset(temp.path(), {.split = "test"}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy::data
