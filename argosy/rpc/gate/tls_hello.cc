#include "argosy/rpc/gate/tls_hello.h"

#include <cstddef>

namespace argosy::tf {

namespace {

constexpr unsigned kHandshake = 22, kClientHello = 1, kSupportedVersions = 43, kTls13 = 0x0304;

// Numbers and parts, one after the other; ok is false once one did not fit.
struct Cursor {
  std::string_view rest;
  bool ok = true;

  unsigned number(std::size_t bytes) {
    unsigned value = 0;
    for (const char c : part(bytes)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view part(std::size_t bytes) {
    if (bytes > rest.size()) ok = false;
    if (!ok) return {};
    const std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return taken;
  }
};

}  // namespace

TlsHello parse_client_hello(std::string_view bytes) {
  Cursor record{bytes};
  if (!bytes.empty() && record.number(1) != kHandshake) return TlsHello::kOther;
  (void)record.part(2);  // a version that means nothing any more
  const unsigned length = record.number(2);
  if (!record.ok) return TlsHello::kIncomplete;
  if (length + 5 > kMostHelloBytes) return TlsHello::kOther;
  if (record.rest.size() < length) return TlsHello::kIncomplete;
  Cursor message{record.part(length)};
  if (message.number(1) != kClientHello) return TlsHello::kOther;
  Cursor hello{message.part(message.number(3))};
  (void)hello.part(2 + 32);           // version, random
  (void)hello.part(hello.number(1));  // session
  (void)hello.part(hello.number(2));  // ciphers
  (void)hello.part(hello.number(1));  // compressions
  Cursor extensions{hello.part(hello.number(2))};
  if (!message.ok || !hello.ok) return TlsHello::kOther;
  while (extensions.ok && !extensions.rest.empty()) {
    const unsigned kind = extensions.number(2);
    Cursor extension{extensions.part(extensions.number(2))};
    if (kind != kSupportedVersions || !extensions.ok) continue;
    Cursor versions{extension.part(extension.number(1))};
    while (extension.ok && versions.ok && !versions.rest.empty()) {
      if (versions.number(2) == kTls13 && versions.ok) return TlsHello::kSpeaks13;
    }
    return TlsHello::kOther;
  }
  return TlsHello::kOther;
}

}  // namespace argosy::tf
