// Flags of the programs that run recorded cases: --cases FOLDER, --op NAME, --few N, --list.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace argosy {

struct CaseFlags {
  std::string cases, op;  // the folder (recorded_case.h); the op, "": every op
  int few = 0;            // the most cases of a kind; 0: all
  bool list = false;

  // Parses argument `i`, and its value, if it has one, to which it then advances `i`. False: it is none of these flags.
  bool take(int count, char** arguments, int& i) {
    const std::string_view flag = arguments[i];
    if (flag == "--list") return list = true;
    if (i + 1 >= count || (flag != "--cases" && flag != "--op" && flag != "--few")) return false;
    const char* const value = arguments[++i];
    if (flag == "--few") {
      few = std::atoi(value);
    } else {
      (flag == "--op" ? op : cases) = value;
    }
    return true;
  }
};

}  // namespace argosy
