#include "fuzz/op_calls/draw_call.h"

#include <algorithm>
#include <array>

#include "argosy/op/state/variable.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/random_case.h"
#include "fuzz/op_calls/draw_functions.h"
#include "fuzz/op_calls/handles.h"

namespace argosy::op_calls {

namespace {

constexpr int kDeepest = 4;

bool has_functions(const OpDef& op) {
  return std::any_of(op.attr_defs.begin(), op.attr_defs.end(),
                     [](const AttrDef& a) { return a.kind == AttrKind::kFunction || a.kind == AttrKind::kFunctions; });
}

class CallGenerator {
 public:
  explicit CallGenerator(std::uint64_t seed) : draws_(seed), common_(draw_common(draws_)) {}

  std::shared_ptr<OpCall> draw(const OpDef& op, int depth) {
    Common common = common_;
    if (depth > 0 && !draws_.one_in(8)) common.mood = Mood::kAlike;  // else hardly any call would get its handles
    auto call = std::make_shared<OpCall>();
    call->op = &op;
    AttrMap attrs;
    for (const AttrDef& def : op.attr_defs) {
      AttrValue value = draw_attr(op, def, common, draws_);
      if (value.index() != 0) attrs.set(def.name, std::move(value));
      if (def.kind == AttrKind::kFunction) attrs.set(def.name, FunctionRef{"f"});
      if (def.kind == AttrKind::kFunctions) attrs.set(def.name, std::vector<FunctionRef>{FunctionRef{"f"}});
    }
    call->attrs = attrs;
    if (has_functions(op)) draw_functions(*call, common, draws_);
    auto like = random_case(op, draws_.bits(), attrs);
    if (!like) return call;
    std::size_t next = 0;
    for (const ArgDef& arg : op.input_args) {
      const auto dtypes = arg_dtypes({arg}, attrs);
      for (std::size_t i = 0; dtypes.ok() && i < dtypes->size() && next < like->inputs.size(); ++i, ++next) {
        call->inputs.push_back(input(op, arg, (*dtypes)[i], std::move(like->inputs[next]), *call, common, depth));
      }
    }
    spoil_inputs(*call, common);
    if (depth == 0) add_before(*call), stage_before(*call);
    return call;
  }

  RandomDraws& draws() { return draws_; }

 private:
  CallInput input(const OpDef& op, const ArgDef& arg, DType d, Tensor drawn, const OpCall& so_far, const Common& common,
                  int depth) {
    CallInput in{.value = std::move(drawn), .dtype = d};
    const bool handle = is_handle(arg) || d == DType::kResource || d == DType::kVariant;
    if (!handle && !arg.is_ref) {
      settle(op, arg, in.value, common);
      return in;
    }
    const std::string about = is_handle(arg) ? subject(op, arg) : "";
    const bool wrong = draws_.one_in(common.mood == Mood::kHostile ? 5 : 40);
    if (arg.name == "deleter" && !so_far.inputs.empty() && so_far.inputs[0].source != nullptr) {
      in.source = so_far.inputs[0].source;
      in.output = static_cast<int>(in.source->op->output_args.size()) - 1;
      return in;
    }
    if (is_handle(arg) && (!about.empty() || wrong || d == DType::kVariant)) {
      if (make_handle(in, wrong ? "" : about, arg, depth)) return in;
    }
    if (d == DType::kVariant) {
      in.value = Tensor::zeros(d, draws_.one_in(4) ? Shape({draws_.below(3)}) : Shape());
      return in;
    }
    return variable(in, drawn_value(in.value), arg.is_ref ? d : DType::kInvalid);
  }

