# The main job in the root file system of the container image, which has no shell. An engine mounts /proc;
# here it is mounted for this script alone.
set -eu
root=$1
mkdir -p "$root/proc"
mount --bind /proc "$root/proc"
in_image() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/data XDG_STATE_HOME=/data \
    chroot --userspec="$IMAGE_USER:$IMAGE_USER" "$root" /usr/local/bin/spillgate "$@"
}
in_image --version
seq 1 200000 | in_image put --tool seq - | grep -q 'stored whole as'
test "$(in_image grep last -c '^12345$')" = 1
test "$(in_image cat --raw last | sha256sum)" = "$(seq 1 200000 | sha256sum)"
request='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"release","version":"1"}}}'
printf '%s\n' "$request" | in_image mcp --lookups | grep -q '"serverInfo"'
echo 'stored 1,288,895 bytes, read them back and answered as an MCP server'
