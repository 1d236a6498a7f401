#include "fuzz/op_calls/draw_attrs.h"

#include <algorithm>

namespace argosy::op_calls {

namespace {

PartialShape draw_shape(const Common& common, RandomDraws& draws) {
  if (common.mood == Mood::kHostile || draws.one_in(12)) {
    const std::int64_t big =
        draws.one_of<std::int64_t>({1 << 20, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, std::int64_t{1} << 62,
                                    std::numeric_limits<std::int64_t>::max()});
    switch (draws.below(6)) {
      case 0: return PartialShape(std::vector<std::int64_t>{big, big});
      case 1:
        return PartialShape(std::vector<std::int64_t>(static_cast<std::size_t>(draws.one_of({9, 254, 255, 300})), 1));
      case 2: return PartialShape(std::vector<std::int64_t>{-1, big, 0});
      case 3: return PartialShape(std::vector<std::int64_t>{-1, 2, -1});
      case 4: return PartialShape(std::vector<std::int64_t>{0});
      default: return PartialShape(std::vector<std::int64_t>{big});
    }
  }
  return draws.one_in(8) ? PartialShape::unknown() : draws.one_in(4) ? PartialShape::scalar() : common.shape;
}

DType draw_type(const AttrDef& def, const Common& common, RandomDraws& draws) {
  if (common.mood == Mood::kHostile && draws.one_in(10)) return any_dtype(draws);
  DType wanted = def.name.find("key") != def.name.npos || def.name == "Tin" ? common.key : common.main;
  const auto allowed = [&](DType d) {
    return def.types.empty() || std::find(def.types.begin(), def.types.end(), d) != def.types.end();
  };
  if (allowed(wanted) && !draws.one_in(8)) return wanted;
  return def.types.empty() ? any_dtype(draws) : draws.one_of(def.types);
}

// Does it count tensors? Then it stays small whatever the mood.
bool counts_tensors(const OpDef& op, const std::string& name) {
  const auto counts = [&](const ArgDef& a) { return a.number_attr == name; };
  return std::any_of(op.input_args.begin(), op.input_args.end(), counts) ||
         std::any_of(op.output_args.begin(), op.output_args.end(), counts);
}

Tensor draw_tensor(DType d, const Common& common, RandomDraws& draws) {
  std::vector<std::int64_t> sizes;
  for (int i = draws.below(3); i > 0; --i) sizes.push_back(draws.below(4));
  Tensor t = Tensor::zeros(d, Shape(std::span<const std::int64_t>(sizes)));
  fill(t, draws, common.mood, common.mood == Mood::kAlike ? 0 : 6);
  return t;
}

std::string draw_string(const OpDef& op, const AttrDef& def, const Common& common, RandomDraws& draws) {
  if (!def.strings.empty() && !(common.mood == Mood::kHostile && draws.one_in(4))) return draws.one_of(def.strings);
  if (def.name == "equation") {
    return draws.one_of<std::string>({"ij,jk->ik", "ij->ji", "ii->i", "i,i->", "...ij,...jk->...ik", "ab,ab->a", "->",
                                      "i->", "ij,ij", "...->...", "aa,bb->ab", "i,j->ij", "ij->i->j", ",", "a...,b->"});
  }
  if (def.name == "container" || def.name == "shared_name") return draws.one_of<std::string>({"", "", "s", "t"});
  static_cast<void>(op);
  if (def.name == "N" || common.mood != Mood::kAlike) return edge_string(draws);
  return draws.one_of<std::string>({"", "a", "NHWC", "SAME", "abc", "%s", "1", "max", "mean", "sum"});
}

}  // namespace

DType any_dtype(RandomDraws& draws) {
  using enum DType;
  return draws.one_of({kFloat32,  kFloat32,   kFloat64,    kInt32,  kInt64,   kBool,    kString, kFloat16,
                       kBfloat16, kComplex64, kComplex128, kUint8,  kInt8,    kInt16,   kUint16, kUint32,
                       kUint64,   kQint8,     kQuint8,     kQint32, kVariant, kResource});
}

Common draw_common(RandomDraws& draws) {
  using enum DType;
  Common c;
  const int roll = draws.below(10);
  c.mood = roll < 5 ? Mood::kAlike : roll < 8 ? Mood::kMixed : Mood::kHostile;
  c.main = draws.one_in(2) ? kFloat32
                           : draws.one_of({kFloat64, kInt32, kInt64, kInt64, kString, kBool, kFloat16, kBfloat16,
                                           kComplex64, kUint8, kInt8, kUint64, kVariant});
  c.key = draws.one_in(2) ? kInt64 : kString;
  const DType component = draws.one_in(2) ? kInt64 : draws.one_in(2) ? c.main : kFloat32;
  c.types.assign(static_cast<std::size_t>(draws.one_in(4) ? 2 : 1), component);
  if (c.types.size() == 2 && draws.one_in(2)) c.types[1] = kString;
  std::vector<std::int64_t> sizes;
  for (int i = draws.below(3); i > 0; --i) sizes.push_back(draws.one_in(8) ? 0 : 1 + draws.below(3));
  c.shape = PartialShape(std::move(sizes));
  return c;
}

AttrValue draw_attr(const OpDef& op, const AttrDef& def, const Common& common, RandomDraws& draws) {
  const bool has_default = !std::holds_alternative<std::monostate>(def.value);
  const bool typed = def.kind == AttrKind::kType || def.kind == AttrKind::kTypes;
  if (has_default && !typed && !draws.one_in(common.mood == Mood::kAlike ? 4 : 2)) return def.value;
  const int least = static_cast<int>(std::clamp<std::int64_t>(def.minimum.value_or(0), 0, 16));
  const bool hostile = common.mood == Mood::kHostile;
  const auto length = [&] {
    if (hostile && draws.one_in(3)) return draws.one_of({0, 1, 2, 5, 7, 64, 300});
    return def.kind == AttrKind::kInts && least == 0 && draws.one_in(2) ? 4 : least + draws.below(4);
  };
  const auto list = [&](auto make) {
    std::vector<decltype(make())> items(static_cast<std::size_t>(length()));
    for (auto&& item : items) item = make();
    return items;
  };
  switch (def.kind) {
    case AttrKind::kInt:
      if (counts_tensors(op, def.name))
        return std::int64_t{hostile && draws.one_in(8) ? draws.one_of({0, -1, 33}) : least + draws.below(3)};
      if (def.minimum && !(hostile && draws.one_in(3))) return std::int64_t{least + draws.below(3)};
      return common.mood == Mood::kAlike ? std::int64_t{draws.below(4)} : draw_int(draws, common.mood);
    case AttrKind::kFloat:
      if (common.mood != Mood::kAlike && draws.one_in(3)) return static_cast<float>(edge_float(draws));
      return draws.one_in(4) ? 0.0f : static_cast<float>(draws.unit());
    case AttrKind::kBool: return draws.one_in(2);
    case AttrKind::kString: return draw_string(op, def, common, draws);
    case AttrKind::kType: return draw_type(def, common, draws);
    case AttrKind::kShape: return draw_shape(common, draws);
    case AttrKind::kTensor:
      return draw_tensor(common.main == DType::kVariant ? DType::kFloat32 : common.main, common, draws);
    case AttrKind::kInts:
      if (common.mood == Mood::kAlike && !draws.one_in(4)) {
        const bool volume = op.name.find("3D") != op.name.npos;
        std::vector<std::int64_t> window(volume ? 5 : 4, 1);
        for (std::size_t i = 1; i + 1 < window.size(); ++i) window[i] = 1 + draws.below(2);
        return window;
      }
      return list([&] { return draw_int(draws, common.mood); });
    case AttrKind::kFloats:
      return list([&] { return static_cast<float>(hostile && draws.one_in(3) ? edge_float(draws) : draws.below(10)); });
    case AttrKind::kBools: {
      std::vector<bool> flags(static_cast<std::size_t>(length()));
      for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = draws.one_in(2);
      return flags;
    }
    case AttrKind::kStrings: return list([&] { return draws.one_in(2) ? std::string("a") : edge_string(draws); });
    case AttrKind::kTypes: {
      if (!draws.one_in(common.mood == Mood::kHostile ? 4 : 20) && def.types.empty()) {
        // Further arguments of functions are rare; of state there is one.
        if (def.name.find("arguments") != def.name.npos)
          return std::vector<DType>(static_cast<std::size_t>(draws.below(2)), DType::kInt64);
        return common.types;
      }
      return list([&] { return draw_type(def, common, draws); });
    }
    case AttrKind::kShapes: {
      if (hostile) return list([&] { return draw_shape(common, draws); });
      std::vector<PartialShape> shapes(common.types.size());
      for (PartialShape& s : shapes) s = draws.one_in(2) ? PartialShape::unknown() : draw_shape(common, draws);
      return shapes;
    }
    case AttrKind::kTensors: return list([&] { return draw_tensor(DType::kFloat32, common, draws); });
    default: return def.value;
  }
}

}  // namespace argosy::op_calls
