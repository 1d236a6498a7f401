#include "argosy/tf/worker/run_graph_message.h"

#include "argosy/tf/worker/peers/recv_tensor.h"
#include "argosy/tf/worker/peers/rpc_error.h"

namespace argosy::tf {

namespace {

Status damaged(std::string_view what) {
  return invalid_argument("RunGraph: the ", what, " is damaged").with_id("ARG-PROTO-003");
}

// NamedTensorProto.
bool scan_named(WireReader in, WireScratch& scratch, std::string_view* name, WireReader* tensor) {
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      *name = in.text(f, scratch);
    } else if (f.number == 2 && f.is_bytes()) {
      *tensor = in.message(f);
    } else {
      in.skip(f);
    }
  }
  return in.ok();
}

Status add_named(std::uint32_t number, std::string_view name, const Tensor& value, WireWriter& to) {
  ARGOSY_ASSIGN_OR_RETURN(const TensorMessage tensor, TensorMessage::make(value, task_wire()));
  to.begin_bytes(number, WireWriter::field_size(1, name.size()) + WireWriter::field_size(2, tensor.size()));
  to.bytes_field(1, name);
  to.begin_bytes(2, tensor.size());
  tensor.append_to(to);
  if (to.size() < (std::size_t{1} << 31) - 4096) return ok_status();
  return resource_exhausted("values of ", format_bytes(to.size()), " together exceed the 2 GiB of a message")
      .with_id("ARG-PROTO-002");
}

}  // namespace

Status scan(WireReader in, RunGraphRequest& to) {
  for (WireField f; in.next(f);) {
    if (f.is_bytes()) {
      switch (f.number) {
        case 1: to.graph = in.text(f, to.scratch); continue;
        case 3: {
          RunGraphRequest::Send& send = to.sends.emplace_back();
          if (!scan_named(in.message(f), to.scratch, &send.key, &send.tensor)) return damaged("request");
          continue;
        }
        case 4: to.receives.push_back(in.text(f, to.scratch)); continue;
        case 5: to.options = in.text(f, to.scratch); continue;
        case 8: to.session = in.text(f, to.scratch); continue;
        default: break;
      }
    } else if (f.is_varint()) {
      switch (f.number) {
        case 2: to.step_id = static_cast<std::int64_t>(f.value); break;
        case 6: to.partial = f.value != 0; break;
        case 7: to.last_partial = f.value != 0; break;
        case 9: to.errors_in_body = f.value != 0; break;
        case 10: to.session_called = f.value != 0; break;
        case 11: to.request_id = static_cast<std::int64_t>(f.value); break;
        default: break;
      }
    }
    in.skip(f);
  }
  return in.ok() ? ok_status() : damaged("request");
}

Result<std::vector<WirePiece>> write_run_graph(const RunGraphCall& call) {
  WireWriter out;
  out.bytes_field(1, call.graph);
  out.varint_field(2, static_cast<std::uint64_t>(call.step_id));
  for (const auto& [key, value] : call.sends) ARGOSY_RETURN_IF_ERROR(add_named(3, key, value, out));
  for (const std::string& key : call.receives) out.bytes_field(4, key);
  if (!call.options.empty()) out.bytes_field(5, call.options);
  out.bytes_field(8, call.session);
  out.varint_field(9, 1);
  out.varint_field(10, call.session_called ? 1 : 0);
  out.varint_field(11, static_cast<std::uint64_t>(call.request_id));
  return out.take();
}

Status add_received(std::string_view key, const Tensor& value, WireWriter& to) { return add_named(1, key, value, to); }

std::vector<WirePiece> run_graph_error(const Status& error) {
  WireWriter out;
  out.varint_field(5, static_cast<std::uint64_t>(error.code()));
  out.bytes_field(6, worker_message(error));
  return out.take();
}

Result<RunGraphAnswer> read_run_graph_answer(WireReader in) {
  RunGraphAnswer answer;
  WireScratch scratch;
  std::uint64_t code = 0;
  std::string_view message;
  for (WireField f; in.next(f);) {
    if (f.number == 1 && f.is_bytes()) {
      std::string_view name;
      WireReader tensor;
      if (!scan_named(in.message(f), scratch, &name, &tensor)) return damaged("response");
      ARGOSY_ASSIGN_OR_RETURN(Tensor value, read_tensor(tensor, task_wire()));
      answer.received.emplace_back(std::string(name), std::move(value));
      continue;
    }
    if (f.number == 2 && f.is_bytes()) {
      answer.step_stats = in.text(f, scratch);
      continue;
    }
    if (f.number == 4 && f.is_bytes()) {
      answer.partition_graphs.emplace_back(in.text(f, scratch));
      continue;
    }
    if (f.number == 6 && f.is_bytes()) {
      message = in.text(f, scratch);
      continue;
    }
    if (f.number == 5 && f.is_varint()) code = f.value;
    in.skip(f);
  }
  if (!in.ok()) return damaged("response");
  if (code > static_cast<std::uint64_t>(Code::kUnauthenticated)) code = static_cast<std::uint64_t>(Code::kUnknown);
  if (code != 0) return Status(static_cast<Code>(code), std::string(message));
  return answer;
}

}  // namespace argosy::tf
