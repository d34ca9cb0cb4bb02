#!/usr/bin/env bash
# Spillgate against its rivals, side by side in one run: grep against rg, read against sed, capture against cat,
# the gateway against FastMCP's proxy. Prints one Markdown table (also target/bench-results.md) with the goal beside
# each figure; progress goes to stderr. A missed goal is printed as missed and is no failure; a wrong answer is one.
#
#   benches/run.sh                 all of it: about 5 minutes and 6 GB of disk
#   benches/run.sh --quick         128 MB only, fewer rounds: under a minute once built
#   benches/run.sh --only relay,start
#   benches/run.sh --binary PATH   measure that binary instead of building one
#
# SPILLGATE_BENCH_DIR      keeps the generated logs (default target/bench-corpus; it also decides which disk is measured)
# SPILLGATE_BENCH_FASTMCP  a Python that has FastMCP (default .peers/python, from `cargo xtask peers`)
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
cache=${SPILLGATE_BENCH_DIR:-$target/bench-corpus}
fastmcp=${SPILLGATE_BENCH_FASTMCP:-.peers/python/bin/python}
tools=$target/bench-tools
binary=
arguments=()
while (($#)); do
  case $1 in
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "benches/run.sh"; exit ;;
    --binary) binary=${2:?--binary PATH}; shift ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

if ! command -v rg >/dev/null; then
  if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get install -y --no-install-recommends ripgrep >&2
  else
    echo "benches: rg is missing; install ripgrep (Debian: apt-get install ripgrep)" >&2
    exit 2
  fi
fi

if [[ -z $binary ]]; then
  cargo build --release -p spillgate --locked >&2
  binary=$target/release/spillgate
fi

mkdir -p "$tools" "$cache"
for helper in echo_server floor_relay rtt; do
  if [[ ! benches/$helper.rs -ot $tools/$helper ]]; then
    rustc -O --edition 2024 -o "$tools/$helper" "benches/$helper.rs"
  fi
done

"$fastmcp" -c 'import fastmcp' 2>/dev/null || fastmcp=

export PYTHONDONTWRITEBYTECODE=1 # no __pycache__ in the source tree
exec python3 benches/main.py --binary "$(realpath "$binary")" --tools "$(realpath "$tools")" --cache "$(realpath "$cache")" \
  --results "$target/bench-results.md" ${fastmcp:+--fastmcp "$(realpath -s "$fastmcp")"} "${arguments[@]}"
