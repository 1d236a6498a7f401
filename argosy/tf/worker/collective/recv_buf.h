// Reads and writes RecvBufRequest and RecvBufResponse of TensorFlow's WorkerService, which fetch a piece of a
// collective by its key. The bytes are a list of strings inside an Any (RecvBufRespExtra).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "argosy/rpc/wire/wire_reader.h"
#include "argosy/rpc/wire/wire_writer.h"

namespace argosy::tf {

struct RecvBufRequest {
  std::int64_t step_id = 0;
  std::string key;
  std::int64_t num_bytes = 0;       // size of the receiver's buffer
  std::string source, destination;  // devices
  std::int64_t request_id = 0;
  std::uint64_t source_incarnation = 0;
};

// INVALID_ARGUMENT "ARG-PROTO-003" when damaged.
Result<RecvBufRequest> read_recv_buf(WireReader in);
std::vector<WirePiece> write_recv_buf(const RecvBufRequest& request);

std::vector<WirePiece> write_recv_buf_response(std::span<const std::byte> bytes);
// Copies the bytes to `to`. Returns other_piece_size() if the sizes differ.
Status read_recv_buf_response(WireReader in, std::span<std::byte> to);

// INTERNAL "ARG-CLUSTER-108" in TensorFlow's words.
Status other_piece_size(std::size_t given, std::size_t wanted);

}  // namespace argosy::tf
