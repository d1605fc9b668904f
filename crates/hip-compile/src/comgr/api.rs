//! comgr's functions and the objects that they work on, which are released when they are dropped.

use std::ffi::{CStr, CString, c_char, c_int};

/// `AMD_COMGR_STATUS_SUCCESS`
pub(super) const SUCCESS: c_int = 0;

/// `AMD_COMGR_LANGUAGE_HIP` before version 3.
pub(super) const LANGUAGE_HIP: c_int = 4;
/// `AMD_COMGR_LANGUAGE_LLVM_IR` since version 3.
pub(super) const LANGUAGE_LLVM_IR: c_int = 4;

/// An `amd_comgr_data_kind_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum DataKind {
    Source = 1,
    Log = 5,
    Bitcode = 6,
    Relocatable = 7,
    Executable = 8,
}

/// An `amd_comgr_action_kind_t`, by the name in amd_comgr.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Removed in version 3.
    AddDeviceLibraries,
    LinkBcToBc,
    CodegenBcToRelocatable,
    LinkRelocatableToExecutable,
    AssembleSourceToRelocatable,
    /// New in version 3 with its language LLVM IR.
    CompileSourceToExecutable,
}

impl Action {
    /// The number, and that before version 3, which numbered them anew.
    fn numbers(self) -> (c_int, c_int) {
        match self {
            Action::AddDeviceLibraries => (-1, 0x3),
            Action::LinkBcToBc => (0x3, 0x4),
            Action::CodegenBcToRelocatable => (0x4, 0x6),
            Action::LinkRelocatableToExecutable => (0x7, 0x9),
            Action::AssembleSourceToRelocatable => (0x8, 0xa),
            Action::CompileSourceToExecutable => (0xe, -1),
        }
    }

    pub(super) fn number(self, major: usize) -> c_int {
        let (since_3, before) = self.numbers();
        if major >= 3 { since_3 } else { before }
    }
}

/// comgr's functions: the types are those of amd_comgr.h, the same in every version. Its handles are structs of one u64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    create_data: unsafe extern "C" fn(c_int, *mut u64) -> c_int,
    release_data: unsafe extern "C" fn(u64) -> c_int,
    set_data: unsafe extern "C" fn(u64, usize, *const c_char) -> c_int,
    set_data_name: unsafe extern "C" fn(u64, *const c_char) -> c_int,
    get_data: unsafe extern "C" fn(u64, *mut usize, *mut c_char) -> c_int,
    create_data_set: unsafe extern "C" fn(*mut u64) -> c_int,
    destroy_data_set: unsafe extern "C" fn(u64) -> c_int,
    data_set_add: unsafe extern "C" fn(u64, u64) -> c_int,
    action_data_count: unsafe extern "C" fn(u64, c_int, *mut usize) -> c_int,
    action_data_get_data: unsafe extern "C" fn(u64, c_int, usize, *mut u64) -> c_int,
    create_action_info: unsafe extern "C" fn(*mut u64) -> c_int,
    destroy_action_info: unsafe extern "C" fn(u64) -> c_int,
    set_isa_name: unsafe extern "C" fn(u64, *const c_char) -> c_int,
    set_language: unsafe extern "C" fn(u64, c_int) -> c_int,
    set_logging: unsafe extern "C" fn(u64, bool) -> c_int,
    set_option_list: unsafe extern "C" fn(u64, *const *const c_char, usize) -> c_int,
    do_action: unsafe extern "C" fn(c_int, u64, u64, u64) -> c_int,
    status_string: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
}

/// A call that failed: its name, and the status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed(pub(super) &'static str, pub(super) c_int);

type Result<T> = std::result::Result<T, Failed>;

fn check(call: &'static str, status: c_int) -> Result<()> {
    if status == SUCCESS { Ok(()) } else { Err(Failed(call, status)) }
}

impl Api {
    /// Returns the functions of a comgr that is never unloaded; `None` if one is missing.
    pub(super) fn resolve(library: &libloading::Library) -> Option<Api> {
        macro_rules! api {
            ($($field:ident = $name:literal,)*) => {
                // SAFETY: the functions of these names are comgr's, of the types above, and the library is never unloaded.
                unsafe { Some(Api { $($field: *library.get(concat!("amd_comgr_", $name)).ok()?,)* }) }
            };
        }
        api! {
            create_data = "create_data",
            release_data = "release_data",
            set_data = "set_data",
            set_data_name = "set_data_name",
            get_data = "get_data",
            create_data_set = "create_data_set",
            destroy_data_set = "destroy_data_set",
            data_set_add = "data_set_add",
            action_data_count = "action_data_count",
            action_data_get_data = "action_data_get_data",
            create_action_info = "create_action_info",
            destroy_action_info = "destroy_action_info",
            set_isa_name = "action_info_set_isa_name",
            set_language = "action_info_set_language",
            set_logging = "action_info_set_logging",
            set_option_list = "action_info_set_option_list",
            do_action = "do_action",
            status_string = "status_string",
        }
    }

