// Lists of tensors and optionals on their way to another task, and what a damaged one is.
#include "argosy/tf/worker/peers/variant_message.h"

#include <gmock/gmock.h>

#include "argosy/formats/proto/types.pb.h"
#include "argosy/ops/iterator/optional_value.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/tf/worker/peers/recv_tensor.h"

namespace argosy::tf {
namespace {

using namespace std::string_literals;

std::shared_ptr<const TensorList> as_list(const Variant& value) {
  return std::dynamic_pointer_cast<const TensorList>(value.value());
}

// {1, 2}, nothing, {3, 4}; at most seven of shape [2].
Variant a_list() {
  auto list = std::make_shared<TensorList>(DType::kFloat32, PartialShape({2}), 7);
  list = list->pushed({Tensor::vector<float>({1, 2}), &host_allocator()});
  list = list->pushed({});
  return Variant(list->pushed({Tensor::vector<float>({3, 4}), &host_allocator()}));
}

TEST(VariantMessage, AListArrivesAsItIs) {
  const auto message = write_variant(a_list());
  ASSERT_TRUE(message.ok()) << message.status().to_string();
  const auto read = read_variant(*message);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  const auto list = as_list(*read);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->describe(), as_list(a_list())->describe());
  EXPECT_EQ(list->most_elements(), 7);
  EXPECT_EQ(list->at(0).value.to_string(), "float[2] {1, 2}");
  EXPECT_FALSE(list->at(1).valid());
  EXPECT_EQ(list->at(2).value.to_string(), "float[2] {3, 4}");
}

// Recorded from TensorFlow 2.21: the metadata of tf.raw_ops.TensorListReserve and EmptyTensorList.
TEST(VariantMessage, TheFormIsTensorFlows) {
  tensorflow::VariantTensorDataProto message;
  ASSERT_TRUE(message.ParseFromString(*write_variant(a_list())));
  EXPECT_EQ(message.type_name(), "tensorflow::TensorList");
  EXPECT_EQ(message.tensors_size(), 2);
  EXPECT_EQ(message.metadata(), std::string("\x01\x01\x01\x07\x12\x02\x08\x02", 8));
  const Variant open(std::make_shared<TensorList>(DType::kInt32, PartialShape::unknown()));
  ASSERT_TRUE(message.ParseFromString(*write_variant(open)));
  EXPECT_EQ(message.metadata(), "\x00\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x18\x01"s);
  EXPECT_EQ(as_list(*read_variant(*write_variant(open)))->most_elements(), -1);
}

TEST(VariantMessage, ListsOfListsArriveAndNoDeeperThanMessagesGo) {
  Variant nested = a_list();
  for (int levels = 2; levels <= 32; ++levels) {
    const Tensor inner = Tensor::allocate(DType::kVariant, Shape(), host_allocator()).value();
    inner.data<Variant>()[0] = nested;
    nested = Variant(TensorList(DType::kVariant, PartialShape::scalar()).pushed({inner, &host_allocator()}));
  }
  const auto message = write_variant(nested);
  ASSERT_TRUE(message.ok()) << message.status().to_string();
  Variant read = read_variant(*message).value();
  for (int levels = 32; levels > 1; --levels) read = as_list(read)->at(0).value.data<Variant>()[0];
  EXPECT_EQ(as_list(read)->describe(), as_list(a_list())->describe());
  const Tensor inner = Tensor::allocate(DType::kVariant, Shape(), host_allocator()).value();
  inner.data<Variant>()[0] = nested;
  const Variant deeper(TensorList(DType::kVariant, PartialShape::scalar()).pushed({inner, &host_allocator()}));
  EXPECT_EQ(write_variant(deeper).status().id(), "ARG-SEND-009");
}

// The form is that of TensorFlow's OptionalVariant; cluster programs send them from and to its tasks.
TEST(VariantMessage, OptionalsArrive) {
  const auto sent = [](std::optional<datasets::Element> element) {
    const Variant optional(std::make_shared<datasets::OptionalValue>(std::move(element)));
    const auto message = write_variant(optional);
    EXPECT_TRUE(message.ok()) << message.status().to_string();
    return std::dynamic_pointer_cast<const datasets::OptionalValue>(read_variant(*message).value().value());
  };
  EXPECT_FALSE(sent(std::nullopt)->value().has_value());
  const Tensor list = Tensor::allocate(DType::kVariant, Shape(), host_allocator()).value();
  list.data<Variant>()[0] = a_list();
  const auto two = sent(datasets::Element{Tensor::vector<float>({1, 2}), list})->value();
  ASSERT_TRUE(two.has_value());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0].to_string(), "float[2] {1, 2}");
  EXPECT_EQ(as_list((*two)[1].data<Variant>()[0])->size(), 3);
  tensorflow::VariantTensorDataProto message;
  message.set_type_name("tensorflow::data::Optional");
  for (const std::string& metadata : {""s, "\2"s, "\xff"s, "\1\0"s}) {
    message.set_metadata(metadata);
    EXPECT_EQ(read_variant(message.SerializeAsString()).status().id(), "ARG-PROTO-001");
  }
}

