// Converts messages in pieces to gRPC's ByteBuffer, and its slices to views. Internal to argosy/rpc/transport.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string_view>
#include <vector>

#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

// Copies small pieces. Large ones are not copied: the buffer keeps their owners alive.
grpc::ByteBuffer to_buffer(std::vector<WirePiece> pieces);
std::string_view view_of(const grpc::Slice& slice);

}  // namespace argosy::tf
