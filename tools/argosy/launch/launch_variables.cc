#include "tools/argosy/launch/launch_variables.h"

#include <cstdlib>
#include <string_view>

#include "argosy/cluster/launch/launch_plan.h"
#include "tools/argosy/cli/exit_code.h"

namespace argosy::cli {

namespace {

Status usage(std::string message, std::string next) {
  return invalid_argument(message).with_id(kUsageId).with_where("argosy launch").with_hint(std::move(next));
}

}  // namespace

EnvironmentMap own_variables() {
  EnvironmentMap passed;
  for (const auto& [name, value] : process_environment()) {
    if (!name.starts_with("ARGOSY_") || is_launcher_variable(name)) continue;
    if (name == "ARGOSY_ERROR_FILE" || name == "ARGOSY_JOB_TOKEN") continue;  // each agent's own; the launch's
    passed[name] = value;
  }
  return passed;
}

Result<EnvironmentMap> named_variables(const std::vector<std::string>& words) {
  EnvironmentMap named;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name.empty()) return usage(str_cat("-x ", word, ": a variable has a name"), "-x OMP_NUM_THREADS=2");
    if (is_launcher_variable(name)) {
      return usage(str_cat("-x ", name, ": argosy launch sets it"),
                   "argosy launch --help lists what says where tasks are");
    }
    if (equals != std::string::npos) {
      named[name] = word.substr(equals + 1);
    } else if (const char* const value = std::getenv(name.c_str()); value != nullptr) {
      named[name] = value;
    } else {
      return usage(str_cat("-x ", name, ": it is not set here"), str_cat("-x ", name, "=VALUE"));
    }
  }
  return named;
}

}  // namespace argosy::cli