  // Most arguments of ops about handles are one number, or one string, that counts something; and some names tell.
  void settle(const OpDef& op, const ArgDef& arg, Tensor& value, const Common& common) {
    if (!value.valid() || (common.mood == Mood::kHostile && draws_.one_in(2)) || draws_.one_in(10)) return;
    constexpr std::array kVectors = {"tensor_names", "shape_and_slices", "checkpoint_prefixes", "names", "filenames"};
    constexpr std::array kScalars = {"prefix",        "filename",     "contents",        "destination_prefix",
                                     "pattern",       "file_pattern", "header",          "compression_type",
                                     "string_handle", "handle",       "shape_and_slice", "tensor_name"};
    const auto among = [&](const auto& names) {
      return std::find(names.begin(), names.end(), arg.name) != names.end();
    };
    const bool about_handles = std::any_of(op.input_args.begin(), op.input_args.end(), is_handle) ||
                               std::any_of(op.output_args.begin(), op.output_args.end(), is_handle);
    const bool fixed = arg.dtype != DType::kInvalid && arg.number_attr.empty() &&
                       (is_integer(arg.dtype) || arg.dtype == DType::kBool || arg.dtype == DType::kString);
    const bool shape = arg.name == "element_shape" || arg.name == "shape_to_prepend";
    if (shape) {
      const DType d = value.dtype();  // nothing known, or a scalar's
      value = Tensor::zeros(d, draws_.one_in(2) ? Shape() : Shape({0}));
      if (value.elements() == 1 && d == DType::kInt64) *value.data<std::int64_t>() = -1;
      if (value.elements() == 1 && d == DType::kInt32) *value.data<std::int32_t>() = -1;
      return;
    }
    if (among(kVectors)) {
      value = Tensor::zeros(value.dtype(), {1 + draws_.below(2)});
    } else if (among(kScalars) || (about_handles && fixed)) {
      value = Tensor::zeros(value.dtype(), {});
    } else {
      return;
    }
    if (value.dtype() == DType::kString) {
      for (std::string& s : value.values<std::string>())
        s = draws_.one_in(4) ? edge_string(draws_) : draws_.one_of<std::string>({"file", "a", "", "a", "GZIP", "ZLIB"});
    } else {
      fill(value, draws_, common.mood, common.mood == Mood::kAlike ? 0 : 8);
      if (draws_.one_in(8)) return;
      if (value.dtype() == DType::kInt64 && *value.data<std::int64_t>() < 0) *value.data<std::int64_t>() = 2;
      if (value.dtype() == DType::kInt32 && *value.data<std::int32_t>() < 0) *value.data<std::int32_t>() = 1;
    }
  }

  // random_case() gives a variable that has it.
  static Tensor drawn_value(const Tensor& handle) {
    if (handle.dtype() != DType::kResource || handle.elements() != 1) return {};
    const auto v = std::dynamic_pointer_cast<Variable>(handle.data<ResourceHandle>()->resource());
    if (v == nullptr) return {};
    auto value = v->read("v");
    return value.ok() ? value->clone() : Tensor();
  }

  CallInput variable(CallInput in, Tensor value, DType d) {
    in.variable = true;
    in.dtype = d != DType::kInvalid ? d : value.valid() ? value.dtype() : common_.main;
    if (d == DType::kInvalid && draws_.one_in(20)) {  // a handle of a variable of another dtype
      in.dtype = any_dtype(draws_);
      value = {};
    }
    if (!is_plain(in.dtype) && in.dtype != DType::kString) in.dtype = DType::kFloat32;
    if (value.valid() && value.dtype() != in.dtype) value = {};
    if (!value.valid() && !draws_.one_in(6)) {
      value = Tensor::zeros(in.dtype, draws_.one_in(2) ? Shape() : Shape({1 + draws_.below(3), draws_.below(3)}));
      fill(value, draws_, common_.mood, 0);
    }
    in.value = std::move(value);
    return in;
  }

  bool make_handle(CallInput& in, const std::string& about, const ArgDef& arg, int depth) {
    const std::vector<HandleSource>& all = handle_sources(about, arg, depth >= kDeepest || draws_.one_in(2));
    const std::vector<HandleSource>& list = all.empty() ? handle_sources(about, arg, false) : all;
    if (list.empty() || depth > kDeepest + 1) return false;
    const HandleSource& source = draws_.one_of(list);
    in.source = draw(*source.op, depth + 1);
    in.output = source.output;
    return true;
  }

  void spoil_inputs(OpCall& call, const Common& common) {
    const int n = static_cast<int>(call.inputs.size());
    if (n == 0 || common.mood == Mood::kAlike) return;
    for (int k = draws_.below(3); k > 0; --k) {
      CallInput& in = call.inputs[static_cast<std::size_t>(draws_.below(n))];
      if (in.source == nullptr && in.value.valid() &&
          (is_plain(in.value.dtype()) || in.value.dtype() == DType::kString))
        spoil(in.value, draws_);
    }
    alias(call);
  }

  // Two inputs are one value.
  void alias(OpCall& call) {
    if (!draws_.one_in(6)) return;
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
      CallInput& in = call.inputs[i];
      const auto k = static_cast<std::size_t>(draws_.below(static_cast<int>(i)));
      const CallInput& other = call.inputs[k];
      if (in.source != nullptr || other.source != nullptr || other.same_as >= 0 || in.variable != other.variable)
        continue;
      if (in.dtype == other.dtype && in.value.valid() && other.value.valid() && in.value.dtype() == other.value.dtype())
        in.same_as = static_cast<int>(k);
    }
  }

  // After it there is something to take: most calls come to more then.
  static bool gives_something(const OpDef& op) {
    for (const char* word :
         {"Enqueue", "Insert", "Apply", "MakeIterator", "Initialize", "Write", "Push", "Scatter", "Unpack"}) {
      if (op.name.find(word) != op.name.npos) return true;
    }
    return false;
  }

