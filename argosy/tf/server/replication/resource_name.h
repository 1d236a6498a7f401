// ResourceName: which resource a client means.
#pragma once

#include <string>
#include <utility>

namespace argosy::tf {

// Container and name. The containers of a server's clients may have variables of one name.
using ResourceName = std::pair<std::string, std::string>;

}  // namespace argosy::tf
