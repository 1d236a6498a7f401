// Packs several small values into one message, since every `_Send` and `_Recv` pair costs a call, however small its
// value.
//
//   a, b, c ─► _PackValues ─► uint8 [n] ─► _Send · · · ► _Recv ─► _UnpackValues ─► a, b, c
//
// The message, little-endian, for each value: u32 dtype, u32 rank, u64 sizes, then the elements. Every header and every
// value starts at a multiple of 8 bytes. Values have plain dtypes.
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class KernelRegistry;  // argosy/op/kernel/kernel.h

// Adds the node that packs these values, on this device. Its output 0 is the message.
Result<NodeId> add_pack(Graph& graph, std::string name, const std::vector<Endpoint>& values, std::string device);
// Adds the node that unpacks it: output i has dtypes[i], and a shape compatible with shapes[i].
Result<NodeId> add_unpack(Graph& graph, std::string name, Endpoint message, std::vector<DType> dtypes,
                          std::vector<PartialShape> shapes, std::string device);

void define_pack_values(OpRegistry& ops);               // called by define_send_recv()
void add_kernels_pack_values(KernelRegistry& kernels);  // called by add_kernels_cpu_send_recv()

}  // namespace argosy
