#include "argosy/rpc/gate/peer_filter.h"

#include <algorithm>
#include <charconv>

namespace argosy::tf {

namespace {

bool same_prefix(const unsigned char* a, const unsigned char* b, int bits) {
  if (!std::equal(a, a + bits / 8, b)) return false;
  const int rest = bits % 8;
  return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto address = parse_address(host);
  return address && address->loopback();
}

Result<PeerFilter> PeerFilter::parse(const std::vector<std::string>& networks) {
  PeerFilter filter;
  for (const std::string& text : networks) {
    const std::size_t slash = text.find('/');
    const auto address = parse_address(std::string_view(text).substr(0, slash));
    bool good = address.has_value();
    int bits = good ? address->bits() : 0;
    if (good && slash != std::string::npos) {
      const char* const end = text.data() + text.size();
      const auto parsed = std::from_chars(text.data() + slash + 1, end, bits);
      good = parsed.ec == std::errc() && parsed.ptr == end && bits >= 0 && bits <= address->bits();
    }
    if (!good) return invalid_argument("'", text, "' is no network; wanted one like 10.0.0.0/8").with_id("ARG-USAGE");
    filter.networks_.push_back({*address, bits});
  }
  return filter;
}

bool PeerFilter::names(const PeerAddress& peer) const {
  return std::ranges::any_of(networks_, [&](const Network& n) {
    return n.address.family == peer.family && same_prefix(n.address.bytes.data(), peer.bytes.data(), n.bits);
  });
}

}  // namespace argosy::tf
