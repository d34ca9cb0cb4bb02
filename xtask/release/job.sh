# The main job of the program, in an environment without Rust: a large output becomes a preview, and
# every byte of it can be read.
set -eu
if command -v cargo || command -v rustc; then
  echo 'this environment has Rust' >&2
  exit 1
fi
spillgate --version
preview=$(spillgate run -- sh -c 'seq 1 200000')
printf '%s\n' "$preview" | head -n 1 | grep -q 'stored whole as'
test "$(printf '%s' "$preview" | wc -c)" -lt 4000
spillgate read last --lines 2 | grep -q '2$'
test "$(spillgate grep last -c '^12345$')" = 1
test "$(spillgate cat --raw last | sha256sum)" = "$(seq 1 200000 | sha256sum)"
echo 'stored 1,288,895 bytes and read them back'
