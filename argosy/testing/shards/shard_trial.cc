#include "argosy/testing/shards/shard_trial.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/state/variable.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/testing/op_cases/state_case.h"
#include "argosy/testing/shards/shard_tensor.h"

namespace argosy {

Tensor variable_case(const Tensor& value) {
  auto variable = std::make_shared<Variable>(value.dtype(), PartialShape::unknown(), host_allocator());
  const Status assigned = variable->assign(value, false);
  ARGOSY_CHECK(assigned.ok());
  return Tensor::scalar(ResourceHandle("localhost", "v", std::move(variable)));
}

namespace {

using Kind = OperandRule::Kind;
using Outcome = TrialOutcome::Kind;

std::shared_ptr<Variable> variable_in(const Tensor& t) {
  if (!t.valid() || t.dtype() != DType::kResource || t.elements() != 1) return nullptr;
  return std::dynamic_pointer_cast<Variable>(t.data<ResourceHandle>()->resource());
}

Tensor value_in(const Tensor& t) {
  const auto variable = variable_in(t);
  if (variable == nullptr) return {};
  const auto value = variable->read("v");
  return value.ok() ? *value : Tensor();
}

// An input, or the value of the variable that it names.
Tensor data_of(const Tensor& input) { return variable_in(input) == nullptr ? input : value_in(input); }

// Input `i` becomes `data`: the value of a new variable where it names one.
void set_data(RandomCase& c, std::size_t i, const Tensor& data) {
  c.inputs[i] = variable_in(c.inputs[i]) == nullptr ? data : variable_case(data);
}

bool has_elements(DType d) { return is_plain(d) || d == DType::kString; }

Tensor in_doubles(const Tensor& t) {
  if (t.dtype() == DType::kComplex128) return t;
  Tensor wide = Tensor::zeros(DType::kComplex128, t.shape());
  std::copy_n(t.data<std::complex<float>>(), t.elements(), wide.data<std::complex<double>>());
  return wide;
}

bool is_tame(const Tensor& t) {
  if (t.valid() && is_complex(t.dtype())) {
    const Tensor wide = in_doubles(t);
    const auto values = wide.values<std::complex<double>>();
    return std::all_of(values.begin(), values.end(), [](std::complex<double> v) { return std::abs(v) < 1e3; });
  }
  if (!t.valid() || !is_floating(t.dtype())) return true;
  const Tensor wide = cast_to(t, DType::kFloat64);
  const auto values = wide.values<double>();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v) && std::abs(v) < 1e3; });
}

bool all_tame(const RandomCase& c, const CaseResult& r) {
  return std::all_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& t) { return is_tame(data_of(t)); }) &&
         std::all_of(r.outputs.begin(), r.outputs.end(), is_tame);
}

// That of the coarsest dtype among the output's and the inputs'.
double tolerance_of(const Tensor& output, const RandomCase& c) {
  double tolerance = dtype_tolerance(output.dtype(), 1e-5);
  for (const Tensor& input : c.inputs) {
    const Tensor t = data_of(input);
    if (t.valid() && is_floating(t.dtype())) tolerance = std::max(tolerance, dtype_tolerance(t.dtype(), 1e-5));
  }
  return 30 * tolerance;
}

// Element `s.element` of a size operand: that of a shard of `own` of `size` elements. An empty shard is told sizes that
// -1 leaves open.
Tensor with_local_size(const Tensor& sizes, const LocalSize& s, std::int64_t size, std::int64_t own,
                       const Shape& output) {
  Tensor local = Tensor::zeros(sizes.dtype(), sizes.shape());
  const auto scaled = [&](std::int64_t i, std::int64_t v) {
    if (v == -1 && own == 0 && i < output.rank()) v = output[static_cast<int>(i)];
    return i == s.element && v >= 0 ? v / size * own : v;
  };
  const Status done = dispatch<NumberTypes>(sizes.dtype(), "size", [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < sizes.elements(); ++i) {
        local.data<T>()[i] = static_cast<T>(scaled(i, static_cast<std::int64_t>(sizes.data<T>()[i])));
      }
    }
    return ok_status();
  });
  static_cast<void>(done);
  return local;
}

