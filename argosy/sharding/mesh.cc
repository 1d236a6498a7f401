#include "argosy/sharding/mesh.h"

#include <set>

#include "argosy/base/str.h"

namespace argosy {

int Mesh::size() const {
  int size = 1;
  for (const MeshAxis& axis : axes) size *= axis.size;
  return size;
}

int Mesh::device_count() const {
  int size = 1;
  for (const MeshAxis& axis : axes) size *= axis.over == MeshAxis::Over::kDevices ? axis.size : 1;
  return size;
}

const MeshAxis* Mesh::find(std::string_view name) const {
  for (const MeshAxis& axis : axes) {
    if (axis.name == name) return &axis;
  }
  return nullptr;
}

Status Mesh::check() const {
  const auto wrong = [](auto&&... what) { return invalid_argument(what...).with_id("ARG-SHARD-001"); };
  std::set<std::string_view> names;
  for (const MeshAxis& axis : axes) {
    if (axis.size < 1) return wrong("the mesh axis '", axis.name, "' has size ", axis.size, "; it needs at least 1");
    if (!names.insert(axis.name).second) return wrong("two mesh axes have the name '", axis.name, "'");
    if (!axis.weights.empty() && std::ssize(axis.weights) != axis.size) {
      return wrong("the mesh axis '", axis.name, "' has ", axis.size, " shards and ", axis.weights.size(), " weights");
    }
  }
  if (device_count() == std::ssize(devices)) return ok_status();
  return wrong("the mesh axes have room for ", device_count(), " devices, and there are ", devices.size());
}

}  // namespace argosy
