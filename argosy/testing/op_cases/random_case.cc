#include "argosy/testing/op_cases/random_case.h"

#include <algorithm>
#include <limits>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/ops.h"

namespace argosy {

namespace {

constexpr std::size_t kMostBytes = 4 << 20;

// What an argument of this name usually is, so that enough cases get past the first check.
enum class Usual { kAnything, kScalar, kOne, kTwo, kPairs, kSizes, kPerAxis, kPermutation, kLastAxis, kFirstAxis };

Usual usual(std::string_view name) {
  struct UsualNames {
    Usual usual;
    std::vector<std::string_view> names;
  };
  static const std::vector<UsualNames> kRows = {
      {Usual::kScalar,
       {"axis",
        "dim",
        "k",
        "depth",
        "split_dim",
        "concat_dim",
        "num_segments",
        "alg",
        "num_samples",
        "num",
        "num_lower",
        "num_upper",
        "minval",
        "maxval",
        "lr",
        "alpha",
        "beta",
        "beta1",
        "beta2",
        "beta1_power",
        "beta2_power",
        "epsilon",
        "rho",
        "momentum",
        "l1",
        "l2",
        "lr_power",
        "l2_shrinkage",
        "global_step",
        "on_value",
        "off_value",
        "constant_values",
        "default_value",
        "dimension",
        "pred",
        "start",
        "limit",
        "delta",
        "stop",
        "contrast_factor",
        "min_value",
        "max_value",
        "max_output_size",
        "iou_threshold",
        "score_threshold",
        "soft_nms_sigma",
        "thresh",
        "output_dim0",
        "dense_output_dim0",
        "fill_value"}},
      {Usual::kOne, {"key"}},
      {Usual::kTwo, {"seed", "counter", "block_shape"}},
      {Usual::kPairs, {"paddings", "crops"}},
      {Usual::kSizes,
       {"input_sizes", "filter_sizes", "orig_input_shape", "shape", "params_shape", "output_shape", "dims", "size"}},
      {Usual::kPerAxis, {"multiples", "begin", "end", "strides"}},
      {Usual::kPermutation, {"perm"}},
      {Usual::kLastAxis,
       {"scale", "offset", "mean", "variance", "bias", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {Usual::kFirstAxis, {"targets", "labels", "segment_ids", "seq_lengths", "partitions"}}};
  for (const UsualNames& row : kRows) {
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return row.usual;
  }
  return Usual::kAnything;
}

// How far a case strays from the sensible.
enum class Mood { kAlike, kMixed, kHostile };

class Maker {
 public:
  Maker(const OpDef& op, std::uint64_t seed, const AttrMap& fixed) : op_(op), bits_(seed), fixed_(fixed) {}

  std::optional<RandomCase> make() {
    const int roll = below(10);
    mood_ = roll < 6 ? Mood::kAlike : roll < 9 ? Mood::kMixed : Mood::kHostile;
    rank_ = chance(3) ? 4 : below(5);
    const int edge = chance(2) ? 2 + below(3) : 0;  // cubes multiply, convolve and broadcast with each other
    for (int i = 0; i < rank_; ++i) base_.push_back(edge > 0 ? edge : chance(10) ? 0 : 1 + below(4));
    RandomCase c{&op_, {}, {}};
    for (const AttrDef& def : op_.attr_defs) {
      const AttrValue* const given = fixed_.find(def.name);
      if (given == nullptr && (def.kind == AttrKind::kFunction || def.kind == AttrKind::kFunctions))
        return std::nullopt;
      c.attrs.set(def.name, given != nullptr ? *given : attr(def));
    }
    for (const ArgDef& arg : op_.input_args) {
      const auto dtypes = arg_dtypes({arg}, c.attrs);
      if (!dtypes.ok()) return std::nullopt;
      for (const DType d : *dtypes) {
        c.inputs.push_back(arg.is_ref ? variable(d) : d == DType::kResource ? variable(main_dtype(c)) : tensor(d, arg));
      }
    }
    return c;
  }

 private:
  int below(int n) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(n)); }
  bool chance(int one_in) { return below(one_in) == 0; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

  std::int64_t integer() {
    if (mood_ == Mood::kHostile && chance(3)) {
      using Limits = std::numeric_limits<std::int64_t>;
      return one_of<std::int64_t>({-1, -7, Limits::min(), Limits::max(), std::int64_t{1} << 40,
                                   -(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1, 1000});
    }
    return chance(6) ? -1 : below(4);
  }

  DType dtype(const AttrDef& def) {
    using enum DType;
    if (!def.types.empty()) {
      const bool has_float = std::find(def.types.begin(), def.types.end(), kFloat32) != def.types.end();
      return has_float && chance(2) ? kFloat32 : one_of(def.types);
    }
    return one_of<DType>({kFloat32, kFloat32, kFloat32, kFloat64, kInt32, kInt64, kBool, kString, kFloat16, kBfloat16,
                          kComplex64, kComplex128, kUint8, kInt8, kUint64, kQint8, kVariant});
  }

  AttrValue attr(const AttrDef& def) {
    const bool has_default = !std::holds_alternative<std::monostate>(def.value);
    if (has_default && def.kind != AttrKind::kType && chance(2)) return def.value;
    const int least = static_cast<int>(def.minimum.value_or(0));
    const auto list = [&](auto make) {
      std::vector<decltype(make())> items(static_cast<std::size_t>(least + below(4)));
      for (auto&& item : items) item = make();
      return items;
    };
    switch (def.kind) {
      case AttrKind::kInt:
        if (mood_ != Mood::kHostile) return std::int64_t{def.minimum ? least + below(3) : below(3)};
        return is_number(def.name) ? std::int64_t{least + below(3)} : integer();
      case AttrKind::kFloat: return chance(4) ? 0.0f : static_cast<float>(below(100)) * 0.01f;
      case AttrKind::kBool: return chance(2);
      case AttrKind::kString:
        return def.strings.empty() ? one_of<std::string>({"", "a", "NHWC", "SAME", "%s"}) : one_of(def.strings);
      case AttrKind::kType: return dtype(def);
      case AttrKind::kShape: return chance(3) ? PartialShape::unknown() : PartialShape(base_);
      case AttrKind::kTensor: return tensor(DType::kFloat32, {});
      case AttrKind::kInts:
        if (mood_ == Mood::kAlike) return std::vector<std::int64_t>{1, chance(2) ? 1 : 2, chance(2) ? 1 : 2, 1};
        return list([&] { return integer(); });
      case AttrKind::kFloats:  // four: of an image's axes
        if (mood_ == Mood::kAlike && least == 4)
          return std::vector<float>{1, chance(2) ? 1 : 1.5f, chance(2) ? 1 : 1.5f, 1};
        return list([&] { return static_cast<float>(below(10)); });
      case AttrKind::kBools: {
        std::vector<bool> flags(static_cast<std::size_t>(least + below(4)));
        for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = chance(2);
        return flags;
      }
      case AttrKind::kStrings: return list([&] { return std::string("a"); });
      case AttrKind::kTypes: return list([&] { return dtype(def); });
      case AttrKind::kShapes: return list([&] { return PartialShape(base_); });
      default: return def.value;
    }
  }

  // Does it count tensors? Then it must stay small whatever the mood.
  bool is_number(const std::string& name) const {
    const auto counts = [&](const ArgDef& a) { return a.number_attr == name; };
    return std::any_of(op_.input_args.begin(), op_.input_args.end(), counts) ||
           std::any_of(op_.output_args.begin(), op_.output_args.end(), counts);
  }

  DType main_dtype(const RandomCase& c) const {
    for (const char* name : {"T", "dtype"}) {
      if (const DType* d = c.attrs.find_as<DType>(name); d && is_plain(*d)) return *d;
    }
    return DType::kFloat32;
  }

  Shape shape(DType d, const ArgDef& arg) {
    if (mood_ != Mood::kHostile && !chance(8)) {
      switch (usual(arg.name)) {
        case Usual::kScalar: return {};
        case Usual::kOne: return {1};
        case Usual::kTwo: return {2};
        case Usual::kPairs: return {rank_, 2};
        case Usual::kSizes:
        case Usual::kPerAxis:
        case Usual::kPermutation: return {rank_};
        case Usual::kLastAxis: return {base_.empty() ? 1 : base_.back()};
        case Usual::kFirstAxis: return {base_.empty() ? 1 : base_.front()};
        case Usual::kAnything: break;
      }
    }
    const bool sizes = is_integer(d) && arg.dtype != d ? host(arg) : is_integer(d);
    if (sizes && !chance(6)) return chance(2) ? Shape() : Shape({chance(2) ? rank_ : 1 + below(3)});
    if (mood_ == Mood::kAlike && !chance(6)) return Shape(std::span<const std::int64_t>(base_));
    std::vector<std::int64_t> own;
    for (int i = below(5); i > 0; --i) own.push_back(chance(8) ? 0 : 1 + below(4));
    return Shape(std::span<const std::int64_t>(own));
  }
  // Arguments that a GPU would want in host memory are shapes, axes, counts.
  bool host(const ArgDef& arg) const {
    for (const int i : op_.host_inputs) {
      if (i < static_cast<int>(op_.input_args.size()) && op_.input_args[i].name == arg.name) return true;
    }
    return false;
  }

  Tensor tensor(DType d, const ArgDef& arg) {
    Tensor t = Tensor::zeros(d, shape(d, arg));
    if (d == DType::kString) {
      for (std::string& s : t.values<std::string>()) s = one_of<std::string>({"", "a", "bc", "%s%n"});
      return t;
    }
    if (d == DType::kBool) {
      for (bool& b : t.values<bool>()) b = chance(2);
      return t;
    }
    const Status filled = dispatch<NumberTypes>(d, "random", [&]<typename T>() {
      for (T& v : t.values<T>()) {
        if constexpr (std::is_integral_v<T>) {
          const auto i = static_cast<std::size_t>(&v - t.data<T>());
          const Usual what =
              i < base_.size() && t.elements() == rank_ && !chance(8) ? usual(arg.name) : Usual::kAnything;
          v = static_cast<T>(what == Usual::kSizes         ? base_[i]
                             : what == Usual::kPermutation ? static_cast<std::int64_t>(base_.size() - 1 - i)
                                                           : integer());
        } else {
          double x = static_cast<double>(below(4000) - 2000) * 1e-3;
          if (mood_ == Mood::kHostile && chance(4)) {
            using Limits = std::numeric_limits<double>;
            x = one_of<double>({0, -0.0, 1e30, -1e30, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()});
          }
          v = T(x);
        }
      }
      return ok_status();
    });
    static_cast<void>(filled);  // quantised and variant elements stay zero
    return t;
  }

  Tensor variable(DType d) {
    if (mood_ == Mood::kHostile && chance(3)) return Tensor::scalar(ResourceHandle());
    if (!is_plain(d)) d = DType::kFloat32;
    auto v = std::make_shared<Variable>(d, PartialShape::unknown(), host_allocator());
    if (!chance(8)) {
      const Status assigned = v->assign(tensor(d, {}), false);
      ARGOSY_CHECK(assigned.ok());
    }
    return Tensor::scalar(ResourceHandle("localhost", "v", std::move(v)));
  }

  const OpDef& op_;
  std::mt19937_64 bits_;
  const AttrMap& fixed_;
  Mood mood_ = Mood::kAlike;
  int rank_ = 0;
  std::vector<std::int64_t> base_;
};

// A step with nobody else in it.
class LonelyStep final : public StepContext {
 public:
  std::int64_t step_id() const override { return 1; }
  Cancellation& cancellation() override { return cancellation_; }
  ResourceManager& step_resources() override { return resources_; }

 private:
  Cancellation cancellation_;
  ResourceManager resources_;
};

// What the shape function speaks of where a kernel gets a reference: the variable's value, if it has one.
Tensor named(const RandomCase& c, std::size_t i) {
  const auto& args = c.op->input_args;
  if (i >= args.size() || !args[i].is_ref || c.inputs[i].dtype() != DType::kResource) return c.inputs[i];
  auto variable = std::dynamic_pointer_cast<Variable>(c.inputs[i].data<ResourceHandle>()->resource());
  if (variable == nullptr) return {};
  const auto value = variable->read("v");
  return value.ok() ? *value : Tensor();
}

std::vector<DType> dtypes_of(const RandomCase& c) {
  std::vector<DType> dtypes;
  for (const ArgDef& arg : c.op->input_args) {
    const auto some = arg_dtypes({arg}, c.attrs);
    for (const DType d : *some) dtypes.push_back(d);
  }
  return dtypes;
}

}  // namespace

std::string RandomCase::describe() const {
  std::string text = op->name + "(";
  for (const Tensor& t : inputs) text += t.to_string(12) + ", ";
  text += ")";
  for (const auto& [name, value] : attrs) text += " " + name + "=" + attr_to_string(value);
  return text;
}

std::optional<RandomCase> random_case(const OpDef& op, std::uint64_t seed, const AttrMap& fixed) {
  return Maker(op, seed, fixed).make();
}

Result<Buffer> LimitedAllocator::allocate(std::size_t bytes) {
  if (bytes > limit_) return resource_exhausted(bytes, " bytes asked, ", limit_, " allowed");
  return host_allocator().allocate(bytes);
}

Result<std::vector<Tensor>> run_kernel(const RandomCase& c, const KernelRegistry& kernels, bool reference,
                                       const std::vector<Tensor>& planned) {
  std::vector<const Tensor*> inputs;
  std::vector<DType> carried;
  std::vector<PartialShape> shapes;
  for (const Tensor& t : c.inputs) {
    inputs.push_back(&t);
    carried.push_back(t.dtype());
    shapes.emplace_back(t.shape());
  }
  AttrMap attrs = c.attrs;
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*c.op, dtypes_of(c), attrs));
  ARGOSY_ASSIGN_OR_RETURN(const auto out_dtypes, arg_dtypes(c.op->output_args, attrs));
  const std::vector<PartialShape> out_shapes(out_dtypes.size());
  ResourceManager resources;
  const KernelInit init{.op = *c.op,
                        .attrs = attrs,
                        .node = "fuzzed",
                        .input_dtypes = carried,
                        .output_dtypes = out_dtypes,
                        .input_shapes = shapes,
                        .output_shapes = out_shapes,
                        .resources = &resources};
  ARGOSY_ASSIGN_OR_RETURN(const auto kernel,
                          reference ? kernels.make_reference(init, "cpu") : kernels.make(init, "cpu"));
  LimitedAllocator memory(kMostBytes);
  LonelyStep step;
  std::vector<Tensor> outputs = planned;
  outputs.resize(out_dtypes.size());
  std::vector<OutputSlot> slots;
  for (Tensor& t : outputs) slots.push_back({.tensor = &t, .planned = t.valid()});
  KernelContext context({.inputs = inputs.data(),
                         .num_inputs = static_cast<int>(inputs.size()),
                         .outputs = slots.data(),
                         .num_outputs = static_cast<int>(slots.size()),
                         .output_dtypes = out_dtypes.data(),
                         .node = "fuzzed",
                         .allocator = &memory,
                         .resources = &resources,
                         .step = &step});
  ARGOSY_RETURN_IF_ERROR(kernel->run(context));
  return outputs;
}

Inferred infer(const RandomCase& c, int hidden) {
  Inferred result;
  AttrMap attrs = c.attrs;
  const std::vector<DType> dtypes = dtypes_of(c);
  result.status = complete_attrs(*c.op, dtypes, attrs);
  if (!result.status.ok()) return result;
  const auto out_dtypes = arg_dtypes(c.op->output_args, attrs);
  if (!out_dtypes.ok()) return result.status = out_dtypes.status(), result;
  std::vector<PartialShape> shapes;
  std::vector<std::optional<PartialInts>> known;
  int count = 0;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    const Tensor t = named(c, k);
    if (hidden == kAll || !t.valid()) {
      shapes.emplace_back();
      known.emplace_back();
      continue;
    }
    std::vector<std::int64_t> sizes(t.shape().sizes().begin(), t.shape().sizes().end());
    for (std::int64_t& s : sizes) s = hidden > 0 && ++count % hidden == 0 ? PartialShape::kUnknown : s;
    shapes.emplace_back(std::move(sizes));
    known.emplace_back();
    if ((t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64) || t.elements() > 1024 || !shapes.back().is_full()) {
      continue;
    }
    known.back().emplace();
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const std::int64_t v = t.dtype() == DType::kInt32 ? t.data<std::int32_t>()[i] : t.data<std::int64_t>()[i];
      known.back()->push_back(hidden > 0 && ++count % hidden == 0 ? std::nullopt : std::optional(v));
    }
  }
  std::vector<const PartialShape*> shape_pointers;
  std::vector<const PartialInts*> int_pointers;
  for (const auto& s : shapes) shape_pointers.push_back(&s);
  for (const auto& k : known) int_pointers.push_back(k ? &*k : nullptr);
  result.shapes.assign(out_dtypes->size(), PartialShape::unknown());
  ShapeContext context(*c.op, attrs, dtypes, shape_pointers, int_pointers, result.shapes);
  result.status = c.op->shape(context);
  result.ints.resize(out_dtypes->size());
  for (std::size_t i = 0; result.status.ok() && c.op->known_ints != nullptr && i < out_dtypes->size(); ++i) {
    if ((*out_dtypes)[i] != DType::kInt32 && (*out_dtypes)[i] != DType::kInt64) continue;
    result.ints[i] = c.op->known_ints(context, static_cast<int>(i));
  }
  return result;
}

}  // namespace argosy
