//! Finds the templates of the lines of a log.
//!
//! This is Drain (He et al., ICWS 2017) with a fast path. If a line with the same literal parts was
//! seen before, the line is counted by the hash of these parts. For any other line, a tree of fixed
//! depth (number of tokens, first literal tokens) finds the clusters that may match. The line joins
//! the most similar cluster or starts a new one.

use rustc_hash::FxHashMap;

use super::level;
use super::mask::{WILDCARD, masked, signature};

/// Maximum number of clusters. Later lines that fit none of them are counted in [`Miner::others`].
/// A log has dozens of clusters; a text that is not a log has nearly one per line.
const CLUSTERS: usize = 1024;
/// Maximum number of clusters in one leaf of the tree, so that a line is compared with only a few.
const LEAF: usize = 32;
/// Maximum number of signatures (hashes of literal parts) that are kept. When it is reached, all
/// are dropped.
const SIGNATURES: usize = 1 << 16;
/// Maximum number of lines with a new signature that are compared with clusters, once there are
/// [`CLUSTERS`] clusters. A comparison takes forty times as long as counting a line, and text that
/// is not a log consists of such lines.
const MEETINGS: u64 = 8192;
/// Maximum number of tokens of a line that are compared.
const TOKENS: usize = 64;
/// Number of literal tokens that select the leaf.
const PATH: usize = 2;
/// Number of tokens, from the start of the line, among which these literal tokens are looked for.
const PATH_IN: usize = 6;
/// Minimum percentage of equal tokens, among those that are literal in the line or in the template:
/// half, as usual in Drain.
const SIMILAR: usize = 50;

/// The lines that follow one template.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cluster {
    pub(super) tokens: Vec<String>,
    pub(super) count: u64,
    /// The offset in the view at which the first of these lines begins.
    pub(super) first: u64,
}

impl Cluster {
    pub(super) fn template(&self) -> String {
        self.tokens.join(" ")
    }
}

#[derive(Debug, Clone, Copy)]
struct LineClass {
    /// `None` for lines that fit no kept cluster.
    cluster: Option<usize>,
    level: Option<usize>,
}

/// Finds the templates in one part of a view.
#[derive(Debug, Default)]
pub(super) struct Miner {
    classes: FxHashMap<u64, LineClass>,
    leaves: FxHashMap<(usize, Vec<String>), Vec<usize>>,
    pub(super) clusters: Vec<Cluster>,
    /// Number of lines by level, as in [`level::NAMES`].
    pub(super) levels: [u64; level::NAMES.len()],
    /// Number of lines that fit no kept cluster.
    pub(super) others: u64,
    /// Number of lines among `others` that were not examined further. Their levels are unknown.
    pub(super) unmet: u64,
    meetings: u64,
}

impl Miner {
    /// Counts a line that begins at byte `offset` of the view.
    pub(super) fn line(&mut self, line: &[u8], offset: u64) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let signature = signature(line);
        let class = match self.classes.get(&signature) {
            Some(&class) => class,
            None if self.meetings > MEETINGS && self.clusters.len() >= CLUSTERS => {
                self.unmet += 1;
                self.others += 1;
                return;
            }
            None => self.classify(line, offset, signature),
        };
        match class.cluster {
            Some(cluster) => self.clusters[cluster].count += 1,
            None => self.others += 1,
        }
        if let Some(level) = class.level {
            self.levels[level] += 1;
        }
    }

    fn classify(&mut self, line: &[u8], offset: u64, signature: u64) -> LineClass {
        self.meetings += 1;
        let masked = masked(line);
        let words = masked.split_ascii_whitespace();
        let tokens: Vec<String> = words.take(TOKENS).map(str::to_owned).collect();
        let class = LineClass {
            level: level::of(&tokens),
            cluster: self.join(tokens, offset),
        };
        if self.classes.len() >= SIGNATURES {
            self.classes.clear();
        }
        self.classes.insert(signature, class);
        class
    }

    /// Returns the index of the cluster for a line with these tokens. Starts a new cluster if no
    /// cluster is similar. Returns `None` if there are too many clusters.
    fn join(&mut self, tokens: Vec<String>, first: u64) -> Option<usize> {
        let key = (tokens.len(), path(&tokens));
        let leaf = self.leaves.entry(key).or_default();
        let similar = leaf
            .iter()
            .map(|&at| (similarity(&self.clusters[at].tokens, &tokens), at))
            .filter(|&(similarity, _)| similarity >= SIMILAR)
            .max_by_key(|&(similarity, at)| (similarity, std::cmp::Reverse(at)));
        if let Some((_, at)) = similar {
            let cluster = &mut self.clusters[at];
            generalize(&mut cluster.tokens, &tokens);
            cluster.first = cluster.first.min(first);
            return Some(at);
        }
        if self.clusters.len() >= CLUSTERS || leaf.len() >= LEAF {
            return None;
        }
        leaf.push(self.clusters.len());
        self.clusters.push(Cluster {
            tokens,
            count: 0,
            first,
        });
        Some(self.clusters.len() - 1)
    }

    /// Adds the clusters and counts of the next part.
    pub(super) fn absorb(&mut self, next: Self) {
        self.unmet += next.unmet;
        self.others += next.others;
        for (mine, more) in self.levels.iter_mut().zip(next.levels) {
            *mine += more;
        }
        for cluster in next.clusters {
            match self.join(cluster.tokens, cluster.first) {
                Some(at) => self.clusters[at].count += cluster.count,
                None => self.others += cluster.count,
            }
        }
    }
}

