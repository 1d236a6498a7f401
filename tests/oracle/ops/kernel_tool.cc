// The C++ side of the comparison of GPU kernels with TensorFlow's: for every op of ours, one JSON object a line with
//   op, on_host: arguments that lie in the host's memory on a GPU, whatever their dtype
//   cpu_only: our definition says that TensorFlow has it for CPUs alone
//   in_host_memory: asked for a GPU it runs on a CPU
//   lowered: it never runs, the nodes of its functions do
//   types: its type attributes in order
//   kernels: [[dtypes, way], …] one row for each choice of dtypes that a GPU has a kernel for. Ways: "GPU";
//     "host": all that it reads and writes lies in the host's memory; "by the host": brought there and back.
// gpu_kernels.py reads it. A fake GPU stands for the GPU: only its registry is asked.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "argosy/device/cuda/cuda_backend.h"
#include "argosy/device/cuda/fake/fake_driver.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/device_set/device_set.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace {

using namespace argosy;
using Json = nlohmann::json;

// Beyond so many choices an op's attributes are tried two by two, the others at their first dtype.
constexpr std::size_t kMaxChoices = 4000;

const std::vector<DType>& any_dtype() {
  static const std::vector<DType> all = {
      DType::kFloat32, DType::kFloat64, DType::kFloat16,   DType::kBfloat16,   DType::kInt8,    DType::kInt16,
      DType::kInt32,   DType::kInt64,   DType::kUint8,     DType::kUint16,     DType::kUint32,  DType::kUint64,
      DType::kBool,    DType::kString,  DType::kComplex64, DType::kComplex128, DType::kVariant, DType::kResource};
  return all;
}

struct TypeAttr {
  std::string name;
  bool list = false;
  std::vector<DType> dtypes;
};

std::vector<TypeAttr> type_attrs(const OpDef& op) {
  std::vector<TypeAttr> found;
  for (const AttrDef& a : op.attr_defs) {
    if (a.kind != AttrKind::kType && a.kind != AttrKind::kTypes) continue;
    std::vector<DType> dtypes;
    for (const DType d : a.types.empty() ? any_dtype() : a.types) {
      const auto& all = any_dtype();
      if (std::find(all.begin(), all.end(), d) != all.end()) dtypes.push_back(d);
    }
    found.push_back({a.name, a.kind == AttrKind::kTypes, std::move(dtypes)});
  }
  return found;
}

using Choice = std::vector<std::size_t>;  // per type attribute: which of its dtypes

