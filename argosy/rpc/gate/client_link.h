// ClientLink: tells whether a client's connection is still open. For leases on its sessions.
#pragma once

#include <cstdint>

namespace argosy::tf {

class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // Returns the time (now_nanos()) when the connection ended; 0: it is open.
  virtual std::int64_t gone_at() const = 0;
};

}  // namespace argosy::tf
