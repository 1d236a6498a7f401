#include "fuzz/op_calls/op_call.h"

#include "argosy/base/str.h"

namespace argosy::op_calls {

bool OpCall::needs_graph() const { return !functions.empty(); }

std::string OpCall::describe(int depth) const {
  std::string text = op->name + "(";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const CallInput& in = inputs[i];
    text += i > 0 ? ", " : "";
    if (in.same_as >= 0) {
      text += str_cat("= input ", in.same_as);
    } else if (in.source != nullptr) {
      text += depth < 4 ? str_cat(in.source->describe(depth + 1), ":", in.output) : in.source->op->name;
    } else {
      const std::string value = in.value.valid() ? in.value.to_string(16) : "nothing";
      text += in.variable ? str_cat("variable ", dtype_name(in.dtype), " of ", value) : value;
    }
  }
  text += ")";
  for (const auto& [name, value] : attrs) {
    std::string shown = attr_to_string(value);
    if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
    text += " " + name + "=" + shown;
  }
  for (const CallFunction& f : functions) {
    text += str_cat(" ", f.attr, "=function of ", f.takes.size(), " values giving ", f.gives.size());
    for (const auto& r : f.gives)
      text += r.parameter >= 0 ? str_cat(" parameter ", r.parameter) : " " + r.constant.to_string(4);
    text += f.fails ? ", fails" : f.recursive ? ", calls itself" : "";
  }
  for (const auto& b : before) text += depth < 4 ? " after " + b->describe(depth + 1) : " after " + b->op->name;
  return text;
}

}  // namespace argosy::op_calls
