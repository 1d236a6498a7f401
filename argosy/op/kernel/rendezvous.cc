#include "argosy/op/kernel/rendezvous.h"

#include <charconv>
#include <vector>

namespace argosy {

namespace {

constexpr std::size_t kHexDigits = 16;

std::string hex(std::uint64_t value) {
  std::string text(kHexDigits, '0');
  for (std::size_t i = kHexDigits; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

template <typename T>
bool parse_whole(std::string_view text, int base, T* to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *to, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

Status bad_key(std::string_view text, std::string_view why) {
  return invalid_argument("\"", text.substr(0, 200), "\" is no key of a value between tasks: ", why)
      .with_id("ARG-SEND-001")
      .with_hint("<send device>;<16 hex digits>;<receive device>;<edge>;<frame>:<iteration>");
}

}  // namespace

std::string RendezvousKey::to_string() const {
  return str_cat(send_device, ";", hex(send_incarnation), ";", receive_device, ";", edge, ";", frame, ":", iteration);
}

Result<RendezvousKey> RendezvousKey::parse(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(';', start);
    parts.push_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) break;
    start = end + 1;
  }
  if (parts.size() != 5) return bad_key(text, str_cat("it has ", parts.size(), " parts, not 5"));
  RendezvousKey key;
  key.send_device = parts[0];
  key.receive_device = parts[2];
  key.edge = parts[3];
  if (key.send_device.empty() || key.receive_device.empty() || key.edge.empty())
    return bad_key(text, "a device or the edge is empty");
  if (parts[1].size() != kHexDigits || !parse_whole(parts[1], 16, &key.send_incarnation))
    return bad_key(text, str_cat("\"", parts[1], "\" is no incarnation"));
  const std::size_t colon = parts[4].find(':');
  if (colon == std::string_view::npos || !parse_whole(parts[4].substr(0, colon), 10, &key.frame) ||
      !parse_whole(parts[4].substr(colon + 1), 10, &key.iteration) || key.iteration < 0)
    return bad_key(text, str_cat("\"", parts[4], "\" is no frame and iteration"));
  return key;
}

}  // namespace argosy
