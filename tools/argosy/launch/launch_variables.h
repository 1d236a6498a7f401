// Variables of this environment that tasks on other hosts get, too: without them a host would compute otherwise than this.
#pragma once

#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"

namespace argosy::cli {

// Of this process: what ARGOSY_* says, but for what a launcher sets. Values may be secrets: they stand on no command line.
EnvironmentMap own_variables();

// What -x names: NAME, whose value is that of this process, or NAME=VALUE. An error: it is not set, or a launcher's.
Result<EnvironmentMap> named_variables(const std::vector<std::string>& words);

}  // namespace argosy::cli
