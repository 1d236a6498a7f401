#!/bin/sh
# rebuild_precompiled.sh COMPILER ... -o OUTPUT ...: runs the compiler (or ccache) after it has removed OUTPUT. ccache
# preprocesses before it compiles, and would find the old precompiled header there in place of the headers that changed.
# Then the checksum of a precompiled header is put beside it, for ccache (CCACHE_PCH_EXTSUM): it knows by it which one
# a file was compiled with, and reads 150 MB less for each.
previous=
output=
for argument in "$@"; do
  [ "$previous" = -o ] && output=$argument
  previous=$argument
done
rm -f -- "$output" "$output.sum"
# The compiler knows by their whole text which headers it has read: one with another comment or another space is
# another header, and the preprocessed text by which ccache tells them apart has neither.
CCACHE_EXTRAFILES=$(find "$(dirname "$0")/../argosy" -name '*.h' | sort | paste -sd:)
export CCACHE_EXTRAFILES
"$@" || exit
case $output in
  *.gch | *.pch) sha256sum <"$output" >"$output.sum" ;;
esac
