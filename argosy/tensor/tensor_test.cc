#include "argosy/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace argosy {
namespace {

TEST(Bits16, RoundTripsEveryHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = float16::from_bits(static_cast<std::uint16_t>(bits));
    const auto brain = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (!std::isnan(static_cast<float>(half))) {
      EXPECT_EQ(float16(static_cast<float>(half)).bits, bits);
    }
    if (!std::isnan(static_cast<float>(brain))) {
      EXPECT_EQ(bfloat16(static_cast<float>(brain)).bits, bits);
    }
  }
  EXPECT_EQ(float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0f).bits, 0x7c00);  // ties to even: infinity
  EXPECT_EQ(bfloat16(1.00390625f).bits, 0x3f80);
}

TEST(Shape, RefusesOverflowAndNegativeSizes) {
  const std::int64_t big[] = {1 << 30, 1 << 30, 8};
  EXPECT_FALSE(Shape::make(big).ok());
  const std::int64_t hidden[] = {0, std::int64_t{1} << 62, 4};
  EXPECT_FALSE(Shape::make(hidden).ok());
  const std::int64_t negative[] = {2, -3};
  EXPECT_FALSE(Shape::make(negative).ok());
}

// What no tensor can have is not fully known: whoever asks is_full() may then take full().
TEST(Shape, PartialShapesThatOverflowAreNotFull) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_TRUE(PartialShape({kHuge, 4}).is_full());
  for (const PartialShape& shape : {PartialShape({kHuge, kHuge}), PartialShape({0, kHuge, kHuge})}) {
    EXPECT_FALSE(shape.is_full()) << shape.to_string();
    EXPECT_FALSE(shape.full().ok()) << shape.to_string();
    EXPECT_EQ(shape.elements(), PartialShape::kUnknown) << shape.to_string();
  }
  EXPECT_FALSE(PartialShape(PartialShape::Sizes(Shape::kMaxRank + 1, 1)).is_full());
}

TEST(Shape, CopiesDeepShapes) {
  const Shape deep = {1, 2, 3, 4, 5, 6, 7, 8};
  Shape copy = deep;
  EXPECT_EQ(copy, deep);
  copy = Shape{2, 3};
  EXPECT_EQ(copy.elements(), 6);
  EXPECT_EQ(deep.strides()[6], 8);
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(*broadcast(Shape{4, 1, 3}, Shape{2, 1}), (Shape{4, 2, 3}));
  EXPECT_FALSE(broadcast(Shape{2}, Shape{3}).ok());
  EXPECT_EQ(broadcast(PartialShape{-1, 3}, PartialShape{5, 1})->to_string(), "[5,3]");
}

TEST(Tensor, ViewsShareMemory) {
  const Tensor t = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor tail = t.rows(1, 3);
  EXPECT_EQ(tail.shape(), (Shape{2, 2}));
  EXPECT_EQ(tail.data<float>()[0], 3);
  EXPECT_FALSE(t.unique());
  EXPECT_EQ(t.to_string(2), "float[3,2] {1, 2, …}");
}

TEST(Tensor, BorrowedBecomesOwned) {
  float values[2] = {1, 2};
  const Tensor borrowed(DType::kFloat32, {2}, Buffer::borrow(values, sizeof values));
  const Tensor owned = borrowed.owned();
  values[0] = 9;
  EXPECT_EQ(owned.data<float>()[0], 1);
}

TEST(Tensor, Strings) {
  const Tensor t = Tensor::vector<std::string>({"a", "long enough not to be stored inline"});
  EXPECT_EQ(t.clone().data<std::string>()[1], "long enough not to be stored inline");
}

// A graph chains as many as it likes. Freed one within the other they would need a stack of that depth.
TEST(Tensor, LongChainsOfValuesAndHandlesAreFreed) {
  struct Box final : VariantValue {
    explicit Box(Tensor t) : inner(std::move(t)) {}
    std::string describe() const override { return "box"; }
    Tensor inner;
  };
  struct Place final : Resource {
    Place(Tensor t, int& count) : inner(std::move(t)), left(count) { ++left; }
    ~Place() override { --left; }
    std::string describe() const override { return "place"; }
    Tensor inner;
    int& left;
  };
  constexpr int kLevels = 300'000;
  int left = 0;
  {
    Tensor chain = Tensor::scalar(1.0F);
    for (int i = 0; i < kLevels; ++i) {
      chain = Tensor::scalar(ResourceHandle("", "", std::make_shared<Place>(std::move(chain), left)));
      chain = Tensor::scalar(Variant(std::make_shared<Box>(std::move(chain))));
    }
    EXPECT_EQ(left, kLevels);
  }
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace argosy
