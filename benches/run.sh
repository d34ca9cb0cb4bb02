#!/usr/bin/env bash
# Spillgate against its rivals, side by side in one run: grep against rg, read against sed, query against jq and jaq,
# search against SQLite's FTS5 and tantivy, capture against cat, the guarded tools against rg, fd, sed and tail, the
# gateway against FastMCP's proxy.
# Prints one Markdown table (also target/bench-results.md) with the goal beside each figure; progress goes to stderr.
# A missed goal is printed as missed and is no failure; a wrong answer is one.
#
#   benches/run.sh                 all of it: about 10 minutes and 6 GB of disk
#   benches/run.sh --quick         128 MB only, fewer rounds: under a minute once built
#   benches/run.sh relay start     some of them: grep read query search outline extract capture memory
#                                  guarded hook upload commands relay relay-http clients throughput peak start (the last six are the gateway's)
#   benches/run.sh bucket          a bucket beside rclone: 10 GB of disk, not part of the rest (benches/bucket.py)
#   benches/run.sh page            the page in a browser, not part of the rest (benches/page.py)
#   benches/run.sh --binary PATH   measure that binary instead of building one
#   benches/run.sh commands --old PATH   whole commands and large results, in turns with an older binary
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
wanted=
while (($#)); do
  case $1 in
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "benches/run.sh"; exit ;;
    --binary) binary=${2:?--binary PATH}; shift ;;
    --old) arguments+=("$1" "$(realpath "${2:?--old PATH}")"); shift ;;
    --only) arguments+=("$1" "${2:?--only LIST}"); wanted+=",$2"; shift ;;
    -*) arguments+=("$1") ;;
    *) arguments+=("$1"); wanted+=",$1" ;;
  esac
  shift
done

# wants BENCH…: whether any of these benchmarks runs.
wants() {
  local bench
  for bench; do [[ -z $wanted || ,$wanted, == *,"$bench",* ]] && return; done
  return 1
}

for need in rg:ripgrep jq:jq fdfind:fd-find; do
  if [[ $need == fd* ]] && { ! wants guarded || command -v fd >/dev/null; }; then continue; fi
  if wants grep read query search guarded commands && ! command -v "${need%:*}" >/dev/null; then
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
      apt-get install -y --no-install-recommends "${need#*:}" >&2
    else
      echo "benches: ${need%:*} is missing; install ${need#*:} (Debian: apt-get install ${need#*:})" >&2
      exit 2
    fi
  fi
done

if [[ -z $binary ]]; then
  cargo build --release -p spillgate --features full --locked >&2
  binary=$target/release/spillgate
fi

mkdir -p "$tools" "$cache"
for helper in echo_server floor_relay rtt; do
  if [[ ! benches/$helper.rs -ot $tools/$helper ]]; then
    rustc -O --edition 2024 -o "$tools/$helper" "benches/$helper.rs"
  fi
done

"$fastmcp" -c 'import fastmcp' 2>/dev/null || fastmcp=

# Rivals without a system package. If they cannot be installed, their rows are left out with a note.
wants query commands && [[ ! -x $tools/bin/jaq ]] && cargo install jaq --locked --quiet --root "$tools" >&2 || true
if wants search && [[ -n $fastmcp && ! -d $tools/python/tantivy ]]; then
  "$fastmcp" -m pip install --quiet --target "$tools/python" tantivy >&2 || true
fi
export PYTHONPATH=$tools/python

export PYTHONDONTWRITEBYTECODE=1 # no __pycache__ in the source tree
exec python3 benches/main.py --binary "$(realpath "$binary")" --tools "$(realpath "$tools")" --cache "$(realpath "$cache")" \
  --results "$target/bench-results.md" ${fastmcp:+--fastmcp "$(realpath -s "$fastmcp")"} "${arguments[@]}"
