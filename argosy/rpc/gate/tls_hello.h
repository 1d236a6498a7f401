// Whether a client's first TLS message offers TLS 1.3, read where it lies. A server that speaks 1.3 then chooses it
// (RFC 8446, 4.2.1). A message that is changed on its way ends the handshake.
#pragma once

#include <string_view>

namespace argosy::tf {

enum class TlsHello { kIncomplete, kSpeaks13, kOther };

// `bytes`: the first ones of a connection. kOther: older, or no TLS at all.
TlsHello parse_client_hello(std::string_view bytes);
inline constexpr int kMostHelloBytes = 5 + (16 << 10);  // one record; longer messages are kOther

}  // namespace argosy::tf