  // What a staging area holds is known by its name, not by a handle.
  void stage_before(OpCall& call) {
    const std::string& name = call.op->name;
    if (name.find("Unstage") == name.npos && name.find("Peek") == name.npos) return;
    const char* const stage = name.starts_with("Ordered") ? "OrderedMapStage"
                              : name.starts_with("Map")   ? "MapStage"
                                                          : "Stage";
    const OpDef* const op = builtin_ops().find(stage);
    if (op == nullptr || draws_.one_in(6)) return;
    auto other = draw(*op, 1);
    for (const char* same : {"container", "shared_name", "dtypes", "capacity", "memory_limit"}) {
      if (const AttrValue* v = call.attrs.find(same)) other->attrs.set(same, *v);
    }
    call.before.push_back(std::move(other));
  }

  // Ops before this one that use the same handle: a queue that holds something, a table with keys.
  void add_before(OpCall& call) {
    for (std::size_t i = 0; i < call.inputs.size() && i < call.op->input_args.size(); ++i) {
      const ArgDef& arg = call.op->input_args[i];
      if (!is_handle(arg) || call.inputs[i].source == nullptr || arg.dtype == DType::kVariant) continue;
      const auto& list = handle_uses(subject(*call.op, arg), arg);
      for (int k = list.empty() ? 0 : (call.op->async ? 1 : 0) + draws_.below(4); k > 0; --k) {
        HandleUse use = draws_.one_of(list);
        for (int tries = 0; tries < 12 && !gives_something(*use.op); ++tries) use = draws_.one_of(list);
        if (has_functions(*use.op)) continue;
        auto other = draw(*use.op, 1);
        if (static_cast<std::size_t>(use.argument) >= other->inputs.size()) continue;
        other->inputs[static_cast<std::size_t>(use.argument)] = call.inputs[i];
        call.before.push_back(std::move(other));
      }
      return;
    }
  }

  RandomDraws draws_;
  const Common common_;
};

// What makes a dataset do something: an op that reads it.
std::shared_ptr<OpCall> read_dataset(std::shared_ptr<OpCall> dataset, int output, RandomDraws& draws) {
  const auto* types = dataset->attrs.find_as<std::vector<DType>>("output_types");
  const auto* shapes = dataset->attrs.find_as<std::vector<PartialShape>>("output_shapes");
  const std::vector<DType> components = types != nullptr ? *types : std::vector<DType>{DType::kInt64};
  auto call = std::make_shared<OpCall>();
  call->inputs = {CallInput{.source = std::move(dataset), .output = output}};
  if (draws.one_in(4)) {
    call->op = builtin_ops().find("DatasetToSingleElement");
    call->attrs = {{"output_types", components},
                   {"output_shapes", shapes != nullptr ? *shapes : std::vector<PartialShape>(components.size())}};
    return call;
  }
  // The number of elements: a state of int64 that each element leaves as it is.
  call->op = builtin_ops().find("ReduceDataset");
  call->inputs.push_back(CallInput{.value = Tensor::scalar(std::int64_t{0})});
  CallFunction f{.attr = "f", .takes = {DType::kInt64}, .gives = {{.parameter = 0, .constant = {}}}};
  f.takes.insert(f.takes.end(), components.begin(), components.end());
  call->functions.push_back(std::move(f));
  call->attrs = {{"f", FunctionRef{"f"}},
                 {"Tstate", std::vector<DType>{DType::kInt64}},
                 {"Targuments", std::vector<DType>{}},
                 {"output_types", std::vector<DType>{DType::kInt64}},
                 {"output_shapes", std::vector<PartialShape>{PartialShape::scalar()}}};
  return call;
}

}  // namespace

std::shared_ptr<OpCall> draw_call(const OpDef& op, std::uint64_t seed, std::span<const RecordedCase> recorded) {
  CallGenerator generator(seed);
  RandomDraws& draws = generator.draws();
  if (!recorded.empty() && !draws.one_in(3))
    return change_recorded(op, recorded[static_cast<std::size_t>(draws.below(static_cast<int>(recorded.size())))],
                           draws);
  auto call = generator.draw(op, 0);
  for (std::size_t i = 0; i < op.output_args.size(); ++i) {
    const ArgDef& out = op.output_args[i];
    if (out.dtype == DType::kVariant && op.name.find("Dataset") != op.name.npos && out.number_attr.empty() &&
        !draws.one_in(4))
      return read_dataset(std::move(call), static_cast<int>(i), draws);
  }
  return call;
}

}  // namespace argosy::op_calls
