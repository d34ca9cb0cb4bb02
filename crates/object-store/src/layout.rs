//! The names of the objects of a store in a bucket.
//!
//! ```text
//! <prefix>/v1/<tenant>/<handle>/manifest.json   the manifest, put last; its time tells when the artifact
//!                                               was used last. Later perhaps a tombstone
//! <prefix>/v1/<tenant>/<handle>/body            the bytes as they were received
//! <prefix>/v1/<tenant>/<handle>/view            the readable text, if it differs from the body
//! <prefix>/v1/<tenant>/<handle>/index           the line index, put first
//! <prefix>/v1/<tenant>/.sweep                   its time tells when a sweep began last
//! <prefix>/v1/<tenant>/.shares-received/<handle> leave to read an output of another tenant
//! <prefix>/v1/<tenant>/.shares-given/<name>        copies of such leaves, to list them
//! <prefix>/v1/.key                              the key from which the names of tenants are made
//! ```
//!
//! `<tenant>` is `shared`, or a [`Partition`]. A store sees one tenant only.
//!
//! Names are made from parsed handles only. In a name, a long handle has a dot in place of its slash.

use object_store::path::{Path, PathPart};
use spillgate_artifact::Handle;
use spillgate_store::{Partition, Piece, ShareSide};

/// The version of the layout.
const VERSION: &str = "v1";

/// The tenant of a store that is not divided among tenants.
const TENANT: &str = "shared";

/// An object of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    /// The manifest or the tombstone. An artifact exists if and only if this object is a manifest.
    Head,
    /// One of its files.
    Piece(Piece),
}

impl Object {
    pub(crate) const PIECES: [Self; 3] = [
        Self::Piece(Piece::View),
        Self::Piece(Piece::Body),
        // The last one to go, because it tells that something is left.
        Self::Piece(Piece::Index),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Head => "manifest.json",
            Self::Piece(Piece::Body) => "body",
            Self::Piece(Piece::View) => "view",
            Self::Piece(Piece::Index) => "index",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let mut all = Self::PIECES.into_iter().chain([Self::Head]);
        all.find(|object| object.name() == name)
    }
}

/// Where the objects of a store are in its bucket.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Below this, the objects of all tenants are.
    all: Path,
    root: Path,
}

impl Layout {
    /// Returns the layout below a prefix of the bucket.
    pub(crate) fn below(prefix: &Path) -> Self {
        let all = joined(prefix, VERSION);
        let root = joined(&all, TENANT);
        Self { all, root }
    }

    /// Returns the layout of a tenant in the same bucket.
    pub(crate) fn of(&self, tenant: &Partition) -> Self {
        let root = joined(&self.all, tenant.name());
        let all = self.all.clone();
        Self { all, root }
    }

    /// Below this, the objects of all tenants are.
    pub(crate) fn all(&self) -> &Path {
        &self.all
    }

    /// The object with the key from which the names of tenants are made.
    pub(crate) fn key(&self) -> Path {
        joined(&self.all, ".key")
    }

    /// Below this, all objects of the store are.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The object whose time tells when a sweep began last.
    pub(crate) fn sweep(&self) -> Path {
        joined(&self.root, ".sweep")
    }

    /// The directory of the records of shares.
    pub(crate) fn shares(&self, side: ShareSide) -> Path {
        joined(&self.root, &format!(".{}", side.directory()))
    }

    /// The record of a share with this name.
    pub(crate) fn share(&self, side: ShareSide, name: &str) -> Path {
        joined(&self.shares(side), name)
    }

    /// Where an object for a check of the store is.
    pub(crate) fn check(&self, name: &str) -> Path {
        joined(&joined(&self.root, ".check"), name)
    }

    /// Returns where an object of an artifact is.
    pub(crate) fn path(&self, handle: Handle, object: Object) -> Path {
        let directory = handle.to_string().replace('/', ".");
        joined(&joined(&self.root, &directory), object.name())
    }

    /// Returns the handle that the name of an artifact's directory is; `None` if it is none.
    pub(crate) fn handle(name: &str) -> Option<Handle> {
        let handle: Handle = name.replacen('.', "/", 1).parse().ok()?;
        (!name.contains('/')).then_some(handle)
    }

    /// Returns whose object is at a path; `None` if it is no object of an artifact.
    pub(crate) fn parse(&self, path: &Path) -> Option<(Handle, Object)> {
        let rest = path.as_ref().strip_prefix(self.root.as_ref())?;
        let (directory, name) = rest.strip_prefix('/')?.split_once('/')?;
        Some((Self::handle(directory)?, Object::parse(name)?))
    }
}

fn joined(path: &Path, name: &str) -> Path {
    path.parts().chain([PathPart::from(name)]).collect()
}

#[cfg(test)]
mod tests {
    use spillgate_artifact::{FileId, SessionId, Word};

    use super::*;

    #[test]
    fn a_name_leads_back_to_its_object() {
        let long = Handle::Long {
            session: SessionId::random(),
            file: FileId::random(),
        };
        for prefix in ["", "a", "a/b c"] {
            let layout = Layout::below(&Path::from(prefix));
            for handle in [Handle::Short(Word::random()), long] {
                for object in Object::PIECES.into_iter().chain([Object::Head]) {
                    let path = layout.path(handle, object);
                    assert_eq!(layout.parse(&path), Some((handle, object)), "{path}");
                }
            }
        }
    }

    #[test]
    fn tenants_have_no_objects_in_common() {
        let names = ["a", "b"].map(|letter| format!("t-{}", letter.repeat(32)));
        let tenants = names.map(|name| Partition::parse(&name).unwrap());
        let shared = Layout::below(&Path::from("p"));
        let mut layouts = vec![shared.clone()];
        layouts.extend(tenants.iter().map(|tenant| shared.of(tenant)));
        let handle = Handle::Short(Word::random());
        for (at, one) in layouts.iter().enumerate() {
            let path = one.path(handle, Object::Head);
            assert!(path.prefix_matches(one.root()) && path.prefix_matches(one.all()));
            for (other_at, other) in layouts.iter().enumerate() {
                let is_own = other.parse(&path).is_some();
                assert_eq!(is_own, at == other_at, "{path}");
            }
            assert_eq!(one.key(), Path::from("p/v1/.key"));
        }
    }

    #[test]
    fn other_objects_are_left_alone() {
        let layout = Layout::below(&Path::from("a"));
        for path in [
            "a/v1/shared/.sweep",
            "a/v1/shared/kqvbnrtzaewmxo",
            "a/v1/shared/kqvbnrtzaewmxo/other",
            "a/v1/shared/kqvbnrtzaewmxo/body/more",
            "a/v1/sharedkqvbnrtzaewmxo/body",
            "a/v1/other/kqvbnrtzaewmxo/body",
            "a/v2/shared/kqvbnrtzaewmxo/body",
            "v1/shared/kqvbnrtzaewmxo/body",
            "a/v1/shared/session-x.y/body",
            "a/v1/shared/Kqvbnrtzaewmxo/body",
        ] {
            assert_eq!(layout.parse(&Path::from(path)), None, "{path}");
        }
    }
}
