#include "argosy/rpc/transport/rpc_bytes.h"

namespace argosy::tf {

namespace {

grpc::Slice to_slice(WirePiece piece) {
  if (!piece.tensor.valid() && piece.bytes.size() < 4096) return grpc::Slice(piece.bytes.data(), piece.bytes.size());
  auto* const held = new WirePiece(std::move(piece));
  const std::string_view view = held->view();
  return grpc::Slice(
      const_cast<char*>(view.data()), view.size(), [](void* what) { delete static_cast<WirePiece*>(what); }, held);
}

}  // namespace

grpc::ByteBuffer to_buffer(std::vector<WirePiece> pieces) {
  std::vector<grpc::Slice> slices;
  slices.reserve(pieces.size());
  for (WirePiece& piece : pieces) slices.push_back(to_slice(std::move(piece)));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string_view view_of(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

}  // namespace argosy::tf
