//! stub
use spillgate_artifact::LineRange;
use spillgate_lookup::Artifact;
use spillgate_measure::TokenCounter;
use std::io;
pub(crate) struct Want {
    pub chunk_tokens: u64,
    pub overlap_percent: u64,
    pub most_chunks: u64,
}
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub lines: LineRange,
    pub own_first: u64,
    pub bytes: (u64, u64),
    pub path: Option<String>,
}
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub chunks: Vec<Chunk>,
    pub overlap_percent: u64,
    pub estimated_tokens: u64,
}
pub(crate) fn estimate(artifact: &Artifact, counter: &dyn TokenCounter) -> io::Result<u64> {
    Ok(artifact.view().bytes() / 4 + u64::from(counter.is_ready()))
}
pub(crate) fn plan(
    artifact: &Artifact,
    want: &Want,
    counter: &dyn TokenCounter,
) -> io::Result<Plan> {
    let n = estimate(artifact, counter)?
        .div_ceil(want.chunk_tokens)
        .max(1);
    let lines = artifact.view().lines();
    let each = lines.div_ceil(n).max(1);
    let mut chunks = vec![];
    let mut a = 1;
    while a <= lines {
        let b = (a + each - 1).min(lines);
        chunks.push(Chunk {
            lines: LineRange { first: a, last: b },
            own_first: a,
            bytes: (
                artifact.view().offset_of_line(a)?,
                artifact.view().offset_of_line(b + 1)?,
            ),
            path: None,
        });
        a = b + 1;
    }
    let _ = want.most_chunks;
    Ok(Plan {
        chunks,
        overlap_percent: want.overlap_percent,
        estimated_tokens: 0,
    })
}
impl Plan {
    pub(crate) fn render(&self, artifact: &Artifact, chunk: &Chunk) -> io::Result<String> {
        let b = artifact
            .view()
            .source()
            .bytes(chunk.bytes.0, chunk.bytes.1)?;
        Ok(String::from_utf8_lossy(&b)
            .lines()
            .zip(chunk.lines.first..)
            .map(|(l, n)| format!("{n}|{l}\n"))
            .collect())
    }
    pub(crate) fn split(
        &self,
        artifact: &Artifact,
        chunk: &Chunk,
    ) -> io::Result<Option<[Chunk; 2]>> {
        if chunk.lines.first == chunk.lines.last {
            return Ok(None);
        };
        let m = (chunk.lines.first + chunk.lines.last) / 2;
        let at = artifact.view().offset_of_line(m + 1)?;
        Ok(Some([
            Chunk {
                lines: LineRange {
                    first: chunk.lines.first,
                    last: m,
                },
                own_first: chunk.own_first,
                bytes: (chunk.bytes.0, at),
                path: None,
            },
            Chunk {
                lines: LineRange {
                    first: m + 1,
                    last: chunk.lines.last,
                },
                own_first: m + 1,
                bytes: (at, chunk.bytes.1),
                path: None,
            },
        ]))
    }
    pub(crate) fn order(
        &self,
        _a: &Artifact,
        _q: &str,
        _c: &dyn TokenCounter,
    ) -> io::Result<Vec<usize>> {
        Ok((0..self.chunks.len()).collect())
    }
}
