//! Encoded data: images, dumps, certificates, public keys, minified code.

use super::{Kind, kind};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "base64-image",
        &[
            "<img alt=\"@{word}\" src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA@{bytes:300-2000}\">\n",
            "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoAAAANSUhEUgAA@{bytes:300-4000}\"}",
            ".icon { background: url(data:image/gif;base64,R0lGODlhAQABAIAAA@{b64:3}@{bytes:40-300}) }\n",
            "{\"image_url\":{\"url\":\"data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD@{b64:1}@{bytes:300-2000}\"}}",
            "@font-face { src: url(data:font/woff2;base64,d09GMgABAAAAA@{b64:3}@{bytes:300-2000}) format('woff2'); }\n",
        ],
    ),
    kind(
        "base64-text",
        &[
            "{\"name\":\"@{word}.txt\",\"content\":\"@{encoded}\",\"encoding\":\"base64\"}",
            "Content-Transfer-Encoding: base64\n\n@{encoded}\n",
            "data:text/plain;base64,@{encoded}\n",
            "$ base64 notes.txt\n@{encoded}\n",
        ],
    ),
    kind(
        "certificate",
        &[
            "-----BEGIN CERTIFICATE-----\nMIID@{b64:60}\n@{lines:8-20}\n@{bytes:22}\n-----END CERTIFICATE-----\n",
            "ssl_certificate: |\n-----BEGIN CERTIFICATE-----\nMIIF@{b64:60}\n@{lines:8-20}\n-----END CERTIFICATE-----\n",
            "{\"cert\":\"-----BEGIN CERTIFICATE-----\\nMIIC@{b64:60}\\n@{b64:64}\\n@{b64:64}\\n-----END CERTIFICATE-----\\n\"}",
            "-----BEGIN CERTIFICATE REQUEST-----\nMIIC@{b64:60}\n@{lines:8-14}\n-----END CERTIFICATE REQUEST-----\n",
            "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JS@{b64:600-1200}\n",
            "X509v3 Subject Key Identifier:\n    @{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}\n\
         Serial Number: 04:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}\n",
            "sha256 Fingerprint=@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}:@{HEX:2}\n",
        ],
    ),
    kind(
        "public-key",
        &[
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ@{b64:500}= @{name}@@{host}\n",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI@{b64:43} @{name}@@{host}\n",
            "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB@{bytes:65} @{name}@@{host}\n",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA@{b64:20}\n@{lines:5}\n@{b64:6}AQAB\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQGNBG@{b64:58}\n@{lines:10-20}\n=@{b64:4}\n-----END PGP PUBLIC KEY BLOCK-----\n",
            "@{host} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI@{b64:43}\n@{host} ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ@{b64:500}\n",
            "The key fingerprint is:\nSHA256:@{b64:43} @{name}@@{host}\n",
            "{\"kty\":\"RSA\",\"use\":\"sig\",\"alg\":\"RS256\",\"kid\":\"@{hex:40}\",\"n\":\"@{url:342}\",\"e\":\"AQAB\"}",
            "mail._domainkey.example.com. IN TXT \"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQ@{b64:170}IDAQAB\"\n",
        ],
    ),
    kind(
        "signature",
        &[
            "-----BEGIN PGP SIGNATURE-----\n\niQGzBAAB@{b64:56}\n@{lines:4-8}\n=@{b64:4}\n-----END PGP SIGNATURE-----\n",
            "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lHAAAAAQ@{b64:56}\n -----END SSH SIGNATURE-----\n",
            "untrusted comment: signature from minisign\nRWQ@{b64:97}=\n",
            "gpg: Signature made @{date}\ngpg:                using RSA key @{HEX:40}\n",
        ],
    ),
    kind(
        "token-words",
        &[
            "Every such token starts with eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9, which is base64 of its header. @{sentence}\n",
            "The header {\"alg\":\"HS256\",\"typ\":\"JWT\"} says how @{name} signs. @{sentence}\n",
            "eyJhbGciOiJSUzI1NiJ9 decodes to {\"alg\":\"RS256\"}. @{sentence}\n",
            "A JWT has three parts: header.payload.signature. @{sentence}\n",
        ],
    ),
    kind(
        "minified-code",
        &[
            "!function(e,t){\"object\"==typeof exports?module.exports=t():e.@{word}=t()}(this,function(){var n=@{1-900},r=[@{1-90},@{1-90}];\
         return n.@{letters:1}=function(e){return e?@{1-9}:r[e]||n.@{word}},n});\n",
            "(self.webpackChunk@{word}=self.webpackChunk@{word}||[]).push([[@{100-900}],{@{1000-9000}:(e,t,n)=>{n.d(t,{Z:()=>@{letters:1}});\
         const @{letters:1}=n(@{1000-9000});e.exports=@{letters:2}}}]);\n",
            "var _0x@{hex:4}=['@{word}','@{word}'];(function(_0x@{hex:6},_0x@{hex:6}){var _0x@{hex:6}=_0x@{hex:4};}(_0x@{hex:4},0x@{hex:3}));\n",
            "import{a as t,b as n}from\"./chunk-@{upper:8}.js\";const @{letters:1}=t(@{1-90});export{n as @{word}};\n",
        ],
    ),
    kind(
        "style-sheet",
        &[
            ".@{word}{color:#@{hex:6};background:#@{hex:6};border:1px solid #@{hex:3}}.@{word}-@{word}{color:#@{hex:8}}\n",
            ":root {\n  --@{word}: #@{hex:6};\n  --@{word}-dark: #@{hex:6};\n}\n",
            ".@{letters:5}_@{word}__@{alnum:5} { padding: @{1-90}px; }\n.css-@{lower:7} { color: #@{hex:6} }\n",
        ],
    ),
    kind(
        "source-map",
        &[
            "{\"version\":3,\"file\":\"@{word}.js\",\"sources\":[\"../src/@{word}.ts\"],\"names\":[\"@{word}\"],\"mappings\":\"@{mappings:20-90}\"}",
            "//# sourceMappingURL=@{word}.@{hex:8}.js.map\n",
            "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpb@{b64:200-900}\n",
        ],
    ),
    kind(
        "hex-dump",
        &[
            "@{dump:4-20}\n",
            "0000000 @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4}\n\
         0000020 @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4} @{hex:4}\n",
            "rax: 0x@{hex:16}   rbx: 0x@{hex:16}\nrip: 0x@{hex:16}   rsp: 0x00007ff@{hex:9}\n",
            "payload (@{8-64} bytes): @{HEX:2} @{HEX:2} @{HEX:2} @{HEX:2} @{HEX:2} @{HEX:2} @{HEX:2} @{HEX:2}\n",
        ],
    ),
    kind(
        "base32",
        &[
            "http://@{base32:56}.onion/@{word}\n",
            "/nix/store/@{lower:32}-@{word}-@{semver}/bin/@{word}\n",
            "base32 of the file @{word}.txt: @{BASE32:48-96}\n",
        ],
    ),
    kind(
        "hashed-path",
        &[
            "/_next/static/chunks/@{100-900}-@{hex:16}.js\n/static/js/main.@{hex:8}.chunk.js\n",
            "target/debug/deps/lib@{word}-@{hex:16}.rlib\ntarget/debug/build/@{word}-@{hex:16}/out\n",
            "/home/@{name}/.cache/bazel/_bazel_@{name}/@{hex:32}/execroot/@{word}\n",
            "dist/assets/index-@{url:8}.js   @{10-900}.@{10-99} kB\ndist/assets/@{word}-@{url:8}.css   @{10-90}.@{10-99} kB\n",
            ".git/objects/@{hex:2}/@{hex:38}\n.git/objects/pack/pack-@{hex:40}.idx\n",
            "/var/lib/docker/overlay2/@{hex:64}/merged/usr/lib/@{word}\n",
            "/home/@{name}/.gradle/caches/modules-2/files-2.1/org.@{word}/@{word}/@{semver}/@{hex:40}/@{word}.jar\n",
            "node_modules/.pnpm/@{word}@@{semver}_@{lower:26}/node_modules/@{word}/index.js\n",
        ],
    ),
];
