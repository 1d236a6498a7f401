#include "argosy/tf/graph/functions/body_names.h"

#include <algorithm>
#include <charconv>

namespace argosy::tf {

namespace {

Status taken(std::string_view name) {
  return invalid_argument("two parameters or nodes are called \"", name, "\"").with_id("ARG-GRAPH-003");
}

Status number(std::string_view text, std::string_view digits, std::int32_t& value) {
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool all = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  if (all && value >= 0) return ok_status();
  return invalid_argument("input \"", text, "\" is not \"node:output:number\"").with_id("ARG-IMPORT-006");
}

}  // namespace

Status BodyNames::add_parameter(std::string_view name, std::int32_t first, std::int32_t count) {
  return names_.emplace(name, Named{first, count, true}).second ? ok_status() : taken(name);
}

Status BodyNames::add_node(std::string_view name, std::int32_t entry) {
  return names_.emplace(name, Named{entry, 1, false}).second ? ok_status() : taken(name);
}

Status BodyNames::parse(std::string_view text, std::vector<GraphImporter::Input>& inputs) const {
  const bool control = text.starts_with('^');
  std::string_view rest = control ? text.substr(1) : text;
  const std::string_view name = rest.substr(0, rest.find(':'));
  const auto found = names_.find(name);
  if (found == names_.end()) {
    return invalid_argument("Unknown input node '", text, "'").with_id("ARG-IMPORT-006");
  }
  rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  const Named& named = found->second;
  if (control) {
    if (named.count > 0) inputs.push_back({named.first, GraphImporter::Input::kControl});
    return ok_status();
  }
  if (named.is_parameter) return parse_parameter(text, rest, named, inputs);
  const std::string_view out = rest.substr(0, rest.find(':'));
  rest.remove_prefix(std::min(rest.size(), out.size() + 1));
  std::int32_t index = GraphImporter::Input::kWholeArg;
  if (!rest.empty()) ARGOSY_RETURN_IF_ERROR(number(text, rest, index));
  if (out.empty()) return invalid_argument("input \"", text, "\" names no output").with_id("ARG-IMPORT-006");
  inputs.push_back({named.first, index, out});
  return ok_status();
}

Status BodyNames::parse_parameter(std::string_view text, std::string_view rest, const Named& named,
                                  std::vector<GraphImporter::Input>& inputs) {
  if (rest.empty()) {
    for (std::int32_t k = 0; k < named.count; ++k) inputs.push_back({named.first + k, 0});
    return ok_status();
  }
  std::int32_t index = 0;
  ARGOSY_RETURN_IF_ERROR(number(text, rest, index));
  if (index >= named.count) {
    return invalid_argument("input \"", text, "\": the parameter has ", named.count, " values")
        .with_id("ARG-IMPORT-006");
  }
  inputs.push_back({named.first + index, 0});
  return ok_status();
}

}  // namespace argosy::tf
