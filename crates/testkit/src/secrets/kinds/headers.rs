//! Secrets in URLs, in HTTP headers and in the files of clients.

use super::{Form, Kind, Recipe, kind, whole};
use crate::secrets::encoding::base64;

pub(super) const KINDS: &[Kind] = &[
    whole(
        "url-postgres",
        "DATABASE_URL",
        "postgres://@{word}:[[@{plain}]]@@{host}:5432/@{word}",
    ),
    whole(
        "url-mysql",
        "DATABASE_URL",
        "mysql://@{word}:[[@{plain}]]@@{host}/@{word}?charset=utf8mb4",
    ),
    whole(
        "url-mongodb",
        "MONGODB_URI",
        "mongodb+srv://@{word}:[[@{plain}]]@cluster0.@{lower:5}.mongodb.net/@{word}",
    ),
    whole(
        "url-redis",
        "REDIS_URL",
        "redis://:[[@{plain}]]@@{host}:6379/0",
    ),
    whole(
        "url-amqp",
        "AMQP_URL",
        "amqps://@{name}:[[@{plain}]]@@{host}:5671/@{word}",
    ),
    whole(
        "url-https",
        "GIT_REMOTE",
        "https://@{name}:[[@{alnum:32}]]@@{host}/@{word}/@{word}.git",
    ),
    whole(
        "url-proxy",
        "HTTPS_PROXY",
        "http://@{word}:[[@{plain}]]@@{host}:3128",
    ),
    whole(
        "jdbc-url",
        "JDBC_URL",
        "jdbc:postgresql://@{host}:5432/@{word}?user=@{word}&password=[[@{plain}]]&ssl=true",
    ),
    whole(
        "header-bearer",
        "AUTHORIZATION",
        "Authorization: Bearer [[@{url:40-64}]]",
    ),
    kind(
        "header-basic",
        "AUTHORIZATION",
        Form::Whole,
        Recipe::Made(|r| {
            format!(
                "Authorization: Basic [[{}]]",
                base64(&r.fill("@{name}:@{password}"))
            )
        }),
    ),
    whole(
        "header-api-key",
        "X_API_KEY",
        "X-Api-Key: [[@{alnum:32-48}]]",
    ),
    whole(
        "header-cookie",
        "COOKIE",
        "Cookie: theme=dark; sessionid=[[@{lower:32}]]; lang=en",
    ),
    whole(
        "header-set-cookie",
        "SET_COOKIE",
        "Set-Cookie: session_token=[[@{url:64}]]; Path=/; HttpOnly; Secure; SameSite=Lax",
    ),
    whole(
        "curl-user",
        "CURL",
        "+ curl -sS -u @{name}:[[@{plain}]] https://@{host}/api/@{word}",
    ),
    whole(
        "mysql-option",
        "MYSQL",
        "+ mysql -h @{host} -u @{word} -p[[@{plain}]] @{word}",
    ),
    whole(
        "sshpass-option",
        "SSHPASS",
        "+ sshpass -p '[[@{password}]]' ssh @{name}@@{host} uptime",
    ),
    whole(
        "netrc",
        "NETRC",
        "machine @{host}\n  login @{name}\n  password [[@{plain}]]\n",
    ),
    whole(
        "pgpass",
        "PGPASS",
        "@{host}:5432:@{word}:@{name}:[[@{plain}]]",
    ),
    kind(
        "docker-config",
        "DOCKER_CONFIG",
        Form::Whole,
        Recipe::Made(|r| {
            let auth = base64(&r.fill("@{name}:@{plain}"));
            let host = r.fill("@{host}");
            format!(
                "{{\n\t\"auths\": {{\n\t\t\"{host}\": {{\n\t\t\t\"auth\": \"[[{auth}]]\"\n\t\t}}\n\t}}\n}}"
            )
        }),
    ),
    kind(
        "kubernetes-secret",
        "SECRET",
        Form::Whole,
        Recipe::Made(|r| {
            let value = base64(&r.fill("@{password}"));
            r.fill("apiVersion: v1\nkind: Secret\nmetadata:\n  name: @{word}-@{word}\ntype: Opaque\ndata:\n  password: [[")
            + &value
            + "]]"
        }),
    ),
    whole(
        "kubeconfig-token",
        "KUBECONFIG",
        "apiVersion: v1\nkind: Config\nusers:\n- name: @{word}-admin\n  user:\n    token: [[@{url:48-72}]]\n",
    ),
    whole(
        "wp-config",
        "WP_CONFIG",
        "define( 'DB_NAME', '@{word}' );\ndefine( 'DB_USER', '@{word}' );\ndefine( 'DB_PASSWORD', '[[@{password}]]' );\n\
         define( 'DB_HOST', '@{host}' );",
    ),
];
