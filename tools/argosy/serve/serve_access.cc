#include "tools/argosy/serve/serve_access.h"

#include <filesystem>

#include "argosy/rpc/gate/peer_filter.h"

namespace argosy::cli {

void add_access_flags(Command& command, AccessFlags& flags) {
  command
      .option("--allow-files DIR", flags.allow_files,
              "graphs may use files in this folder only; may be repeated (default: on localhost all that you may, else "
              "none)")
      .option("--any-local-user", flags.any_local_user,
              "on localhost let every user of this machine in, not only the one who starts this, and root")
      .option("--tls-cert FILE", flags.tls_cert, "our certificate (PEM); with --tls-key and --tls-ca")
      .option("--tls-key FILE", flags.tls_key, "its key (PEM)")
      .option("--tls-ca FILE", flags.tls_ca, "who signs the certificates of clients (PEM)");
}

Status set_access(const AccessFlags& flags, tf::SessionServerOptions& server) {
  const bool all = !flags.tls_cert.empty() && !flags.tls_key.empty() && !flags.tls_ca.empty();
  if (flags.certificates() && !all) {
    return invalid_argument("TLS needs a certificate, its key, and who signs the clients' certificates")
        .with_id("ARG-USAGE")
        .with_hint("--tls-cert FILE --tls-key FILE --tls-ca FILE");
  }
  server.allow_files = flags.allow_files;
  server.any_local_user = flags.any_local_user;
  server.tls_cert = flags.tls_cert;
  server.tls_key = flags.tls_key;
  server.tls_ca = flags.tls_ca;
  return ok_status();
}

std::vector<std::string> access_words(const AccessFlags& flags) {
  std::vector<std::string> words;
  const auto add = [&](const char* flag, const std::string& path) {
    if (!path.empty()) words.insert(words.end(), {flag, std::filesystem::absolute(path).string()});
  };
  for (const std::string& folder : flags.allow_files) add("--allow-files", folder);
  if (flags.any_local_user) words.emplace_back("--any-local-user");
  add("--tls-cert", flags.tls_cert);
  add("--tls-key", flags.tls_key);
  add("--tls-ca", flags.tls_ca);
  return words;
}

std::string files_note(const tf::SessionServerOptions& server) {
  if (tf::is_loopback(server.host) || !server.allow_files.empty()) return "";
  return str_cat("graphs may use no files at ", server.host, ":", server.port,
                 ", since other hosts may connect; --allow-files DIR allows a folder, for checkpoints and data");
}

}  // namespace argosy::cli
