// The session service against mutated requests: the first byte names the method, the rest is the request, in which
// SESSIONSESSION00 stands for a session that is there.
#include <cstdint>
#include <cstring>

#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tf/server/service/session_service.h"
#include "argosy/tf/server/testing/raw_client.h"
#include "argosy/tf/server/testing/request_mutator.h"

namespace {

using namespace argosy;
using namespace argosy::tf;

constexpr std::string_view kSession = "SESSIONSESSION00";

class Call final : public CallContext {
 public:
  explicit Call(Deadlines& deadlines) : deadlines_(deadlines) {
    token_ =
        deadlines.add(std::chrono::steady_clock::now() + std::chrono::milliseconds(200), cancellation_, "fuzz").value();
  }
  ~Call() override { deadlines_.remove(token_); }
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}

 private:
  Deadlines& deadlines_;
  Cancellation cancellation_;
  Deadlines::Token token_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Deadlines deadlines;
  static const std::shared_ptr<DeviceSet> device_set = *DeviceSet::make({.emulate = "gpu:32MiB"});
  if (size == 0) return 0;
  SessionService service({.device_set = device_set, .feed_limit_bytes = 64 << 20, .max_sessions = 4});
  const auto call = [&](int method, const std::string& request) {
    const std::string_view pieces[] = {std::string_view(request).substr(0, request.size() / 2),
                                       std::string_view(request).substr(request.size() / 2)};
    Call context(deadlines);
    return service.call(static_cast<Method>(method), WireReader(pieces), context);
  };
  // x: a placeholder of any dtype that nothing reads.
  const std::string graph = std::string("\x0a\x10\x0a\x01x\x12\x0bPlaceholder", 18);
  (void)call(0, create_session_request(graph, ""));
  const auto sessions = service.sessions();
  std::string request(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (std::size_t at = 0; !sessions.empty() && (at = request.find(kSession, at)) != std::string::npos;) {
    request.replace(at, kSession.size(), sessions[0].handle);
  }
  (void)call(data[0] % kNumMethods, request);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (size == 0) return 0;
  std::mt19937_64 random(seed);
  const std::string mutant = mutate({reinterpret_cast<const char*>(data) + 1, size - 1}, random);
  const std::size_t kept = std::min(mutant.size(), most - 1);
  std::memcpy(data + 1, mutant.data(), kept);
  if (random() % 16 == 0) data[0] = static_cast<std::uint8_t>(random() % kNumMethods);
  return kept + 1;
}
