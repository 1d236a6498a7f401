#include "tools/argosy/cli/error_file.h"

#include <cstdlib>

#include "argosy/base/system/file.h"
#include "tools/argosy/cli/error_json.h"

namespace argosy::cli {

void write_error_file(const Status& status, const std::string& command) {
  const char* const path = std::getenv("ARGOSY_ERROR_FILE");
  if (path == nullptr || *path == 0) return;
  auto file = File::create(path);
  const auto handler = nlohmann::ordered_json::error_handler_t::replace;
  if (file.ok()) (void)file->write(error_json(status, command).dump(-1, ' ', false, handler) + "\n");
}

}  // namespace argosy::cli
