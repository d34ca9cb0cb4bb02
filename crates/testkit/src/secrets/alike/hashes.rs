//! Sums, hashes and names made of them.

use super::{Kind, kind};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "git-hash",
        &[
            "commit @{hex:40}\nAuthor: @{name} <@{email}>\nDate:   @{date} @{clock}\n\n    @{sentence}\n",
            "@{hex:7} @{sentence}\n@{hex:7} @{sentence}\n@{hex:7} Merge branch '@{word}'\n",
            "@{hex:40}\trefs/heads/@{word}\n@{hex:40}\trefs/tags/v@{semver}\n",
            "index @{hex:7}..@{hex:7} 100644\n--- a/@{word}.rs\n+++ b/@{word}.rs\n",
            "HEAD is now at @{hex:9} @{sentence}\n",
            "tree @{hex:40}\nparent @{hex:40}\nauthor @{name} <@{email}> 17@{digits:8} +0100\n",
            "100644 blob @{hex:40}\tsrc/@{word}.rs\n040000 tree @{hex:40}\tsrc/@{word}\n",
        ],
    ),
    kind(
        "sha1-sum",
        &[
            "@{hex:40}  @{word}-@{semver}.tar.gz\n@{hex:40}  @{word}-@{semver}.zip\n",
            "SHA1 (@{word}.iso) = @{hex:40}\n",
            "{\"file\":\"@{word}.bin\",\"sha1\":\"@{hex:40}\",\"size\":@{1000-90000}}",
        ],
    ),
    kind(
        "sha256-sum",
        &[
            "@{hex:64}  @{word}-@{semver}.tar.gz\n@{hex:64}  @{word}.deb\n",
            "SHA256 (@{word}.iso) = @{hex:64}\n",
            "checksum: sha256:@{hex:64}\nsize: @{1000-90000}\n",
            "{\"name\":\"@{word}\",\"sha256\":\"@{hex:64}\"}",
        ],
    ),
    kind(
        "sha512-sum",
        &[
            "@{hex:128}  @{word}-@{semver}.tar.xz\n",
            "SHA512 (@{word}.iso) = @{hex:128}\n",
            "path: @{word}.AppImage\nsha512: @{bytes:64}\nreleaseDate: '@{time}'\n",
        ],
    ),
    kind(
        "md5-sum",
        &[
            "@{hex:32}  @{word}.csv\n@{hex:32}  @{word}.json\n@{hex:32}  @{word}.txt\n",
            "MD5 (@{word}.zip) = @{hex:32}\n",
            "Content-MD5: @{bytes:16}\nContent-Length: @{100-9000}\n",
        ],
    ),
    kind(
        "npm-lock",
        &[
            "    \"node_modules/@{word}-@{word}\": {\n      \"version\": \"@{semver}\",\n      \"resolved\": \
         \"https://registry.npmjs.org/@{word}/-/@{word}-@{semver}.tgz\",\n      \"integrity\": \
         \"sha512-@{bytes:64}\",\n      \"license\": \"MIT\"\n    },\n",
            "\"@{word}@^@{semver}\":\n  version \"@{semver}\"\n  resolved \
         \"https://registry.yarnpkg.com/@{word}/-/@{word}-@{semver}.tgz#@{hex:40}\"\n  integrity sha512-@{bytes:64}\n",
            "  /@{word}-@{word}@@{semver}:\n    resolution: {integrity: sha512-@{bytes:64}}\n    engines: {node: '>=18'}\n",
            "<script src=\"https://cdn.example.com/@{word}.min.js\" integrity=\"sha384-@{b64:64}\" crossorigin></script>\n",
        ],
    ),
    kind(
        "cargo-lock",
        &[
            "[[package]]\nname = \"@{word}\"\nversion = \"@{semver}\"\nsource = \
         \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"@{hex:64}\"\n",
            "[[package]]\nname = \"@{word}\"\nversion = \"@{semver}\"\nsource = \
         \"git+https://github.com/@{word}/@{word}?rev=@{hex:7}#@{hex:40}\"\n",
        ],
    ),
    kind(
        "python-lock",
        &[
            "@{word}==@{semver} \\\n    --hash=sha256:@{hex:64} \\\n    --hash=sha256:@{hex:64}\n",
            "[[package]]\nname = \"@{word}\"\nversion = \"@{semver}\"\nfiles = [\n    {file = \
         \"@{word}-@{semver}-py3-none-any.whl\", hash = \"sha256:@{hex:64}\"},\n]\n",
            "sdist = { url = \"https://files.pythonhosted.org/packages/@{hex:2}/@{hex:2}/@{hex:60}/@{word}.tar.gz\", \
         hash = \"sha256:@{hex:64}\", size = @{1000-90000} }\n",
        ],
    ),
    kind(
        "go-sum",
        &[
            "github.com/@{word}/@{word} v@{semver} h1:@{bytes:32}\ngithub.com/@{word}/@{word} v@{semver}/go.mod h1:@{bytes:32}\n",
            "golang.org/x/@{word} v0.0.0-20260114101500-@{hex:12} h1:@{bytes:32}\n",
        ],
    ),
    kind(
        "image-digest",
        &[
            "Digest: sha256:@{hex:64}\nStatus: Downloaded newer image for @{word}:@{semver}\n",
            "registry.example.com/@{word}/@{word}@sha256:@{hex:64}\n",
            "@{hex:12}: Pull complete\n@{hex:12}: Pull complete\n@{hex:12}: Verifying Checksum\n",
            "CONTAINER ID   IMAGE     STATUS\n@{hex:12}   @{word}:@{semver}   Up @{1-20} hours\n",
            "{\"schemaVersion\":2,\"layers\":[{\"digest\":\"sha256:@{hex:64}\",\"size\":@{1000-90000}}]}",
        ],
    ),
    kind(
        "etag",
        &[
            "HTTP/1.1 200 OK\nETag: \"@{hex:32}\"\nLast-Modified: @{date}\nContent-Length: @{100-9000}\n",
            "< etag: W/\"@{hex:8}-@{url:27}\"\n< cache-control: max-age=3600\n",
            "ETag: \"@{hex:32}-@{1-90}\"\nAccept-Ranges: bytes\n",
        ],
    ),
];
