//! The hosts that package managers download from.

/// The hosts of `network = "registries"`. Hosts that only take uploads or run accounts are left out,
/// and so is GitHub: an agent could send anything to an account there.
pub(super) const REGISTRIES: &[&str] = &[
    // Rust.
    "index.crates.io",
    "static.crates.io",
    "static.rust-lang.org",
    // Python.
    "pypi.org",
    "files.pythonhosted.org",
    "conda.anaconda.org",
    "repo.anaconda.com",
    // Node.
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "nodejs.org",
    // Go.
    "proxy.golang.org",
    "sum.golang.org",
    // The JVM.
    "repo.maven.apache.org",
    "repo1.maven.org",
    "maven.google.com",
    "plugins.gradle.org",
    "plugins-artifacts.gradle.org",
    "services.gradle.org",
    "downloads.gradle.org",
    // Ruby.
    "rubygems.org",
    "index.rubygems.org",
    // .NET.
    "api.nuget.org",
    "builds.dotnet.microsoft.com",
    // PHP, Elixir.
    "repo.packagist.org",
    "repo.hex.pm",
    // Debian, Ubuntu, Alpine.
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "*.archive.ubuntu.com",
    "security.ubuntu.com",
    "ports.ubuntu.com",
    "dl-cdn.alpinelinux.org",
];
