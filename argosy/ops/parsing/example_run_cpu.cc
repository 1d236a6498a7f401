#include "argosy/ops/parsing/example_run.h"

#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/parsing/examples.h"

namespace argosy::examples {

Status ExampleRun::read() {
  ARGOSY_RETURN_IF_ERROR(check_counts(op_, attrs_));
  ARGOSY_ASSIGN_OR_RETURN(in_, first_of(op_.input_args, attrs_));
  ARGOSY_ASSIGN_OR_RETURN(out_, first_of(op_.output_args, attrs_));
  return read_rows();
}

Status ExampleRun::read_rows() {
  const Tensor& serialized = c_.input(0);
  const bool single = op_.name.starts_with("ParseSingle");
  sequence_ = op_.name.find("Sequence") != std::string::npos;
  batched_ = serialized.shape().rank() == 1;
  const bool fits = single ? !batched_ && serialized.shape().rank() == 0
                           : batched_ || (serialized.shape().rank() == 0 && op_.name.ends_with("V2"));
  if (!fits) {
    return invalid_argument("Expected serialized to be a ", single ? "scalar" : "vector",
                            ", got shape: ", serialized.shape());
  }
  const char* const names_input = sequence_ ? "debug_name" : "names";
  const Tensor* const names = in_.contains(names_input) ? &c_.input(in_.at(names_input)) : nullptr;
  if (names != nullptr && names->elements() > 0 && names->shape() != serialized.shape()) {
    return invalid_argument("Expected names have the same shape as serialized: ", names->shape(), " is not ",
                            serialized.shape());
  }
  for (std::int64_t i = 0; i < serialized.elements(); ++i) {
    check_interrupted();
    ExampleRow row;
    row.name = names != nullptr && names->elements() > 0 ? names->data<std::string>()[i] : "<unknown>";
    const std::string& bytes = serialized.data<std::string>()[i];
    if (sequence_) {
      ARGOSY_ASSIGN_OR_RETURN(row.example, tf::parse_sequence_example(bytes));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(row.example.context, tf::parse_example(bytes));
    }
    rows_.push_back(std::move(row));
  }
  return ok_status();
}

Result<std::vector<std::string>> ExampleRun::keys(const std::string& name, std::size_t wanted) const {
  std::vector<std::string> found;
  if (const auto* attr = attrs_.find_as<std::vector<std::string>>(name)) {
    found = *attr;
  } else if (const auto at = in_.find(name); at != in_.end()) {
    const bool vector = std::any_of(op_.input_args.begin(), op_.input_args.end(),
                                    [&](const ArgDef& a) { return a.name == name && a.number_attr.empty(); });
    for (std::size_t k = 0; k < (vector ? 1 : wanted); ++k) {
      const Tensor& t = c_.input(at->second + static_cast<int>(k));
      if (t.shape().rank() != (vector ? 1 : 0)) {
        return invalid_argument("Expected ", name, " to be a ", vector ? "vector" : "scalar",
                                ", got shape: ", t.shape());
      }
      const auto values = t.values<std::string>();
      found.insert(found.end(), values.begin(), values.end());
    }
  }
  if (found.size() == wanted) return found;
  return invalid_argument("Expected len(", name, ") == ", wanted, ", not ", found.size());
}

}  // namespace argosy::examples
