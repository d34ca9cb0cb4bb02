//! Chat, mail and telephone services.

use super::checked::base64_url;
use super::{Form, Kind, Recipe, keyed, kind, token, whole};
use crate::secrets::random::{DIGITS, Random};

pub(super) const KINDS: &[Kind] = &[
    token(
        "slack-bot",
        "SLACK_BOT_TOKEN",
        "xoxb-@{digits:12}-@{digits:13}-@{alnum:24}",
    ),
    token(
        "slack-user",
        "SLACK_USER_TOKEN",
        "xoxp-@{digits:12}-@{digits:12}-@{digits:13}-@{hex:32}",
    ),
    token(
        "slack-app",
        "SLACK_APP_TOKEN",
        "xapp-1-A0@{upper:9}-@{digits:13}-@{hex:64}",
    ),
    token(
        "slack-webhook",
        "SLACK_WEBHOOK_URL",
        "https://hooks.slack.com/services/T0@{upper:9}/B0@{upper:9}/[[@{alnum:24}]]",
    ),
    keyed("slack-signing-secret", "SLACK_SIGNING_SECRET", "@{hex:32}"),
    kind(
        "discord-bot",
        "DISCORD_TOKEN",
        Form::Token,
        Recipe::Made(discord),
    ),
    token(
        "discord-webhook",
        "DISCORD_WEBHOOK_URL",
        "https://discord.com/api/webhooks/1@{digits:18}/[[@{url:68}]]",
    ),
    token(
        "telegram-bot",
        "TELEGRAM_BOT_TOKEN",
        "@{1-9}@{digits:9}:AA@{url:33}",
    ),
    whole(
        "twilio-auth-token",
        "TWILIO",
        "TWILIO_ACCOUNT_SID=AC@{hex:32}\nTWILIO_AUTH_TOKEN=[[@{hex:32}]]",
    ),
    keyed("twilio-api-secret", "TWILIO_API_SECRET", "@{alnum:32}"),
    token("sendgrid-key", "SENDGRID_API_KEY", "SG.@{url:22}.@{url:43}"),
    token("mailgun-key", "MAILGUN_API_KEY", "key-@{hex:32}"),
    keyed(
        "mailgun-new-key",
        "MAILGUN_API_KEY",
        "@{hex:32}-@{hex:8}-@{hex:8}",
    ),
    token("mailchimp-key", "MAILCHIMP_API_KEY", "@{hex:32}-us@{1-21}"),
    keyed("postmark-token", "POSTMARK_SERVER_TOKEN", "@{uuid}"),
    token(
        "brevo-key",
        "BREVO_API_KEY",
        "xkeysib-@{hex:64}-@{alnum:16}",
    ),
    token(
        "resend-key",
        "RESEND_API_KEY",
        "re_@{base58:8}_@{base58:24}",
    ),
    token(
        "facebook-token",
        "FACEBOOK_ACCESS_TOKEN",
        "EAACEdEose0cBA@{alnum:160-180}",
    ),
];

/// Returns a bot's token: the number of the bot in base64, a time and a signature.
fn discord(random: &mut Random) -> String {
    let number = format!("1{}", random.letters(DIGITS, 18));
    format!(
        "{}.{}",
        base64_url(&number),
        random.fill("G@{url:5}.@{url:38}")
    )
}
