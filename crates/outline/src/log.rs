//! The levels and the commonest templates of a log.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Numbered;

/// Templates that are shown.
const TEMPLATES: usize = 8;

/// What varies from line to line: numbers, hex, ids, times.
static VARIES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|\d+").expect("the pattern is valid")
});

static LEVEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b")
        .expect("the pattern is valid")
});

/// Levels with counts, then templates with counts and the line of the first.
pub(super) fn outline(lines: &[Numbered]) -> Vec<String> {
    let mut levels: Vec<(&str, u64)> = Vec::new();
    let mut templates: HashMap<String, (u64, u64)> = HashMap::new();
    for (number, line) in lines {
        if let Some(level) = LEVEL.find(line) {
            match levels.iter_mut().find(|(name, _)| *name == level.as_str()) {
                Some((_, count)) => *count += 1,
                None => levels.push((level.as_str(), 1)),
            }
        }
        let template = VARIES.replace_all(line.trim(), "#").into_owned();
        if !template.is_empty() {
            templates.entry(template).or_insert((0, *number)).0 += 1;
        }
    }
    levels.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut outline = Vec::new();
    if !levels.is_empty() {
        let levels: Vec<String> = levels
            .iter()
            .map(|(name, n)| format!("{name} {n}"))
            .collect();
        outline.push(format!("levels: {}", levels.join(", ")));
    }
    let mut common: Vec<(String, (u64, u64))> = templates.into_iter().collect();
    common.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.1.1.cmp(&b.1.1)));
    outline.extend(
        common
            .iter()
            .take(TEMPLATES)
            .map(|(template, (count, first))| format!("{count}× (line {first}) {template}")),
    );
    outline
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn levels_and_templates() {
        let text: String = (0..30)
            .map(|i| match i {
                17 => "2026-11-21T10:00:17Z ERROR disk 0x7f full\n".to_owned(),
                _ => format!("2026-11-21T10:00:{i:02}Z INFO batch {i} ok\n"),
            })
            .collect();
        assert_snapshot!(outline(&crate::numbered(&text)).join("\n"), @"
        levels: INFO 29, ERROR 1
        29× (line 1) #-#-#T#:#:#Z INFO batch # ok
        1× (line 18) #-#-#T#:#:#Z ERROR disk # full
        ");
    }
}
