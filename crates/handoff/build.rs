//! Compiles the kernel side, `bpf/*.bpf.c`, with clang; the library carries the objects in itself.
//!
//! `bpf_helpers.h` comes with libbpf, whose sources libbpf-sys brings along; `linux/*.h` from the
//! system. Without clang this stops with what to install, for nothing here can do without.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs, each in a file of its own: front-end, server, splice.
const PROGRAMS: &[&str] = &["front", "back", "splice"];

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let libbpf = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    for program in PROGRAMS {
        compile(&clang, &libbpf, Path::new("bpf"), program, &out);
    }
}

fn compile(clang: &str, libbpf: &str, folder: &Path, program: &str, out: &Path) {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the architecture");
    // Debian keeps asm/*.h in a folder of the architecture, which clang's bpf target does not
    // search.
    let multiarch = format!("/usr/include/{arch}-linux-gnu");
    // -mcpu=v3: compare-and-exchange and atomic fetch-and-add (kernel 5.12).
    let status = Command::new(clang)
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-c"])
        .args(["-isystem", libbpf, "-isystem", &multiarch])
        .arg(folder.join(format!("{program}.bpf.c")))
        .arg("-o")
        .arg(out.join(format!("{program}.bpf.o")))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => panic!("{program}.bpf.c does not compile: see clang's messages above"),
        Err(error) => panic!(
            "cannot run {clang}: {error}. One-way delivery needs clang, libelf and zlib: `make \
             bpf` installs them by apt, or build without it: `cargo build --no-default-features`"
        ),
    }
}
