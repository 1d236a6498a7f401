// Bytes of a connection before gRPC sees them: HTTP/2 frames at the gate, and a TLS hello. The first byte says in which
// pieces they come.
#include "argosy/base/check.h"
#include "argosy/rpc/gate/http2_guard.h"
#include "argosy/rpc/gate/tls_hello.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace argosy::tf;
  if (size == 0) return 0;
  constexpr std::int64_t kMs = 1'000'000;
  const std::string_view bytes = argosy::as_text(data + 1, size - 1);
  (void)parse_client_hello(bytes);
  const auto of_peer = std::make_shared<UnfinishedBytes>(1 << 20), in_all = std::make_shared<UnfinishedBytes>(3 << 20);
  {
    std::int64_t now = 1000 * kMs;
    Http2Guard guard(of_peer, in_all, now);
    for (std::size_t at = 0, piece = data[0] + 1u; at < bytes.size(); at += piece, now += kMs) {
      if (!guard.see(bytes.substr(at, piece), now)) break;
      guard.answered(piece);
      if (!guard.in_time(now)) break;
      ARGOSY_CHECK(of_peer->now >= 0 && of_peer->now <= static_cast<std::int64_t>(2 * bytes.size()) + (1 << 20));
    }
  }
  ARGOSY_CHECK(of_peer->now == 0 && in_all->now == 0);
  return 0;
}
