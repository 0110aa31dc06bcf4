//! Method: every file of the fuzzer's corpora goes through the fuzzer's own functions, as it is
//! and in some thousands of mutations drawn from a fixed seed. A function panics where a promise
//! is broken; so a crash that the fuzzer finds becomes a test by committing its input.

use std::fs;
use std::path::Path;

const MUTATIONS: u64 = 2000;

fn run(target: &str, check: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&dir)
        .expect("the corpus is committed")
        .map(|file| file.expect("its files can be listed").path())
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} seeds in {}", files.len(), dir.display());
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("and read")).collect();
    for (file, seed) in files.iter().zip(&seeds) {
        check(seed);
        let mut dice = Dice(seed.len() as u64 + 1);
        for round in 0..MUTATIONS {
            let mutant = mutate(seed, &seeds, &mut dice);
            let result = std::panic::catch_unwind(|| check(&mutant));
            let input = mutant.escape_ascii();
            assert!(result.is_ok(), "{}, mutation {round}: {input}", file.display());
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

fn mutate(seed: &[u8], seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    const PARTS: [&[u8]; 16] = [
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b":",
        b",",
        b";",
        b"\x80",
        b"0",
        b"ffffffffffff",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: x-a, te\r\n",
        b"Host: a\r\n",
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = dice.below(256) as u8,
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[dice.below(other.len())..]);
            }
            _ => drop(bytes.splice(at..at, PARTS[dice.below(PARTS.len())].iter().copied())),
        }
    }
    bytes
}

#[test]
fn request_heads_keep_their_promises() {
    run("request_head", wire::fuzzing::request_head);
}

#[test]
fn response_heads_keep_their_promises() {
    run("response_head", wire::fuzzing::response_head);
}

#[test]
fn chunks_keep_their_promises() {
    run("chunks", wire::fuzzing::chunks);
}
