//! Finds the server to which a name or a URL on the command line refers.

use reqwest::Url;
use spillgate_clients::{Client, Launch, inspect, places};

use crate::args::{Common, LimitArgs};
use crate::clients::{files, records, surroundings};
use crate::failure::{Failure, Fault};
use crate::layers::client_file;
use crate::servers::{Address, add_client_file, address, remote_names};
use crate::settings::Settings;
use crate::tool_output::nearest;

/// Words that users may type because they expect subcommands.
const VERBS: [&str; 3] = ["login", "status", "logout"];

/// Returns the URL of a server: the typed URL, or the URL of the server that has the typed name in
/// the configuration or in a client's entry that `wrap` has written.
pub(super) fn url(common: &Common, typed: &str) -> Result<Url, Failure> {
    if typed.contains("://") {
        return parsed(typed).ok_or_else(|| {
            let message = format!("{typed}: not the URL of a server");
            Failure::new("server", Fault::Caller, message)
                .hint("name it as in the configuration: https://host/mcp")
        });
    }
    let mut settings = Settings::load(common, &LimitArgs::default())?;
    if let Some(file) = client_file(common) {
        add_client_file(&mut settings, &file)?;
    }
    let wrapped = match address(&settings, typed)? {
        Address::Url(url) => return usable(typed, &url),
        Address::Program => return Err(program(typed)),
        Address::Unknown => wrapped()?,
    };
    let mut urls: Vec<&String> = wrapped
        .iter()
        .filter(|(name, _)| name == typed)
        .map(|(_, url)| url)
        .collect();
    urls.dedup();
    match *urls {
        [url] => usable(typed, url),
        [] => Err(unknown(&settings, &wrapped, typed)),
        _ => {
            let what = format!("several clients have a server `{typed}`, each with its own URL");
            Err(Failure::new("server", Fault::Caller, what).hint("name the URL"))
        }
    }
}

fn parsed(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Checks a URL of the configuration. The error does not repeat it: it may hold a secret.
fn usable(name: &str, url: &str) -> Result<Url, Failure> {
    parsed(url).ok_or_else(|| {
        let what = format!("the `url` of the server `{name}` is not an HTTP address");
        Failure::new("server", Fault::Caller, what).hint("correct it in the configuration")
    })
}

fn program(name: &str) -> Failure {
    let what =
        format!("the server `{name}` is a program that is started: there is no login to keep");
    Failure::new("server", Fault::Caller, what)
        .hint("give it its key in `env`; only servers with a `url` are logged in at")
}

fn unknown(settings: &Settings, wrapped: &[(String, String)], typed: &str) -> Failure {
    let mut names: Vec<&str> = remote_names(settings).collect();
    names.extend(wrapped.iter().map(|(name, _)| name.as_str()));
    names.sort_unstable();
    names.dedup();
    let what = match &*names {
        [] => format!("{typed}: not a URL, and no server with a `url` is in the configuration"),
        _ => format!("{typed}: not a URL, and not the name of a server with a `url`"),
    };
    let hint = match &*names {
        _ if VERBS.contains(&typed) => {
            "`spillgate auth SERVER` logs in; --status and --logout are options of it".to_owned()
        }
        [] => {
            "name its URL, https://host/mcp, or a client's list with --config .mcp.json".to_owned()
        }
        names => nearest(typed, names.iter().copied()),
    };
    Failure::new("server", Fault::Caller, what).hint(hint)
}

/// Returns names and URLs of the servers that clients reach through the gateway. Files that cannot
/// be read are skipped; `doctor` reports them.
fn wrapped() -> Result<Vec<(String, String)>, Failure> {
    let (around, records) = (surroundings()?, records()?);
    let mut found = Vec::new();
    for client in Client::ALL {
        let places = places(client, &around);
        for file in files(&places) {
            let report = inspect(client, &file, &places, &records).ok().flatten();
            let servers = report.into_iter().flat_map(|report| report.servers);
            found.extend(servers.filter_map(|one| Some((one.name, url_in(&one.launch?)?))));
        }
    }
    found.sort();
    Ok(found)
}

fn url_in(launch: &Launch) -> Option<String> {
    // Arguments after `--` belong to a server's command.
    let ours = launch.arguments.split(|word| word == "--").next()?;
    let after = |flag: &str| {
        let pair = ours.windows(2).find(|pair| pair[0] == flag);
        pair.map(|pair| pair[1].clone())
    };
    after("--url").or_else(|| {
        let variable = after("--url-env")?;
        let set = launch
            .environment
            .iter()
            .find(|(name, _)| *name == variable);
        set.map(|(_, url)| url.clone())
    })
}
