//! Clouds and hosts.

use super::keys::pkcs8_body;
use super::{Form, Kind, Recipe, keyed, kind, token, whole};
use crate::secrets::encoding::percent;
use crate::secrets::random::Random;

pub(super) const KINDS: &[Kind] = &[
    token("aws-access-key", "AWS_ACCESS_KEY_ID", "AKIA@{BASE32:16}"),
    token("aws-temporary-key", "AWS_ACCESS_KEY_ID", "ASIA@{BASE32:16}"),
    keyed("aws-secret-key", "AWS_SECRET_ACCESS_KEY", "@{b64:40}"),
    keyed(
        "aws-session-token",
        "AWS_SESSION_TOKEN",
        "IQoJb3JpZ2luX2Vj@{b64:300-460}",
    ),
    token("gcp-api-key", "GOOGLE_API_KEY", "AIza@{url:35}"),
    token(
        "google-client-secret",
        "GOOGLE_CLIENT_SECRET",
        "GOCSPX-@{url:28}",
    ),
    token(
        "google-refresh-token",
        "GOOGLE_REFRESH_TOKEN",
        "1//0@{0-9}@{url:96}",
    ),
    token(
        "google-access-token",
        "GOOGLE_ACCESS_TOKEN",
        "ya29.a0@{url:160-200}",
    ),
    kind(
        "gcp-service-account",
        "GOOGLE_CREDENTIALS",
        Form::Whole,
        Recipe::Made(service_account),
    ),
    token(
        "azure-storage-key",
        "AZURE_STORAGE_CONNECTION_STRING",
        "DefaultEndpointsProtocol=https;AccountName=@{word}@{10-99};AccountKey=[[@{bytes:64}]];\
         EndpointSuffix=core.windows.net",
    ),
    token(
        "azure-bus-key",
        "SERVICE_BUS_CONNECTION",
        "Endpoint=sb://@{word}.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;\
         SharedAccessKey=[[@{bytes:32}]]",
    ),
    keyed(
        "azure-client-secret",
        "AZURE_CLIENT_SECRET",
        "@{alnum:3}@{7|8}Q~@{azure:34}",
    ),
    kind(
        "azure-signed-url",
        "BLOB_URL",
        Form::Whole,
        Recipe::Made(|r| {
            let signature = percent(&r.fill("@{bytes:32}"));
            r.fill(
            "https://@{word}@{10-99}.blob.core.windows.net/@{word}/@{word}.csv?sv=2022-11-02&st=@{date}T08%3A00%3A00Z\
             &se=@{date}T20%3A00%3A00Z&sr=b&sp=r&sig=[[",
        ) + &signature + "]]"
        }),
    ),
    whole(
        "aws-signed-url",
        "EXPORT_URL",
        "https://@{word}-@{word}.s3.eu-west-1.amazonaws.com/@{word}/@{uuid}.zip?X-Amz-Algorithm=AWS4-HMAC-SHA256\
         &X-Amz-Date=20261121T101500Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=[[@{hex:64}]]",
    ),
    whole(
        "aws-credentials-file",
        "AWS_CREDENTIALS",
        "[default]\nregion = eu-west-1\naws_secret_access_key = [[@{b64:40}]]\n",
    ),
    token(
        "alibaba-key-id",
        "ALIBABA_CLOUD_ACCESS_KEY_ID",
        "LTAI@{alnum:20}",
    ),
    token(
        "digitalocean-token",
        "DIGITALOCEAN_TOKEN",
        "dop_v1_@{hex:64}",
    ),
    keyed("cloudflare-token", "CLOUDFLARE_API_TOKEN", "@{url:40}"),
    keyed("cloudflare-global-key", "CLOUDFLARE_API_KEY", "@{hex:37}"),
    token("heroku-key", "HEROKU_API_KEY", "HRKU-AA@{url:58}"),
    keyed("fastly-token", "FASTLY_API_TOKEN", "@{url:32}"),
    token("netlify-token", "NETLIFY_AUTH_TOKEN", "nfp_@{alnum:36}"),
    token("supabase-token", "SUPABASE_ACCESS_TOKEN", "sbp_@{hex:40}"),
    token(
        "planetscale-password",
        "PLANETSCALE_PASSWORD",
        "pscale_pw_@{url:43}",
    ),
    keyed("hetzner-token", "HCLOUD_TOKEN", "@{alnum:64}"),
    token("pulumi-token", "PULUMI_ACCESS_TOKEN", "pul-@{hex:40}"),
];

/// Returns the file that Google hands out for a service account: JSON with a private key, whose
/// line breaks are escapes.
fn service_account(random: &mut Random) -> String {
    let key = pkcs8_body(random).replace('\n', "\\n");
    let start = random.fill(
        "{\n  \"type\": \"service_account\",\n  \"project_id\": \"@{word}-@{100000-999999}\",\n  \
         \"private_key_id\": \"@{hex:40}\",\n  \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n[[",
    );
    let end = random.fill(
        "]]\\n-----END PRIVATE KEY-----\\n\",\n  \"client_email\": \
         \"@{word}@@{word}.iam.gserviceaccount.com\",\n  \"client_id\": \"@{digits:21}\",\n  \
         \"token_uri\": \"https://oauth2.googleapis.com/token\"\n}",
    );
    start + &key + &end
}
