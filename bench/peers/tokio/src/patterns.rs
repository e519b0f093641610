// SPDX-License-Identifier: MIT

//! The peers of weir's patterns in tokio: mpsc, and a JoinSet with a Semaphore.
use crate::support::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, Semaphore};
use tokio::task::JoinSet;

#[repr(align(128))]
struct Alone<T>(T);

/// Items through an mpsc, measured as in bench/patterns/chan.c.  It has one receiver
/// for any number of senders.  Sharing the receiver among tasks would need a lock; it
/// is left out, to the advantage of tokio.
pub fn channel(args: &Args, runtime: &Runtime) {
    let (sender, mut receiver) = mpsc::channel::<u64>(args.get("capacity") as usize);
    let stop = Arc::new(Alone(AtomicBool::new(false)));
    let done = Arc::new(Alone(AtomicU64::new(0)));
    let senders: Vec<_> = (0..args.get("threads"))
        .map(|_| {
            let (sender, stop) = (sender.clone(), stop.clone());
            runtime.spawn(async move {
                let (mut item, mut sum) = (0u64, 0u64);
                while !stop.0.load(Relaxed) {
                    item += 1;
                    must(sender.send(item).await.is_ok(), "send");
                    sum = sum.wrapping_add(item);
                }
                sum
            })
        })
        .collect();
    // The channel is closed when its last sender is dropped.
    drop(sender);
    let counted = done.clone();
    let receiver = runtime.spawn(async move {
        let (mut count, mut sum) = (0u64, 0u64);
        while let Some(item) = receiver.recv().await {
            sum = sum.wrapping_add(item);
            count += 1;
            counted.0.store(count, Relaxed);
        }
        sum
    });
    let sleep = |key| std::thread::sleep(Duration::from_millis(args.get(key) as u64));
    sleep("warm");
    let used = cpu_ns();
    let (before, from) = (done.0.load(Relaxed), Instant::now());
    sleep("ms");
    let (after, took) = (done.0.load(Relaxed), from.elapsed());
    let used = cpu_ns() - used;
    stop.0.store(true, Relaxed);
    let mut sent = 0u64;
    for task in senders {
        sent = sent.wrapping_add(runtime.block_on(task).unwrap());
    }
    must(sent == runtime.block_on(receiver).unwrap(), "items were lost");
    must(after > before, "no task made progress");
    let items = (after - before) as f64;
    println!(
        "{{\"ns\": {:.3}, \"cpu\": {:.3}}}",
        took.as_nanos() as f64 / items,
        used / items
    );
}

/// Empty tasks, measured as in bench/patterns/others.c.  Tasks that have ended are
/// removed from the set continually; otherwise it would only grow.
pub fn group(args: &Args, runtime: &Runtime) {
    const CHUNK: u64 = 256;
    let limit = Arc::new(Semaphore::new(args.get("threads") as usize));
    let length = Duration::from_millis(args.get("ms") as u64);
    // Spawn from a task, on a thread of the runtime, where spawning is cheapest.
    let spawner = runtime.spawn(async move {
        let mut set = JoinSet::new();
        let (mut tasks, mut ended) = (0, 0);
        let from = Instant::now();
        while from.elapsed() < length {
            for _ in 0..CHUNK {
                let permit = limit.clone().acquire_owned().await.unwrap();
                set.spawn(async move { drop(permit) });
            }
            tasks += CHUNK;
            // All but the last few have ended.
            while set.len() > CHUNK as usize / 2 {
                must(set.join_next().await.unwrap().is_ok(), "join");
                ended += 1;
            }
        }
        while let Some(end) = set.join_next().await {
            must(end.is_ok(), "join");
            ended += 1;
        }
        must(ended == tasks, "tasks were lost");
        from.elapsed().as_nanos() as f64 / tasks as f64
    });
    println!("{{\"ns\": {:.3}}}", runtime.block_on(spawner).unwrap());
}
