//! The arguments of a script.

use redis::Cmd;

/// A script's arguments, packed one after the other.
#[derive(Debug, Default, Clone)]
pub(super) struct Arguments {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Arguments {
    pub(super) fn with_capacity(arguments: usize, bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(arguments),
        }
    }

    pub(super) fn push(&mut self, argument: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(argument.as_ref());
        self.ends.push(self.bytes.len());
        self
    }

    /// Adds one argument written in place; answers what `write` does.
    pub(super) fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let answer = write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        answer
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn int(&mut self, number: u64) -> &mut Self {
        use std::io::Write as _;
        let _ = write!(self.bytes, "{number}");
        self.ends.push(self.bytes.len());
        self
    }

    /// Replaces argument `index` (from 0) by one of the same or another length.
    pub(super) fn replace(&mut self, index: usize, argument: &[u8]) {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        let old = self.ends[index] - start;
        self.bytes.splice(start..self.ends[index], argument.iter().copied());
        for end in &mut self.ends[index..] {
            *end = *end + argument.len() - old;
        }
    }

    /// Hands out each.
    pub(super) fn each(&self, mut take: impl FnMut(&[u8])) {
        let mut start = 0;
        for end in &self.ends {
            take(&self.bytes[start..*end]);
            start = *end;
        }
    }

    pub(super) fn command(&self, verb: &str, script: &str, prefix: &str) -> Cmd {
        let mut command = Cmd::with_capacity(self.ends.len() + 4, self.bytes.len() + script.len() + prefix.len() + 16);
        command.arg(verb).arg(script).arg(1).arg(prefix);
        self.each(|argument| {
            command.arg(argument);
        });
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_replaced_in_place() {
        let mut arguments = Arguments::default();
        arguments.push("a").push("").int(7);
        arguments.replace(1, b"xyz");
        assert_eq!(
            (arguments.bytes.as_slice(), arguments.ends.as_slice()),
            (b"axyz7".as_slice(), [1, 4, 5].as_slice())
        );
    }
}
