#include "argosy/sharding/testing/virtual_values.h"

#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/sharding/reshard/cut.h"

namespace argosy {

namespace {

Result<Tensor> run(std::string_view op, const std::vector<Tensor>& inputs, AttrMap attrs = {}) {
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* const def, builtin_ops().lookup(op));
  ARGOSY_ASSIGN_OR_RETURN(auto outputs, evaluate_op(*def, std::move(attrs), inputs));
  return std::move(outputs[0]);
}

Result<Tensor> slice(const Tensor& t, int dim, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> from(static_cast<std::size_t>(t.shape().rank()), 0);
  std::vector<std::int64_t> size(t.shape().sizes().begin(), t.shape().sizes().end());
  from[static_cast<std::size_t>(dim)] = begin;
  size[static_cast<std::size_t>(dim)] = end - begin;
  return run("Slice", {t, Tensor::vector(from), Tensor::vector(size)});
}

Result<Tensor> concat(std::vector<Tensor> parts, int dim) {
  if (parts.size() == 1) return parts[0];
  parts.push_back(Tensor::scalar(std::int32_t{dim}));
  return run("ConcatV2", parts);
}

bool is_handle(const Tensor& t) { return t.valid() && (t.dtype() == DType::kResource || t.dtype() == DType::kVariant); }

bool same(const Tensor& a, const Tensor& b) {
  if (is_handle(a)) return true;  // each device has its own
  return a.dtype() == b.dtype() && a.shape() == b.shape() && attr_equal(AttrValue(a), AttrValue(b));
}

}  // namespace

Result<Shards> cut_value(const Tensor& global, const Placement& p, const MeshAxis& axis) {
  Shards shards;
  for (int d = 0; d < axis.size; ++d) {
    const bool first = d == 0;
    if (p.is_replicate() || (p.is_partial() && (first || p.combine != Combine::kSum))) {
      shards.push_back(global);
    } else if (p.is_partial()) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor zeros, run("ZerosLike", {global}));
      shards.push_back(std::move(zeros));
    } else if (p.kind == Placement::Kind::kOnce) {
      shards.push_back(first ? global : Tensor());
    } else if (p.is_shard()) {
      ARGOSY_ASSIGN_OR_RETURN(const Cut cut, cut_dim(axis, p, global.shape()[p.dim], d));
      std::vector<Tensor> rounds;
      for (std::int64_t r = 0; r < cut.rounds; ++r) {
        const std::int64_t at = r * cut.step;
        ARGOSY_ASSIGN_OR_RETURN(Tensor part, slice(global, p.dim, at + cut.begin, at + cut.end));
        rounds.push_back(std::move(part));
      }
      ARGOSY_ASSIGN_OR_RETURN(Tensor own, concat(std::move(rounds), p.dim));
      shards.push_back(std::move(own));
    } else {
      return invalid_argument("no value becomes ", to_string(p));
    }
  }
  return shards;
}

Result<Tensor> join_value(const Shards& shards, const Placement& p, const MeshAxis& axis) {
  if (p.kind == Placement::Kind::kOnce) return shards[0];
  if (p.is_replicate()) {
    for (const Tensor& t : shards) {
      if (!same(t, shards[0])) {
        return invalid_argument("replicated, but one device has ", t.to_string(8), ", another ",
                                shards[0].to_string(8));
      }
    }
    return shards[0];
  }
  if (p.is_partial()) {
    const char* const op = p.combine == Combine::kSum ? "AddV2" : p.combine == Combine::kMax ? "Maximum" : "Minimum";
    Tensor all = shards[0];
    for (std::size_t d = 1; d < shards.size(); ++d) {
      if (shards[d].shape() != all.shape()) {
        return invalid_argument("partial values have shapes ", all.shape(), " and ", shards[d].shape());
      }
      ARGOSY_ASSIGN_OR_RETURN(all, run(op, {all, shards[d]}));
    }
    return all;
  }
  if (!p.is_shard()) return invalid_argument("a varying value has no global one");
  std::int64_t size = 0;
  for (const Tensor& t : shards) size += t.shape()[p.dim];
  std::vector<Tensor> parts;
  for (std::int64_t r = 0; r < p.rounds; ++r) {
    for (int d = 0; d < axis.size; ++d) {
      const Tensor& own = shards[static_cast<std::size_t>(d)];
      ARGOSY_ASSIGN_OR_RETURN(const Cut cut, cut_dim(axis, p, size, d));
      if (own.shape()[p.dim] != cut.size()) {
        return invalid_argument("device ", d, " has ", own.shape()[p.dim], " rows of ", size, " instead of ",
                                cut.size());
      }
      const std::int64_t rows = cut.end - cut.begin;
      ARGOSY_ASSIGN_OR_RETURN(Tensor part, slice(own, p.dim, r * rows, (r + 1) * rows));
      parts.push_back(std::move(part));
    }
  }
  return concat(std::move(parts), p.dim);
}

Result<Shards> reshard_value(const Shards& shards, const Placement& from, const Placement& to, const MeshAxis& axis) {
  if (is_handle(shards[0])) {  // whoever has no state of its own asks the device that has it
    if (from.kind != Placement::Kind::kOnce) return shards;
    return Shards(shards.size(), shards[0]);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor global, join_value(shards, from, axis));
  return cut_value(global, to, axis);
}

}  // namespace argosy
