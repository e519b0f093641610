// SPDX-License-Identifier: MIT

//! The measuring program of tokio::sync::Semaphore, with tasks instead of
//! threads.  bench/harness/support.h documents the command line.
mod patterns;
mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::{yield_now, JoinHandle};

#[repr(align(128))]
#[derive(Default)]
struct Share(AtomicU64);

struct Arena {
    sem: Semaphore,
    back: Semaphore,
    stop: AtomicBool,
    over: AtomicBool,
    warm: AtomicBool,
    ran: AtomicU64,
    came: AtomicU64,
    shares: Vec<Share>,
}

impl Arena {
    fn new(permits: i64, shares: i64) -> Arc<Arena> {
        Arc::new(Arena {
            sem: Semaphore::new(permits as usize),
            back: Semaphore::new(0),
            stop: AtomicBool::new(false),
            over: AtomicBool::new(false),
            warm: AtomicBool::new(false),
            ran: AtomicU64::new(0),
            came: AtomicU64::new(0),
            shares: (0..shares).map(|_| Share::default()).collect(),
        })
    }

    fn sample(&self) -> (Vec<u64>, Instant) {
        let counts = self.shares.iter().map(|share| share.0.load(Relaxed));
        (counts.collect(), Instant::now())
    }
}

/// Acquires a permit that another task releases.
async fn take(sem: &Semaphore) {
    sem.acquire().await.unwrap().forget();
}

async fn pair(sem: &Semaphore, times: i64) {
    for _ in 0..times {
        drop(sem.acquire().await.unwrap());
    }
}

async fn weight(sem: &Semaphore, times: i64) {
    for _ in 0..times {
        drop(sem.acquire_many(3).await.unwrap());
    }
}

async fn timeout(sem: &Semaphore, times: i64) {
    let hour = Duration::from_secs(3600);
    for _ in 0..times {
        drop(tokio::time::timeout(hour, sem.acquire()).await.unwrap().unwrap());
    }
}

fn uncontended(workload: &str, args: &Args, runtime: &Runtime) {
    let sem = Semaphore::new(if workload == "try-fail" { 0 } else { 8 });
    let ns = repeat(args.get("ms"), |times| match workload {
        "pair" => runtime.block_on(pair(&sem, times)),
        "weight3" => runtime.block_on(weight(&sem, times)),
        "timeout" => runtime.block_on(timeout(&sem, times)),
        "try" => (0..times).for_each(|_| drop(sem.try_acquire().unwrap())),
        "try-fail" => (0..times).for_each(|_| must(sem.try_acquire().is_err(), "try must fail")),
        _ => cannot(workload),
    });
    println!("{{\"ns\": {ns:.3}}}");
}

fn contended(args: &Args, runtime: &Runtime, timed: bool) {
    let arena = Arena::new(args.get("capacity"), args.get("threads"));
    let rounds = busy_rounds(args.get("section"));
    let tasks: Vec<JoinHandle<(Times, u64)>> = (0..args.get("threads") as usize)
        .map(|number| {
            let arena = arena.clone();
            runtime.spawn(async move {
                let mut times = Times::new();
                let (mut x, mut done) = (number as u64, 0);
                while !arena.stop.load(Relaxed) {
                    let before = if timed { Some(Instant::now()) } else { None };
                    let permit = arena.sem.acquire().await.unwrap();
                    if let Some(before) = before {
                        let took = before.elapsed().as_nanos() as u64;
                        if arena.warm.load(Relaxed) {
                            times.add(took);
                        }
                    }
                    x = busy(x, rounds);
                    drop(permit);
                    done += 1;
                    arena.shares[number].0.store(done, Relaxed);
                }
                (times, x)
            })
        })
        .collect();
    let sleep = |key| std::thread::sleep(Duration::from_millis(args.get(key) as u64));
    sleep("warm");
    arena.warm.store(true, Relaxed);
    let used = cpu_ns();
    let (before, from) = arena.sample();
    sleep("ms");
    let (after, to) = arena.sample();
    let used = cpu_ns() - used;
    arena.stop.store(true, Relaxed);
    let mut every = Times::new();
    for task in tasks {
        let (times, _) = runtime.block_on(task).unwrap();
        every.merge(&times);
    }
    let shares: Vec<u64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    let total: u64 = shares.iter().sum();
    must(total > 0, "no task made progress");
    print!(
        "{{\"ns\": {:.3}, \"cpu\": {:.3}, {}",
        (to - from).as_nanos() as f64 / total as f64,
        used / total as f64,
        fairness(&shares)
    );
    if timed {
        print!(", {}", every.json());
    }
    println!("}}");
}

fn ping_pong(args: &Args, runtime: &Runtime) {
    let arena = Arena::new(0, 1);
    let there = arena.clone();
    let serve = runtime.spawn(async move {
        loop {
            let last = there.stop.load(Relaxed);
            there.over.store(last, Relaxed);
            there.sem.add_permits(1);
            if last {
                return;
            }
            take(&there.back).await;
            there.shares[0].0.fetch_add(1, Relaxed);
        }
    });
    let here = arena.clone();
    let back = runtime.spawn(async move {
        loop {
            take(&here.sem).await;
            if here.over.load(Relaxed) {
                return;
            }
            here.back.add_permits(1);
        }
    });
    let sleep = |key| std::thread::sleep(Duration::from_millis(args.get(key) as u64));
    sleep("warm");
    let used = cpu_ns();
    let (before, from) = arena.sample();
    sleep("ms");
    let (after, to) = arena.sample();
    let used = cpu_ns() - used;
    arena.stop.store(true, Relaxed);
    runtime.block_on(serve).unwrap();
    runtime.block_on(back).unwrap();
    must(after[0] > before[0], "no task made progress");
    println!(
        "{{\"ns\": {:.3}, \"cpu\": {:.3}}}",
        (to - from).as_nanos() as f64 / (after[0] - before[0]) as f64,
        used / (after[0] - before[0]) as f64
    );
}

