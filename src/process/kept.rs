//! What is kept of a stream: its first quarter and its last three quarters, in constant memory.

/// What was kept of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Kept {
    /// The head, then the tail.
    pub bytes: Vec<u8>,
    /// How many of the bytes are the head; of meaning where some were left out.
    pub head: usize,
    /// How many bytes were left out between head and tail.
    pub omitted: u64,
}

/// Takes a stream of any length and keeps at most `limit` bytes of it.
///
/// Memory is taken only as bytes come, so that thousands of silent attempts cost nothing.
#[derive(Debug)]
pub(super) struct Keeper {
    head_limit: usize,
    tail_limit: usize,
    head: Vec<u8>,
    /// A ring once it is full: its oldest byte is at `oldest`.
    tail: Vec<u8>,
    oldest: usize,
    /// How many bytes came.
    total: u64,
}

impl Keeper {
    pub fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let head_limit = limit / 4;
        Self {
            head_limit,
            tail_limit: limit - head_limit,
            head: Vec::new(),
            tail: Vec::new(),
            oldest: 0,
            total: 0,
        }
    }

    /// How many bytes came so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = split_at_most(bytes, self.head_limit - self.head.len());
        self.head.extend_from_slice(head);
        // Of more than the tail holds only the end can stay.
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let (new, mut over) = split_at_most(rest, self.tail_limit - self.tail.len());
        self.tail.extend_from_slice(new);
        while !over.is_empty() {
            let (now, later) = split_at_most(over, self.tail_limit - self.oldest);
            self.tail[self.oldest..][..now.len()].copy_from_slice(now);
            self.oldest = (self.oldest + now.len()) % self.tail_limit;
            over = later;
        }
    }

    pub fn kept(&self) -> Kept {
        let (newer, older) = self.tail.split_at(self.oldest);
        let bytes = [&self.head, older, newer].concat();
        Kept { omitted: self.total - bytes.len() as u64, head: self.head.len(), bytes }
    }
}

fn split_at_most(bytes: &[u8], most: usize) -> (&[u8], &[u8]) {
    bytes.split_at(most.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, by keeping everything first.
    fn naive(all: &[u8], limit: usize) -> Kept {
        let head = (limit / 4).min(all.len());
        if all.len() <= limit {
            return Kept { bytes: all.to_vec(), head, omitted: 0 };
        }
        let tail = limit - head;
        Kept {
            bytes: [&all[..head], &all[all.len() - tail..]].concat(),
            head,
            omitted: (all.len() - limit) as u64,
        }
    }

    proptest! {
        #[test]
        fn first_quarter_and_last_three(
            limit in 0_usize..70,
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..12),
        ) {
            let mut keeper = Keeper::new(limit as u64);
            let mut all = Vec::new();
            for chunk in &chunks {
                keeper.push(chunk);
                all.extend_from_slice(chunk);
                prop_assert_eq!(keeper.kept(), naive(&all, limit));
            }
        }
    }

    #[test]
    fn silence_takes_no_memory() {
        let keeper = Keeper::new(16 << 20);
        assert_eq!(keeper.head.capacity() + keeper.tail.capacity(), 0);
        assert_eq!(keeper.kept(), Kept::default());
    }

    #[test]
    fn nothing_is_kept_under_a_limit_of_zero() {
        let mut keeper = Keeper::new(0);
        keeper.push(b"abc");
        assert_eq!(keeper.kept(), Kept { omitted: 3, ..Kept::default() });
    }
}
