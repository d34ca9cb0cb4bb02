//! The names by which a client knows the tools and prompts of several servers.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::gateway::Prefix;

/// Maximum length of a name with a server prefix, in characters. Model APIs accept names of at most
/// 64 letters, digits, `_` and `-`. Clients need some of these characters for their own prefix:
/// `mcp__spillgate__` has 16.
const MOST: usize = 48;

/// Minimum number of characters of the server's name that are kept.
const LEAST_SERVER: usize = 8;

/// Returns the client's names for these entries. Each entry is a server and the server's own name
/// for a tool or a prompt.
pub(super) fn names(prefix: Prefix, entries: &[(&str, &str)]) -> Vec<String> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (server, name) in entries {
        let servers = owners.entry(name).or_default();
        if !servers.contains(server) {
            servers.push(server);
        }
    }
    let mut taken: Vec<String> = Vec::new();
    for (server, name) in entries {
        let is_renamed = prefix == Prefix::Always || owners[name].len() > 1;
        let mut shown = match is_renamed {
            false => (*name).to_owned(),
            true => prefixed(server, name),
        };
        // If all names get a prefix, no entry keeps its own name, so a prefixed name cannot equal
        // one.
        let is_anothers = |shown: &str| prefix == Prefix::Clash && owners.contains_key(shown);
        while is_renamed && (taken.contains(&shown) || is_anothers(&shown)) {
            shown.push('_');
        }
        taken.push(shown);
    }
    taken
}

/// Returns the name with its server's name as a prefix. A long server name is truncated, and a hash
/// of the full name keeps it distinct from other names with the same start.
pub(crate) fn prefixed(server: &str, name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let plain: String = server
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let room = MOST.saturating_sub(name.chars().count() + 1);
    let room = room.max(LEAST_SERVER);
    if plain.len() <= room {
        return format!("{plain}_{name}");
    }
    let hash = Sha256::digest(server.as_bytes());
    let start = &plain[..room - 4];
    format!("{start}{}_{name}", HEXLOWER.encode(&hash[..2]))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn names_leave_room_for_a_clients_prefix() {
        let long = "a-server-whose-name-is-of-sixty-four-characters-as-many-as-fit-x";
        let other = "a-server-whose-name-is-of-sixty-four-characters-as-many-as-fit-y";
        let tool = "a_tool_with_a_name_of_forty_characters_x";
        let all = [
            prefixed("git", "log"),
            prefixed("web hub/ö", "search"),
            prefixed(long, "read"),
            prefixed(other, "read"),
            prefixed(long, tool),
        ];
        assert_snapshot!(all.join("\n"), @"
        git_log
        web_hub___search
        a-server-whose-name-is-of-sixty-four-ch06b8_read
        a-server-whose-name-is-of-sixty-four-ch09a3_read
        a-se06b8_a_tool_with_a_name_of_forty_characters_x
        ");
        for name in all {
            assert!(
                format!("mcp__spillgate__{name}").len() <= 64 || name.ends_with(tool),
                "{name}"
            );
        }
    }

    #[test]
    fn only_what_clashes_is_renamed_unless_all_is() {
        let entries = [
            ("a", "text"),
            ("a", "rows"),
            ("b", "text"),
            ("c", "a_text"),
            ("c", "twice"),
            ("c", "twice"),
        ];
        let clash = names(Prefix::Clash, &entries).join(" ");
        let always = names(Prefix::Always, &entries).join(" ");
        assert_snapshot!(format!("{clash}\n{always}"), @"
        a_text_ rows b_text a_text twice twice
        a_text a_rows b_text c_a_text c_twice c_twice_
        ");
    }
}
