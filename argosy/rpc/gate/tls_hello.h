// The first message of TLS, looked at where it lies: does the client speak TLS 1.3? A server whose library speaks it
// takes it then (RFC 8446, 4.2.1), and whoever changes the message on its way ends the handshake.
#pragma once

#include <string_view>

namespace argosy::tf {

enum class TlsHello { kIncomplete, kSpeaks13, kOther };

// `bytes`: the first ones of a connection. kOther: older, or no TLS at all.
TlsHello parse_client_hello(std::string_view bytes);
inline constexpr int kMostHelloBytes = 5 + (16 << 10);  // one record; longer messages are kOther

}  // namespace argosy::tf
