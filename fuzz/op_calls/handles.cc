#include "fuzz/op_calls/handles.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <tuple>

#include "argosy/ops/ops.h"

namespace argosy::op_calls {

namespace {

// In this order: an op about several things is about the first.
constexpr std::array kSubjects = {"multideviceiterator", "iterator",     "optional",  "dataset", "tensorlist",
                                  "tensormap",           "tensorarray",  "hashtable", "queue",   "barrier",
                                  "accumulator",         "reader",       "stack",     "cache",   "seedgenerator",
                                  "composite",           "sparsematrix", "ragged",    "sparse"};

std::string lower(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string subject_in(std::string_view text) {
  const std::string s = lower(text);
  if (s.find("lookup") != s.npos || s.find("table") != s.npos) return "hashtable";
  for (const char* const subject : kSubjects) {
    if (s.find(subject) != s.npos) return subject;
  }
  return "";
}

enum Transport { kNone, kResource, kVariant, kReference };
Transport transport(const ArgDef& arg) {
  if (arg.is_ref) return arg.dtype == DType::kString ? kReference : kNone;
  return arg.dtype == DType::kResource ? kResource : arg.dtype == DType::kVariant ? kVariant : kNone;
}

using Key = std::tuple<std::string, Transport, bool>;

std::map<Key, std::vector<HandleSource>> find_handle_sources() {
  std::map<Key, std::vector<HandleSource>> found;
  for (const auto& op : builtin_ops().all()) {
    if (op->async) continue;
    const bool plain = std::none_of(op->input_args.begin(), op->input_args.end(), is_handle) &&
                       std::none_of(op->attr_defs.begin(), op->attr_defs.end(), [](const AttrDef& a) {
                         return a.kind == AttrKind::kFunction || a.kind == AttrKind::kFunctions;
                       });
    for (std::size_t i = 0; i < op->output_args.size(); ++i) {
      const Transport t = transport(op->output_args[i]);
      if (t == kNone || !op->output_args[i].number_attr.empty()) continue;
      const HandleSource source{op.get(), static_cast<int>(i)};
      for (const std::string& s : {subject_in(op->name), std::string()}) {
        found[{s, t, false}].push_back(source);
        if (plain) found[{s, t, true}].push_back(source);
      }
    }
  }
  return found;
}

std::map<Key, std::vector<HandleUse>> find_handle_uses() {
  std::map<Key, std::vector<HandleUse>> found;
  for (const auto& op : builtin_ops().all()) {
    for (std::size_t i = 0; i < op->input_args.size(); ++i) {
      const Transport t = transport(op->input_args[i]);
      if (t != kNone) found[{subject(*op, op->input_args[i]), t, false}].push_back({op.get(), static_cast<int>(i)});
    }
  }
  return found;
}

}  // namespace

bool is_handle(const ArgDef& arg) { return transport(arg) != kNone; }

std::string subject(const OpDef& op, const ArgDef& arg) {
  const std::string of_arg = subject_in(arg.name);
  return of_arg.empty() ? subject_in(op.name) : of_arg;
}

const std::vector<HandleSource>& handle_sources(const std::string& subject, const ArgDef& like, bool plain) {
  static const auto kSources = find_handle_sources();
  static const std::vector<HandleSource> kNobody;
  const auto found = kSources.find({subject, transport(like), plain});
  return found != kSources.end() ? found->second : kNobody;
}

const std::vector<HandleUse>& handle_uses(const std::string& subject, const ArgDef& like) {
  static const auto kUses = find_handle_uses();
  static const std::vector<HandleUse> kNobody;
  const auto found = kUses.find({subject, transport(like), false});
  return found != kUses.end() ? found->second : kNobody;
}

}  // namespace argosy::op_calls
