// A collective over three tasks, two of which send anything (damaged_peers.h). The first byte names the collective.
#include <future>

#include "argosy/comm/net/damaged_peers.h"
#include "argosy/comm/net/net_group.h"
#include "fuzz/input_file.h"

namespace {

using namespace argosy;

Tensor floats(std::int64_t n) { return Tensor::zeros(DType::kFloat32, {n}); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  NetGroup group(std::make_unique<DamagedPeers>(std::string(as_text(data + 2, size - 2)), data[1] % 2 == 0));
  const std::vector<Tensor> in = {floats(6), floats(3)}, out = {floats(6), floats(3)}, part = {floats(2), floats(1)};
  const std::vector<Tensor> six = {floats(1), floats(2), floats(1), floats(1), floats(2), floats(1)},
                            into = {floats(1), floats(2), floats(1), floats(1), floats(2), floats(1)};
  const std::vector<Shard> shards = {{.index = 1, .tensors = in}};
  const int what = data[0] % 16;
  std::promise<Status> ended;
  if (what == 14 || what == 15) {
    if (what == 15) return (void)group.gather_texts("text", "name"), 0;
    group.start_gather_values(in, 9, [&](Result<std::vector<Tensor>> values) { ended.set_value(values.status()); });
    (void)ended.get_future().get();
    return 0;
  }
  CollectiveCall call{.kind = static_cast<Collective>(what % 11), .total = 3, .name = "c", .tensors = in};
  switch (call.kind) {
    case Collective::kAllReduceShards: call.tensors = {}, call.out = out, call.shards = shards; break;
    case Collective::kReduceScatterShards: call.tensors = {}, call.out = part, call.shards = shards; break;
    case Collective::kReduceScatter: call.out = part; break;
    case Collective::kAllGather: call.tensors = part, call.out = out; break;
    case Collective::kAllToAll: call.tensors = {in.data(), 1}, call.out = {out.data(), 1}; break;
    case Collective::kAllToAllParts: call.tensors = six, call.out = into; break;
    case Collective::kSend:
    case Collective::kRecv: call.peer = data[1] % 4 < 2 ? 0 : 2, call.tensors = {in.data(), 1}; break;
    default: break;
  }
  if (what > 10 || data[1] % 8 == 7) {
    group.start_spanning({call}, {}, 5, [&](Result<std::vector<Event>> ends) { ended.set_value(ends.status()); });
  } else {
    group.start(call, [&](Result<Event> event) { ended.set_value(event.status()); });
  }
  (void)ended.get_future().get();
  return 0;
}
