# Short names for what a contributor types; `just` alone lists them.

default:
    @just --list

# Everything that continuous integration runs.
check:
    cargo xtask test

# The tests alone, without the real peers.
test *arguments:
    cargo test --workspace --features spillgate/full --locked {{arguments}}

# Benchmarks, goal beside figure.
bench *arguments:
    cargo xtask bench {{arguments}}

# Install the real MCP clients and servers that the peer tests talk to.
peers:
    cargo xtask peers

# Format all Rust code.
fmt:
    cargo fmt --all
