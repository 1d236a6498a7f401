// --strategy of `argosy run` and `argosy serve`: how the training steps of clients are replicated. Giving it replicates.
#pragma once

#include <string>
#include <string_view>

#include "argosy/tf/server/transport/session_server.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// Not given: all GPUs, or one where a step is predicted to be faster there.
struct RunStrategy {
  StrategyChoice spec = {StrategySpec{.automatic = true}};
  bool given = false;
};

inline Status parse_value(std::string_view text, const Limits& limits, RunStrategy& to) {
  to.given = true;
  return parse_value(text, limits, to.spec);
}
inline std::string show_value(const RunStrategy& value) { return show_value(value.spec); }

inline constexpr const char* kRunStrategyHelp =
    "of replicated steps: auto (one device where a step is predicted to be faster there), dp (always all GPUs), "
    "dp,zero=1 "
    "(slots of the optimizer sharded), dp,accumulate=4 (micro-batches), @FILE (of argosy plan GRAPH --save FILE)";

// Sets what the server does with training steps. Call it after everything else is set. A strategy file is read: its
// devices are the server's then. Returns what it says, for people; "" where no file was given. Errors are those of
// load_graph_strategy(); ARG-USAGE: a task of a cluster replays no file.
Result<std::string> set_strategy(const RunStrategy& choice, tf::SessionServerOptions& server);

}  // namespace argosy::cli
