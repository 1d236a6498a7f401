#include "argosy/op/definition/sharding_places.h"

#include <algorithm>

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

// A handle has the dimensions of what it names: a variable, an element of a list.
bool is_handle(DType d) { return d == DType::kResource || d == DType::kVariant; }

}  // namespace

Result<std::string> ShardingPlaces::find() {
  ARGOSY_RETURN_IF_ERROR(place_all());
  if (std::string why = count_rests(); !why.empty()) return why;
  for (Place& p : places_) {
    if (p.text->kind == Kind::kDims) name_dims(p);
  }
  if (std::string why = permute(); !why.empty()) return why;
  return find_sizes();
}

// --- arguments and tensors
Result<std::vector<int>> ShardingPlaces::counts(const std::vector<ArgDef>& args) const {
  std::vector<int> n;
  for (const ArgDef& arg : args) {
    ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes({arg}, c_.attrs()));
    n.push_back(static_cast<int>(dtypes.size()));
  }
  return n;
}

const PartialShape* ShardingPlaces::shape_of_input(int i) const {
  const HandleFact* behind = c_.handle(i);
  if (behind != nullptr) return &behind->shape;
  return is_handle(c_.input_dtype(i)) ? nullptr : &c_.input(i);
}

Status ShardingPlaces::place_all() {
  ARGOSY_ASSIGN_OR_RETURN(const auto in, counts(c_.op().input_args));
  ARGOSY_ASSIGN_OR_RETURN(const auto out, counts(c_.op().output_args));
  ARGOSY_ASSIGN_OR_RETURN(out_dtypes_, arg_dtypes(c_.op().output_args, c_.attrs()));
  const auto place = [&](const std::vector<int>& n, const std::vector<TextOperand>& texts, bool input) {
    int at = 0;
    for (std::size_t a = 0; a < n.size(); ++a) {
      (input ? first_input_ : first_output_).push_back(at);
      for (int k = 0; k < n[a]; ++k, ++at) {
        places_.push_back({.text = &texts[a],
                           .shape = input ? shape_of_input(at) : &c_.output(at),
                           .arg = static_cast<int>(a),
                           .input = input,
                           .open = !input && is_handle(out_dtypes_[static_cast<std::size_t>(at)])});
      }
    }
    (input ? first_input_ : first_output_).push_back(at);
    return at;
  };
  if (text_.inputs.size() != in.size() || text_.outputs.size() != out.size()) {
    return internal_error("op ", c_.op().name, ": its sharding rule has other arguments");
  }
  const int inputs = place(in, text_.inputs, true), outputs = place(out, text_.outputs, false);
  if (inputs != c_.num_inputs() || outputs != c_.num_outputs()) {
    return internal_error("op ", c_.op().name, ": its attributes speak of other inputs or outputs than it has");
  }
  return ok_status();
}

std::string ShardingPlaces::name(const Place& p) const {
  const auto& args = p.input ? c_.op().input_args : c_.op().output_args;
  return str_cat(p.input ? "input " : "output ", p.arg, " (", args[static_cast<std::size_t>(p.arg)].name, ")");
}

// --- "i..": how many dimensions
// What the operand says of the one letter that it leaves open.
std::string ShardingPlaces::count_rests_of(const Place& p, bool& changed) {
  int left = p.shape->rank();
  const TextDim* open = nullptr;
  bool several = false;
  const auto rests = std::count_if(p.text->dims.begin(), p.text->dims.end(),
                                   [](const TextDim& d) { return d.kind == TextDim::Kind::kRest; });
  for (const TextDim& d : p.text->dims) {
    if (d.kind != TextDim::Kind::kRest) {
      --left;
    } else if (const auto known = rests_.find(d.names[0]); rests > 1 && known != rests_.end()) {
      left -= known->second;
    } else {
      several = several || open != nullptr;
      open = &d;
    }
  }
  if (several) return "";
  if (left < 0 || (open == nullptr && left != 0)) {
    return str_cat(name(p), " has rank ", p.shape->rank(), ", which its rule does not cover");
  }
  if (open == nullptr) return "";
  const auto [at, fresh] = rests_.emplace(open->names[0], left);
  if (at->second != left && !text_.broadcasts) {
    return str_cat(name(p), " has rank ", p.shape->rank(), ", which its rule does not cover");
  }
  changed = changed || fresh || left > at->second;
  at->second = std::max(at->second, left);
  return "";
}

std::string ShardingPlaces::count_rests() {
  for (const Place& p : places_) {
    if (p.text->kind != Kind::kDims) continue;
    if (p.open) continue;
    if (p.shape == nullptr) return str_cat("what is behind ", name(p), " is not known");
    if (!p.shape->has_rank()) return str_cat("the rank of ", name(p), " is not known");
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Place& p : places_) {
      if (p.text->kind != Kind::kDims || p.open) continue;
      if (std::string why = count_rests_of(p, changed); !why.empty()) return why;
    }
  }
  for (const Place& p : places_) {
    for (const TextDim& d : p.text->dims) {
      if (d.kind == TextDim::Kind::kRest && !rests_.contains(d.names[0])) {
        return str_cat("nothing says how many dimensions ", d.names[0], ".. stands for");
      }
    }
  }
  return "";
}

