//! Recognition of files that hold settings of a tool rather than code or data.

use super::place::{base_name, is_recipe};

/// Returns whether a file holds settings of a tool rather than code.
pub(crate) fn is_settings_file(file: &[u8]) -> bool {
    const EXTENSIONS: &[&[u8]] = &[
        b"toml", b"yaml", b"yml", b"ini", b"cfg", b"conf", b"jsonc", b"json5", b"tf", b"hcl",
        b"tfvars", b"bicep", b"properties", b"gradle", b"kts", b"csproj", b"sln", b"cmake", b"env",
        b"lock", b"mk", b"service", b"plist", b"gemspec", b"podspec", b"prisma", b"rc", b"cabal",
        b"opam", b"cnf", b"config", b"xcconfig", b"bazel",
    ];
    const NAMES: &[&[u8]] = &[
        b"makefile", b"CMakeLists.txt", b"requirements.txt", b"go.mod", b"meson.build", b"yaml",
        b"toml", b"go.sum", b".npmrc", b".gitconfig", b".bazelrc", b"BUILD", b"WORKSPACE",
    ];
    let name = base_name(file);
    if NAMES.contains(&name) || is_recipe(name) || name.starts_with(b".env") {
        return true;
    }
    let Some(dot) = memchr::memrchr(b'.', name) else { return false };
    let stem = &name[..dot];
    let extension = &name[dot + 1..];
    let named = stem.is_empty()
        && [b"rc".as_slice(), b"cfg", b"conf", b"config"]
            .iter()
            .any(|end| extension.ends_with(end));
    named
        || EXTENSIONS.contains(&extension)
        || (matches!(extension, b"json" | b"xml") && is_settings_name(stem))
}

/// Returns whether a document holds settings, which only its name can tell.
fn is_settings_name(stem: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"package", b"config", b"settings", b"manifest", b"composer", b"pom", b"build", b"project",
        b"deno", b"turbo", b"vercel", b"web", b"app", b"biome", b"nx", b"lerna", b"schema",
        b"launch", b"tasks", b"beans", b"log", b"rc", b"bower", b"renovate",
    ];
    let ends = |word: &&[u8]| {
        stem.len() >= word.len() && stem[stem.len() - word.len()..].eq_ignore_ascii_case(word)
    };
    WORDS.iter().any(|word| ends(word) || stem.starts_with(word)) || stem.starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_holds_settings_only_by_its_name() {
        for file in [
            "a/pyproject.toml", "package.json", "tsconfig.json", "pom.xml", ".eslintrc.json",
            "Rakefile",
        ] {
            assert!(is_settings_file(file.as_bytes()), "{file}");
        }
        for file in ["orders.json", "feed.xml", "main.rs", "report"] {
            assert!(!is_settings_file(file.as_bytes()), "{file}");
        }
    }
}
