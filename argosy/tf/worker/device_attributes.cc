#include "argosy/tf/worker/device_attributes.h"

#include <cmath>

#include "argosy/formats/proto/master.pb.h"

namespace argosy::tf {

void describe_device(const DeviceSpec& spec, tensorflow::DeviceAttributes& to) {
  to.set_name(spec.name.to_string());
  to.set_device_type(spec.name.type);
  // TensorFlow reports 256 MiB for every CPU.
  to.set_memory_limit(spec.is_gpu() ? static_cast<std::int64_t>(spec.memory_limit_bytes) : 256 << 20);
  to.set_incarnation(spec.incarnation);
  to.set_physical_device_desc(spec.description);
  if (spec.speed != 1) to.set_argosy_speed(spec.speed);
  if (spec.kind == DeviceKind::kCuda) to.set_argosy_kind(std::string(device_kind_name(spec.kind)));
}

Result<DeviceSpec> read_device(const tensorflow::DeviceAttributes& device) {
  DeviceSpec spec;
  ARGOSY_ASSIGN_OR_RETURN(spec.name, DeviceName::parse(device.name()));
  if (spec.name.job.empty() || !spec.name.replica || !spec.name.task || spec.name.type.empty() || !spec.name.id) {
    return invalid_argument("a device of another task is called \"", device.name(), "\", which is no full name")
        .with_id("ARG-CLUSTER-010");
  }
  spec.incarnation = device.incarnation();
  spec.memory_limit_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(device.memory_limit(), 0));
  spec.description = device.physical_device_desc();
  if (device.argosy_speed() > 0 && std::isfinite(device.argosy_speed())) spec.speed = device.argosy_speed();
  if (device.argosy_kind() == device_kind_name(DeviceKind::kCuda)) spec.kind = DeviceKind::kCuda;
  return spec;
}

}  // namespace argosy::tf
