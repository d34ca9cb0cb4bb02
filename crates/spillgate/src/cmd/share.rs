//! `spillgate share`: lets a tenant of a gateway read an output of another tenant, or of the operator,
//! for a time.

use serde_json::json;
use spillgate_artifact::{Clock, Handle, Principal, SystemClock, Timestamp};
use spillgate_store::{Partition, PartitionKey, Share, ShareRecords, ShareSide};

use crate::audit::{Event, Line};
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::store_args;
use crate::stores::Store;
use crate::wiring::App;

pub(crate) fn share(app: &App, asked: &store_args::Share, out: &Output) -> Result<u8, Failure> {
    if !app.settings.tenants.enabled {
        let what = "there are no tenants: every client that knows a handle can read its output";
        return Err(Failure::new("config", Fault::Caller, what)
            .hint("set `enabled = true` in [tenants]; docs/tenants.md describes them")
            .code(2));
    }
    let key = app.store.partition_key()?;
    let owner = asked.owner.as_ref().map(|owner| key.partition(owner));
    let given = Shares {
        app,
        key,
        store: store_of(app, owner.as_ref())?,
        owner,
    };
    match (&asked.handle, &asked.with) {
        (Some(handle), with) if asked.end => {
            let handle = handle.find(&given.store)?;
            given.end(handle, with.as_ref(), out)
        }
        (Some(handle), Some(with)) => {
            let handle = handle.find(&given.store)?;
            given.begin(handle, with, asked.time, out)
        }
        _ => given.list(out),
    }
}

/// Returns the store in a partition; for `None`, the operator's.
fn store_of(app: &App, partition: Option<&Partition>) -> Result<Store, Failure> {
    let Some(partition) = partition else {
        return Ok(app.store.clone());
    };
    let limits = app.settings.tenants.limits(None);
    Ok(app.of_tenant((partition, None), &limits)?.store)
}

/// The outputs of one owner that others may read.
struct Shares<'a> {
    app: &'a App,
    key: PartitionKey,
    store: Store,
    owner: Option<Partition>,
}

impl Shares<'_> {
    fn begin(
        &self,
        handle: Handle,
        reader: &Principal,
        time: std::time::Duration,
        out: &Output,
    ) -> Result<u8, Failure> {
        // A handle that nobody stored is an error now, and not when the reader looks.
        self.store.manifest(handle)?;
        let until = SystemClock.now().system_time().checked_add(time);
        let until = until
            .map(Timestamp::new)
            .ok_or_else(|| Failure::new("usage", Fault::Caller, "`--for` is too long").code(2))?;
        let share = Share {
            handle,
            owner: self.owner.clone(),
            reader: reader.clone(),
            until,
        };
        let partition = self.key.partition(reader);
        if self.owner.as_ref() == Some(&partition) {
            let what = format!("{handle} is an output of {reader} already");
            return Err(Failure::new("usage", Fault::Caller, what).code(2));
        }
        // The copy first: a leave that no list shows could not be ended.
        let name = share.name(ShareSide::Given, &partition);
        let own = self.store.records();
        own.put_share(ShareSide::Given, &name, &share)?;
        let name = share.name(ShareSide::Received, &partition);
        let theirs = store_of(self.app, Some(&partition))?.records();
        theirs.put_share(ShareSide::Received, &name, &share)?;
        self.record(Event::Share, &share);
        match out.json {
            true => out.object(&described(&share))?,
            false => out.note(&format!("{reader} may read {handle} until {until}")),
        }
        Ok(0)
    }

    fn end(&self, handle: Handle, reader: Option<&Principal>, out: &Output) -> Result<u8, Failure> {
        let own = self.store.records();
        let mut ended = Vec::new();
        for (name, share) in own.shares(ShareSide::Given)? {
            if share.handle != handle || reader.is_some_and(|reader| share.reader != *reader) {
                continue;
            }
            let partition = self.key.partition(&share.reader);
            let theirs = store_of(self.app, Some(&partition))?.records();
            self.end_received(&*theirs, &share, &partition)?;
            own.remove_share(ShareSide::Given, &name)?;
            self.record(Event::EndShare, &share);
            ended.push(share);
        }
        for share in &ended {
            match out.json {
                true => out.object(&described(share))?,
                false => out.note(&format!("{} may not read {handle} any more", share.reader)),
            }
        }
        if ended.is_empty() {
            let what = format!("{handle} is not shared with that reader");
            let hint = "`spillgate share --list` lists what is shared";
            return Err(Failure::new("not_found", Fault::Caller, what).hint(hint));
        }
        Ok(0)
    }

    fn record(&self, event: Event, share: &Share) {
        if let Some(audit) = &self.app.audit {
            let operator = Principal::local();
            audit.record(&Line::new(event, &operator).sharing(share.handle, &share.reader));
        }
    }

    /// Removes the record of a reader, unless it is the leave of another owner.
    fn end_received(
        &self,
        theirs: &dyn ShareRecords,
        share: &Share,
        partition: &Partition,
    ) -> Result<(), Failure> {
        let name = share.name(ShareSide::Received, partition);
        let received = theirs.share(ShareSide::Received, &name)?;
        if received.is_some_and(|received| received.owner == self.owner) {
            theirs.remove_share(ShareSide::Received, &name)?;
        }
        Ok(())
    }

    /// Lists what is shared now, and forgets what is over.
    fn list(&self, out: &Output) -> Result<u8, Failure> {
        let own = self.store.records();
        let now = SystemClock.now();
        for (name, share) in own.shares(ShareSide::Given)? {
            if share.until <= now {
                let partition = self.key.partition(&share.reader);
                let theirs = store_of(self.app, Some(&partition))?.records();
                self.end_received(&*theirs, &share, &partition)?;
                own.remove_share(ShareSide::Given, &name)?;
                continue;
            }
            if out.json {
                out.object(&described(&share))?;
                continue;
            }
            let reader = spillgate_untrusted::line(share.reader.name(), 80);
            let Share { handle, until, .. } = share;
            out.text(&format!("{handle}  until {until}  {reader}\n"))?;
        }
        Ok(0)
    }
}

fn described(share: &Share) -> serde_json::Value {
    json!({"handle": share.handle, "reader": share.reader, "until": share.until})
}
