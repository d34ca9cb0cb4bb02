//! Forges, registries of packages and images, and build services.

use super::checked::with_crc;
use super::{Form, Kind, Recipe, keyed, kind, token, whole};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "github-classic",
        "GITHUB_TOKEN",
        Form::Token,
        Recipe::Made(|r| with_crc("ghp_", r)),
    ),
    kind(
        "github-oauth",
        "GITHUB_OAUTH_TOKEN",
        Form::Token,
        Recipe::Made(|r| with_crc("gho_", r)),
    ),
    kind(
        "github-app",
        "GITHUB_APP_TOKEN",
        Form::Token,
        Recipe::Made(|r| {
            let prefix = r.pick(&["ghs_", "ghu_"]);
            with_crc(prefix, r)
        }),
    ),
    token("github-refresh", "GITHUB_REFRESH_TOKEN", "ghr_@{alnum:76}"),
    token(
        "github-fine-grained",
        "GH_TOKEN",
        "github_pat_11@{BASE32:6}Y0@{alnum:12}_@{alnum:59}",
    ),
    token("gitlab-personal", "GITLAB_TOKEN", "glpat-@{url:20}"),
    token("gitlab-runner", "CI_RUNNER_TOKEN", "glrt-@{url:20}"),
    token("gitlab-deploy", "CI_DEPLOY_TOKEN", "gldt-@{url:20}"),
    token("gitlab-trigger", "TRIGGER_TOKEN", "glptt-@{hex:40}"),
    token(
        "bitbucket-app-password",
        "BITBUCKET_APP_PASSWORD",
        "ATBB@{alnum:24}@{HEX:8}",
    ),
    token(
        "atlassian-token",
        "ATLASSIAN_API_TOKEN",
        "ATATT3xFfGF0@{url:171}=@{HEX:8}",
    ),
    keyed("gitea-token", "GITEA_TOKEN", "@{hex:40}"),
    token(
        "sourcegraph-token",
        "SRC_ACCESS_TOKEN",
        "sgp_@{hex:16}_@{hex:40}",
    ),
    kind(
        "npm-token",
        "NPM_TOKEN",
        Form::Token,
        Recipe::Made(|r| with_crc("npm_", r)),
    ),
    token(
        "pypi-token",
        "PYPI_TOKEN",
        "pypi-AgEIcHlwaS5vcmc@{url:150-180}",
    ),
    token("rubygems-key", "GEM_HOST_API_KEY", "rubygems_@{hex:48}"),
    keyed("crates-io-token", "CARGO_REGISTRY_TOKEN", "cio@{alnum:32}"),
    token("docker-hub-token", "DOCKERHUB_TOKEN", "dckr_pat_@{url:27}"),
    keyed("nuget-key", "NUGET_API_KEY", "oy2@{base32:43}"),
    token("clojars-token", "CLOJARS_PASSWORD", "CLOJARS_@{hex:60}"),
    keyed(
        "artifactory-key",
        "ARTIFACTORY_API_KEY",
        "AKCp@{0-9}@{alnum:68}",
    ),
    token(
        "circleci-token",
        "CIRCLE_TOKEN",
        "CCIPAT_@{base58:22}_@{hex:40}",
    ),
    token("buildkite-token", "BUILDKITE_API_TOKEN", "bkua_@{hex:40}"),
    token("sonar-token", "SONAR_TOKEN", "sq@{p|u|a}_@{hex:40}"),
    keyed("snyk-token", "SNYK_TOKEN", "@{uuid}"),
    kind(
        "npmrc",
        "NPMRC",
        Form::Whole,
        Recipe::Made(|r| {
            let token = with_crc("npm_", r);
            format!(
                "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=[[{token}]]\nsave-exact=true\n"
            )
        }),
    ),
    whole(
        "pypirc",
        "PYPIRC",
        "[distutils]\nindex-servers =\n    @{word}\n\n[@{word}]\nrepository = https://@{host}/simple/\n\
         username = @{name}\npassword = [[@{password}]]\n",
    ),
];
