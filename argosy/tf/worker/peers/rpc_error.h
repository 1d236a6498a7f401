// The text of a Status for a TensorFlow client: Python finds the node in it.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace argosy::tf {

// "From /job:localhost/replica:0/task:0:\n<message>\n\t [[{{node NAME}}]]" for an error of a step, the plain message
// for one that names no node; what to try is part of it. At most kMaxErrorBytes, with a mark where it was cut: it
// travels in HTTP/2 headers.
inline constexpr std::size_t kMaxErrorBytes = 3072;
// `task`: this one, "/job:localhost/replica:0/task:0". The mark of a derived error comes first: peers look there.
std::string client_message(const Status& status, std::string_view task);
// The same without the first line: what a worker says to its master, who adds it.
std::string worker_message(const Status& status);

// An error of a node whose name we know: as executors put it.
Status at_node(Status status, std::string_view node);
// The node that an error belongs to, "" when it names none.
std::string node_of(const Status& status);

}  // namespace argosy::tf
