#include "argosy/formats/proto/tensor_proto.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "argosy/formats/proto/types.pb.h"

namespace argosy::tf {
namespace {

constexpr std::int64_t kLimit = 1 << 20;

TEST(TensorProto, RoundTripsEveryDtype) {
  std::mt19937 random(1);
  for (int d = 1; d <= static_cast<int>(DType::kUint64); ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::kResource || dtype == DType::kVariant) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 3}}) {
      const Tensor t = Tensor::zeros(dtype, shape);
      if (dtype == DType::kString) {
        for (auto& s : t.values<std::string>()) s = std::string(random() % 5, 'x');
      } else {
        for (std::size_t i = 0; i < t.bytes(); ++i) {
          t.raw_as<char>()[i] = static_cast<char>(dtype == DType::kBool ? random() % 2 : random());
        }
      }
      tensorflow::TensorProto proto;
      ASSERT_TRUE(to_proto(t, &proto).ok());
      const auto back = from_proto(proto, kLimit);
      ASSERT_TRUE(back.ok()) << back.status().to_string();
      EXPECT_EQ(back->dtype(), dtype);
      EXPECT_EQ(back->shape(), shape);
      if (dtype == DType::kString) {
        EXPECT_TRUE(std::ranges::equal(back->values<std::string>(), t.values<std::string>()));
      } else if (t.bytes() > 0) {
        EXPECT_EQ(std::memcmp(back->raw(), t.raw(), t.bytes()), 0);
      }
    }
  }
  tensorflow::TensorProto proto;
  EXPECT_EQ(to_proto(Tensor::zeros(DType::kResource, {}), &proto).code(), Code::kUnimplemented);
}

tensorflow::TensorProto of(tensorflow::DataType dtype, std::initializer_list<std::int64_t> sizes) {
  tensorflow::TensorProto proto;
  proto.set_dtype(dtype);
  for (const auto size : sizes) proto.mutable_tensor_shape()->add_dim()->set_size(size);
  return proto;
}

TEST(TensorProto, QuantisedValuesAreIntegers) {
  auto narrow = of(tensorflow::DT_QINT8, {3}), wide = of(tensorflow::DT_QUINT16, {2});
  for (const int v : {-3, 7}) narrow.add_int_val(v);
  wide.add_int_val(65535);
  const auto a = from_proto(narrow, kLimit), b = from_proto(wide, kLimit);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status().to_string() << b.status().to_string();
  EXPECT_THAT(std::vector<int>(a->raw_as<std::int8_t>(), a->raw_as<std::int8_t>() + 3), testing::ElementsAre(-3, 7, 7));
  EXPECT_THAT(std::vector<int>(b->raw_as<std::uint16_t>(), b->raw_as<std::uint16_t>() + 2),
              testing::ElementsAre(65535, 65535));
}

TEST(TensorProto, ShortListsRepeatTheirLastValue) {
  auto floats = of(tensorflow::DT_FLOAT, {4});
  floats.add_float_val(1);
  floats.add_float_val(2);
  EXPECT_EQ(from_proto(floats, kLimit)->to_string(), "float[4] {1, 2, 2, 2}");
  EXPECT_EQ(from_proto(of(tensorflow::DT_INT32, {2}), kLimit)->to_string(), "int32[2] {0, 0}");
  auto half = of(tensorflow::DT_HALF, {2});
  half.add_half_val(0x3c00);
  EXPECT_EQ(static_cast<float>(from_proto(half, kLimit)->data<float16>()[1]), 1.0f);
  auto complex = of(tensorflow::DT_COMPLEX64, {2});
  complex.add_scomplex_val(1);
  complex.add_scomplex_val(-1);
  EXPECT_EQ(from_proto(complex, kLimit)->data<std::complex<float>>()[1], std::complex<float>(1, -1));
  auto strings = of(tensorflow::DT_STRING, {3});
  strings.add_string_val("a");
  EXPECT_EQ(from_proto(strings, kLimit)->data<std::string>()[2], "a");
  strings.clear_string_val();
  strings.set_tensor_content(std::string("\1\0\2abc", 6));
  EXPECT_EQ(from_proto(strings, kLimit)->data<std::string>()[2], "bc");
}

