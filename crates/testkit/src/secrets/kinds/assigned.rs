//! Passwords and keys that only the name in front of them gives away.

use super::{Kind, keyed, whole};

pub(super) const KINDS: &[Kind] = &[
    keyed("password", "PASSWORD", "@{password}"),
    keyed("db-password", "DB_PASSWORD", "@{password}"),
    keyed("smtp-password", "SMTP_PASSWORD", "@{password}"),
    keyed("admin-password", "ADMIN_PASSWORD", "@{password}"),
    keyed("secret", "SECRET", "@{url:32-48}"),
    keyed("api-key", "API_KEY", "@{alnum:32-40}"),
    keyed("api-key-hex", "API_KEY", "@{hex:32-48}"),
    keyed("client-secret", "CLIENT_SECRET", "@{url:32-48}"),
    keyed("auth-token", "AUTH_TOKEN", "@{url:32-64}"),
    keyed("access-token", "ACCESS_TOKEN", "@{alnum:40-64}"),
    keyed("jwt-secret", "JWT_SECRET", "@{alnum:40-64}"),
    keyed("session-secret", "SESSION_SECRET", "@{hex:64}"),
    keyed("encryption-key", "ENCRYPTION_KEY", "@{bytes:32}"),
    keyed(
        "django-secret-key",
        "SECRET_KEY",
        "django-insecure-@{lower:30}@{-|+|^|*|_}@{lower:19}",
    ),
    keyed("rails-master-key", "RAILS_MASTER_KEY", "@{hex:32}"),
    keyed("passphrase", "SIGNING_PASSPHRASE", "@{password}"),
    whole(
        "sql-server",
        "CONNECTION_STRING",
        "Server=tcp:@{host},1433;Database=@{word};User ID=@{name};Password=[[@{password}]];Encrypt=True;",
    ),
    whole(
        "odbc",
        "DSN",
        "Driver={ODBC Driver 18};Server=@{host};Uid=@{word};Pwd=[[@{password}]];",
    ),
    whole(
        "libpq",
        "PG_DSN",
        "host=@{host} port=5432 dbname=@{word} user=@{word} password=[[@{plain}]] sslmode=require",
    ),
    whole(
        "ldap",
        "LDAP",
        "uri ldap://@{host}\nbase dc=example,dc=com\nbinddn cn=@{word},dc=example,dc=com\nbindpw [[@{password}]]\n",
    ),
    whole(
        "wifi",
        "WIFI",
        "network={\n    ssid=\"@{word}-@{10-99}\"\n    key_mgmt=WPA-PSK\n    psk=\"[[@{plain}]]\"\n}",
    ),
    whole(
        "spring",
        "SPRING",
        "spring.datasource.url=jdbc:postgresql://@{host}/@{word}\nspring.datasource.username=@{word}\n\
         spring.datasource.password=[[@{password}]]\n",
    ),
    whole(
        "compose",
        "COMPOSE",
        "services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_USER: @{word}\n      \
         POSTGRES_PASSWORD: [[@{plain}]]\n",
    ),
];
