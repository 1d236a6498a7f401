// NetGroup's implementation of calls that move values without arithmetic.
#include <algorithm>
#include <cstring>

#include "argosy/base/checked.h"
#include "argosy/base/str.h"
#include "argosy/comm/collective_checks.h"
#include "argosy/comm/net/net_disagreement.h"
#include "argosy/comm/net/net_group.h"

namespace argosy {

Status NetGroup::gather(std::span<const CollectiveCall> calls, std::uint32_t tag) {
  const CollectiveCall& first = calls[0];
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < first.out.size(); ++i) {
    std::int64_t mine = 0;
    for (const CollectiveCall& call : calls) mine += call.tensors[i].elements();
    own.push_back(mine);
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> parts, parts_of(own, tag));
  const auto tasks = static_cast<std::size_t>(size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Tensor& whole = first.out[i];
    std::vector<std::size_t> bytes;
    std::int64_t total = 0;
    std::size_t begin = 0;
    for (std::size_t task = 0; task < tasks; ++task) {
      if (task == static_cast<std::size_t>(rank())) begin = static_cast<std::size_t>(total);
      const std::int64_t n = parts[task * own.size() + i];
      total += n;
      bytes.push_back(static_cast<std::size_t>(n) * element_bytes(whole.dtype()));
    }
    if (total != whole.elements()) {  // on every task: the wholes are equal
      return wrong("all_gather: the ranks' parts of ", total, " elements do not make up the whole of ",
                   whole.elements());
    }
    for (const CollectiveCall& call : calls) {
      const Tensor& part = call.tensors[i];
      if (part.bytes() > 0) std::memmove(at(whole, begin), at(part, 0), part.bytes());
      begin += static_cast<std::size_t>(part.elements());
    }
    ARGOSY_RETURN_IF_ERROR(gather_in_place(*engine_, at(whole, 0), bytes, tag));
    for (const CollectiveCall& call : calls.subspan(1)) {
      if (whole.bytes() > 0) std::memcpy(at(call.out[i], 0), at(whole, 0), whole.bytes());
    }
  }
  return ok_status();
}

Status NetGroup::exchange_all(const CollectiveCall& call, std::uint32_t tag) {
  if (!engine_->all_pairs()) {
    return unimplemented(kind_name(call.kind), " on ", size(), " tasks, of which not every pair has a connection")
        .with_id("ARG-COMM-027");
  }
  const auto ranks = static_cast<std::size_t>(size()), self = static_cast<std::size_t>(rank());
  const bool equal = call.kind == Collective::kAllToAll;
  const std::size_t values = equal ? 1 : call.tensors.size() / ranks;
  const auto piece = [&](std::span<const Tensor> list, std::size_t v, std::size_t peer) {
    if (!equal)
      return NetEngine::Piece{static_cast<int>(peer), at(list[v * ranks + peer], 0), list[v * ranks + peer].bytes()};
    const std::size_t part = static_cast<std::size_t>(list[0].elements()) / ranks;
    return NetEngine::Piece{static_cast<int>(peer), at(list[0], peer * part), part * element_bytes(list[0].dtype())};
  };
  // The sizes that one sends are those that the other awaits.
  std::vector<std::int64_t> own;
  for (const auto list : {call.tensors, call.out}) {
    for (std::size_t v = 0; v < values; ++v) {
      for (std::size_t peer = 0; peer < ranks; ++peer)
        own.push_back(static_cast<std::int64_t>(piece(list, v, peer).bytes));
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::int64_t> all, parts_of(own, tag));
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      for (std::size_t v = 0; v < values; ++v) {
        const std::int64_t sent = all[from * own.size() + v * ranks + to];
        const std::int64_t awaited = all[to * own.size() + (values + v) * ranks + from];
        if (sent == awaited) continue;
        return wrong(kind_name(call.kind), ": rank ", from, " has ", sent, " bytes for rank ", to, ", which awaits ",
                     awaited);
      }
    }
  }
  for (std::size_t v = 0; v < values; ++v) {
    std::vector<NetEngine::Piece> sent, received;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      const NetEngine::Piece out = piece(call.tensors, v, peer), in = piece(call.out, v, peer);
      if (peer != self) {
        sent.push_back(out);
        received.push_back(in);
      } else if (in.bytes > 0) {
        std::memcpy(in.data, out.data, in.bytes);
      }
    }
    ARGOSY_RETURN_IF_ERROR(engine_->exchange(sent, received, tag));
  }
  return ok_status();
}

