//! Decides which binary blocks become links, and creates these links.
//!
//! A link contains the block's index in the stored result, so that the gateway can serve the block
//! unchanged (see `resources`).

use serde_json::json;
use serde_json::value::RawValue;
use spillgate_artifact::Handle;
use spillgate_offload::Limits;
use spillgate_text::{clip, decode_json_string};
use spillgate_untrusted::line;

use crate::resources::uri::Uri;
use crate::results::found::{Binary, Block, Form};
use spillgate_mcp::ObjectView;

/// The limit for all images of a result together, as a multiple of the limit for one image.
const IMAGES_TOGETHER: u64 = 4;

/// Maximum number of images of a result that are not replaced. Anthropic's API accepts at most this
/// number of full-size images in a request; if there are more, they must be smaller.
const MOST_IMAGES: usize = 20;

/// Maximum length, in characters, of a name or MIME type that is copied into a link.
const LONGEST_NAME: usize = 80;

/// Returns the indexes of the binary blocks that exceed a limit, by themselves or together with
/// earlier blocks.
pub(crate) fn bulky(blocks: &[Block<'_>], limits: &Limits) -> Vec<usize> {
    let (mut images, mut image_bytes, mut other_bytes) = (0, 0, 0);
    let is_over = |binary: &Binary<'_>| {
        let bytes = binary.bytes;
        let over = |limit: Option<u64>, size: u64| limit.is_some_and(|limit| size > limit);
        if !binary.is_image {
            let is_over = over(limits.binary_bytes, other_bytes + bytes);
            other_bytes += if is_over { 0 } else { bytes };
            return is_over;
        }
        let together = limits
            .image_bytes
            .map(|one| one.saturating_mul(IMAGES_TOGETHER));
        let is_over = over(limits.image_bytes, bytes)
            || over(together, image_bytes + bytes)
            || limits.image_bytes.is_some() && images >= MOST_IMAGES;
        if !is_over {
            images += 1;
            image_bytes += bytes;
        }
        is_over
    };
    let places = blocks.iter().enumerate();
    let binaries = places.filter_map(|(at, block)| Some((at, block.binary()?)));
    let mut is_over = is_over;
    binaries
        .filter(|(_, binary)| is_over(binary))
        .map(|(at, _)| at)
        .collect()
}

/// A binary block that is replaced.
#[derive(Debug)]
pub(crate) struct Moved<'a> {
    pub(crate) form: Form,
    pub(crate) tool: &'a str,
    /// The block's index in the list, from 0.
    pub(crate) at: usize,
    pub(crate) block: &'a Block<'a>,
    pub(crate) binary: &'a Binary<'a>,
    /// The handle of the stored result; `None` if the result could not be stored.
    pub(crate) handle: Option<Handle>,
    /// Whether the client supports `resource_link` blocks.
    pub(crate) links: bool,
}

impl Moved<'_> {
    /// Returns the replacement of the block. In a message of a prompt, it replaces only the inner
    /// part.
    pub(crate) fn replacement(&self) -> String {
        match (self.form, self.handle) {
            (Form::Read, _) => self.contents(),
            (_, Some(handle)) if self.links => self.link(handle),
            _ => json!({"type": "text", "text": self.told()}).to_string(),
        }
    }

    /// Returns a link that keeps the other members of the block.
    fn link(&self, handle: Handle) -> String {
        let members = ObjectView::of(self.block.inner);
        let members = members.expect("invariant: only an object is a binary block");
        let size = self.binary.bytes;
        let was = self
            .was()
            .map_or_else(String::new, |uri| format!("; it was {uri}"));
        let description = format!("{size} bytes, stored whole: resources/read gives them{was}");
        let mut more = vec![
            ("type", json!("resource_link").to_string()),
            ("uri", json!(self.uri(handle).to_string()).to_string()),
            ("name", json!(self.name()).to_string()),
            ("size", size.to_string()),
            ("description", json!(description).to_string()),
        ];
        if let Some(mime) = &self.binary.mime {
            more.push(("mimeType", mime.get().to_owned()));
        }
        members.written(&["data", "resource"], &more)
    }

    /// Returns the replacement for an element of a resource's `contents`, which cannot be a link: a
    /// text that says where to read the bytes.
    fn contents(&self) -> String {
        let members = ObjectView::of(self.block.inner);
        let members = members.expect("invariant: only an object is a binary block");
        let more = [
            ("mimeType", json!("text/plain").to_string()),
            ("text", json!(self.told()).to_string()),
        ];
        members.written(&["blob"], &more)
    }

    /// Returns a description of the block.
    fn told(&self) -> String {
        let mime = decoded(self.binary.mime.as_deref());
        let mime = mime.unwrap_or_else(|| "binary data".to_owned());
        let size = self.binary.bytes;
        match self.handle {
            Some(handle) => format!(
                "[spillgate] {mime}, {size} bytes, stored whole: resources/read gives them as {}",
                self.uri(handle)
            ),
            None => format!("[spillgate] {mime}, {size} bytes, left out: it could not be stored"),
        }
    }

    fn uri(&self, handle: Handle) -> Uri {
        Uri {
            handle,
            block: Some((self.form, self.at)),
        }
    }

    /// Returns the block's original URI if it has one; otherwise a new name.
    fn name(&self) -> String {
        self.was().unwrap_or_else(|| {
            let what = if self.binary.is_image {
                "image"
            } else {
                "data"
            };
            let tool = clip(&line(self.tool, 2 * LONGEST_NAME), LONGEST_NAME);
            format!("{what} {} of {tool}", self.at + 1)
        })
    }

    fn was(&self) -> Option<String> {
        decoded(self.binary.uri.as_deref())
    }
}

fn decoded(string: Option<&RawValue>) -> Option<String> {
    let text = decode_json_string(string?.get().as_bytes())?;
    (!text.is_empty()).then(|| clip(&line(&text, 2 * LONGEST_NAME), LONGEST_NAME))
}
