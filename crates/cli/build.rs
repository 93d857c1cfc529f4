//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // At a fixed place its forty thousand pointers need no correction at every start, and each
    // command of ours is started twice: once for itself, once as the guard of what it runs. See
    // docs/adr/0060.
    let target = |name: &str| std::env::var_os(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
