// Which ops make what another op takes as a handle, found from the registry by what the ops are about: queues, tables,
// datasets, lists ... Immutable once made.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/op_def.h"

namespace argosy::op_calls {

// Is it passed by handle: a resource, a variant, or a Ref(string) that names a queue, a table ...?
bool is_handle(const ArgDef& arg);

// What a handle argument is about, in lower case ("queue"); "" for a variable, or where nobody can tell.
std::string subject(const OpDef& op, const ArgDef& arg);

struct HandleSource {
  const OpDef* op = nullptr;
  int output = 0;
};
// Those that give such a handle; `plain`: only those that need no other handle.
const std::vector<HandleSource>& handle_sources(const std::string& subject, const ArgDef& like, bool plain);
// Those that take one: the op, and which of its arguments.
struct HandleUse {
  const OpDef* op = nullptr;
  int argument = 0;
};
const std::vector<HandleUse>& handle_uses(const std::string& subject, const ArgDef& like);

}  // namespace argosy::op_calls
