//! The embedded engine: this process, the same state table; also the reference model.
