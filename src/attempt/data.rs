//! Shared data of a worker, as handlers take it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// Shared data of a worker, as a handler's parameter. The worker's builder takes it once; handlers get it by type.
pub struct Data<T: ?Sized>(Arc<T>);

impl<T> Data<T> {
    /// Wraps a value, for calling a handler in a test.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T: ?Sized> Clone for Data<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Deref for Data<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A `Data<T>` parameter of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataNeed {
    /// The type.
    pub id: TypeId,
    /// Its name for people.
    pub name: &'static str,
}

impl DataNeed {
    /// The need for a `Data<T>`.
    pub fn of<T: Any + Send + Sync>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: std::any::type_name::<T>(),
        }
    }
}

/// The shared data of one worker, by type.
#[derive(Clone, Default)]
pub struct DataMap(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl DataMap {
    /// Collects data by type.
    pub(crate) fn from_entries(entries: HashMap<TypeId, Arc<dyn Any + Send + Sync>>) -> Self {
        Self(Arc::new(entries))
    }

    /// Whether it has what a handler needs.
    pub fn has(&self, need: &DataNeed) -> bool {
        self.0.contains_key(&need.id)
    }

    /// The data of one type.
    pub fn data<T: Any + Send + Sync>(&self) -> Option<Data<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok().map(Data)
    }
}
