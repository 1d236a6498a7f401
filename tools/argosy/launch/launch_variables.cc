#include "tools/argosy/launch/launch_variables.h"

#include <cstdlib>
#include <string_view>

#include "argosy/cluster/launch/launch_plan.h"
#include "tools/argosy/launch/options.h"

namespace argosy::cli {

namespace {

// What a launch sets for each task itself.
bool is_set_by_launch(std::string_view name) {
  return is_launcher_variable(name) || name == "ARGOSY_ERROR_FILE" || name == "ARGOSY_JOB_TOKEN";
}

}  // namespace

EnvironmentMap own_variables() {
  EnvironmentMap passed;
  for (const auto& [name, value] : process_environment()) {
    if (name.starts_with("ARGOSY_") && !is_set_by_launch(name)) passed[name] = value;
  }
  return passed;
}

Result<EnvironmentMap> named_variables(const std::vector<std::string>& words) {
  EnvironmentMap named;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name.empty()) return launch_usage(str_cat("-x ", word, ": a variable has a name"), "-x OMP_NUM_THREADS=2");
    if (is_set_by_launch(name)) {
      return launch_usage(str_cat("-x ", name, ": argosy launch sets it"),
                          "argosy launch --help lists what says where tasks are");
    }
    if (equals != std::string::npos) {
      named[name] = word.substr(equals + 1);
    } else if (const char* const value = std::getenv(name.c_str()); value != nullptr) {
      named[name] = value;
    } else {
      return launch_usage(str_cat("-x ", name, ": it is not set here"), str_cat("-x ", name, "=VALUE"));
    }
  }
  return named;
}

}  // namespace argosy::cli
