//! The features of this build.

use std::sync::LazyLock;

/// What `--version` prints after the name: the version and the features of this build.
pub(crate) fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(version_text);
    &TEXT
}

fn version_text() -> String {
    let features = [
        ("agent", cfg!(feature = "agent")),
        ("cl100k", cfg!(feature = "cl100k")),
        ("login", cfg!(feature = "login")),
        ("objects", cfg!(feature = "objects")),
        ("pdf", cfg!(feature = "pdf")),
        ("references", cfg!(feature = "references")),
        ("serve", cfg!(feature = "serve")),
        ("telemetry", cfg!(feature = "telemetry")),
        ("templates", cfg!(feature = "templates")),
        ("tools", cfg!(feature = "tools")),
        ("ui", cfg!(feature = "ui")),
    ];
    let built = features.iter().filter(|feature| feature.1);
    let built: Vec<&str> = built.map(|feature| feature.0).collect();
    let built = match built[..] {
        [] => "none beyond the default".to_owned(),
        _ if built.len() == features.len() => format!("full ({})", built.join(", ")),
        _ => built.join(", "),
    };
    format!("{}\nfeatures: {built}", env!("CARGO_PKG_VERSION"))
}