// Where the global value of the parts differs from `global`; empty: nowhere.
std::string compare(const std::vector<Tensor>& parts, const Placement& p, const std::vector<std::int64_t>& ends,
                    const Tensor& global, const std::vector<double>& weights, double tolerance) {
  if (!global.valid() || !has_elements(global.dtype())) return "";
  switch (p.kind) {
    case Placement::Kind::kShard: {
      const auto joined = join_shards(parts, p, ends);
      return joined.ok() ? difference(*joined, global, tolerance) : std::string(joined.status().message());
    }
    case Placement::Kind::kPartial: {
      if (p.combine != Combine::kSum && !is_tame(global)) return "";  // a maximum of nothing, or of NaN
      const auto all = combine_partials(parts, p.combine, weights);
      return all.ok() ? difference(*all, global, tolerance) : std::string(all.status().message());
    }
    case Placement::Kind::kReplicate:
      for (const Tensor& t : parts) {
        if (std::string wrong = difference(t, global, tolerance); !wrong.empty()) return wrong;
      }
      return "";
    default: return "";
  }
}

}  // namespace

bool is_tensor_case(const RandomCase& c) {
  const auto dtypes = arg_dtypes(c.op->input_args, c.attrs);
  if (!dtypes.ok() || dtypes->size() != c.inputs.size()) return false;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor data = data_of(c.inputs[i]);
    if (!data.valid() || !has_elements(data.dtype())) return false;
    const DType declared = (*dtypes)[i];
    if (declared != DType::kResource && declared != data.dtype()) return false;
  }
  return true;
}

std::optional<RandomCase> as_random_case(const OpDef& op, const RecordedCase& recorded) {
  RandomCase c{&op, recorded.attrs, recorded.inputs};
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Tensor& t = c.inputs[i];
    if (!t.valid()) return std::nullopt;
    const bool variable = names_variable(op, i);
    dtypes.push_back(variable && !op.has_ref_input() ? DType::kResource : t.dtype());
    if (variable) t = variable_case(t);
  }
  return complete_attrs(op, dtypes, c.attrs).ok() ? std::optional(c) : std::nullopt;
}

Result<CaseResult> run_case(const RandomCase& c) {
  RandomCase own = c;
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    if (const Tensor value = value_in(own.inputs[i]); value.valid()) own.inputs[i] = variable_case(value);
  }
  CaseResult result;
  ARGOSY_ASSIGN_OR_RETURN(result.outputs, run_kernel(own, cpu_kernels(), false));
  for (Tensor& t : result.outputs) {
    if (const Tensor value = value_in(t); value.valid()) t = value;
  }
  for (const Tensor& t : own.inputs) result.after.push_back(value_in(t));
  return result;
}

std::int64_t size_of_factor(const RandomCase& c, const CaseResult& result, const ShardingRule& rule,
                            const RuleCandidate& candidate) {
  const std::int64_t known = rule.factors[static_cast<std::size_t>(candidate.factor)].size;
  if (known >= 0) return known;
  const auto size = [](const Placement& p, const Tensor& t) {
    return p.is_shard() && t.valid() ? t.shape()[p.dim] / (p.rounds * p.unit) : 0;
  };
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (const std::int64_t n = size(candidate.inputs[i], data_of(c.inputs[i])); n > 0) return n;
  }
  for (std::size_t k = 0; k < result.outputs.size(); ++k) {
    if (const std::int64_t n = size(candidate.outputs[k], result.outputs[k]); n > 0) return n;
  }
  return 0;
}