void ShardingPlaces::name_dims(Place& p) {
  int fixed = 0, rests = 0;
  for (const TextDim& d : p.text->dims) {
    const bool rest = d.kind == TextDim::Kind::kRest;
    rests += rest ? 1 : 0;
    fixed += rest ? 0 : 1;
  }
  for (const TextDim& d : p.text->dims) {
    if (d.kind != TextDim::Kind::kRest) {
      p.dims.push_back(d.names);
      continue;
    }
    const int total = rests_[d.names[0]];
    const int own = rests == 1 && !p.open ? p.shape->rank() - fixed : total;
    for (int k = total - own; k < total; ++k) p.dims.push_back({str_cat(d.names[0], k)});
  }
}

// --- attributes
std::string ShardingPlaces::permute() {
  for (const auto& [attr, input] : text_.flips) {
    if (!c_.attrs().get_bool(attr)) continue;
    for (Place& p : places_) {
      if (p.input && p.arg == input) std::swap(p.dims[p.dims.size() - 1], p.dims[p.dims.size() - 2]);
    }
  }
  if (text_.layout.empty()) return "";
  const std::string& layout = c_.attrs().get_string(text_.layout);
  if (layout == "NHWC" || layout == "NDHWC") return "";
  if (layout != "NCHW" && layout != "NCDHW") return str_cat(text_.layout, " is ", layout);
  for (Place& p : places_) {
    if (p.dims.size() < 3 || p.dims[0] != std::vector<std::string>{"n"}) continue;
    std::rotate(p.dims.begin() + 1, p.dims.end() - 1, p.dims.end());
  }
  return "";
}

// --- sizes
std::string ShardingPlaces::find_sizes() {
  for (const Place& p : places_) {
    for (std::size_t d = 0; d < p.dims.size(); ++d) {
      for (const std::string& f : p.dims[d]) sizes_.try_emplace(f);
      if (p.dims[d].size() != 1 || p.open) continue;
      Sizes& s = sizes_[p.dims[d][0]];
      const std::int64_t size = (*p.shape)[static_cast<int>(d)];
      if (p.input) ++s.inputs;
      if (p.input || has_sizes()) s.unknown = s.unknown || size < 0;
      if (size < 0 || size == s.size) continue;
      if (s.size < 0 || (s.size == 1 && text_.broadcasts)) {
        s.size = size;
      } else if (size != 1 || !text_.broadcasts) {
        return str_cat(name(p), " has ", size, " along dimension ", d, ", another operand ", s.size);
      }
    }
  }
  for (Place& p : places_) {
    for (std::size_t d = 0; d < p.dims.size(); ++d) {
      if (p.open) continue;
      if (p.dims[d].size() == 1 && is_free(sizes_[p.dims[d][0]], (*p.shape)[static_cast<int>(d)])) p.dims[d].clear();
      if (p.dims[d].size() > 1) {
        if (std::string why = divide(p, d); !why.empty()) return why;
      }
    }
  }
  return "";
}

// A dimension of this size belongs to no factor: it is broadcast, or may be.
bool ShardingPlaces::is_free(const Sizes& s, std::int64_t size) const {
  if (!text_.broadcasts) return false;
  return (size == 1 && s.size != 1) || (s.unknown && (s.inputs > 1 || has_sizes()));
}

bool ShardingPlaces::has_sizes() const {
  return std::any_of(text_.inputs.begin(), text_.inputs.end(),
                     [](const TextOperand& o) { return o.kind == Kind::kSizes; });
}

// The one size of a dimension of several factors that is not known.
std::string ShardingPlaces::divide(const Place& p, std::size_t d) {
  const std::int64_t size = (*p.shape)[static_cast<int>(d)];
  std::int64_t product = 1;
  Sizes* open = nullptr;
  for (const std::string& f : p.dims[d]) {
    Sizes& s = sizes_[f];
    if (s.size >= 0) {
      product *= s.size;
    } else if (open == nullptr) {
      open = &s;
    } else {
      return "";
    }
  }
  if (size < 0) return "";
  if (open == nullptr ? product != size : product == 0 || size % product != 0) {
    return str_cat(name(p), " has ", size, " along dimension ", d, ", no multiple of ", product);
  }
  if (open != nullptr) open->size = size / product;
  return "";
}

std::vector<int> ShardingPlaces::inputs_of(const std::vector<int>& args) const {
  std::vector<int> list;
  for (const int a : args) {
    for (int i = first_input_[static_cast<std::size_t>(a)]; i < first_input_[static_cast<std::size_t>(a) + 1]; ++i) {
      list.push_back(i);
    }
  }
  return list;
}

}  // namespace argosy
