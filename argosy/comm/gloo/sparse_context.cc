#include "argosy/comm/gloo/sparse_context.h"

#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>

#include <algorithm>
#include <cstring>

#include "argosy/base/str.h"

namespace argosy {

namespace {

std::string key_of(const NetEngineOptions& options, int rank) { return str_cat(options.group, "/pairs/", rank); }

// Records of peer, number of bytes, bytes.
void append(std::string& list, int peer, const std::vector<char>& address) {
  const std::int32_t head[2] = {peer, static_cast<std::int32_t>(address.size())};
  list.append(reinterpret_cast<const char*>(head), sizeof head);
  list.append(address.begin(), address.end());
}

Result<std::vector<char>> find(const std::string& list, int peer) {
  for (std::size_t at = 0; at + 8 <= list.size();) {
    std::int32_t head[2];
    std::memcpy(head, list.data() + at, sizeof head);
    at += sizeof head;
    const auto bytes = static_cast<std::size_t>(head[1]);
    if (head[1] < 0 || bytes > list.size() - at) break;
    if (head[0] == peer) return std::vector<char>(list.begin() + at, list.begin() + at + bytes);
    at += bytes;
  }
  return unavailable("a task published no address for task ", peer).with_id("ARG-COMM-023");
}

}  // namespace

Status SparseContext::connect(const std::vector<int>& peers, const std::shared_ptr<::gloo::transport::Device>& device,
                              const NetEngineOptions& options) {
  const auto end = std::chrono::steady_clock::now() + options.timeout;
  setTimeout(options.timeout);
  device_ = device;
  const auto inner = device->createContext(rank, size);
  inner->setTimeout(options.timeout);
  transportContext_ = transport_ = std::make_shared<WatchedTransport>(inner);
  std::string mine;
  for (const int peer : peers) append(mine, peer, transportContext_->createPair(peer)->address().bytes());
  ARGOSY_RETURN_IF_ERROR(options.book.put(key_of(options, rank), mine));
  // In ascending order on every task: any other could wait in a circle.
  for (const int peer : peers) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    ARGOSY_ASSIGN_OR_RETURN(const std::string theirs,
                            options.book.get(key_of(options, peer), std::max(left, std::chrono::milliseconds(1))));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<char> address, find(theirs, rank));
    transportContext_->getPair(peer)->connect(address);
  }
  return ok_status();
}

}  // namespace argosy