/// Returns the literal tokens that select a leaf. Of a token `key=value`, only the key is used.
fn path(tokens: &[String]) -> Vec<String> {
    let literal = tokens.iter().take(PATH_IN).filter_map(|token| {
        let key = token.split_inclusive('=').next().unwrap_or(token);
        (!key.contains(WILDCARD)).then_some(key)
    });
    literal.take(PATH).map(str::to_owned).collect()
}

/// Returns the percentage of tokens that are equal, among those that are literal in the template or
/// in the line.
fn similarity(template: &[String], tokens: &[String]) -> usize {
    let (mut same, mut all) = (0, 0);
    for (one, other) in template.iter().zip(tokens) {
        let equal = one == other;
        if equal && one == WILDCARD {
            continue;
        }
        all += 1;
        same += usize::from(equal);
    }
    (same * 100).checked_div(all).unwrap_or(100)
}

/// Puts a wildcard in place of each token of the template that differs from the line's token. Keeps
/// a common beginning that ends with `=`.
fn generalize(template: &mut [String], tokens: &[String]) {
    for (mine, other) in template.iter_mut().zip(tokens) {
        if mine == other {
            continue;
        }
        let key = |token: &str| token.find('=').map(|at| token[..=at].to_owned());
        *mine = match (key(mine), key(other)) {
            (Some(one), Some(two)) if one == two => one + WILDCARD,
            _ => WILDCARD.to_owned(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mined(lines: &[&str]) -> Vec<(u64, String)> {
        let mut miner = Miner::default();
        for line in lines {
            miner.line(line.as_bytes(), 0);
        }
        let told = |cluster: &Cluster| (cluster.count, cluster.template());
        miner.clusters.iter().map(told).collect()
    }

    #[test]
    fn lines_join_the_template_they_follow() {
        let lines = [
            "10:00:01 INFO user alice logged in from 10.0.0.1 by key",
            "10:00:02 INFO user bob logged in from 10.0.0.2 by key",
            "10:00:03 WARN user bob logged in from 10.0.0.2 by key",
            "10:00:04 INFO outcome=hit key=a1 region=eu took=4",
            "10:00:05 INFO outcome=miss key=a2 region=eu took=5",
            "",
        ];
        let want = [
            (2, "<*> INFO user <*> logged in from <*> by key"),
            (1, "<*> WARN user bob logged in from <*> by key"),
            (2, "<*> INFO outcome=<*> key=<*> region=eu took=<*>"),
        ];
        assert_eq!(mined(&lines), want.map(|(n, t)| (n, t.to_owned())));
    }

    #[test]
    fn text_that_is_no_log_does_not_grow() {
        let mut miner = Miner::default();
        for i in 0..30_000u32 {
            let word: String = i.to_string().bytes().map(|b| char::from(b + 49)).collect();
            miner.line(format!("{word} {word}x {word}y").as_bytes(), 0);
        }
        assert_eq!(miner.clusters.len(), CLUSTERS);
        assert_eq!(miner.others, 30_000 - CLUSTERS as u64);
        assert_eq!(miner.unmet, 30_000 - MEETINGS - 1);
    }
}
