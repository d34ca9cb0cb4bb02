//! The URI of a stored result, or of one block in it.

use std::fmt;

use spillgate_artifact::Handle;

use crate::results::found::Form;

/// The scheme of our URIs.
pub(crate) const SCHEME: &str = "spillgate://";

const ARTIFACT: &str = "spillgate://artifact/";

/// A URI `spillgate://artifact/<handle>`. A suffix `/content/2` names the third block of a tool's
/// result (`/messages/…` of a prompt, `/contents/…` of a resource).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uri {
    pub(crate) handle: Handle,
    /// The block; `None` for the stored text.
    pub(crate) block: Option<(Form, usize)>,
}

impl Uri {
    /// Parses a URI in its canonical form; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(ARTIFACT)?.split('/');
        let first = parts.next()?;
        let handle = match first.parse() {
            Ok(word) => Handle::Short(word),
            Err(_) => format!("{first}/{}", parts.next()?).parse().ok()?,
        };
        let forms = [Form::Call, Form::Prompt, Form::Read];
        let block = match (parts.next(), parts.next()) {
            (None, _) => None,
            (Some(list), Some(at)) => {
                let form = forms.into_iter().find(|form| form.list() == list)?;
                Some((form, at.parse().ok()?))
            }
            (Some(_), None) => return None,
        };
        let uri = Self { handle, block };
        // This rejects signs, leading zeros, quotes around the handle, and trailing text.
        (uri.to_string() == text).then_some(uri)
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ARTIFACT}{}", self.handle)?;
        match self.block {
            Some((form, at)) => write!(f, "/{}/{at}", form.list()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLE: &str =
        "session-0b0e9c3e-6f0a-4a1e-9d6a-0d6c1a2b3c4d/5f3c2b1a-0000-4000-8000-000000000001";

    const WORD: &str = "kqvbnrtzaewmxo";

    #[test]
    fn one_name_one_spelling() {
        let good = [
            "",
            "/content/0",
            "/content/17",
            "/messages/2",
            "/contents/1",
        ];
        for (handle, rest) in [HANDLE, WORD]
            .into_iter()
            .flat_map(|h| good.map(|rest| (h, rest)))
        {
            let text = format!("{ARTIFACT}{handle}{rest}");
            assert_eq!(Uri::parse(&text).unwrap().to_string(), text);
        }
        let bad = [
            "/",
            "/content",
            "/content/",
            "/content/-1",
            "/content/+1",
            "/content/01",
            "/content/1/",
            "/content/1/2",
            "/content/18446744073709551616",
            "/other/1",
            "#content/1",
            "?x",
            " ",
            "/../x",
        ];
        for (handle, rest) in [HANDLE, WORD]
            .into_iter()
            .flat_map(|h| bad.map(|rest| (h, rest)))
        {
            let text = format!("{ARTIFACT}{handle}{rest}");
            assert_eq!(Uri::parse(&text), None, "{text}");
        }
        for text in [
            "",
            "spillgate://",
            "spillgate://artifact/",
            "spillgate://artifact/../../etc/passwd",
            "spillgate://artifact//etc/passwd",
            "file:///etc/passwd",
            &format!("SPILLGATE://artifact/{HANDLE}"),
            &format!("spillgate://artifact/ {HANDLE}"),
            &format!("spillgate://artifact/\"{HANDLE}\""),
            &format!("spillgate://artifact/{}", HANDLE.to_uppercase()),
            &format!("spillgate://artifact/{}", WORD.to_uppercase()),
            &format!("spillgate://artifact/{}", HANDLE.replace('/', "%2f")),
        ] {
            assert_eq!(Uri::parse(text), None, "{text}");
        }
    }
}
