#!/bin/sh
# Installs Spillgate for the user who runs this script.
#
#   curl --proto '=https' --tlsv1.2 -LsSf https://github.com/spillgate/spillgate/releases/latest/download/install.sh | sh
#
# SPILLGATE_INSTALL_DIR  where the program goes (default: ~/.local/bin)
# SPILLGATE_VERSION      the version (default: the one that this script was released with)
# SPILLGATE_BASE_URL     the directory with the archives and SHA256SUMS
set -eu

# `cargo xtask release` sets it.
released=@VERSION@

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

# download URL FILE
download() {
  case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --output "$2" "$1"
      elif command -v wget >/dev/null 2>&1; then
        wget --quiet --output-document="$2" "$1"
      else
        fail 'curl or wget is needed'
      fi
      ;;
  esac
}

# Prints the SHA-256 of a file.
sum() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail 'sha256sum or shasum is needed to check the archive'
  fi
}

target() {
  case $(uname -s) in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no program for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no program for $(uname -m)" ;;
  esac
  if [ "$system" = unknown-linux-gnu ] && ls /lib/ld-musl-* >/dev/null 2>&1 && ! ls /lib*/ld-linux-* >/dev/null 2>&1; then
    fail 'the program needs glibc, which this system (musl) does not have; build it with: cargo install spillgate'
  fi
  printf '%s-%s\n' "$machine" "$system"
}

main() {
  version=${SPILLGATE_VERSION:-$released}
  base=${SPILLGATE_BASE_URL:-https://github.com/spillgate/spillgate/releases/download/v$version}
  directory=${SPILLGATE_INSTALL_DIR:-${HOME:?HOME is not set}/.local/bin}
  target=$(target)
  archive=spillgate-$version-$target.tar.gz
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM

  download "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $base/SHA256SUMS"
  expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$expected" ] || fail "version $version has no archive for $target"
  download "$base/$archive" "$work/$archive" || fail "cannot download $base/$archive"
  found=$(sum "$work/$archive")
  [ "$found" = "$expected" ] || fail "$archive has the SHA-256 $found instead of $expected; nothing was installed"

  tar -xzf "$work/$archive" -C "$work"
  mkdir -p "$directory"
  # A program that is running cannot be overwritten, but its file can be replaced.
  cp "$work/spillgate-$version-$target/spillgate" "$directory/.spillgate.new"
  chmod 755 "$directory/.spillgate.new"
  mv -f "$directory/.spillgate.new" "$directory/spillgate"
  installed=$("$directory/spillgate" -V) || fail "$directory/spillgate does not run on this system"
  printf 'installed %s in %s\n' "$installed" "$directory"
  case :$PATH: in
    *:"$directory":*) ;;
    *)
      printf '%s is not on your PATH. Add this line to ~/.profile, and log in again:\n' "$directory"
      printf '  export PATH="%s:$PATH"\n' "$directory"
      ;;
  esac
}

# The whole script is read before anything runs, so that a broken download does nothing.
main
