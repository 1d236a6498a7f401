#include "tools/argosy/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "argosy/base/system/file.h"
#include "tools/argosy/cli/error_json.h"

namespace argosy::cli {

namespace {

bool set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool forced(const char* name) { return set_in_environment(name) && std::strcmp(std::getenv(name), "0") != 0; }

bool colors(const std::string& wish, int descriptor) {
  if (wish != "auto") return wish == "always";
  if (set_in_environment("NO_COLOR")) return false;
  if (forced("FORCE_COLOR") || forced("CLICOLOR_FORCE")) return true;
  const char* term = std::getenv("TERM");
  return isatty(descriptor) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

}  // namespace

Console::Console(ConsoleOptions options) : options_(std::move(options)) {
  stdout_color_ = colors(options_.color, STDOUT_FILENO);
  stderr_color_ = colors(options_.color, STDERR_FILENO);
  const char* term = std::getenv("TERM");
  draws_ = progress() && isatty(STDERR_FILENO) != 0 && !set_in_environment("CI") && term != nullptr &&
           std::strcmp(term, "dumb") != 0;
}

int Console::width() const {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int wanted = columns != nullptr ? std::atoi(columns) : 0;
  return wanted > 0 ? wanted : 80;
}

void Console::print(std::string_view text) {
  printed_ = true;
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Console::note(std::string_view line) {
  if (options_.quiet) return;
  std::fflush(stdout);  // a reader of both sees them in the order they were said
  // One write, so that lines of several processes on one terminal stay whole.
  const std::string whole = str_cat(line, "\n");
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

nlohmann::ordered_json error_json(const Status& status, std::string_view command) {
  return {{"code", code_name(status.code())},
          {"id", status.id()},
          {"message", status.message()},
          {"where", status.where().empty() ? std::string(command) : status.where()},
          {"next", status.hint().empty() ? str_cat(command, " --help") : status.hint()}};
}

void Console::error(const Status& status, std::string_view command) {
  std::fflush(stdout);
  const std::string where = status.where().empty() ? std::string(command) : status.where();
  const std::string next = status.hint().empty() ? str_cat(command, " --help") : status.hint();
  const std::string text = str_cat(on_stderr(Style::kRed, "error"), " ", status.id(), ": ", status.message(),
                                   "\n  where  ", where, "\n  try    ", next, "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (!options_.json || printed_) return;
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"error", error_json(status, command)}};
  // A message may quote bytes of a damaged file.
  print(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

Status Console::flush() {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  return failed ? system_error(errno, "write", "standard output") : ok_status();
}

std::string Console::styled(bool on, Style style, std::string_view text) {
  if (!on) return std::string(text);
  constexpr const char* kCodes[] = {"1", "2", "31", "32", "33"};
  return str_cat("\x1b[", kCodes[static_cast<int>(style)], "m", text, "\x1b[0m");
}

}  // namespace argosy::cli
