// What another task answers: the first byte names what was asked, the rest is the answer. And texts that name values and
// tasks.
#include <cstring>
#include <random>

#include "argosy/base/check.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/rendezvous.h"
#include "argosy/tf/server/testing/request_mutator.h"
#include "argosy/tf/worker/device_attributes.h"
#include "argosy/tf/worker/partition_graph.h"
#include "argosy/tf/worker/peers/peers.h"
#include "argosy/tf/worker/peers/recv_tensor.h"
#include "argosy/tf/worker/run_graph_message.h"
#include "argosy/tf/worker/step_metadata.h"
#include "fuzz/input_file.h"

namespace {

constexpr int kKinds = 6;

void check_key(std::string_view text) {
  const auto key = argosy::RendezvousKey::parse(text);
  if (!key.ok()) return;
  const auto again = argosy::RendezvousKey::parse(key->to_string());
  ARGOSY_CHECK(again.ok() && *again == *key);
  (void)argosy::tf::task_of(key->send_device);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace argosy;
  using namespace argosy::tf;
  if (size == 0) return 0;
  const std::string_view bytes = as_text(data + 1, size - 1);
  const std::string_view pieces[] = {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)};
  switch (data[0] % kKinds) {
    case 0:
      if (const auto value = read_recv_response(WireReader(pieces)); value.ok() && !value->dead) {
        ARGOSY_CHECK(value->value.valid() && write_recv_response(*value).ok());
      }
      break;
    case 1:
      if (const auto answer = read_run_graph_answer(WireReader(pieces)); answer.ok()) {
        for (const auto& [key, value] : answer->received) {
          ARGOSY_CHECK(value.valid());
          check_key(key);
        }
      }
      break;
    case 2: {
      tensorflow::GetStatusResponse status;
      if (!status.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) break;
      for (const auto& device : status.device_attributes()) {
        const auto spec = read_device(device);
        if (!spec.ok()) continue;
        tensorflow::DeviceAttributes again;
        describe_device(*spec, again);
        ARGOSY_CHECK(again.name() == spec->name.to_string());
      }
      break;
    }
    case 3: {
      tensorflow::StepStats told;
      if (!told.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) break;
      StepStats stats;
      stats.keep_ops = true;
      read_step_stats(told, stats);
      tensorflow::RunMetadata metadata;
      add_step_stats(stats, Graph(), metadata);
      break;
    }
    case 4: check_key(bytes); break;
    default: (void)read_partition(bytes);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (size == 0) return 0;
  std::mt19937_64 random(seed);
  const std::string mutant = argosy::tf::mutate({reinterpret_cast<const char*>(data) + 1, size - 1}, random);
  const std::size_t kept = std::min(mutant.size(), most - 1);
  std::memcpy(data + 1, mutant.data(), kept);
  if (random() % 32 == 0) data[0] = static_cast<std::uint8_t>(random() % kKinds);
  return kept + 1;
}
