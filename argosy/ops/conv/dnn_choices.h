// Which algorithm was the fastest for a convolution, found by timing: kept from run to run in a file of the user's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "argosy/base/mutex.h"

namespace argosy::cuda {

// An algorithm by the library's numbers.
struct DnnAlgorithm {
  int algorithm = 0, math = 0;
  auto operator<=>(const DnnAlgorithm&) const = default;
};

// Keys are one line of text: all that the choice depends on (DnnConvolutions makes them). Thread-safe; processes may
// share the file, which is replaced as a whole.
class DnnChoices {
 public:
  // Of `path`; empty: kept for this process alone. A file that is not ours, or was cut off, is left out with a warning,
  // and replaced when something new is found.
  explicit DnnChoices(std::string path);

  std::optional<DnnAlgorithm> find(const std::string& key) const;
  // Remembers, and writes what it knows and what others have written since. A file that cannot be written costs a
  // timing next time, nothing else.
  void keep(const std::string& key, const DnnAlgorithm& choice);

 private:
  using Table = std::map<std::string, DnnAlgorithm>;
  // Nothing: there is no file. False beside it: one that is not ours.
  static bool read(const std::string& path, Table& to);
  static bool parse(std::string_view text, Table& to);

  const std::string path_;
  mutable Mutex mutex_;
  Table table_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
