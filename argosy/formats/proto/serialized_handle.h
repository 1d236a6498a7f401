// Serialised ResourceHandleProtos: the strings that IteratorToStringHandle gives. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::tf {

// Where a resource is, and its name there.
struct NamedHandle {
  std::string device;  // the full name
  std::string container;
  std::string name;
};

std::string serialize_handle(const NamedHandle& handle);
// INVALID_ARGUMENT: the bytes are no ResourceHandleProto.
Result<NamedHandle> parse_handle(std::string_view bytes);

}  // namespace argosy::tf
