//! A model of the protocol, walked through every order of its steps: which guarantee each way to settle keeps, and which it breaks. docs/guarantees.md shows the
//! result as a table, which is compared here.
//!
//! Two workers want the one job; the lock under it may end at any time, which stands for pauses and slow renewals alike. One worker may crash, one reply may be lost, and
//! where there are replicas the master may be lost once. A configuration states exactly what it breaks, so that one that turns clean by mistake fails too.

use std::collections::{BTreeSet, HashSet};

/// Lock ends, claims, crashes, lost replies and lost masters within which every order is tried.
const EXPIRIES: u8 = 2;
const CLAIMS: u8 = 3;

/// What can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Broken {
    TwoBelievers,
    TwoCommits,
    StaleEffect,
    OutsideTwice,
    AppliedYetRefused,
    FenceTwice,
    SettleLost,
}

impl Broken {
    fn words(self) -> &'static str {
        match self {
            Broken::TwoBelievers => "two believers",
            Broken::TwoCommits => "the job takes effect twice",
            Broken::StaleEffect => "an effect of an older fence after one of a newer",
            Broken::OutsideTwice => "the effect outside happens twice",
            Broken::AppliedYetRefused => "a settle that was applied is reported as refused",
            Broken::FenceTwice => "a fence is given twice",
            Broken::SettleLost => "an acknowledged settle is lost",
        }
    }
}

/// How a worker commits what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commit {
    /// Whatever the lock says.
    Unchecked,
    /// The effect first, somewhere else, then a settle that is checked.
    EffectOutside { key: bool },
    /// The effect in the same step as the checked settle.
    EffectInside,
}

struct Configuration {
    name: &'static str,
    commit: Commit,
    /// The answer to a resent settle is the one to the first.
    recognises_resends: bool,
    replicas: usize,
    /// Replicas that have to have a claim or a settle before it is answered.
    wait: usize,
    /// Fences are `max(stored + 1, TIME)`, and not just `stored + 1`.
    fences_of_time: bool,
    breaks: &'static [Broken],
}

const CONFIGURATIONS: &[Configuration] = &[
    Configuration {
        name: "the lock is not checked again when the work is committed",
        commit: Commit::Unchecked,
        breaks: &[Broken::TwoBelievers, Broken::TwoCommits, Broken::StaleEffect],
        ..LINCHPIN
    },
    Configuration {
        name: "the settle is checked, the effect is outside",
        commit: Commit::EffectOutside { key: false },
        breaks: &[Broken::TwoBelievers, Broken::OutsideTwice],
        ..LINCHPIN
    },
    Configuration {
        name: "the same, and the outside keeps the job's id with the effect",
        commit: Commit::EffectOutside { key: true },
        ..LINCHPIN
    },
    LINCHPIN,
    Configuration {
        name: "the same, and a resent settle is judged anew",
        recognises_resends: false,
        breaks: &[Broken::TwoBelievers, Broken::AppliedYetRefused],
        ..LINCHPIN
    },
    Configuration {
        name: "one replica, not waited for, fences counted",
        replicas: 1,
        fences_of_time: false,
        breaks: &[Broken::TwoBelievers, Broken::FenceTwice, Broken::SettleLost],
        ..LINCHPIN
    },
    Configuration {
        name: "one replica, not waited for, fences of the server's time",
        replicas: 1,
        breaks: &[Broken::TwoBelievers, Broken::SettleLost],
        ..LINCHPIN
    },
    Configuration {
        name: "two replicas, both waited for",
        replicas: 2,
        wait: 2,
        ..LINCHPIN
    },
    Configuration {
        name: "two replicas, one of them waited for",
        replicas: 2,
        wait: 1,
        breaks: &[Broken::TwoBelievers, Broken::SettleLost],
        ..LINCHPIN
    },
];

/// What is built: one master.
const LINCHPIN: Configuration = Configuration {
    name: "the settle is checked, the effect is in it (Linchpin, one master)",
    commit: Commit::EffectInside,
    recognises_resends: true,
    replicas: 0,
    wait: 0,
    fences_of_time: true,
    breaks: &[Broken::TwoBelievers],
};

