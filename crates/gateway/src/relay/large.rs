//! The way of a frame that is too large for the memory.

use std::collections::HashMap;
use std::sync::Arc;

use spillgate_wire::{Envelope, Pieces, Spooled};
use tokio::io::AsyncWriteExt;
use tokio::task::spawn_blocking;

use super::Relay;
use crate::error::internal;
use crate::own::LIST_CHANGED;
use crate::spooled::intercept_spooled;

impl Relay {
    /// Passes on a message that is too large for the memory.
    pub(super) async fn pass_large(self: Arc<Self>, spooled: Spooled) {
        let permit = Arc::clone(&self.at_once).acquire_owned().await;
        let mut origins = HashMap::new();
        let mut ids = Vec::new();
        for envelope in spooled.messages().iter().filter(|one| one.is_response()) {
            let key = envelope.key();
            ids.extend(envelope.id.map(|id| id.get().to_owned()));
            let asked = key.as_ref().and_then(|key| self.pending.take(key));
            if let (Some(key), Some(origin)) = (key, asked.and_then(|asked| self.origin(&asked))) {
                origins.insert(key, origin);
            }
        }
        let relay = Arc::clone(&self);
        let rewritten = spawn_blocking(move || {
            let origin = |envelope: &Envelope<'_>| origins.get(&envelope.key()?).cloned();
            intercept_spooled(&relay.gateway.offloader, spooled, &origin)
        });
        match rewritten.await {
            Ok(Ok((pieces, stored))) => {
                if stored {
                    self.own.note_stored();
                }
                if self.own.take_announcement() {
                    self.to_client(LIST_CHANGED).await;
                }
                self.write_pieces(pieces.one_line()).await;
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "a large message could not be kept and is lost");
                for id in ids {
                    self.to_client(&internal(&id)).await;
                }
            }
            Err(_) => {
                for id in ids {
                    self.to_client(&internal(&id)).await;
                }
            }
        }
        drop(permit);
    }

    async fn write_pieces(&self, mut pieces: Pieces) {
        let mut client = self.client.lock().await;
        loop {
            match pieces.next().await {
                Ok(Some(block)) if client.write_all(&block).await.is_ok() => {}
                Ok(Some(_)) => return,
                Ok(None) => break,
                Err(error) => {
                    // Amid a line: it cannot be taken back, only ended.
                    tracing::warn!(%error, "a stored message could not be read");
                    drop(client.write_all(b"\n").await);
                    break;
                }
            }
        }
        drop(client.flush().await);
    }
}
