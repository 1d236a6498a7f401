#include <gtest/gtest.h>

#include <cstring>

#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/types.pb.h"
#include "argosy/rpc/wire/tensor_wire.h"
#include "argosy/tf/server/session/step_request.h"

namespace argosy::tf {
namespace {

std::string serialized(const Tensor& t) {
  auto m = TensorMessage::make(t, {});
  EXPECT_TRUE(m.ok()) << m.status().to_string();
  WireWriter to;
  m->append_to(to);
  std::string bytes = joined(to.take());
  EXPECT_EQ(bytes.size(), m->size());
  return bytes;
}

// Read from pieces of every size: nothing may depend on where they end.
Result<Tensor> read_in_pieces(std::string_view bytes, std::size_t size) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += size) pieces.push_back(bytes.substr(at, size));
  return read_tensor(WireReader(pieces), {});
}

TEST(TensorWire, EveryDtypeTravelsBothWaysAndAsProtobufReadsIt) {
  const Tensor all[] = {Tensor::vector<float>({1, -2, 3.5f}),
                        Tensor::vector<double>({1e300, -0.0}),
                        Tensor::of<float>({2, 0, 3}, {}),
                        Tensor::scalar<std::int64_t>(-7),
                        Tensor::vector<bool>({true, false}),
                        Tensor::vector<std::string>({"a", "", std::string(70000, 'x')}),
                        Tensor::scalar("one"),
                        Tensor::vector<std::complex<float>>({{1, 2}, {3, 4}}),
                        Tensor::vector<std::uint8_t>({0, 255}),
                        Tensor::zeros(DType::kBfloat16, {3}),
                        Tensor::zeros(DType::kFloat16, {3}),
                        Tensor::zeros(DType::kFloat32, {100, 100})};
  for (const Tensor& t : all) {
    const std::string bytes = serialized(t);
    tensorflow::TensorProto proto;
    ASSERT_TRUE(proto.ParseFromString(bytes));
    const auto by_protobuf = from_proto(proto, 1 << 30);
    ASSERT_TRUE(by_protobuf.ok()) << by_protobuf.status().to_string();
    EXPECT_EQ(by_protobuf->to_string(100), t.to_string(100));
    for (const std::size_t size : {1, 2, 3, 7, 100, 1 << 20}) {
      const auto read = read_in_pieces(bytes, size);
      ASSERT_TRUE(read.ok()) << read.status().to_string();
      EXPECT_EQ(read->to_string(100), t.to_string(100));
      EXPECT_EQ(read->shape().to_string(), t.shape().to_string());
    }
    EXPECT_EQ(to_proto(t, &proto).code(), Code::kOk);
    const auto foreign = read_in_pieces(proto.SerializeAsString(), 1000);
    ASSERT_TRUE(foreign.ok());
    EXPECT_EQ(foreign->to_string(100), t.to_string(100));
  }
}

TEST(TensorWire, StringsArriveAsContentsFromStockClients) {
  tensorflow::TensorProto proto;
  proto.set_dtype(tensorflow::DT_STRING);
  proto.mutable_tensor_shape()->add_dim()->set_size(3);
  proto.set_tensor_content(std::string("\x01\x00\x02", 3) + "abc");
  for (const std::size_t size : {1, 2, 100}) {
    const auto read = read_in_pieces(proto.SerializeAsString(), size);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->to_string(), Tensor::vector<std::string>({"a", "", "bc"}).to_string());
  }
}

TEST(TensorWire, LargeContentsInPiecesAreCopiedWholeByAllThreads) {
  const Tensor sent = Tensor::zeros(DType::kInt32, {5'000'003});
  for (std::int64_t i = 0; i < sent.elements(); ++i) sent.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  for (const std::size_t size : {std::size_t{65519}, std::size_t{1} << 26}) {
    const auto read = read_in_pieces(serialized(sent), size);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(std::memcmp(read->raw(), sent.raw(), sent.bytes()), 0);
  }
}

TEST(TensorWire, SizesThatLieAreRefusedBeforeMemoryIsTaken) {
  tensorflow::TensorProto huge;
  huge.set_dtype(tensorflow::DT_FLOAT);
  huge.mutable_tensor_shape()->add_dim()->set_size(std::int64_t{1} << 40);
  huge.add_float_val(1);
  EXPECT_EQ(read_in_pieces(huge.SerializeAsString(), 100).status().code(), Code::kResourceExhausted);
  huge.mutable_tensor_shape()->add_dim()->set_size(std::int64_t{1} << 40);
  EXPECT_FALSE(read_in_pieces(huge.SerializeAsString(), 100).ok());
  tensorflow::TensorProto little;
  little.set_dtype(tensorflow::DT_FLOAT);
  little.mutable_tensor_shape()->add_dim()->set_size(4);
  little.set_tensor_content("seven b");
  EXPECT_EQ(read_in_pieces(little.SerializeAsString(), 100).status().code(), Code::kInvalidArgument);
  little.mutable_tensor_shape()->mutable_dim(0)->set_size(-1);
  EXPECT_EQ(read_in_pieces(little.SerializeAsString(), 100).status().code(), Code::kInvalidArgument);
  tensorflow::TensorProto strings;
  strings.set_dtype(tensorflow::DT_STRING);
  strings.mutable_tensor_shape()->add_dim()->set_size(std::int64_t{1} << 20);
  strings.set_tensor_content(
      "\x01"
      "a");
  EXPECT_EQ(read_in_pieces(strings.SerializeAsString(), 100).status().code(), Code::kInvalidArgument);
  strings.mutable_tensor_shape()->mutable_dim(0)->set_size(1);
  strings.set_tensor_content("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(read_in_pieces(strings.SerializeAsString(), 100).status().code(), Code::kInvalidArgument);
}

TEST(TensorWire, EveryCutAndEveryFlippedBitEndsInAValueOrAnError) {
  const std::string whole = serialized(Tensor::vector<std::string>({"ab", "c"}));
  int good = 0;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) good += read_in_pieces(whole.substr(0, cut), 3).ok() ? 1 : 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      good += read_in_pieces(bad, 2).ok() ? 1 : 0;
    }
  }
  EXPECT_GT(good, 0);
  EXPECT_LT(good, static_cast<int>(whole.size() * 9));
}

TEST(StepRequest, TheSignatureTellsFeedsFetchesAndTargetsApart) {
  const auto key = [](const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                      const std::vector<std::string>& targets) {
    StepRequest r;
    for (const auto& f : feeds) r.feeds.push_back({f, {}});
    for (const auto& f : fetches) r.fetches.emplace_back(f);
    for (const auto& t : targets) r.targets.emplace_back(t);
    std::string k;
    r.signature(k);
    return k;
  };
  EXPECT_EQ(key({"a"}, {"b"}, {}), key({"a"}, {"b"}, {}));
  EXPECT_NE(key({"a"}, {"b"}, {}), key({}, {"a", "b"}, {}));
  EXPECT_NE(key({}, {"ab"}, {}), key({}, {"a", "b"}, {}));
  EXPECT_NE(key({}, {"a"}, {}), key({}, {}, {"a"}));
}

}  // namespace
}  // namespace argosy::tf