/// A worker and a fence.
type Holder = (u8, u8);

/// What the store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Store {
    lock: Option<Holder>,
    fence: u8,
    /// In their order.
    effects: Vec<Holder>,
    done: bool,
    /// The answer to each worker's last settle.
    answers: [Option<bool>; 2],
    /// Grows with each write.
    version: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Worker {
    Idle,
    /// Its claim was applied and is not answered yet; the version that holds it.
    Claiming {
        fence: u8,
        version: u8,
    },
    Running {
        fence: u8,
        outside: bool,
    },
    /// Its settle was applied or refused, and is not answered yet.
    Settling {
        fence: u8,
        said: bool,
        version: u8,
    },
    /// The answer was lost: it sends the settle again.
    Resending {
        fence: u8,
    },
    Answered {
        fence: u8,
        said: bool,
    },
    Crashed,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    master: Store,
    replicas: Vec<Store>,
    workers: [Worker; 2],
    outside: Vec<u8>,
    given: Vec<u8>,
    claims: u8,
    expiries: u8,
    crashed: bool,
    reply_lost: bool,
    master_lost: bool,
}

impl World {
    fn new(replicas: usize) -> Self {
        Self {
            master: Store::default(),
            replicas: vec![Store::default(); replicas],
            workers: [Worker::Idle; 2],
            outside: Vec::new(),
            given: Vec::new(),
            claims: 0,
            expiries: 0,
            crashed: false,
            reply_lost: false,
            master_lost: false,
        }
    }

    fn write(&mut self, change: impl FnOnce(&mut Store)) -> u8 {
        change(&mut self.master);
        self.master.version += 1;
        self.master.version
    }

    /// Whether enough replicas have what was written.
    fn has_spread(&self, version: u8, wait: usize) -> bool {
        self.replicas.iter().filter(|replica| replica.version >= version).count() >= wait
    }

    /// The world after a step.
    fn after(&self, step: impl FnOnce(&mut World)) -> World {
        let mut world = self.clone();
        step(&mut world);
        world
    }

    /// Every world that one step leads to.
    fn next(&self, of: &Configuration) -> Vec<World> {
        let mut worlds = Vec::new();
        if self.master.lock.is_some() && self.expiries < EXPIRIES {
            worlds.push(self.after(|world| {
                world.expiries += 1;
                world.write(|store| store.lock = None);
            }));
        }
        for (at, replica) in self.replicas.iter().enumerate() {
            if *replica != self.master && !self.master_lost {
                worlds.push(self.after(|world| world.replicas[at] = world.master.clone()));
            }
            if !self.master_lost {
                worlds.push(self.after(|world| {
                    // the others follow the new master, which is one of them
                    world.master = world.replicas[at].clone();
                    world.replicas = vec![world.master.clone(); world.replicas.len()];
                    world.master_lost = true;
                }));
            }
        }
        for (id, worker) in self.workers.iter().enumerate() {
            self.steps_of(id as u8, *worker, of, &mut worlds);
        }
        worlds
    }