TEST(TensorProto, RefusesDamage) {
  const auto code = [](const tensorflow::TensorProto& p) { return from_proto(p, kLimit).status().code(); };
  EXPECT_EQ(code(of(tensorflow::DT_FLOAT, {1 << 20})), Code::kResourceExhausted);
  EXPECT_EQ(code(of(tensorflow::DT_STRING, {1 << 20})), Code::kResourceExhausted);
  EXPECT_NE(code(of(tensorflow::DT_FLOAT, {INT64_MAX, 2})), Code::kOk);
  EXPECT_EQ(code(of(tensorflow::DT_FLOAT, {-1})), Code::kInvalidArgument);
  EXPECT_EQ(code(of(tensorflow::DT_FLOAT, {-5})), Code::kInvalidArgument);
  EXPECT_EQ(code(of(static_cast<tensorflow::DataType>(77), {})), Code::kUnimplemented);
  auto many = of(tensorflow::DT_INT64, {1});
  many.add_int64_val(1);
  many.add_int64_val(2);
  EXPECT_EQ(code(many), Code::kInvalidArgument);
  auto content = of(tensorflow::DT_FLOAT, {2});
  content.set_tensor_content("short");
  EXPECT_EQ(code(content), Code::kInvalidArgument);
  auto strings = of(tensorflow::DT_STRING, {2});
  strings.set_tensor_content("\5\5ab");
  EXPECT_EQ(code(strings), Code::kInvalidArgument);
  auto odd = of(tensorflow::DT_COMPLEX64, {2});
  odd.add_scomplex_val(1);
  EXPECT_EQ(code(odd), Code::kInvalidArgument);
}

// A few bytes that stand for many values: the message does not pay for them, the budget does.
TEST(TensorProto, RepeatedValuesAreCounted) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const std::int64_t before = host_budget().in_use();
  const auto limit = host_budget().with_limit(before + (8 << 20));
  auto floats = of(tensorflow::DT_FLOAT, {1 << 20});
  floats.add_float_val(1);
  {
    const auto one = from_proto(floats, kLarge, HostUse::kGraphs);
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    EXPECT_GE(host_budget().in_use() - before, 4 << 20);
    EXPECT_EQ(one->data<float>()[(1 << 20) - 1], 1);
    const Tensor copy = *one;
    const auto two = from_proto(floats, kLarge);
    EXPECT_TRUE(two.ok()) << two.status().to_string();
    const Status three = from_proto(floats, kLarge).status();
    EXPECT_EQ(three.id(), "ARG-MEM-004") << three.to_string();
    EXPECT_THAT(three.message(), testing::HasSubstr("float[1048576]"));
    EXPECT_THAT(three.message(), testing::HasSubstr("graphs 4.0 MiB"));
  }
  EXPECT_EQ(host_budget().in_use(), before);
  floats.clear_float_val();
  floats.mutable_tensor_shape()->mutable_dim(0)->set_size(4 << 20);
  EXPECT_EQ(from_proto(floats, kLarge).status().id(), "ARG-MEM-004") << "zeros";
  auto strings = of(tensorflow::DT_STRING, {1000});
  strings.add_string_val(std::string(100'000, 's'));
  EXPECT_EQ(from_proto(strings, kLarge).status().id(), "ARG-MEM-004");
  strings.mutable_tensor_shape()->mutable_dim(0)->set_size(10);
  {
    const auto few = from_proto(strings, kLarge);
    ASSERT_TRUE(few.ok()) << few.status().to_string();
    EXPECT_GE(host_budget().in_use() - before, 1'000'000);
    EXPECT_EQ(few->data<std::string>()[9].size(), 100'000u);
  }
  EXPECT_EQ(host_budget().in_use(), before);
}

TEST(ShapeProto, RoundTrips) {
  for (const PartialShape& shape : {PartialShape::unknown(), PartialShape::scalar(), PartialShape{-1, 3}}) {
    tensorflow::TensorShapeProto proto;
    to_proto(shape, &proto);
    EXPECT_EQ(*from_proto(proto), shape);
  }
}

}  // namespace
}  // namespace argosy::tf