Result<ShardingRule> rule_of_case(const RandomCase& c, const CaseResult& result, int hidden) {
  int count = 0;
  const auto is_hidden = [&] { return hidden > 0 && ++count % hidden == 0; };
  const auto seen = [&](const Shape& shape) {
    std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
    for (std::int64_t& s : sizes) s = is_hidden() ? PartialShape::kUnknown : s;
    return PartialShape(std::move(sizes));
  };
  AttrMap attrs = c.attrs;
  ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(c.op->input_args, attrs));
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*c.op, dtypes, attrs));
  std::vector<PartialShape> shapes, outputs;
  std::vector<std::optional<PartialInts>> ints(c.inputs.size());
  std::vector<HandleFact> facts;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor data = data_of(c.inputs[i]);
    const bool by_handle = dtypes[i] == DType::kResource;
    shapes.push_back(by_handle ? PartialShape::scalar() : data.valid() ? seen(data.shape()) : PartialShape());
    facts.push_back(data.valid() ? HandleFact{data.dtype(), by_handle ? seen(data.shape()) : shapes.back()}
                                 : HandleFact{});
    if ((dtypes[i] != DType::kInt32 && dtypes[i] != DType::kInt64) || !data.valid() || data.elements() > 1024) continue;
    ints[i].emplace();
    for (std::int64_t k = 0; k < data.elements(); ++k) {
      const std::int64_t v =
          data.dtype() == DType::kInt32 ? data.data<std::int32_t>()[k] : data.data<std::int64_t>()[k];
      ints[i]->push_back(is_hidden() ? std::nullopt : std::optional(v));
    }
  }
  for (const Tensor& t : result.outputs) outputs.push_back(t.valid() ? seen(t.shape()) : PartialShape());
  std::vector<const PartialShape*> shape_pointers;
  std::vector<const PartialInts*> int_pointers;
  std::vector<const HandleFact*> handles;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    shape_pointers.push_back(&shapes[i]);
    int_pointers.push_back(ints[i] ? &*ints[i] : nullptr);
    handles.push_back(facts[i].dtype == DType::kInvalid ? nullptr : &facts[i]);
  }
  const ShapeContext context(*c.op, attrs, dtypes, shape_pointers, int_pointers, outputs, handles);
  return sharding_rule(context);
}

std::string misfit(const RandomCase& c, const CaseResult& result, const ShardingRule& rule) {
  if (rule.kind != ShardingRule::Kind::kFactors) return "";
  if (rule.inputs.size() != c.inputs.size() || rule.outputs.size() != result.outputs.size()) {
    return str_cat("the rule has ", rule.inputs.size(), " inputs and ", rule.outputs.size(), " outputs");
  }
  const auto check = [&](const OperandRule& o, const Tensor& t, const char* what, std::size_t at) -> std::string {
    if (o.kind != Kind::kDims || !t.valid()) return "";
    if (static_cast<int>(o.dims.size()) != t.shape().rank()) {
      return str_cat(what, " ", at, " has rank ", t.shape().rank(), ", in the rule ", o.dims.size());
    }
    for (std::size_t d = 0; d < o.dims.size(); ++d) {
      std::int64_t product = 1;
      for (const std::int8_t f : o.dims[d]) {
        const std::int64_t size = rule.factors[static_cast<std::size_t>(f)].size;
        product = size < 0 || product < 0 ? -1 : product * size;
      }
      if (!o.dims[d].empty() && product >= 0 && product != t.shape()[static_cast<int>(d)]) {
        return str_cat(what, " ", at, " has ", t.shape()[static_cast<int>(d)], " along dimension ", d, ", in the rule ",
                       product);
      }
    }
    return "";
  };
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (std::string wrong = check(rule.inputs[i], data_of(c.inputs[i]), "input", i); !wrong.empty()) return wrong;
  }
  for (std::size_t k = 0; k < result.outputs.size(); ++k) {
    if (std::string wrong = check(rule.outputs[k], result.outputs[k], "output", k); !wrong.empty()) return wrong;
  }
  return "";
}