    fn steps_of(&self, id: u8, worker: Worker, of: &Configuration, worlds: &mut Vec<World>) {
        let me = id as usize;
        if !self.crashed && !matches!(worker, Worker::Idle | Worker::Answered { .. } | Worker::Crashed) {
            worlds.push(self.after(|world| {
                world.crashed = true;
                world.workers[me] = Worker::Crashed;
            }));
        }
        match worker {
            Worker::Idle if self.master.lock.is_none() && !self.master.done && self.claims < CLAIMS => worlds.push(self.after(|world| {
                world.claims += 1;
                let stored = world.master.fence + 1;
                // the server's time has gone on with each claim
                let fence = if of.fences_of_time { stored.max(world.claims) } else { stored };
                let version = world.write(|store| {
                    store.fence = fence;
                    store.lock = Some((id, fence));
                });
                world.workers[me] = Worker::Claiming { fence, version };
            })),
            Worker::Claiming { fence, version } if self.has_spread(version, of.wait) => worlds.push(self.after(|world| {
                world.given.push(fence);
                world.workers[me] = Worker::Running { fence, outside: false };
            })),
            Worker::Running { fence, outside: false } if matches!(of.commit, Commit::EffectOutside { .. }) => {
                worlds.push(self.after(|world| {
                    if of.commit != (Commit::EffectOutside { key: true }) || world.outside.is_empty() {
                        world.outside.push(fence);
                    }
                    world.workers[me] = Worker::Running { fence, outside: true };
                }))
            }
            Worker::Running { fence, .. } | Worker::Resending { fence } => worlds.push(self.after(|world| {
                let resent = matches!(worker, Worker::Resending { .. });
                let known = world.master.answers[me].filter(|_| resent && of.recognises_resends);
                let good = world.master.lock == Some((id, fence)) || of.commit == Commit::Unchecked;
                let said = known.unwrap_or(good);
                let version = match known {
                    Some(_) => world.master.version,
                    None => world.write(|store| {
                        store.answers[me] = Some(said);
                        if said {
                            store.effects.push((id, fence));
                            store.done = true;
                            store.lock = store.lock.filter(|lock| *lock != (id, fence));
                        }
                    }),
                };
                world.workers[me] = Worker::Settling { fence, said, version };
            })),
            Worker::Settling { fence, said, version } => {
                if self.has_spread(version, of.wait) {
                    worlds.push(self.after(|world| world.workers[me] = Worker::Answered { fence, said }));
                }
                if !self.reply_lost {
                    worlds.push(self.after(|world| {
                        world.reply_lost = true;
                        world.workers[me] = Worker::Resending { fence };
                    }));
                }
            }
            _ => {}
        }
    }

    /// What is broken in this world.
    fn broken(&self, of: &Configuration) -> Vec<Broken> {
        let mut broken = Vec::new();
        let mut note = |is: bool, what: Broken| broken.extend(is.then_some(what));
        note(
            self.workers.iter().all(|worker| matches!(worker, Worker::Running { .. })),
            Broken::TwoBelievers,
        );
        note(self.outside.len() > 1, Broken::OutsideTwice);
        note(
            self.given.iter().collect::<HashSet<_>>().len() < self.given.len(),
            Broken::FenceTwice,
        );
        let effects = &self.master.effects;
        // where the effect is outside, the settle is only the end of the job
        let inside = !matches!(of.commit, Commit::EffectOutside { .. });
        note(inside && effects.len() > 1, Broken::TwoCommits);
        note(inside && !effects.is_sorted_by_key(|(_, fence)| *fence), Broken::StaleEffect);
        for (id, worker) in self.workers.iter().enumerate() {
            if let Worker::Answered { fence, said } = worker {
                let applied = effects.contains(&(id as u8, *fence));
                note(!said && applied, Broken::AppliedYetRefused);
                note(*said && !applied, Broken::SettleLost);
            }
        }
        broken
    }
}

/// Walks through every world that can be reached; what is broken in any, and how many there are.
fn walk(of: &Configuration) -> (BTreeSet<Broken>, usize) {
    let first = World::new(of.replicas);
    let mut known = HashSet::from([first.clone()]);
    let mut open = vec![first];
    let mut broken = BTreeSet::new();
    while let Some(world) = open.pop() {
        broken.extend(world.broken(of));
        for next in world.next(of) {
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    (broken, known.len())
}

#[test]
fn each_way_to_settle_breaks_exactly_what_is_said_of_it() {
    for configuration in CONFIGURATIONS {
        let (broken, worlds) = walk(configuration);
        assert_eq!(broken, configuration.breaks.iter().copied().collect(), "{}", configuration.name);
        assert!(worlds > 500, "{}: {worlds} worlds", configuration.name);
    }
}

#[test]
fn the_table_in_the_docs_is_that_of_the_model() {
    let docs = include_str!("../docs/guarantees.md");
    for configuration in CONFIGURATIONS {
        let words: Vec<&str> = configuration.breaks.iter().map(|broken| broken.words()).collect();
        let row = format!("| {} | {} |", configuration.name, words.join("; "));
        assert!(docs.contains(&row), "docs/guarantees.md has no row `{row}`");
    }
}
