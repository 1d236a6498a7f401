// Collectives whose members find each other by name or by keys. Internal to the family.
#pragma once

namespace argosy {

class OpRegistry;
void define_named_groups(OpRegistry& ops);

}  // namespace argosy
