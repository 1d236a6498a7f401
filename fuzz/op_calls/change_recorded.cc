// Calls made from the cases that the suite's tests wrote down: their inputs belong together, which no generator that
// knows signatures alone could promise.
#include <algorithm>

#include "argosy/testing/op_cases/state_case.h"
#include "fuzz/op_calls/draw_attrs.h"
#include "fuzz/op_calls/draw_call.h"

namespace argosy::op_calls {

namespace {

constexpr std::int64_t kMostElements = 1 << 16;

// The same elements, repeated or cut, in another shape.
Tensor resized(const Tensor& t, const std::vector<std::int64_t>& sizes) {
  const auto shape = Shape::make(sizes);  // recorded sizes may be huge beside a 0
  if (!shape.ok() || shape->elements() > kMostElements) return t;
  Tensor to = Tensor::zeros(t.dtype(), *shape);
  if (t.elements() == 0) return to;
  if (t.dtype() == DType::kString) {
    for (std::int64_t i = 0; i < to.elements(); ++i)
      to.data<std::string>()[i] = t.data<std::string>()[i % t.elements()];
  } else if (is_plain(t.dtype())) {
    const std::size_t bytes = element_bytes(t.dtype());
    for (std::int64_t i = 0; i < to.elements(); ++i) {
      std::copy_n(t.raw_as<char>() + static_cast<std::size_t>(i % t.elements()) * bytes, bytes,
                  to.raw_as<char>() + static_cast<std::size_t>(i) * bytes);
    }
  }
  return to;
}

std::vector<std::int64_t> sizes_of(const Tensor& t) { return {t.shape().sizes().begin(), t.shape().sizes().end()}; }

class RecordedCallMutator {
 public:
  RecordedCallMutator(OpCall& call, RandomDraws& draws) : call_(call), draws_(draws) {}

  void change() {
    switch (draws_.below(10)) {
      case 0:
      case 1: return one_value();
      case 2: return one_size_everywhere();
      case 3: return one_shape();
      case 4:
      case 5: return one_attr();
      case 6: return many_values();
      case 7: return alias();
      case 8: return another_dtype();
      default: return no_elements();
    }
  }

 private:
  CallInput* some_input() {
    if (call_.inputs.empty()) return nullptr;
    CallInput& in = call_.inputs[static_cast<std::size_t>(draws_.below(static_cast<int>(call_.inputs.size())))];
    return in.value.valid() ? &in : nullptr;
  }

