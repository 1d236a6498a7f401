// Finds out whether a TLS ClientHello offers TLS 1.3. A server that supports 1.3 then chooses it (RFC 8446, 4.2.1). If
// the message was tampered with, the handshake fails.
#pragma once

#include <string_view>

namespace argosy::tf {

enum class TlsHello { kIncomplete, kSpeaks13, kOther };

// `bytes`: the first bytes of a connection. kOther: it offers only older versions, or is no TLS at all.
TlsHello parse_client_hello(std::string_view bytes);
inline constexpr int kMostHelloBytes = 5 + (16 << 10);  // one record; longer messages are kOther

}  // namespace argosy::tf