/// `count` tasks wait, and then are granted permits or aborted.
fn waiters(args: &Args, runtime: &Runtime, one_by_one: bool, cancel: bool) {
    let count = args.get("count");
    let arena = Arena::new(0, 1);
    let (before, bytes) = (Instant::now(), resident());
    let mut tasks: Vec<JoinHandle<()>> = (0..count)
        .map(|_| {
            let arena = arena.clone();
            runtime.spawn(async move {
                arena.came.fetch_add(1, Release);
                let guard = Ran(arena.clone());
                take(&arena.sem).await;
                drop(guard);
            })
        })
        .collect();
    while arena.came.load(Acquire) < count as u64 {
        std::thread::yield_now();
    }
    let queued = before.elapsed();
    std::thread::sleep(Duration::from_millis(20 + count as u64 / 1000));
    let bytes = resident() - bytes;
    let mut random = 1;
    for i in 0..count as usize {
        random = busy(random, 1);
        tasks.swap(i, (random >> 33) as usize % (i + 1));
    }
    let start = Instant::now();
    if cancel {
        tasks.iter().for_each(|task| task.abort());
    } else if one_by_one {
        (0..count).for_each(|_| arena.sem.add_permits(1));
    } else {
        arena.sem.add_permits(count as usize);
    }
    let called = start.elapsed();
    while arena.ran.load(Acquire) < count as u64 {
        std::thread::yield_now();
    }
    let took = start.elapsed();
    println!(
        "{{\"ns\": {:.3}, \"call_ns\": {:.3}, \"queue_ns\": {:.3}, \"bytes\": {:.1}}}",
        took.as_nanos() as f64 / count as f64,
        called.as_nanos() as f64 / count as f64,
        queued.as_nanos() as f64 / count as f64,
        bytes / count as f64
    );
}

/// Counts a task that has ended or was aborted.
struct Ran(Arc<Arena>);

impl Drop for Ran {
    fn drop(&mut self) {
        self.0.ran.fetch_add(1, AcqRel);
    }
}

/// Waits that end by a timeout.
fn timeouts(args: &Args, runtime: &Runtime) {
    let arena = Arena::new(0, args.get("threads"));
    let wait = Duration::from_nanos(args.get("timeout") as u64);
    let tasks: Vec<JoinHandle<()>> = (0..args.get("threads") as usize)
        .map(|number| {
            let arena = arena.clone();
            runtime.spawn(async move {
                while !arena.stop.load(Relaxed) {
                    let late = tokio::time::timeout(wait, arena.sem.acquire()).await;
                    must(late.is_err(), "acquire must fail");
                    arena.shares[number].0.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(args.get("ms") as u64));
    let total: u64 = arena.sample().0.iter().sum();
    let took = start.elapsed();
    arena.stop.store(true, Relaxed);
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
    must(total > 0, "no task made progress");
    println!("{{\"ns\": {:.3}}}", took.as_nanos() as f64 / total as f64);
}

/// Waits that are cancelled: the future is dropped when the token is set.  The task
/// selects between the two, as a user of a cancellation token would.
fn cancels(args: &Args, runtime: &Runtime) {
    let threads = args.get("threads");
    let arena = Arena::new(0, threads);
    let start = Instant::now();
    let end = start + Duration::from_millis(args.get("ms") as u64);
    let done = runtime.block_on(async {
        let mut done = 0u64;
        while Instant::now() < end {
            let tasks: Vec<JoinHandle<()>> = (0..threads)
                .map(|_| {
                    let arena = arena.clone();
                    tokio::spawn(async move { take(&arena.sem).await })
                })
                .collect();
            yield_now().await;
            tasks.iter().for_each(|task| task.abort());
            for task in tasks {
                must(task.await.is_err(), "acquire must fail");
                done += 1;
            }
        }
        done
    });
    let took = start.elapsed();
    must(done > 0, "no task made progress");
    println!("{{\"ns\": {:.3}}}", took.as_nanos() as f64 / done as f64);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    must(words.len() > 1, "no workload");
    let args = Args::parse(&words[2..]);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    match words[1].as_str() {
        "contended" => contended(&args, &runtime, false),
        "latency" => contended(&args, &runtime, true),
        "ping-pong" => ping_pong(&args, &runtime),
        "waiters" => waiters(&args, &runtime, false, false),
        "waiters-one" => waiters(&args, &runtime, true, false),
        "cancel-growth" => waiters(&args, &runtime, true, true),
        "cancels" => cancels(&args, &runtime),
        "timeouts" => timeouts(&args, &runtime),
        "chan" => patterns::channel(&args, &runtime),
        "group" => patterns::group(&args, &runtime),
        "section" => {
            let rounds = busy_rounds(args.get("section"));
            let mut x = 1;
            let ns = repeat(args.get("ms"), |times| {
                for _ in 0..times {
                    x = busy(x, rounds);
                }
            });
            println!("{{\"ns\": {ns:.3}}}");
        }
        other => uncontended(other, &args, &runtime),
    }
    std::process::exit(0);
}
