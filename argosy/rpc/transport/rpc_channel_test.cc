// Calls of one server to another: answers now and later, silence, cancellation, a server that is gone.
#include "argosy/rpc/transport/rpc_channel.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "argosy/rpc/transport/grpc_transport.h"

namespace argosy::tf {
namespace {

using std::chrono::milliseconds;

std::vector<WirePiece> text(std::string bytes) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = std::move(bytes);
  return pieces;
}

class RpcChannelTest : public testing::Test {
 protected:
  void start(std::vector<RpcMethod> methods) {
    auto made = GrpcTransport::start(std::move(methods), {.host = "127.0.0.1"});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    transport_ = *std::move(made);
    channel_ = std::make_unique<RpcChannel>(
        RpcChannelOptions{.address = str_cat("localhost:", transport_->port()), .peer = "/job:ps/replica:0/task:0"});
  }
  Result<std::string> call(const std::string& path, std::string request, milliseconds timeout = milliseconds(20'000),
                           Cancellation* cancellation = nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const RpcResponse response,
                            channel_->call(path, text(std::move(request)), timeout, cancellation));
    return response.reader().joined();
  }

  std::unique_ptr<GrpcTransport> transport_;
  std::unique_ptr<RpcChannel> channel_;
};

TEST_F(RpcChannelTest, BytesGoThereAndBack) {
  start({{"/a/Echo", [](WireReader in, CallContext&) -> RpcReply { return text("[" + in.joined() + "]"); }}});
  EXPECT_EQ(call("/a/Echo", "x").value(), "[x]");
  EXPECT_EQ(call("/a/Echo", "").value(), "[]");
  const std::string large(3 << 20, 'y');
  EXPECT_EQ(call("/a/Echo", large).value(), "[" + large + "]");
}

TEST_F(RpcChannelTest, ErrorNamesThePeer) {
  start({{"/a/Fails", [](WireReader, CallContext&) -> RpcReply { return aborted("was restarted"); }}});
  const Status status = call("/a/Fails", "").status();
  EXPECT_EQ(status.code(), Code::kAborted);
  EXPECT_EQ(status.message(), "was restarted");
  EXPECT_EQ(status.where(), str_cat("/job:ps/replica:0/task:0 at localhost:", transport_->port()));
  EXPECT_EQ(call("/a/None", "").status().code(), Code::kUnimplemented);
}

TEST(CallContext, ATransportThatCannotAnswerLaterSaysSo) {
  class Plain final : public CallContext {
   public:
    Cancellation& cancellation() override { return cancellation_; }
    void expect_duration(std::int64_t) override {}

   private:
    Cancellation cancellation_;
  } context;
  EXPECT_EQ(keep_until_cancelled(context).status().id(), "ARG-RPC-009");
}

TEST_F(RpcChannelTest, AnswersComeAfterTheHandlerReturned) {
  std::promise<std::shared_ptr<DeferredReply>> kept;
  start({{"/a/Later", [&](WireReader, CallContext& context) -> RpcReply {
            kept.set_value(context.defer_reply());
            return internal_error("dropped");
          }}});
  auto answered = std::async(std::launch::async, [&] { return call("/a/Later", ""); });
  std::shared_ptr<DeferredReply> open = kept.get_future().get();
  EXPECT_EQ(answered.wait_for(milliseconds(50)), std::future_status::timeout);
  open->answer(text("now"));
  open.reset();
  EXPECT_EQ(answered.get().value(), "now");
}

TEST_F(RpcChannelTest, AKeptCallThatIsDroppedEnds) {
  start({{"/a/Drops", [](WireReader, CallContext& context) -> RpcReply {
            (void)context.defer_reply();
            return text("");
          }}});
  EXPECT_EQ(call("/a/Drops", "").status().code(), Code::kCancelled);
}

TEST_F(RpcChannelTest, SilenceEndsByDeadlineOrCancellation) {
  std::shared_ptr<DeferredReply> open;
  std::promise<void> seen;
  start({{"/a/Silent", [&](WireReader, CallContext& context) -> RpcReply {
            open = context.defer_reply();
            Cancellation::Token token = 0;
            if (!open->cancellation().add([&] { seen.set_value(); }, &token)) seen.set_value();
            return text("");
          }}});
  EXPECT_EQ(call("/a/Silent", "", milliseconds(50)).status().code(), Code::kDeadlineExceeded);
  seen.get_future().wait();  // the server hears of it
  open.reset();
  seen = {};
  Cancellation cancellation;
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    cancellation.cancel(aborted("first cause"));
  });
  const Status status = call("/a/Silent", "", milliseconds(0), &cancellation).status();
  canceller.join();
  EXPECT_EQ(status.message(), "first cause");
  seen.get_future().wait();
  open.reset();
}

// Its first attempts were refused. gRPC would say so again for up to half a second after the server came.
TEST_F(RpcChannelTest, AServerThatComesUpIsFoundByTheNextCall) {
  const std::vector<RpcMethod> methods = {
      {"/a/Echo", [](WireReader in, CallContext&) -> RpcReply { return text("[" + in.joined() + "]"); }}};
  start(methods);
  const int port = transport_->port();
  transport_->stop(milliseconds(0));
  transport_ = nullptr;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(call("/a/Echo", "").status().code(), Code::kUnavailable);
    std::this_thread::sleep_for(milliseconds(20));
  }
  auto made = GrpcTransport::start(methods, {.host = "127.0.0.1", .port = port});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  transport_ = *std::move(made);
  const auto found = call("/a/Echo", "x");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, "[x]");
}

// Each waits for a fresh attempt, and none takes its end for an answer.
TEST_F(RpcChannelTest, ManyCallsOfAServerThatIsGoneAllFail) {
  start({});
  transport_->stop(milliseconds(0));
  EXPECT_EQ(call("/a/Echo", "").status().code(), Code::kUnavailable);
  constexpr int kCalls = 300;
  std::vector<std::promise<Code>> ended(kCalls);
  for (auto& end : ended) {
    (void)channel_->start("/a/Echo", text("x"), milliseconds(20'000),
                          [&end](const Result<RpcResponse>& answer) { end.set_value(answer.status().code()); });
  }
  for (auto& end : ended) EXPECT_EQ(end.get_future().get(), Code::kUnavailable);
}

// Silence is another thing: who asks whether a process has ended asks so.
TEST_F(RpcChannelTest, AServerThatIsGoneIsUnavailableInAShortCallToo) {
  start({});
  transport_->stop(milliseconds(0));
  int told = 0;  // on a busy machine some may end with their time
  for (int i = 0; i < 5; ++i) {
    if (call("/a/Echo", "", milliseconds(300)).status().code() == Code::kUnavailable) ++told;
  }
  EXPECT_GE(told, 3);
}

TEST_F(RpcChannelTest, ServerThatIsGoneIsUnavailableAtOnce) {
  std::shared_ptr<DeferredReply> open;
  std::promise<void> came;
  start({{"/a/Silent", [&](WireReader, CallContext& context) -> RpcReply {
            open = context.defer_reply();
            came.set_value();
            return text("");
          }}});
  Cancellation never;
  auto waiting = std::async(std::launch::async, [&] { return call("/a/Silent", "", milliseconds(0), &never); });
  came.get_future().wait();
  std::thread stopper([&] { transport_->stop(milliseconds(0)); });
  EXPECT_FALSE(waiting.get().ok());
  open.reset();
  stopper.join();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(call("/a/Silent", "", milliseconds(0), &never).status().code(), Code::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace argosy::tf
