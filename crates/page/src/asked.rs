//! The parameters of a request: of its query string or its form.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use spillgate_artifact::Handle;
use spillgate_http_api::Problem;
use tokio::time::timeout;

/// Maximum size of a form, in bytes.
const FORM: usize = 32 << 10;

/// Time limit for a form, which may come from anybody.
const FORM_TIME: Duration = Duration::from_secs(10);

/// The parameters. If one is there several times, the last one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked(BTreeMap<String, String>);

impl Asked {
    pub(crate) fn of_query(query: Option<&str>) -> Self {
        Self::of_bytes(query.unwrap_or_default().as_bytes())
    }

    /// Reads a form; one that is too large or too slow has no fields.
    pub(crate) async fn of_form(body: Body) -> Self {
        Self::of_form_within(body, FORM_TIME).await
    }

    async fn of_form_within(body: Body, time: Duration) -> Self {
        let form = timeout(time, to_bytes(body, FORM)).await;
        let form = form.map(Result::unwrap_or_default).unwrap_or_default();
        Self::of_bytes(&form)
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// Returns a parameter that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(|value| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// Whether a box was ticked.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|value| value != "0" && value != "false")
    }

    /// Returns a number; the default if there is none.
    pub(crate) fn number<T: FromStr>(&self, name: &str, default: T) -> Result<T, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(default);
        };
        let wrong = || Problem::bad(format!("`{name}` must be a number"));
        text.parse().map_err(|_| wrong())
    }

    /// Returns the same parameters with some changed; those without a value are left out.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        let mut all = self.0.clone();
        for (name, value) in changes {
            match value.is_empty() {
                true => all.remove(*name),
                false => all.insert((*name).to_owned(), (*value).to_owned()),
            };
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(all.iter().filter(|(_, value)| !value.is_empty()));
        query.finish()
    }
}

/// Returns the handle in a path.
pub(crate) fn handle(text: &str) -> Result<Handle, Problem> {
    let parsed = text.parse();
    parsed.map_err(|error: spillgate_artifact::HandleError| Problem::bad(error.to_string()))
}

/// Returns a handle for a path.
pub(crate) fn in_path(handle: Handle) -> String {
    form_urlencoded::byte_serialize(handle.to_string().as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures_util::{StreamExt, stream};

    use super::*;

    #[tokio::test]
    async fn a_form_that_does_not_end_has_no_fields() {
        let first = Ok::<_, std::convert::Infallible>(Bytes::from_static(b"sure=1"));
        let body = Body::from_stream(stream::iter([first]).chain(stream::pending()));
        let asked = Asked::of_form_within(body, Duration::from_millis(20)).await;
        assert_eq!(asked, Asked::default());
        let asked = Asked::of_form(Body::from("sure=1")).await;
        assert!(asked.flag("sure"));
    }

    #[test]
    fn parameters_are_read_and_changed() {
        let asked = Asked::of_query(Some("q=a+b%26&page=3&empty=&failed=on&x=0"));
        assert_eq!(asked.text("q"), Some("a b&"));
        assert_eq!(asked.text("empty"), None);
        assert_eq!(asked.number("page", 1_usize).unwrap(), 3);
        assert_eq!(asked.number("none", 7_u64).unwrap(), 7);
        assert!(asked.number("q", 1_u64).is_err());
        assert!(asked.flag("failed") && !asked.flag("x") && !asked.flag("none"));
        assert_eq!(
            asked.with(&[("page", "4"), ("x", ""), ("q", "<&>")]),
            "failed=on&page=4&q=%3C%26%3E"
        );
    }
}
