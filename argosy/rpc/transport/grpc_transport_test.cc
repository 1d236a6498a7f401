// A transport serves any table of methods: other services than TensorFlow's master, several paths, errors as text.
#include "argosy/rpc/transport/grpc_transport.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <future>
#include <thread>

namespace argosy::tf {
namespace {

struct Answer {
  grpc::Status status;
  std::string bytes;
};

class GrpcTransportTest : public testing::Test {
 protected:
  void start(std::vector<RpcMethod> methods, GrpcTransportOptions options = {}) {
    options.host = "127.0.0.1";
    auto transport = GrpcTransport::start(std::move(methods), std::move(options));
    ASSERT_TRUE(transport.ok()) << transport.status().to_string();
    transport_ = *std::move(transport);
    channel_ = grpc::CreateChannel(str_cat("127.0.0.1:", transport_->port()), grpc::InsecureChannelCredentials());
  }

  Answer call(const std::string& path, std::string_view request) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const grpc::Slice slice(request.data(), request.size());
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, path, {}, &bytes, &response,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    Answer answer{.status = done.get_future().get(), .bytes = {}};
    std::vector<grpc::Slice> slices;
    if (answer.status.ok() && response.Dump(&slices).ok()) {
      for (const grpc::Slice& s : slices) answer.bytes.append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
    return answer;
  }

  std::unique_ptr<GrpcTransport> transport_;
  std::shared_ptr<grpc::Channel> channel_;
};

RpcReply text_reply(std::string text) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = std::move(text);
  return pieces;
}

TEST_F(GrpcTransportTest, ServesEachPathByItsHandler) {
  std::atomic<std::size_t> sent{0};
  start({{.path = "/tensorflow.WorkerService/Echo",
          .handler = [](WireReader request, CallContext&) { return text_reply(request.joined()); }},
         {.path = "/other.Service/Length",
          .handler = [](WireReader request, CallContext&) { return text_reply(str_cat(request.remaining())); }}},
        {.on_response = [&](std::size_t bytes) { sent += bytes; }});
  EXPECT_EQ(call("/tensorflow.WorkerService/Echo", "hello").bytes, "hello");
  EXPECT_EQ(call("/other.Service/Length", std::string(1 << 20, 'x')).bytes, "1048576");
  EXPECT_EQ(sent, 12u);
  EXPECT_EQ(call("/grpc.health.v1.Health/Check", "").bytes, "\x08\x01");
  EXPECT_EQ(call("/other.Service/Missing", "").status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcTransportTest, WritesErrorsAsTheServiceSays) {
  start({{.path = "/a.B/C", .handler = [](WireReader, CallContext&) -> RpcReply { return not_found("no tensor"); }}},
        {.error_text = [](const Status& status) { return str_cat("worker 1: ", status.message()); }});
  const Answer answer = call("/a.B/C", "");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(answer.status.error_message(), "worker 1: no tensor");
}

// A step's error may quote what a user fed.
TEST_F(GrpcTransportTest, ErrorsArriveWhateverBytesTheyQuote) {
  start({{.path = "/a.B/C", .handler = [](WireReader, CallContext&) -> RpcReply {
            return invalid_argument("no number: \xfd\x8c \xe2\x82\xac");
          }}});
  const Answer answer = call("/a.B/C", "");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(answer.status.error_message(), "no number: \\xfd\\x8c \xe2\x82\xac");
}

// Long calls, one after another, have one thread. A short one between them does not wait.
TEST_F(GrpcTransportTest, LongCallsRunOnOneThread) {
  Mutex mutex;
  std::vector<std::thread::id> on;
  start({{.path = "/a.B/Long",
          .handler =
              [&](WireReader, CallContext& context) {
                context.expect_duration(-1);
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                MutexLock lock(mutex);
                on.push_back(std::this_thread::get_id());
                return text_reply("done");
              }},
         {.path = "/a.B/Short", .handler = [](WireReader, CallContext&) { return text_reply("here"); }}});
  // On a busy machine a call may come before the thread of the last one rests: then once more.
  int again = 0;
  for (int tries = 0; tries < 20 && again < 6; ++tries) {
    again = 0;
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(call("/a.B/Long", "").bytes, "done");
      EXPECT_EQ(call("/a.B/Short", "").bytes, "here");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    MutexLock lock(mutex);
    for (std::size_t i = 1; i < on.size(); ++i) again += on[i] == on[i - 1] ? 1 : 0;
    on.clear();
  }
  EXPECT_GE(again, 6);
}

TEST_F(GrpcTransportTest, StopCancelsCallsUnderWay) {
  std::promise<void> began;
  start({{.path = "/a.B/Wait", .handler = [&](WireReader, CallContext& context) -> RpcReply {
            context.expect_duration(-1);
            began.set_value();
            while (!context.cancellation().cancelled()) std::this_thread::yield();
            return context.cancellation().status();
          }}});
  auto waiting = std::async(std::launch::async, [&] { return call("/a.B/Wait", ""); });
  began.get_future().wait();
  transport_->stop(std::chrono::milliseconds(0));
  EXPECT_FALSE(waiting.get().status.ok());
}

}  // namespace
}  // namespace argosy::tf
