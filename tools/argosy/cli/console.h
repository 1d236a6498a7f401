// Console: the program's output. Results go to stdout; notes, progress and errors go to stderr.
// Colour and bars only on a terminal; NO_COLOR, CLICOLOR_FORCE / FORCE_COLOR, TERM=dumb, CI and --color decide.
// Used by one thread.
#pragma once

#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy::cli {

struct ConsoleOptions {
  std::string color = "auto";  // auto, always, never
  bool quiet = false;          // no notes and no progress
  bool no_progress = false;
  bool json = false;  // the result is one JSON document
};

enum class Style { kBold, kDim, kRed, kGreen, kYellow };

class Console {
 public:
  explicit Console(ConsoleOptions options = {});

  bool json() const { return options_.json; }
  bool quiet() const { return options_.quiet; }
  // Whether to draw bars in place (stderr is a terminal that can) or to write a line now and then.
  bool draws() const { return draws_; }
  bool progress() const { return !options_.quiet && !options_.no_progress; }
  int width() const;  // of the terminal, 80 if there is none

  void print(std::string_view text);  // to stdout as it is; a result ends with a newline of its own
  void note(std::string_view line);   // to stderr with a newline, unless --quiet

  // Prints what failed, where, and what to type next on stderr. With --json also {"error": …} on stdout, unless a
  // document was printed there: it holds the error itself (error_json.h).
  void error(const Status& status, std::string_view command);
  // Flushes stdout. An error: it could not be written (a full disk), so the command has failed.
  Status flush();

  // `text` in a style for stdout / stderr, or as it is where colours are off.
  std::string on_stdout(Style style, std::string_view text) const { return styled(stdout_color_, style, text); }
  std::string on_stderr(Style style, std::string_view text) const { return styled(stderr_color_, style, text); }

 private:
  static std::string styled(bool on, Style style, std::string_view text);
  ConsoleOptions options_;
  bool draws_ = false, printed_ = false, stdout_color_ = false, stderr_color_ = false;
};

}  // namespace argosy::cli
