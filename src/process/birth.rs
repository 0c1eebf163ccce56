//! When a process started, by the kernel's count: mostly known without asking the kernel.

use rustix::process::Pid;

use super::Identity;

/// The clock just before a start.
///
/// For the kernel a process starts between the moments just before and just after its spawn. It tells when in ticks of
/// 10 ms, of a clock that we can read too. So if both moments lie in one tick, that is the one; and to read
/// `/proc/PID/stat` takes longer than all else that is to be done for an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth(#[cfg(target_os = "linux")] u64);

impl Birth {
    /// A process is about to be started.
    pub fn about_to() -> Self {
        Self(
            #[cfg(target_os = "linux")]
            clock::nanos(),
        )
    }

    /// This one was started since. It must not have been reaped.
    pub fn identity(self, pid: Pid) -> Identity {
        let pid = pid.as_raw_nonzero().get();
        #[cfg(target_os = "linux")]
        if let Some(start_ticks) = clock::ticks(self.0, || Identity::of(pid).map(|known| known.start_ticks)) {
            return Identity { pid, start_ticks };
        }
        Identity::of(pid).unwrap_or(Identity { pid, start_ticks: 0 })
    }
}

#[cfg(target_os = "linux")]
mod clock {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

    use rustix::time::{ClockId, clock_gettime};

    /// The length of a tick for programs, whatever the kernel's own is.
    const TICK: u64 = 10_000_000;
    /// What two readers of a clock may differ by.
    const SLACK: u64 = 1_000;
    /// So often is the kernel asked all the same.
    const PROBES: u32 = 4;

    /// How often the kernel told the same, and whether it ever told something else: then there are other ticks here,
    /// or `/proc` goes by another clock, as in a time namespace under an old kernel.
    static AGREED: AtomicU32 = AtomicU32::new(0);
    static DISAGREED: AtomicBool = AtomicBool::new(false);

    /// Since the machine started, in nanoseconds.
    pub fn nanos() -> u64 {
        let now = clock_gettime(ClockId::Boottime);
        now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
    }

    /// The tick in which a process started that was not there at `before` and is now; none if nobody can say.
    pub fn ticks(before: u64, ask: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let tick = only_tick(before, nanos())?;
        if DISAGREED.load(Relaxed) {
            return None;
        }
        if AGREED.load(Relaxed) < PROBES {
            let told = ask()?;
            if told != tick {
                DISAGREED.store(true, Relaxed);
                return Some(told);
            }
            AGREED.fetch_add(1, Relaxed);
        }
        Some(tick)
    }

    /// The tick in which both moments lie.
    fn only_tick(before: u64, after: u64) -> Option<u64> {
        let first = before.checked_sub(SLACK)? / TICK;
        (first == (after + SLACK) / TICK).then_some(first)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_moments_well_within_one_tick_tell_it() {
            assert_eq!(only_tick(10_001_000, 19_998_999), Some(1));
            assert_eq!(only_tick(10_000_999, 19_998_999), None);
            assert_eq!(only_tick(10_001_000, 19_999_000), None);
            assert_eq!(only_tick(12_000_000, 22_000_000), None);
            assert_eq!(only_tick(0, 1), None);
        }
    }
}