  void one_value() {
    if (CallInput* in = some_input()) spoil(in->value, draws_);
  }
  void many_values() {
    if (CallInput* in = some_input())
      fill(in->value, draws_, draws_.one_in(2) ? Mood::kMixed : Mood::kHostile, draws_.one_of({0, 2, 10}));
  }
  void no_elements() {
    CallInput* in = some_input();
    if (in == nullptr) return;
    auto sizes = sizes_of(in->value);
    if (sizes.empty()) sizes.push_back(0);
    sizes[static_cast<std::size_t>(draws_.below(static_cast<int>(sizes.size())))] = 0;
    in->value = resized(in->value, sizes);
  }
  // An axis' length, wherever it stands.
  void one_size_everywhere() {
    CallInput* in = some_input();
    if (in == nullptr || in->value.shape().rank() == 0) return;
    const auto sizes = sizes_of(in->value);
    const std::int64_t from = draws_.one_of(sizes),
                       to = draws_.one_of<std::int64_t>({0, 1, from + 1, from - 1, 2 * from, 7, 64});
    if (to < 0) return;
    for (CallInput& other : call_.inputs) {
      if (!other.value.valid()) continue;
      auto changed = sizes_of(other.value);
      std::replace(changed.begin(), changed.end(), from, to);
      other.value = resized(other.value, changed);
    }
  }
  void one_shape() {
    CallInput* in = some_input();
    if (in == nullptr) return;
    auto sizes = sizes_of(in->value);
    switch (draws_.below(5)) {
      case 0:
        sizes.insert(sizes.begin() + draws_.below(static_cast<int>(sizes.size()) + 1),
                     draws_.one_of<std::int64_t>({1, 1, 2, 0}));
        break;
      case 1:
        if (!sizes.empty()) sizes.erase(sizes.begin() + draws_.below(static_cast<int>(sizes.size())));
        break;
      case 2: sizes.clear(); break;
      case 3: sizes.assign(static_cast<std::size_t>(draws_.below(10)), 1); break;
      default:
        if (!sizes.empty())
          sizes[static_cast<std::size_t>(draws_.below(static_cast<int>(sizes.size())))] = draws_.below(5);
    }
    in->value = resized(in->value, sizes);
  }
  void alias() {
    for (std::size_t i = 1; i < call_.inputs.size(); ++i) {
      const auto k = static_cast<std::size_t>(draws_.below(static_cast<int>(i)));
      CallInput &in = call_.inputs[i], &other = call_.inputs[k];
      if (!in.value.valid() || !other.value.valid() || in.variable != other.variable || other.same_as >= 0) continue;
      if (in.value.dtype() == other.value.dtype()) in.same_as = static_cast<int>(k);
    }
  }
  // Everything of one dtype becomes another.
  void another_dtype() {
    CallInput* in = some_input();
    if (in == nullptr || !is_plain(in->value.dtype())) return;
    const DType from = in->value.dtype();
    DType to = any_dtype(draws_);
    for (const AttrDef& def : call_.op->attr_defs) {
      const DType* now = call_.attrs.find_as<DType>(def.name);
      if (def.kind == AttrKind::kType && now != nullptr && *now == from && !def.types.empty())
        to = draws_.one_of(def.types);
    }
    if (!is_plain(to)) return;
    for (CallInput& other : call_.inputs) {
      if (other.dtype == from) other.dtype = to;
      if (!other.value.valid() || other.value.dtype() != from) continue;
      other.value = Tensor::zeros(to, other.value.shape());
      fill(other.value, draws_, Mood::kAlike, 0);
    }
    for (const auto& [name, value] : AttrMap(call_.attrs)) {
      if (const DType* d = std::get_if<DType>(&value); d != nullptr && *d == from) call_.attrs.set(name, to);
    }
  }
  void one_attr() {
    if (call_.op->attr_defs.empty()) return;
    const AttrDef& def = draws_.one_of(call_.op->attr_defs);
    const bool counts = std::any_of(call_.op->input_args.begin(), call_.op->input_args.end(), [&](const ArgDef& a) {
      return a.number_attr == def.name || a.type_list_attr == def.name;
    });
    if (def.kind == AttrKind::kType || counts) return;  // they follow from the inputs
    if (const auto* ints = call_.attrs.find_as<std::vector<std::int64_t>>(def.name);
        ints != nullptr && !ints->empty() && draws_.one_in(2)) {
      auto changed = *ints;
      changed[static_cast<std::size_t>(draws_.below(static_cast<int>(changed.size())))] =
          draw_int(draws_, Mood::kHostile);
      if (draws_.one_in(4)) changed.pop_back();
      return call_.attrs.set(def.name, changed);
    }
    Common common = draw_common(draws_);
    if (draws_.one_in(2)) common.mood = Mood::kHostile;
    AttrValue value = draw_attr(*call_.op, def, common, draws_);
    if (value.index() != 0) call_.attrs.set(def.name, std::move(value));
  }

  OpCall& call_;
  RandomDraws& draws_;
};

}  // namespace

std::shared_ptr<OpCall> change_recorded(const OpDef& op, const RecordedCase& c, RandomDraws& draws) {
  auto call = std::make_shared<OpCall>();
  call->op = &op;
  call->attrs = c.attrs;
  call->recorded = true;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    CallInput in{.value = t.valid() ? t.clone() : t, .dtype = t.valid() ? t.dtype() : DType::kFloat32};
    in.variable = i < op.input_args.size() && (op.input_args[i].is_ref || op.input_args[i].dtype == DType::kResource);
    call->inputs.push_back(std::move(in));
  }
  for (int k = draws.one_in(8) ? 0 : 1 + draws.below(3); k > 0; --k) RecordedCallMutator(*call, draws).change();
  return call;
}

}  // namespace argosy::op_calls