std::vector<Choice> choices(const std::vector<TypeAttr>& attrs) {
  std::size_t count = 1;
  for (const TypeAttr& a : attrs) count *= a.dtypes.size();
  std::vector<Choice> all = {Choice(attrs.size(), 0)};
  const auto vary = [&](const std::vector<Choice>& from, std::size_t attr) {
    std::vector<Choice> more;
    for (const Choice& c : from) {
      for (std::size_t d = 0; d < attrs[attr].dtypes.size(); ++d) {
        more.push_back(c);
        more.back()[attr] = d;
      }
    }
    return more;
  };
  if (count <= kMaxChoices) {
    for (std::size_t i = 0; i < attrs.size(); ++i) all = vary(all, i);
    return all;
  }
  std::vector<Choice> pairs;
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    for (std::size_t j = i + 1; j < attrs.size(); ++j) {
      const auto more = vary(vary(all, i), j);
      pairs.insert(pairs.end(), more.begin(), more.end());
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

// What an attribute may hold that only has to be there.
AttrValue some_value(const AttrDef& a) {
  switch (a.kind) {
    case AttrKind::kInt: return std::max<std::int64_t>(1, a.minimum.value_or(1));
    case AttrKind::kFloat: return 1.0F;
    case AttrKind::kBool: return false;
    case AttrKind::kString: return a.strings.empty() ? std::string() : a.strings.front();
    case AttrKind::kShape: return PartialShape::unknown();
    case AttrKind::kInts: return std::vector<std::int64_t>(4, 1);
    case AttrKind::kFloats: return std::vector<float>(1, 1.0F);
    case AttrKind::kStrings: return std::vector<std::string>();
    case AttrKind::kShapes: return std::vector<PartialShape>(1, PartialShape::unknown());
    case AttrKind::kTensor: return Tensor::scalar(1.0F);
    case AttrKind::kFunction: return FunctionRef{"f"};
    case AttrKind::kBools: return std::vector<bool>(1, false);
    case AttrKind::kTensors: return std::vector<Tensor>(1, Tensor::scalar(1.0F));
    case AttrKind::kFunctions: return std::vector<FunctionRef>(1, FunctionRef{"f"});
    default: return {};
  }
}

AttrMap attrs_for(const OpDef& op, const std::vector<TypeAttr>& types, const Choice& choice) {
  AttrMap attrs;
  for (const AttrDef& a : op.attr_defs) {
    AttrValue value = std::holds_alternative<std::monostate>(a.value) ? some_value(a) : a.value;
    if (!std::holds_alternative<std::monostate>(value)) attrs.set(a.name, std::move(value));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const DType dtype = types[i].dtypes[choice[i]];
    if (types[i].list) {
      attrs.set(types[i].name, std::vector<DType>{dtype});
    } else {
      attrs.set(types[i].name, dtype);
    }
  }
  return attrs;
}

std::vector<DType> dtypes_of(const std::vector<ArgDef>& args, const AttrMap& attrs) {
  std::vector<bool> refs;
  auto dtypes = arg_dtypes(args, attrs, &refs);
  if (!dtypes.ok()) return {};
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (refs[i]) (*dtypes)[i] = DType::kResource;  // references are handles
  }
  return *std::move(dtypes);
}

class KernelTable {
 public:
  explicit KernelTable(DeviceSet& device_set) : device_set_(device_set), device_(device_set.device(1)) {}

  Json row(const OpDef& op) {
    const auto types = type_attrs(op);
    Json names = Json::array(), kernels = Json::array(), on_host = Json::array();
    for (const TypeAttr& t : types) names.push_back(t.name);
    for (const int i : op.host_inputs) on_host.push_back(op.input_args[static_cast<std::size_t>(i)].name);
    for (const int i : op.host_outputs) on_host.push_back(op.output_args[static_cast<std::size_t>(i)].name);
    if (device_set_.kernels().has(op.name, "cuda")) {
      for (const Choice& c : choices(types)) {
        const std::string way = way_of(op, attrs_for(op, types, c));
        if (way.empty()) continue;
        Json dtypes = Json::array();
        for (std::size_t i = 0; i < types.size(); ++i) dtypes.push_back(dtype_name(types[i].dtypes[c[i]]));
        kernels.push_back({dtypes, way});
      }
    }
    return {{"op", op.name},
            {"on_host", on_host},
            {"in_host_memory", op.in_host_memory},
            {"cpu_only", op.cpu_only},
            {"lowered", op.calls != Calls::kNothing},
            {"types", names},
            {"kernels", kernels}};
  }

 private:
  std::string way_of(const OpDef& op, const AttrMap& attrs) {
    if (device_set_.kernels().refused(op.name, "cuda", attrs) != DType::kInvalid) return "";
    const auto inputs = dtypes_of(op.input_args, attrs), outputs = dtypes_of(op.output_args, attrs);
    const std::vector<PartialShape> in(inputs.size(), PartialShape::unknown()),
        out(outputs.size(), in.empty() ? PartialShape::unknown() : in[0]);
    const KernelInit init{.op = op,
                          .attrs = attrs,
                          .node = "asked",
                          .input_dtypes = inputs,
                          .output_dtypes = outputs,
                          .input_shapes = in,
                          .output_shapes = out,
                          .constants = {},
                          .device = &device_,
                          .resources = &resources_};
    // What cannot be made of made-up attributes is taken by its dtypes.
    const auto kernel = device_set_.kernels().make(init, "cuda");
    if (kernel.status().code() == Code::kUnimplemented) return "";
    if (kernel.ok() && cuda::is_host_fallback(**kernel)) return "by the host";
    return cuda::computes_on_host(init) ? "host" : "GPU";
  }

  DeviceSet& device_set_;
  Device& device_;
  ResourceManager resources_;
};

}  // namespace

int main() {
  cuda::fake::FakeDriver fake_driver(cuda::fake::gpus_with_kernels(1));
  auto backend = std::make_shared<cuda::CudaBackend>(fake_driver.driver(), cuda::fake::with_kernels());
  const auto device_set = DeviceSet::make({.devices = "gpu:0", .gpus = backend});
  if (!device_set.ok()) {
    std::fprintf(stderr, "%s\n", device_set.status().to_string().c_str());
    return 1;
  }
  KernelTable table(**device_set);
  for (const auto& op : builtin_ops().all()) std::printf("%s\n", table.row(*op).dump().c_str());
}
