// Messages in pieces, as gRPC takes and gives them. Internal to argosy/rpc/transport.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string_view>
#include <vector>

#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

// Small pieces are copied, large ones lent.
grpc::ByteBuffer to_buffer(std::vector<WirePiece> pieces);
std::string_view view_of(const grpc::Slice& slice);

}  // namespace argosy::tf
