//! The inventory: what the locks are for. It stands outside of Redis, as a database would.

/// Ten of one article. A take reads first and writes later, as handlers do.
#[derive(Default)]
pub struct Stock {
    taken: u32,
    last_fence: u64,
}

/// What a taker read.
#[derive(Clone, Copy)]
pub struct Read(u32);

impl Stock {
    pub fn read(&self) -> Read {
        Read(self.taken)
    }

    /// Writes what was read, and one more.
    pub fn write(&mut self, read: Read) {
        self.taken = read.0 + 1;
    }

    /// The same, refused when a later holder has written: `UPDATE ... WHERE last_fence <= $1`.
    pub fn write_fenced(&mut self, read: Read, fence: u64) -> bool {
        if self.last_fence > fence {
            return false;
        }
        self.last_fence = fence;
        self.write(read);
        true
    }

    /// Whether as many are gone as were taken by those who were told that they took one.
    pub fn is_right(&self, told: u32) -> bool {
        self.taken == told
    }
}
