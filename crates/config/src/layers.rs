//! Merges trees of settings in layers: values of later layers take precedence, and the source of
//! each value is recorded.

use std::path::PathBuf;

use crate::node::{Member, Node, NodeKind};

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSource {
    /// The built-in default.
    Default,
    /// A file.
    File(PathBuf),
    /// The name of an environment variable.
    Variable(String),
    /// A command line option, as written.
    Option(String),
}

/// Merged trees. Values of later layers replace values of earlier layers; tables are merged member
/// by member.
#[derive(Debug, Clone)]
pub struct Layers {
    sources: Vec<LayerSource>,
    root: Node,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            sources: vec![LayerSource::Default],
            root: Node::empty(),
        }
    }
}

impl Layers {
    /// Adds a layer on top of all others.
    pub fn put(&mut self, source: LayerSource, tree: Node) {
        self.root.lay(tree, self.sources.len());
        self.sources.push(source);
    }

    /// Returns the merged tree. The members of each table are sorted by their keys.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Returns the merged tree without its sources.
    pub fn into_root(self) -> Node {
        self.root
    }

    /// Moves a value to another path. The table of the new path must exist, and must not yet
    /// contain the value.
    pub fn rename(&mut self, from: &[&str], to: &[&str]) {
        let (Some((old, above)), Some((new, beside))) = (from.split_last(), to.split_last()) else {
            return;
        };
        let taken = self.root.table_mut(above).and_then(|members| {
            let place = members.iter().position(|member| member.key == *old)?;
            Some(members.remove(place))
        });
        if let (Some(member), Some(members)) = (taken, self.root.table_mut(beside)) {
            let place = members.partition_point(|other| &*other.key < *new);
            members.insert(place, Member::new(*new, member.at, member.node));
        }
    }

    /// Returns the source of a value of [`root`](Self::root). The source of a table is the last
    /// layer that set anything in it.
    pub fn source(&self, node: &Node) -> &LayerSource {
        &self.sources[node.layer]
    }
}

impl Node {
    fn lay(&mut self, over: Self, layer: usize) {
        let under = std::mem::replace(&mut self.kind, NodeKind::Null);
        (self.at, self.layer) = (over.at, layer);
        self.kind = match over.kind {
            NodeKind::Table(new) => {
                let mut members = match under {
                    NodeKind::Table(members) => members,
                    _ => Vec::new(),
                };
                for Member { key, at, node } in new {
                    let place = members.binary_search_by(|member| member.key.cmp(&key));
                    let place = place.unwrap_or_else(|place| {
                        members.insert(place, Member::new(key, at, Self::empty()));
                        place
                    });
                    members[place].at = at;
                    members[place].node.lay(node, layer);
                }
                NodeKind::Table(members)
            }
            NodeKind::List(elements) => {
                let elements = elements.into_iter().map(|element| {
                    let mut laid = Self::empty();
                    laid.lay(element, layer);
                    laid
                });
                NodeKind::List(elements.collect())
            }
            other => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tree(value: &serde_json::Value) -> Node {
        crate::json::parse(&value.to_string()).unwrap()
    }

    #[test]
    fn the_later_layer_wins_and_each_value_knows_its_source() {
        let mut layers = Layers::default();
        let defaults = json!({"a": 1, "t": {"x": 1, "y": [1, 2]}, "n": null});
        let file = "t.y = []\nt.b = {d = 1, c = 2}\n[n]\nm = 1\n";
        layers.put(LayerSource::Default, tree(&defaults));
        layers.put(
            LayerSource::File("f".into()),
            crate::toml::parse(file).unwrap(),
        );
        layers.put(
            LayerSource::Variable("A".to_owned()),
            tree(&json!({"a": 2})),
        );
        let option = json!({"t": {"b": {"c": 3}}, "a": {"z": 1}});
        layers.put(LayerSource::Option("--t".to_owned()), tree(&option));
        insta::assert_snapshot!(layers.root().value(), @r#"{"a":{"z":1},"n":{"m":1},"t":{"b":{"c":3,"d":1},"x":1,"y":[]}}"#);
        let of = |path: &[&str]| {
            let member = layers.root().find(path).unwrap();
            format!(
                "{path:?} {} {:?}",
                member.at.line,
                layers.source(&member.node)
            )
        };
        let told = [
            &["a"][..],
            &["n"],
            &["n", "m"],
            &["t"],
            &["t", "b", "c"],
            &["t", "b", "d"],
            &["t", "x"],
            &["t", "y"],
        ];
        insta::assert_snapshot!(told.map(of).join("\n"), @r#"
        ["a"] 1 Option("--t")
        ["n"] 3 File("f")
        ["n", "m"] 4 File("f")
        ["t"] 1 Option("--t")
        ["t", "b", "c"] 1 Option("--t")
        ["t", "b", "d"] 2 File("f")
        ["t", "x"] 1 Default
        ["t", "y"] 1 File("f")
        "#);
        layers.rename(&["t", "x"], &["t", "z"]);
        layers.rename(&["t", "b", "c"], &["m"]);
        layers.rename(&["t", "none"], &["none"]);
        insta::assert_snapshot!(layers.root().value(), @r#"{"a":{"z":1},"m":3,"n":{"m":1},"t":{"b":{"d":1},"y":[],"z":1}}"#);
        let keys = |node: &Node| {
            let members = node.members().iter();
            members.map(|one| one.key.clone()).collect::<String>()
        };
        assert_eq!(keys(layers.root()), "amnt");
        assert_eq!(keys(&layers.root().find(&["t"]).unwrap().node), "byz");
    }
}
