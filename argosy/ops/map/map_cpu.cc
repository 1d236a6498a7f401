// Kernels: maps from tensors to tensors. A map is copied when it changes: entries are few, their tensors shared.
#include <algorithm>
#include <memory>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/list/element_memory.h"
#include "argosy/ops/sparse/coo.h"

namespace argosy {

namespace {

class TensorMap final : public VariantValue {
 public:
  struct Entry {
    Tensor key, value;
  };
  std::string describe() const override { return str_cat("map of ", entries.size(), " tensors"); }
  Result<Variant> zeros_like(Allocator&) const override { return Variant(std::make_shared<TensorMap>()); }
  // Keys of both; values of keys that both have are added.
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override;

  // In the order in which they were inserted.
  std::vector<Entry> entries;

  std::size_t find(const Tensor& key) const {
    const auto same = [&](const Entry& e) {
      return e.key.dtype() == key.dtype() && e.key.shape() == key.shape() &&
             attr_equal(AttrValue(e.key), AttrValue(key));
    };
    return static_cast<std::size_t>(std::find_if(entries.begin(), entries.end(), same) - entries.begin());
  }
};

Result<Variant> TensorMap::plus(const VariantValue& other, Allocator& memory) const {
  const auto* const more = dynamic_cast<const TensorMap*>(&other);
  if (more == nullptr) return invalid_argument("a ", describe(), " and a ", other.describe(), " cannot be added");
  auto sum = std::make_shared<TensorMap>(*this);
  for (const Entry& entry : more->entries) {
    const std::size_t at = sum->find(entry.key);
    if (at == sum->entries.size()) {
      sum->entries.push_back(entry);
      continue;
    }
    const Tensor& a = sum->entries[at].value;
    const Tensor& b = entry.value;
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
      return invalid_argument("values of one key differ: ", dtype_name(a.dtype()), a.shape(), " and ",
                              dtype_name(b.dtype()), b.shape());
    }
    Allocator& host = written_by_host(memory);
    ARGOSY_ASSIGN_OR_RETURN(Element added, sum_of({a, &host}, {b, &host}, host, nullptr));
    sum->entries[at].value = std::move(added.value);
  }
  return Variant(std::move(sum));
}

Result<std::shared_ptr<const TensorMap>> map_input(const KernelContext& c) {
  if (c.input(0).shape().rank() != 0)
    return invalid_argument("input map must be a scalar, not of shape ", c.input(0).shape());
  auto map = std::dynamic_pointer_cast<const TensorMap>(c.input(0).data<Variant>()->value());
  if (map == nullptr) return invalid_argument("Input handle is not a map.");
  return map;
}

Result<Tensor> kept(const Tensor& t) {
  const bool known = is_plain(t.dtype()) || t.dtype() == DType::kString;
  if (!known) return invalid_argument("maps hold numbers and strings, not ", dtype_name(t.dtype()));
  return t.owned();
}

Status put(KernelContext& c, std::shared_ptr<const TensorMap> map) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<Variant>() = Variant(std::move(map));
  return ok_status();
}

Status empty(KernelContext& c) { return put(c, std::make_shared<TensorMap>()); }

Status insert(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_input(c));
  auto changed = std::make_shared<TensorMap>(*map);
  ARGOSY_ASSIGN_OR_RETURN(Tensor key, kept(c.input(1)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor value, kept(c.input(2)));
  const std::size_t at = map->find(key);
  if (at < changed->entries.size()) {
    changed->entries[at].value = std::move(value);
  } else {
    changed->entries.push_back({std::move(key), std::move(value)});
  }
  return put(c, std::move(changed));
}

Status lookup(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_input(c));
  const std::size_t at = map->find(c.input(1));
  if (at == map->entries.size())
    return invalid_argument("Trying to lookup non-existent key. Could not find key ", c.input(1));
  const Tensor& value = map->entries[at].value;
  if (value.dtype() != c.output_dtype(0)) {
    return invalid_argument("the value is ", dtype_name(value.dtype()), ", not ", dtype_name(c.output_dtype(0)));
  }
  c.set_output(0, value);
  return ok_status();
}

Status erase(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_input(c));
  const std::size_t at = map->find(c.input(1));
  if (at == map->entries.size()) return put(c, map);
  auto changed = std::make_shared<TensorMap>(*map);
  changed->entries.erase(changed->entries.begin() + static_cast<std::ptrdiff_t>(at));
  return put(c, std::move(changed));
}

Status has_key(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_input(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<bool>() = map->find(c.input(1)) < map->entries.size();
  return ok_status();
}

Status size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_input(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>(map->entries.size());
  return ok_status();
}

Status stack_keys(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_input(c));
  if (map->entries.empty()) return invalid_argument("TensorMapStackKeys cannot be called on empty map.");
  const Tensor& first = map->entries[0].key;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y,
                          c.output(0, first.shape().inserted(0, static_cast<std::int64_t>(map->entries.size()))));
  std::int64_t to = 0;
  for (const TensorMap::Entry& entry : map->entries) {
    if (entry.key.dtype() != y->dtype() || entry.key.shape() != first.shape()) {
      return invalid_argument("Key does not match requested dtype or shape: ", dtype_name(entry.key.dtype()),
                              entry.key.shape());
    }
    for (std::int64_t i = 0; i < entry.key.elements(); ++i) sparse::copy_element(*y, to++, entry.key, i);
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_map(KernelRegistry& kernels) {
  kernels.add("EmptyTensorMap", "cpu", empty);
  kernels.add("TensorMapInsert", "cpu", insert);
  kernels.add("TensorMapLookup", "cpu", lookup);
  kernels.add("TensorMapErase", "cpu", erase);
  kernels.add("TensorMapHasKey", "cpu", has_key);
  kernels.add("TensorMapSize", "cpu", size);
  kernels.add("TensorMapStackKeys", "cpu", stack_keys);
}

}  // namespace argosy
