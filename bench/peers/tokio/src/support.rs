// SPDX-License-Identifier: MIT

//! The counterpart of bench/harness/support.h: command line, repetition, a section of
//! known length, percentiles.
use std::collections::HashMap;
use std::time::Instant;

pub fn cannot(what: &str) -> ! {
    eprintln!("bench: not supported: {what}");
    std::process::exit(3);
}

/// Returns the resident memory of this process in bytes.
pub fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    let size = std::process::Command::new("getconf").arg("PAGESIZE").output();
    let size = String::from_utf8(size.unwrap().stdout).unwrap();
    pages * size.trim().parse::<f64>().unwrap()
}

extern "C" {
    // Of the C library, which std links.
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

/// Returns the CPU time of all threads of this process in nanoseconds.
pub fn cpu_ns() -> f64 {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    // A timespec: both members are 64 bits wide on the machines that are measured.
    let mut time = [0i64; 2];
    let failed = unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    must(failed == 0, "clock_gettime");
    time[0] as f64 * 1e9 + time[1] as f64
}

pub fn must(ok: bool, what: &str) {
    if !ok {
        eprintln!("bench: failed: {what}");
        std::process::exit(1);
    }
}

pub struct Args(HashMap<String, i64>);

impl Args {
    pub fn parse(words: &[String]) -> Args {
        let mut args: HashMap<String, i64> = [
            ("threads", 2),
            ("capacity", 1),
            ("ms", 100),
            ("count", 1),
            ("timeout", 1000),
        ]
        .map(|(key, value)| (key.to_string(), value))
        .into();
        for word in words {
            let (key, value) = word.split_once('=').expect("key=value");
            if key != "kind" {
                args.insert(key.to_string(), value.parse().expect("a number"));
            }
        }
        Args(args)
    }

    pub fn get(&self, key: &str) -> i64 {
        self.0.get(key).copied().unwrap_or(0)
    }
}

/// Returns the ns of one operation: the median over chunks of about 50 us.
pub fn repeat(ms: i64, mut run: impl FnMut(i64)) -> f64 {
    let mut times = 16;
    loop {
        times *= 2;
        let before = Instant::now();
        run(times);
        if before.elapsed().as_nanos() >= 50_000 {
            break;
        }
    }
    let mut chunks = Vec::new();
    let start = Instant::now();
    let mut before = start;
    while (before - start).as_millis() < ms as u128 {
        run(times);
        let after = Instant::now();
        chunks.push((after - before).as_nanos() as f64 / times as f64);
        before = after;
    }
    chunks.sort_by(f64::total_cmp);
    chunks[chunks.len() / 2]
}

/// Not inlined: its duration must be the same in every loop.
#[inline(never)]
pub fn busy(mut x: u64, rounds: i64) -> u64 {
    for _ in 0..rounds {
        x = x
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        // Keeps the compiler from folding the loop into a formula.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack)) };
    }
    x
}

pub fn busy_rounds(ns: i64) -> i64 {
    let rounds = 10_000;
    let mut best = f64::MAX;
    let mut x = 1;
    if ns == 0 {
        return 0;
    }
    for _ in 0..50 {
        let before = Instant::now();
        x = busy(x, rounds);
        let took = before.elapsed().as_nanos() as f64 / rounds as f64;
        best = best.min(took);
    }
    must(x != 0, "busy");
    (ns as f64 / best + 0.5) as i64
}

/// Times in buckets 3 % wide, and their exact maximum.
pub struct Times {
    bucket: Vec<u64>,
    count: u64,
    max: u64,
}

impl Times {
    pub fn new() -> Times {
        Times { bucket: vec![0; 2048], count: 0, max: 0 }
    }

    pub fn add(&mut self, ns: u64) {
        let mut at = ns as usize;
        if ns >= 64 {
            let high = 63 - ns.leading_zeros() as usize;
            at = 64 + (high - 6) * 32 + (ns >> (high - 5) & 31) as usize;
        }
        self.bucket[at] += 1;
        self.count += 1;
        self.max = self.max.max(ns);
    }

    pub fn merge(&mut self, from: &Times) {
        for (mine, other) in self.bucket.iter_mut().zip(&from.bucket) {
            *mine += other;
        }
        self.count += from.count;
        self.max = self.max.max(from.max);
    }

    fn percentile(&self, part: f64) -> f64 {
        let want = (self.count as f64 * part) as u64;
        let mut seen = 0;
        for (i, n) in self.bucket.iter().enumerate() {
            seen += n;
            if seen > want {
                if i < 64 {
                    return i as f64;
                }
                let high = (i - 64) / 32 + 6;
                return ((32 + (i - 64) % 32) as f64 + 0.5) * (1u64 << (high - 5)) as f64;
            }
        }
        self.max as f64
    }

    pub fn json(&self) -> String {
        format!(
            "\"p50\": {:.0}, \"p90\": {:.0}, \"p99\": {:.0}, \"p999\": {:.0}, \"max\": {}",
            self.percentile(0.5),
            self.percentile(0.9),
            self.percentile(0.99),
            self.percentile(0.999),
            self.max
        )
    }
}

pub fn fairness(shares: &[u64]) -> String {
    let most = *shares.iter().max().unwrap() as f64;
    let least = *shares.iter().min().unwrap() as f64;
    let sum: f64 = shares.iter().map(|n| *n as f64).sum();
    let squares: f64 = shares.iter().map(|n| (*n as f64).powi(2)).sum();
    format!(
        "\"min_max\": {:.4}, \"jain\": {:.4}",
        if most > 0.0 { least / most } else { 0.0 },
        if squares > 0.0 { sum * sum / (squares * shares.len() as f64) } else { 0.0 }
    )
}
