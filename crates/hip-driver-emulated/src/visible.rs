//! Which devices a program sees, and in which order: `ROCR_VISIBLE_DEVICES`, then `HIP_VISIBLE_DEVICES` among what that
//! leaves, or `CUDA_VISIBLE_DEVICES` where that is empty (rocdevice.cpp of clr).

use std::ffi::OsString;

/// Returns the numbers of the devices that HSA's runtime shows a program, of `count` devices.
pub fn devices_of_hsa(count: u32, variable: impl Fn(&str) -> Option<OsString>) -> Vec<u32> {
    let all: Vec<u32> = (0..count).collect();
    // ROCr sees no device if its variable is empty; HIP sees all of them.
    match variable("ROCR_VISIBLE_DEVICES") {
        Some(list) => chosen(&list.to_string_lossy(), &all),
        None => all,
    }
}

/// Returns the numbers of the devices that HIP shows a program, of `count` devices.
pub fn devices(count: u32, variable: impl Fn(&str) -> Option<OsString>) -> Vec<u32> {
    let left = devices_of_hsa(count, &variable);
    let of_hip =
        |name| variable(name).map(|list| list.to_string_lossy().into_owned()).filter(|list| !list.is_empty());
    match of_hip("HIP_VISIBLE_DEVICES").or_else(|| of_hip("CUDA_VISIBLE_DEVICES")) {
        Some(list) => chosen(&list, &left),
        None => left,
    }
}

/// What identifies a device: its number, as it has no serial number. 16 bytes.
pub fn identity(device: u32) -> String {
    format!("hiplaunch-{device:06}")
}

/// The devices that a list of indices and of `GPU-` with an identity names, without repetition. The first entry that names
/// none ends the list.
fn chosen(list: &str, devices: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in list.split(',') {
        let device = match entry.strip_prefix("GPU-") {
            Some(identity) => devices.iter().find(|device| self::identity(**device) == identity),
            // Nothing but digits is an index: clr refuses " 1", "+1" and "01".
            None => entry
                .parse::<usize>()
                .ok()
                .filter(|index| index.to_string() == entry)
                .and_then(|index| devices.get(index)),
        };
        let Some(device) = device else { break };
        if !found.contains(device) {
            found.push(*device);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(variables: &[(&str, &str)]) -> Vec<u32> {
        devices(4, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn lists_choose_devices_in_their_order() {
        assert_eq!(visible(&[]), [0, 1, 2, 3]);
        assert_eq!(visible(&[("HIP_VISIBLE_DEVICES", "2,0,2")]), [2, 0]);
        assert_eq!(visible(&[("HIP_VISIBLE_DEVICES", "GPU-hiplaunch-000003,1")]), [3, 1]);
        assert_eq!(visible(&[("HIP_VISIBLE_DEVICES", "")]), [0, 1, 2, 3]);
    }

    #[test]
    fn what_names_no_device_ends_the_list() {
        for list in ["-1", "4", "x", " 1", "01", ",1", "GPU-unknown", "-1,0"] {
            assert_eq!(visible(&[("HIP_VISIBLE_DEVICES", list)]), [0; 0], "{list}");
        }
        assert_eq!(visible(&[("HIP_VISIBLE_DEVICES", "1,7,2")]), [1]);
    }

    #[test]
    fn the_variable_of_hip_precedes_cudas_and_follows_rocrs() {
        assert_eq!(visible(&[("CUDA_VISIBLE_DEVICES", "3")]), [3]);
        assert_eq!(visible(&[("CUDA_VISIBLE_DEVICES", "3"), ("HIP_VISIBLE_DEVICES", "1")]), [1]);
        assert_eq!(visible(&[("ROCR_VISIBLE_DEVICES", "3,1"), ("HIP_VISIBLE_DEVICES", "1,0")]), [1, 3]);
        assert_eq!(visible(&[("ROCR_VISIBLE_DEVICES", "2"), ("HIP_VISIBLE_DEVICES", "1")]), [0; 0]);
        assert_eq!(visible(&[("ROCR_VISIBLE_DEVICES", "")]), [0; 0]);
    }
}
