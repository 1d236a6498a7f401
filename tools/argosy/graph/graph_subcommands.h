// The subcommands of `argosy graph` that have files of their own.
#pragma once

namespace argosy::cli {

class Command;

void define_graph_run(Command& graph);
void define_graph_import(Command& graph);
void define_graph_diff(Command& graph);
void define_graph_strip(Command& graph);

}  // namespace argosy::cli