class Dataset final : public VariantValue {
 public:
  std::string describe() const override { return "dataset"; }
};

TEST(VariantMessage, OtherVariantsAreRefusedByName) {
  const Status sent = write_variant(Variant(std::make_shared<Dataset>())).status();
  EXPECT_EQ(sent.id(), "ARG-SEND-009");
  EXPECT_THAT(sent.message(), testing::HasSubstr("a dataset does not travel between tasks"));
  tensorflow::VariantTensorDataProto message;
  message.set_type_name("tensorflow::DatasetVariantWrapper");
  EXPECT_EQ(read_variant(message.SerializeAsString()).status().id(), "ARG-SEND-009");
  EXPECT_EQ(read_variant(*write_variant(Variant()))->value(), nullptr);
}

TEST(VariantMessage, DamagedOnesAreErrors) {
  tensorflow::VariantTensorDataProto good;
  ASSERT_TRUE(good.ParseFromString(*write_variant(a_list())));
  const auto with_metadata = [&](const std::string& metadata) {
    tensorflow::VariantTensorDataProto message = good;
    message.set_metadata(metadata);
    return std::string(read_variant(message.SerializeAsString()).status().id());
  };
  for (std::size_t size = 0; size < 4; ++size)
    EXPECT_EQ(with_metadata(good.metadata().substr(0, size)), "ARG-PROTO-001");
  for (const std::string& metadata :
       {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, "\x01\x03\x01\x07"s, "\x02\x01\x01\x01\x07"s, "\x01\x01\x00\x07"s,
        "\x01\x01\x63\x07"s, "\x01\x01\x01\x07\xff"s}) {
    EXPECT_EQ(with_metadata(metadata), "ARG-PROTO-001");
  }
  EXPECT_NE(with_metadata("\x01\x01\x03\x07"s), "");  // elements of another dtype
  EXPECT_EQ(read_variant("\xff").status().id(), "ARG-PROTO-001");
}

TEST(VariantMessage, TravelsInARecvTensorResponse) {
  const Tensor tensor = Tensor::allocate(DType::kVariant, Shape({2}), host_allocator()).value();
  tensor.data<Variant>()[1] = a_list();
  const auto pieces = write_recv_response({.value = tensor, .dead = false});
  ASSERT_TRUE(pieces.ok()) << pieces.status().to_string();
  std::string bytes;
  for (const WirePiece& piece : *pieces) bytes += piece.bytes;
  const std::string_view all[] = {bytes};
  const auto received = read_recv_response(WireReader(all));
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  EXPECT_EQ(received->value.shape(), Shape({2}));
  EXPECT_EQ(received->value.data<Variant>()[0].value(), nullptr);
  EXPECT_EQ(as_list(received->value.data<Variant>()[1])->size(), 3);
}

}  // namespace
}  // namespace argosy::tf