// Both tasks exchange descriptions of the message. If these are equal, the value follows; else both get an error.
Status NetGroup::message(const CollectiveCall& call, std::uint32_t tag) {
  const bool sends = call.kind == Collective::kSend;
  const Tensor& tensor = call.tensors[0];
  constexpr std::size_t kHead = 256;
  const auto describe = [&] {
    std::string text = str_cat(dtype_name(tensor.dtype()), " ", tensor.elements(), " \"", call.name, "\"");
    text.resize(kHead, '\0');
    return text;
  };
  std::string mine = describe(), theirs(kHead, '\0');
  const NetEngine::Piece out{call.peer, reinterpret_cast<std::byte*>(mine.data()), kHead};
  const NetEngine::Piece in{call.peer, reinterpret_cast<std::byte*>(theirs.data()), kHead};
  ARGOSY_RETURN_IF_ERROR(engine_->exchange({&out, 1}, {&in, 1}, tag));
  if (mine != theirs) {
    const std::string &from = sends ? mine : theirs, &to = sends ? theirs : mine;
    return wrong("rank ", sends ? rank() : call.peer, " sends ", from.c_str(), ", rank ", sends ? call.peer : rank(),
                 " receives ", to.c_str());
  }
  const NetEngine::Piece value{call.peer, at(tensor, 0), tensor.bytes()};
  const std::span<const NetEngine::Piece> one(&value, 1), none;
  return engine_->exchange(sends ? one : none, sends ? none : one, tag);
}

Result<std::vector<Tensor>> NetGroup::gather_values(std::span<const Tensor> own, std::uint32_t tag) {
  BlobWriter mine;
  mine.number(static_cast<std::int64_t>(own.size()));
  for (const Tensor& t : own) {
    if (!is_plain(t.dtype())) return wrong("no values of ", dtype_name(t.dtype()), " travel between tasks");
    mine.number(static_cast<int>(t.dtype()));
    mine.number(t.shape().rank());
    for (const std::int64_t n : t.shape().sizes()) mine.number(n);
    mine.raw(t.buffer().data(), t.bytes());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> all, blobs_.gather(mine.bytes(), tag));
  std::vector<Tensor> values;
  for (const std::string& theirs : all) {
    BlobReader reader(theirs);
    for (std::int64_t left = reader.number(); left > 0 && reader.ok(); --left) {
      const std::int64_t number = reader.number(), rank = reader.number();
      const bool known =
          number > 0 && number <= static_cast<int>(DType::kUint64) && is_plain(static_cast<DType>(number));
      if (!reader.ok() || !known || rank < 0 || rank > Shape::kMaxRank) return unreadable("values of another task");
      const auto dtype = static_cast<DType>(number);
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank));
      for (std::int64_t& n : sizes) n = reader.number();
      ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
      const auto bytes = checked_mul(shape.elements(), static_cast<std::int64_t>(element_bytes(dtype)));
      if (!reader.ok() || !bytes || static_cast<std::size_t>(*bytes) > reader.remaining()) {
        return unreadable("a value of another task, ", dtype_name(dtype), shape);
      }
      values.push_back(Tensor::zeros(dtype, shape));
      reader.raw(values.back().raw(), values.back().bytes());
    }
    if (!reader.at_end()) return unreadable("values of another task");
  }
  return values;
}

}  // namespace argosy
