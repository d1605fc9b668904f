//! Objects of the program that graphs keep alive: an object is destroyed when nothing refers to it any more.

use std::sync::Mutex;

use super::{Graph, GraphHandle, lock};
use crate::abi::c_caller::{Handle, HostFn, Out, UserData};
use crate::abi::status::{HipResult, Status};
use crate::process::Process;

/// A `hipUserObject_t`.
pub(crate) type UserObjectHandle = Handle<UserObject>;

/// An object of the program.
pub(crate) struct UserObject {
    destroy: HostFn,
    data: UserData,
    references: Mutex<u64>,
}

/// `hipGraphUserObjectMove`.
const MOVE: u32 = 1;

fn check_count(count: u32) -> HipResult {
    if count == 0 || count > i32::MAX as u32 { Err(Status::INVALID_VALUE) } else { Ok(()) }
}

impl Process {
    /// Adds references to an object. Returns whether it exists: as in clr, one that does not is no error.
    fn retain_object(&self, object: u64, count: u64) -> bool {
        let found = self.graphs().user_objects.get(object);
        found.map(|object| *lock(&object.references) += count).is_some()
    }

    /// Removes references to an object, and destroys it with the last one. More than there are change nothing.
    fn release_object(&self, object: u64, count: u64) {
        let Some(found) = self.graphs().user_objects.get(object) else { return };
        let left = {
            let mut references = lock(&found.references);
            let Some(left) = references.checked_sub(count) else { return };
            *references = left;
            left
        };
        if left == 0 && self.graphs().user_objects.remove(object).is_some() {
            found.destroy.call(found.data);
        }
    }

    /// Adds a reference for each object of a graph: for a copy of it. Returns the objects.
    pub(super) fn retain_objects(&self, graph: &Graph) -> Vec<(u64, u64)> {
        let objects: Vec<(u64, u64)> =
            lock(&graph.user_objects).iter().map(|&(object, _)| (object, 1)).collect();
        for &(object, count) in &objects {
            self.retain_object(object, count);
        }
        objects
    }

    /// Removes the references of a graph that is destroyed.
    pub(super) fn release_objects(&self, objects: &[(u64, u64)]) {
        objects.iter().for_each(|&(object, count)| self.release_object(object, count));
    }
}

pub(crate) fn hipUserObjectCreate(
    process: &Process,
    object: Out<UserObjectHandle>,
    data: UserData,
    destroy: HostFn,
    references: u32,
    flags: u32,
) -> HipResult {
    object.check()?;
    destroy.check()?;
    check_count(references)?;
    // hipUserObjectNoDestructorSync, which must be given.
    if flags != 1 {
        return Err(Status::INVALID_VALUE);
    }
    let made = UserObject { destroy, data, references: Mutex::new(references.into()) };
    object.set(Handle::new(process.graphs().user_objects.add(made)))
}

pub(crate) fn hipUserObjectRetain(process: &Process, object: UserObjectHandle, count: u32) -> HipResult {
    if object.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    check_count(count)?;
    process.retain_object(object.0, count.into());
    Ok(())
}

pub(crate) fn hipUserObjectRelease(process: &Process, object: UserObjectHandle, count: u32) -> HipResult {
    if object.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    check_count(count)?;
    process.release_object(object.0, count.into());
    Ok(())
}

pub(crate) fn hipGraphRetainUserObject(
    process: &Process,
    graph: GraphHandle,
    object: UserObjectHandle,
    count: u32,
    flags: u32,
) -> HipResult {
    check_count(count)?;
    if object.is_null() || flags & !MOVE != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let graph = process.graphs().graph(graph)?;
    // A moved reference was the caller's, and is the graph's now.
    let added = if flags == MOVE { 0 } else { count.into() };
    if process.retain_object(object.0, added) {
        let mut objects = lock(&graph.user_objects);
        match objects.iter_mut().find(|(known, _)| *known == object.0) {
            Some((_, references)) => *references += u64::from(count),
            None => objects.push((object.0, count.into())),
        }
    }
    Ok(())
}

pub(crate) fn hipGraphReleaseUserObject(
    process: &Process,
    graph: GraphHandle,
    object: UserObjectHandle,
    count: u32,
) -> HipResult {
    if object.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    check_count(count)?;
    let graph = process.graphs().graph(graph)?;
    let mut objects = lock(&graph.user_objects);
    let Some(index) = objects.iter().position(|(known, _)| *known == object.0) else { return Ok(()) };
    let Some(left) = objects[index].1.checked_sub(count.into()) else { return Ok(()) };
    objects[index].1 = left;
    if left == 0 {
        objects.remove(index);
    }
    drop(objects);
    process.release_object(object.0, count.into());
    Ok(())
}