TrialOutcome try_factor(const RandomCase& c, const CaseResult& global, const ShardingRule& rule,
                        const RuleCandidate& candidate, const std::vector<std::int64_t>& ends) {
  const auto is_partial = [](const Placement& p) { return p.is_partial(); };
  const bool partial = std::any_of(candidate.outputs.begin(), candidate.outputs.end(), is_partial);
  if (partial && !all_tame(c, global)) return {Outcome::kNotTried};
  const std::int64_t size = ends.back();
  std::vector<CaseResult> results;
  std::vector<double> weights;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    RandomCase shard = c;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const Placement& p = candidate.inputs[i];
      if (p.is_shard()) set_data(shard, i, shard_of(data_of(c.inputs[i]), p, size, begin, end));
    }
    for (const LocalSize& s : candidate.sizes) {
      Tensor& sizes = shard.inputs[static_cast<std::size_t>(s.input)];
      const int of = rule.inputs[static_cast<std::size_t>(s.input)].of;
      sizes = with_local_size(sizes, s, size, end - begin, global.outputs[static_cast<std::size_t>(of)].shape());
    }
    auto result = run_case(shard);
    if (!result.ok()) {
      return {end == begin ? Outcome::kRefusesEmpty : Outcome::kWrong,
              str_cat("shard ", results.size(), ": ", result.status().to_string())};
    }
    results.push_back(std::move(*result));
    if (candidate.mean) weights.push_back(static_cast<double>(end - begin) / static_cast<double>(size));
    begin = end;
  }
  const auto parts = [&](std::vector<Tensor> CaseResult::*list, std::size_t at) {
    std::vector<Tensor> all;
    for (const CaseResult& r : results) all.push_back((r.*list)[at]);
    return all;
  };
  for (std::size_t k = 0; k < global.outputs.size(); ++k) {
    const std::string wrong = compare(parts(&CaseResult::outputs, k), candidate.outputs[k], ends, global.outputs[k],
                                      weights, tolerance_of(global.outputs[k], c));
    if (!wrong.empty())
      return {Outcome::kWrong, str_cat("output ", k, " ", to_string(candidate.outputs[k]), ": ", wrong)};
  }
  for (const int i : rule.updates) {
    const auto at = static_cast<std::size_t>(i);
    const std::string wrong = compare(parts(&CaseResult::after, at), candidate.inputs[at], ends, global.after[at], {},
                                      tolerance_of(global.after[at], c));
    if (!wrong.empty()) return {Outcome::kWrong, str_cat("new value of input ", i, ": ", wrong)};
  }
  return {};
}

TrialOutcome try_partial(const RandomCase& c, const CaseResult& global, const RuleCandidate& candidate,
                         const std::vector<int>& partial, int shards) {
  if (!all_tame(c, global)) return {Outcome::kNotTried};
  const Combine how = candidate.inputs[static_cast<std::size_t>(partial[0])].combine;
  std::vector<RandomCase> cases(static_cast<std::size_t>(shards), c);
  for (const int i : partial) {
    const auto at = static_cast<std::size_t>(i);
    const auto parts = split_partial(data_of(c.inputs[at]), how, shards);
    for (std::size_t s = 0; s < cases.size(); ++s) set_data(cases[s], at, parts[s]);
  }
  for (const int i : candidate.group) {
    if (std::find(partial.begin(), partial.end(), i) != partial.end()) continue;
    const auto at = static_cast<std::size_t>(i);
    const Tensor data = data_of(c.inputs[at]);
    for (std::size_t s = 1; s < cases.size(); ++s) set_data(cases[s], at, Tensor::zeros(data.dtype(), data.shape()));
  }
  std::vector<CaseResult> results;
  for (const RandomCase& one : cases) {
    auto result = run_case(one);
    if (!result.ok()) return {Outcome::kWrong, str_cat("part ", results.size(), ": ", result.status().to_string())};
    results.push_back(std::move(*result));
  }
  for (std::size_t k = 0; k < global.outputs.size(); ++k) {
    std::vector<Tensor> parts;
    for (const CaseResult& r : results) parts.push_back(r.outputs[k]);
    const std::string wrong =
        compare(parts, candidate.outputs[k], {}, global.outputs[k], {}, tolerance_of(global.outputs[k], c));
    if (!wrong.empty()) return {Outcome::kWrong, str_cat("output ", k, ": ", wrong)};
  }
  return {};
}

}  // namespace argosy
