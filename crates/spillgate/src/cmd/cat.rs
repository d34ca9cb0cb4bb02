//! `spillgate cat`: a stored output, whole.

use std::io;

use spillgate_artifact::ReadRange;
use spillgate_store::ArtifactStore;

use crate::args::Cat;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

pub(crate) fn cat(house: &House, cat: &Cat, out: &Output) -> Result<u8, Failure> {
    let stored = house.store.open(cat.handle)?;
    let source = match cat.raw {
        true => stored.raw,
        false => stored.view,
    };
    out.with(|to| io::copy(&mut ReadRange::whole(&*source), to).map(drop))?;
    Ok(0)
}
