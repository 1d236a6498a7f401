#include "argosy/tf/server/session/step_request.h"

namespace argosy::tf {

namespace {

Status damaged(std::string_view message) {
  return invalid_argument(message, ": the request is damaged").with_id("ARG-PROTO-003");
}

Status scan_feed(WireReader in, StepRequest::Feed& feed, WireScratch& scratch) {
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      feed.name = in.text(f, scratch);
    } else if (f.number == 2 && f.is_bytes()) {
      feed.tensor = in.message(f);
    } else {
      in.skip(f);
    }
  }
  return in.ok() ? ok_status() : damaged("RunStep: a feed");
}

}  // namespace

Status scan(WireReader in, StepRequest& to) {
  for (WireField f; in.next(f);) {
    if (f.is_bytes()) {
      switch (f.number) {
        case 1: to.session = in.text(f, to.scratch); continue;
        case 2: ARGOSY_RETURN_IF_ERROR(scan_feed(in.message(f), to.feeds.emplace_back(), to.scratch)); continue;
        case 3: to.fetches.push_back(in.text(f, to.scratch)); continue;
        case 4: to.targets.push_back(in.text(f, to.scratch)); continue;
        case 5: to.options += in.message(f).joined(); continue;  // pieces of one message merge as they are joined
        case 6: to.partial_run = in.text(f, to.scratch); continue;
        default: break;
      }
    } else if (f.is_varint()) {
      if (f.number == 7) to.errors_in_body = f.value != 0;
      if (f.number == 8) to.request_id = static_cast<std::int64_t>(f.value);
    }
    in.skip(f);
  }
  return in.ok() ? ok_status() : damaged("RunStep");
}

Status scan(WireReader in, CallRequest& to) {
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      to.session = in.text(f, to.scratch);
    } else if (f.number == 3 && f.is_bytes()) {
      to.feeds.push_back(in.message(f));
    } else {
      if (f.number == 2 && f.is_varint()) to.callable = static_cast<std::int64_t>(f.value);
      if (f.number == 4 && f.is_varint()) to.request_id = static_cast<std::int64_t>(f.value);
      in.skip(f);
    }
  }
  return in.ok() ? ok_status() : damaged("RunCallable");
}

void add_to_signature(char kind, std::string_view name, std::string& key) {
  const auto size = static_cast<std::uint32_t>(name.size());
  key += kind;
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key += name;
}

void StepRequest::signature(std::string& key) const {
  key.clear();
  for (const Feed& feed : feeds) add_to_signature('<', feed.name, key);
  for (const std::string_view fetch : fetches) add_to_signature('>', fetch, key);
  for (const std::string_view target : targets) add_to_signature('!', target, key);
}

}  // namespace argosy::tf
