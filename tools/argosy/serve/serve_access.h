// Who may use a session server and which files its graphs may use: the same flags for `argosy serve` and `argosy run`.
#pragma once

#include <string>
#include <vector>

#include "argosy/tf/server/transport/session_server.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

struct AccessFlags {
  std::vector<std::string> allow_files = {};  // folders that graphs may use
  bool any_local_user = false;
  std::string tls_cert = {}, tls_key = {}, tls_ca = {};  // PEM files: all or none

  bool certificates() const { return !tls_cert.empty() || !tls_key.empty() || !tls_ca.empty(); }
};

// Declares --allow-files, --any-local-user and --tls-*. `flags` must outlive the command.
void add_access_flags(Command& command, AccessFlags& flags);

// INVALID_ARGUMENT "ARG-USAGE": a certificate without its key, or without who signs those of clients.
Status set_access(const AccessFlags& flags, tf::SessionServerOptions& server);

// The same flags for an `argosy serve` that a program starts; it may have another folder, so paths are absolute.
std::vector<std::string> access_words(const AccessFlags& flags);

// A line for people where graphs may use no files since other hosts may connect; else "".
std::string files_note(const tf::SessionServerOptions& server);

}  // namespace argosy::cli
