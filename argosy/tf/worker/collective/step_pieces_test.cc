#include "argosy/tf/worker/collective/step_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <thread>

#include "argosy/tf/worker/collective/recv_buf.h"
#include "argosy/tf/worker/collective/step_numbers.h"

namespace argosy::tf {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

struct Waiter {
  std::string got;
  Status status;
  int calls = 0;
  StepPieces::Taken taken() {
    return [this](Result<std::span<const std::byte>> piece) {
      ++calls;
      status = piece.status();
      if (piece.ok()) got.assign(reinterpret_cast<const char*>(piece->data()), piece->size());
    };
  }
};

TEST(StepPieces, AnOfferMeetsWhoTakesItInAnyOrder) {
  StepPieces pieces;
  Waiter early, late;
  int sent = 0;
  const auto done = [&](const Status& status) { sent += status.ok() ? 1 : 100; };
  (void)pieces.take(5, "a", early.taken());
  pieces.offer(5, "a", bytes("first"), done);
  pieces.offer(5, "b", bytes("second"), done);
  EXPECT_EQ(sent, 1);
  (void)pieces.take(5, "b", late.taken());
  EXPECT_EQ(sent, 2);
  EXPECT_EQ(early.got + late.got, "firstsecond");
  EXPECT_EQ(pieces.size(), 0u);
}

TEST(StepPieces, AKeyIsOfferedOnce) {
  StepPieces pieces;
  Status second;
  pieces.offer(5, "a", bytes("x"), [](const Status&) {});
  pieces.offer(5, "a", bytes("x"), [&](const Status& status) { second = status; });
  EXPECT_EQ(second.message(), "BufRendezvous::ProvideBuf already called for key a");
  pieces.forget(5);
}

TEST(StepPieces, AnAbortEndsWhatWaitsAndWhatComesLateUntilTheNumberIsUsedAgain) {
  StepPieces pieces;
  Waiter waiting, late, other;
  Status offered;
  (void)pieces.take(5, "a", waiting.taken());
  pieces.offer(5, "b", bytes("x"), [&](const Status& status) { offered = status; });
  EXPECT_TRUE(pieces.abort(5, unavailable("lost")));
  EXPECT_FALSE(pieces.abort(5, unavailable("again")));
  EXPECT_EQ(waiting.status.message(), "lost");
  EXPECT_EQ(offered.message(), "lost");
  pieces.forget(5);
  (void)pieces.take(5, "a", late.taken());
  EXPECT_EQ(late.status.message(), "lost");
  pieces.begin(5);
  (void)pieces.take(5, "a", other.taken());
  EXPECT_EQ(other.calls, 0);
  pieces.forget(5);
  EXPECT_EQ(other.calls, 1);
}

TEST(StepPieces, WhoGivesUpIsNotCalled) {
  StepPieces pieces;
  Waiter waiter;
  pieces.cancel_receive(5, pieces.take(5, "a", waiter.taken()));
  EXPECT_EQ(pieces.size(), 0u);
  EXPECT_EQ(waiter.calls, 0);
}

TEST(RecvBuf, PiecesCross) {
  std::string large(300'000, 'x');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7);
  for (const std::string& text : {std::string(), std::string("abc"), large}) {
    const std::string wire = joined(write_recv_buf_response(bytes(text)));
    const std::string_view views[] = {wire};
    std::vector<std::byte> to(text.size());
    ASSERT_TRUE(read_recv_buf_response(WireReader(views), to).ok());
    EXPECT_TRUE(std::ranges::equal(to, std::as_bytes(std::span(text))));
    std::vector<std::byte> small(text.size() + 1);
    EXPECT_EQ(read_recv_buf_response(WireReader(views), small).id(), "ARG-CLUSTER-108");
    if (text.empty()) continue;
    small.resize(text.size() - 1);
    EXPECT_EQ(read_recv_buf_response(WireReader(views), small).id(), "ARG-CLUSTER-108");
    for (std::size_t cut = 1; cut < wire.size(); cut += wire.size() / 50 + 1) {
      const std::string_view part[] = {std::string_view(wire).substr(0, cut)};
      EXPECT_FALSE(read_recv_buf_response(WireReader(part), to).ok());
    }
  }
  const RecvBufRequest request{.step_id = 7,
                               .key = "1:2:0:0:1:3:0",
                               .num_bytes = 64,
                               .source = "a",
                               .destination = "b",
                               .request_id = 9,
                               .source_incarnation = 0xfedcba9876543210};
  const std::string wire = joined(write_recv_buf(request));
  const std::string_view views[] = {wire};
  const auto read = read_recv_buf(WireReader(views));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->key, request.key);
  EXPECT_EQ(read->source_incarnation, request.source_incarnation);
}

TEST(StepNumbers, TheNextFollowsAGoodStepAndIsDrawnAnewAfterAnError) {
  StepNumbers numbers;
  EXPECT_FALSE(numbers.known(3));
  const std::int64_t first = numbers.known_or_new(3);
  EXPECT_EQ(numbers.known_or_new(3), first);
  numbers.retire(3, first, true);
  EXPECT_EQ(*numbers.known(3), first + 1);
  numbers.retire(3, first + 1, false);
  EXPECT_FALSE(numbers.known(3));
  EXPECT_NE(numbers.known_or_new(3), first + 2);
}

TEST(StepNumbers, OneStepOfAGraphAtATime) {
  StepNumbers numbers;
  Cancellation never, pulled;
  ASSERT_TRUE(numbers.enter(3, never).ok());
  ASSERT_TRUE(numbers.enter(4, never).ok());
  pulled.cancel(cancelled("enough"));
  EXPECT_EQ(numbers.enter(3, pulled).message(), "enough");
  std::thread second([&] { EXPECT_TRUE(numbers.enter(3, never).ok()); });
  numbers.leave(3);
  second.join();
}

}  // namespace
}  // namespace argosy::tf
