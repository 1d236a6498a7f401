// Flags that programs over recorded cases share: --cases FOLDER, --op NAME, --few N, --list.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace argosy {

struct CaseFlags {
  std::string cases, op;  // the folder (recorded_case.h); "": every op
  int few = 0;            // at most so many cases of a kind; 0: all
  bool list = false;

  // Takes argument `i` and its value, which `i` then points to. False: it is none of these.
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
