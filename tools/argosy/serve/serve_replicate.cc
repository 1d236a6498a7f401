#include "tools/argosy/serve/serve_replicate.h"

namespace argosy::cli {

void add_replicate_flag(Command& command, std::string& text) {
  command.option(
      "--replicate N", text,
      "shard the batch of every training step over N GPUs of its session, or all, those of the other tasks of "
      "a cluster too: for scripts written for one; sessions then share no variables",
      {.implied = "all"});
}

Status read_replicate(const std::string& text, tf::SessionServerOptions& server) {
  if (text.empty()) return ok_status();
  server.replicate = true;
  if (text == "all") return ok_status();
  const Status number = parse_value(text, {.least = 2, .most = 1e6}, server.most_gpus);
  if (number.ok()) return number;
  return invalid_argument("--replicate takes a number of GPUs from 2 on, or all, not \"", text, "\"")
      .with_id("ARG-USAGE")
      .with_hint("--replicate all");
}

}  // namespace argosy::cli
