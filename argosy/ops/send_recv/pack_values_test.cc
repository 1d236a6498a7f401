#include "argosy/ops/send_recv/pack_values.h"

#include <gtest/gtest.h>

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/random_case.h"

namespace argosy {
namespace {

const OpDef& op(const char* name) { return *builtin_ops().find(name); }

std::vector<Tensor> some_values() {
  return {Tensor::vector<float>({1, -2.5, 3}),
          Tensor::scalar(std::int64_t{-7}),
          Tensor::vector<float>({}),
          Tensor::vector<std::uint8_t>({1, 2, 3}),
          Tensor::scalar(true),
          Tensor::vector<double>({0.5})};
}

Result<Tensor> packed(const std::vector<Tensor>& values) {
  std::vector<DType> dtypes;
  for (const Tensor& t : values) dtypes.push_back(t.dtype());
  ARGOSY_ASSIGN_OR_RETURN(auto out, evaluate_op(op("_PackValues"), {{"T", dtypes}}, values));
  return out[0];
}

Result<std::vector<Tensor>> unpacked(const Tensor& message, const std::vector<Tensor>& like) {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (const Tensor& t : like) {
    dtypes.push_back(t.dtype());
    shapes.push_back(PartialShape());
  }
  return evaluate_op(op("_UnpackValues"), {{"T", dtypes}, {"shapes", shapes}}, {message});
}

TEST(PackValues, ThereAndBack) {
  const std::vector<Tensor> values = some_values();
  const auto message = packed(values);
  ASSERT_TRUE(message.ok()) << message.status().to_string();
  const auto back = unpacked(*message, values);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  ASSERT_EQ(back->size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(difference((*back)[i], values[i], 0), "") << i;
}

// Every message that is cut off, has more than it should, or another byte in a header is an error or other values.
TEST(PackValues, DamagedMessagesAreErrors) {
  const std::vector<Tensor> values = some_values();
  const Tensor message = packed(values).value();
  const auto* const bytes = static_cast<const std::uint8_t*>(message.raw());
  std::vector<std::uint8_t> copy(bytes, bytes + message.bytes());
  const auto as_tensor = [](const std::vector<std::uint8_t>& from) {
    Tensor t =
        Tensor::allocate(DType::kUint8, Shape({static_cast<std::int64_t>(from.size())}), host_allocator()).value();
    std::copy(from.begin(), from.end(), static_cast<std::uint8_t*>(t.raw()));
    return t;
  };
  for (std::size_t n = 0; n < copy.size(); ++n) {
    const auto got = unpacked(as_tensor({copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(n)}), values);
    EXPECT_EQ(got.status().id(), "ARG-SEND-007") << n << " bytes";
  }
  std::vector<std::uint8_t> longer = copy;
  longer.resize(copy.size() + 8);
  EXPECT_EQ(unpacked(as_tensor(longer), values).status().id(), "ARG-SEND-007");
  for (std::size_t n = 0; n < copy.size(); ++n) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::vector<std::uint8_t> other = copy;
      other[n] = static_cast<std::uint8_t>(other[n] ^ flip);
      (void)unpacked(as_tensor(other), values);  // no access beyond the message: what ASan looks for
    }
  }
}

TEST(PackValues, TextsHaveNoBytes) { EXPECT_FALSE(packed({Tensor::scalar(std::string("x"))}).ok()); }

}  // namespace
}  // namespace argosy