    /// Returns comgr's text for a status.
    pub(super) fn describe(&self, status: c_int) -> String {
        let mut text = std::ptr::null();
        // SAFETY: the function accepts any status, and gets a pointer to a live pointer.
        if unsafe { (self.status_string)(status, &mut text) } != SUCCESS || text.is_null() {
            return "unknown status".to_owned();
        }
        // SAFETY: a C string that is never freed.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Creates an empty set of data.
    pub(super) fn set(&self) -> Result<Set<'_>> {
        let mut handle = 0;
        // SAFETY: a pointer to a live handle.
        check("amd_comgr_create_data_set", unsafe { (self.create_data_set)(&mut handle) })?;
        Ok(Set { api: self, handle })
    }

    /// Does an action with everything in a set. Returns the results, and its status.
    pub(super) fn act(&self, action: &ActionInfo<'_>, input: &Set<'_>) -> Result<(Set<'_>, c_int)> {
        let result = self.set()?;
        let mut handle = 0;
        // SAFETY: a pointer to a live handle.
        check("amd_comgr_create_action_info", unsafe { (self.create_action_info)(&mut handle) })?;
        let info = Info { api: self, handle };
        let options: Vec<*const c_char> = action.options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: a live object; C strings, which it copies, as many as stated.
        unsafe {
            check("amd_comgr_action_info_set_isa_name", (self.set_isa_name)(handle, action.isa.as_ptr()))?;
            if let Some(language) = action.language {
                check("amd_comgr_action_info_set_language", (self.set_language)(handle, language))?;
            }
            check("amd_comgr_action_info_set_logging", (self.set_logging)(handle, true))?;
            let status = (self.set_option_list)(handle, options.as_ptr(), options.len());
            check("amd_comgr_action_info_set_option_list", status)?;
        }
        // SAFETY: live objects, which no other thread uses.
        let status = unsafe { (self.do_action)(action.number, info.handle, input.handle, result.handle) };
        Ok((result, status))
    }
}

/// What an action is told.
#[derive(Debug)]
pub(super) struct ActionInfo<'a> {
    pub(super) number: c_int,
    pub(super) isa: &'a CStr,
    pub(super) language: Option<c_int>,
    pub(super) options: Vec<CString>,
}

struct Info<'a> {
    api: &'a Api,
    handle: u64,
}

impl Drop for Info<'_> {
    fn drop(&mut self) {
        // SAFETY: the object is live, and nothing uses it afterwards. An error leaves it as it is.
        let _ = unsafe { (self.api.destroy_action_info)(self.handle) };
    }
}

/// A reference to a data object.
struct Data<'a> {
    api: &'a Api,
    handle: u64,
}

impl Drop for Data<'_> {
    fn drop(&mut self) {
        // SAFETY: the object is live, and nothing uses this reference afterwards. An error leaves it as it is.
        let _ = unsafe { (self.api.release_data)(self.handle) };
    }
}

/// A set of data objects.
pub(super) struct Set<'a> {
    api: &'a Api,
    handle: u64,
}

impl Drop for Set<'_> {
    fn drop(&mut self) {
        // SAFETY: the set is live, and nothing uses it afterwards. An error leaves it as it is.
        let _ = unsafe { (self.api.destroy_data_set)(self.handle) };
    }
}

impl Set<'_> {
    /// Adds data of a kind, under the name of a file.
    pub(super) fn add(&self, kind: DataKind, file: &CStr, bytes: &[u8]) -> Result<()> {
        let (api, mut handle) = (self.api, 0);
        // SAFETY: a pointer to a live handle.
        check("amd_comgr_create_data", unsafe { (api.create_data)(kind as c_int, &mut handle) })?;
        let data = Data { api, handle };
        // SAFETY: live objects; bytes, as many as stated, and a C string, which it copies.
        unsafe {
            check("amd_comgr_set_data", (api.set_data)(data.handle, bytes.len(), bytes.as_ptr().cast()))?;
            check("amd_comgr_set_data_name", (api.set_data_name)(data.handle, file.as_ptr()))?;
            check("amd_comgr_data_set_add", (api.data_set_add)(self.handle, data.handle))
        }
    }

    /// Returns the bytes of all data of a kind.
    pub(super) fn all(&self, kind: DataKind) -> Result<Vec<Vec<u8>>> {
        let (api, mut count) = (self.api, 0);
        // SAFETY: a live set, and a pointer to a live integer.
        let status = unsafe { (api.action_data_count)(self.handle, kind as c_int, &mut count) };
        check("amd_comgr_action_data_count", status)?;
        (0..count).map(|index| self.get(kind, index)).collect()
    }

    fn get(&self, kind: DataKind, index: usize) -> Result<Vec<u8>> {
        let (api, mut handle, mut size) = (self.api, 0, 0);
        // SAFETY: a live set, an index below the count, and a pointer to a live handle.
        let status = unsafe { (api.action_data_get_data)(self.handle, kind as c_int, index, &mut handle) };
        check("amd_comgr_action_data_get_data", status)?;
        let data = Data { api, handle };
        // SAFETY: a live object and a pointer to a live integer; without a buffer, only the size is written.
        let status = unsafe { (api.get_data)(data.handle, &mut size, std::ptr::null_mut()) };
        check("amd_comgr_get_data", status)?;
        let mut bytes = vec![0u8; size];
        // SAFETY: a live object, and a buffer of as many bytes as stated.
        let status = unsafe { (api.get_data)(data.handle, &mut size, bytes.as_mut_ptr().cast()) };
        check("amd_comgr_get_data", status)?;
        Ok(bytes)
    }
}
