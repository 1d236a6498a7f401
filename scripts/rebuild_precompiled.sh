#!/bin/sh
# rebuild_precompiled.sh COMPILER ... -o OUTPUT ...: runs the compiler (or ccache) after it has removed OUTPUT. ccache
# preprocesses before it compiles, and would find the old precompiled header there in place of the headers that changed.
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && rm -f -- "$argument"
  previous=$argument
done
exec "$@"
